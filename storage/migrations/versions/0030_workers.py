"""Workers with their heartbeats."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Create the table of workers."""
    op.create_table(
        "worker",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("jobs_done", sa.Integer(), nullable=False),
        sa.Column("failure", sa.String(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("status IN ('working', 'draining', 'stopped')", name="ck_status_known"),
    )
