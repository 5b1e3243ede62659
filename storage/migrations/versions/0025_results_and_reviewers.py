"""The digest of a result that an agent reported, and the reviewers of runs in the audit chain."""

import sqlalchemy as sa
from alembic import op

from storage.linked_rows import postgres_triggers

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the column and, on a server, the triggers that note changed rows."""
    op.add_column("intent", sa.Column("result_digest", sa.String()))
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        for statement in postgres_triggers(("intent", "run_access")):
            connection.exec_driver_sql(statement)
