"""Steps that reviewers mark as wrong, and answers to the questions of a run."""

import sqlalchemy as sa
from alembic import op

from storage.linked_rows import postgres_triggers

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Add the columns and, on a server, note changes of those of a decision."""
    for name in ("marked_steps", "answers"):
        op.add_column("decision", sa.Column(name, sa.String()))
        op.add_column("draft", sa.Column(name, sa.String(), nullable=False, server_default=""))
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        for statement in postgres_triggers(("decision",)):
            connection.exec_driver_sql(statement)
