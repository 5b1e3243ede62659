"""The tables of the first release. The SQL never changes; each later change is a new revision."""

import secrets
from pathlib import Path

from alembic import op

from storage.migrations import make_text_index

revision = "0013"
down_revision = None

_TYPES = {"sqlite": {"serial": "INTEGER", "bytes": "BLOB"}, "postgresql": {"serial": "SERIAL", "bytes": "BYTEA"}}


def upgrade() -> None:
    """Create every table and index in an empty database, its key and the end of its audit chain."""
    connection = op.get_bind()
    sql = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    for name, word in _TYPES[connection.dialect.name].items():
        sql = sql.replace(f"{{{name}}}", word)
    for statement in sql.split(";\n"):
        if statement.strip():
            connection.exec_driver_sql(statement)
    make_text_index(connection)
    connection.exec_driver_sql(f"INSERT INTO database_key VALUES (1, '{secrets.token_hex(16)}')")
    connection.exec_driver_sql("INSERT INTO chain_end VALUES (1, 0, 0, '')")
