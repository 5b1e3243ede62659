"""Reviewers of a run, the person to whom an item is assigned, and an index of the agents that wait."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Create the tables and the index."""
    op.create_table(
        "run_access",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_run_access_run_id"), nullable=False),
        sa.Column("entry", sa.String(), nullable=False),
        sa.Column("entry_key", sa.String(), nullable=False),
        sa.UniqueConstraint("run_id", "entry_key", name="uq_run_access_run_id_entry_key"),
    )
    op.create_table(
        "item_reviewer",
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", name="fk_item_reviewer_item_id"), primary_key=True),
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("assigned_by", sa.String(), nullable=False),
        sa.Column("assigned_ms", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_item_reviewer_reviewer", "item_reviewer", ["reviewer"])
    op.create_index(
        "ix_ask_open",
        "ask",
        ["deadline_ms"],
        sqlite_where=sa.text("answer IS NULL AND item_id IS NOT NULL"),
        postgresql_where=sa.text("answer IS NULL AND item_id IS NOT NULL"),
    )
