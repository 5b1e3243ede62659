"""The audit chain covers rows: links hold the digests of rows, and each digest has a salt."""

import sqlalchemy as sa
from alembic import op

from storage.linked_rows import postgres_triggers

revision = "0014"
down_revision = "0013"

_LINKED = (
    "ask",
    "item",
    "decision",
    "intent",
    "policy",
    "person",
    "person_session",
    "invitation",
    "agent",
    "note",
    "adjudication",
)


_LATER = ("hold", "token_ms", "old_token_hash", "old_until_ms")


def upgrade() -> None:
    """Add the column of the links, the table of salts and, on a server, the triggers that note changed rows."""
    op.add_column("event_link", sa.Column("rows", sa.String(), nullable=False, server_default="[]"))
    op.create_table(
        "row_salt",
        sa.Column("name", sa.String(), primary_key=True, nullable=False),
        sa.Column("row_id", sa.Integer(), primary_key=True, nullable=False, autoincrement=False),
        sa.Column("salt", sa.String(), nullable=False),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        for statement in postgres_triggers(_LINKED, later=("result_digest", "marked_steps", "answers", *_LATER)):
            connection.exec_driver_sql(statement)
