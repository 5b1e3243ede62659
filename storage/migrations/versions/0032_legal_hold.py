"""The legal hold of a run or a person."""

import sqlalchemy as sa
from alembic import op

from storage.linked_rows import postgres_triggers

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Add the columns; on a server, note their changes."""
    for name in ("run", "person"):
        op.add_column(name, sa.Column("hold", sa.String()))
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        for statement in postgres_triggers(("run", "person")):
            connection.exec_driver_sql(statement)
