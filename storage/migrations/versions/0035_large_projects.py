"""Indexes for large projects: a reviewer's decisions, and a run's trajectories in the order of their import."""

from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """Add the indexes."""
    op.create_index("ix_decision_reviewer", "decision", ["reviewer", "id"], if_not_exists=True)
    op.create_index("ix_trajectory_run", "trajectory", ["run_id", "id"], if_not_exists=True)
