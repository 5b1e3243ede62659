"""A chain for each run beside the chain of access, and the rows of runs in the chain."""

import sqlalchemy as sa
from alembic import op

from storage.linked_rows import postgres_triggers

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Put all links so far into the chain of access, in their order."""
    op.add_column("event_link", sa.Column("chain", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("event_link", sa.Column("place", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("chain_end", sa.Column("sealed", sa.Integer(), nullable=False, server_default="0"))
    op.execute("""
        UPDATE event_link SET place = counted.place
        FROM (SELECT event_id, row_number() OVER (ORDER BY event_id) AS place FROM event_link) counted
        WHERE counted.event_id = event_link.event_id""")
    op.execute("UPDATE chain_end SET id = 0")
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        op.execute("""
            SELECT setval(pg_get_serial_sequence('event', 'id'), 1 + GREATEST(
                (SELECT coalesce(max(id), 0) FROM event),
                (SELECT coalesce(max(event_id), 0) FROM event_link)), false)""")
        for statement in postgres_triggers(("run",), later=("hold",)):
            connection.exec_driver_sql(statement)
