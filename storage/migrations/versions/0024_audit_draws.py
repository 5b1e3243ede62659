"""The unflagged actions of which audits are drawn, each with its random number and its probability."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "audit_draw",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_audit_draw_run_id"), nullable=False),
        sa.Column(
            "trajectory_id",
            sa.Integer(),
            sa.ForeignKey("trajectory.id", name="fk_audit_draw_trajectory_id"),
            nullable=False,
        ),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=False),
        sa.Column("number", sa.Float(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("trajectory_id", "step", "kind", name="uq_audit_draw_trajectory_id_step_kind"),
    )
    op.create_index("ix_audit_draw_run", "audit_draw", ["run_id"])
