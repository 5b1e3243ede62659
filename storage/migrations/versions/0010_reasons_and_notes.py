"""Reason codes on decisions and drafts, the draft of an edit, and notes to colleagues."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Adds them; what was decided before has no reason code and no note."""
    for table in ("decision", "draft"):
        op.add_column(table, sa.Column("reason_codes", sa.String(), nullable=False, server_default=""))
    op.add_column("draft", sa.Column("edit", sa.String(), nullable=False, server_default=""))
    op.create_table(
        "note",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", name="fk_note_item_id"), nullable=False),
        sa.Column("decision_id", sa.Integer(), sa.ForeignKey("decision.id", name="fk_note_decision_id")),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("addressee", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_note_item", "note", ["item_id"])
