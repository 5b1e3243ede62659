"""The stored counts of a run include judged trajectories, pending items, reviewed lines and decisions by day."""

from alembic import op

from storage.run_counts import make_run_counts

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    """Replace the tables and triggers, and count the existing rows."""
    make_run_counts(op.get_bind())
