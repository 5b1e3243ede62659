"""When an agent got its token, and its replaced token, which works for some time."""

import sqlalchemy as sa
from alembic import op

from storage.linked_rows import postgres_triggers

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Add the columns; on a server, note their changes."""
    op.add_column("agent", sa.Column("token_ms", sa.BigInteger()))
    op.add_column("agent", sa.Column("old_token_hash", sa.String()))
    op.add_column("agent", sa.Column("old_until_ms", sa.BigInteger()))
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        for statement in postgres_triggers(("agent",)):
            connection.exec_driver_sql(statement)
