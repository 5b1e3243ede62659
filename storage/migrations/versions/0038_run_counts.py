"""The stored counts of each run, by blocks of trajectories."""

from alembic import op

from storage.run_counts import make_run_counts

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """Create the tables and triggers, and count the existing rows."""
    make_run_counts(op.get_bind())
