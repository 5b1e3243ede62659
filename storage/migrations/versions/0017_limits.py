"""The amounts that allowed actions and checks use from the limits of rules."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Create the table of uses."""
    op.create_table(
        "limit_use",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_limit_use_run_id"), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("counted_by", sa.String(), nullable=False),
        sa.Column("amount", sa.Float(), nullable=False),
        sa.Column("token", sa.String()),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_limit_use_counter", "limit_use", ["scope", "rule", "counted_by", "at_ms"])
