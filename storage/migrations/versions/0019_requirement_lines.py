"""Verdicts hold requirement lines, and reviewers correct them."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the column of the lines and the table of corrections."""
    op.add_column("verdict", sa.Column("requirements", sa.String()))
    op.create_table(
        "line_correction",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", name="fk_line_correction_item_id"), nullable=False),
        sa.Column("detector", sa.String(), nullable=False),
        sa.Column("model", sa.String()),
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("line_key", sa.String(), nullable=False),
        sa.Column("line", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn_ms", sa.BigInteger()),
    )
    op.create_index("ix_line_correction_item", "line_correction", ["item_id"])
