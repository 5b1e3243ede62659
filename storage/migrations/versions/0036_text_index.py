"""The text index on PostgreSQL, which queues the existing trajectories; indexes that alone hold what pages count."""

import sqlalchemy as sa
from alembic import op

from storage.migrations import make_text_index

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """Create the indexes."""
    make_text_index(op.get_bind())
    op.drop_index("ix_item_ready", "item")
    ready = [sa.text(column) for column in ("run_id", "trial", "priority DESC", "id", "open_slots")]
    is_open = sa.text("open_slots > 0")
    op.create_index("ix_item_ready", "item", ready, sqlite_where=is_open, postgresql_where=is_open)
    op.drop_index("ix_trajectory_run_trial", "trajectory", if_exists=True)
    outcomes = ["run_id", "trial", "outcome", "carried_over", "released_by"]
    op.create_index("ix_trajectory_run_outcome", "trajectory", outcomes, if_not_exists=True)
