"""Indexes that alone hold the counts of a large run: its flagged trajectories, reviewed items and spent inspections."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Create the indexes."""
    place = ["run_id", "trial", "trajectory_id"]
    op.create_index("ix_item_trajectory", "item", [*place, "kind", "reviews_required"], if_not_exists=True)
    where = sa.text("open_slots = 0 OR open_slots < reviews_required")
    taken = [*place, "open_slots", "reviews_required"]
    op.create_index("ix_item_taken", "item", taken, sqlite_where=where, postgresql_where=where, if_not_exists=True)
    op.create_index("ix_ledger_budget_time", "ledger", ["budget_id", "at_ms", "units"], if_not_exists=True)
    op.drop_index("ix_ledger_budget", "ledger", if_exists=True)
