"""Named filters of the Inbox, and the marked steps of a rejection that a restore carries over."""

import sqlalchemy as sa
from alembic import op

from storage.linked_rows import postgres_triggers

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Create the table of saved views and add the column; on a server, note changes of the column."""
    op.create_table(
        "saved_view",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column(
            "person_id", sa.Integer(), sa.ForeignKey("person.id", name="fk_saved_view_person_id"), nullable=False
        ),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("query", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("person_id", "name", name="uq_saved_view_person_id_name"),
    )
    op.add_column("carried_check", sa.Column("marked_steps", sa.String()))
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        for statement in postgres_triggers(("carried_check",)):
            connection.exec_driver_sql(statement)
