"""Checks that a policy allowed at once are stored, not only counted."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Create the table of allowed checks."""
    op.create_table(
        "allowed_check",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_allowed_check_run_id"), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("action_digest", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("policy_version", sa.Integer(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_allowed_check_run", "allowed_check", ["run_id"])
    op.create_index("ix_allowed_check_at", "allowed_check", ["at_ms"])
