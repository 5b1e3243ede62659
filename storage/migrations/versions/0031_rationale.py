"""Whether the reasons of the detector were added to a memory, for the comparison of feedback with and without them."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Add the column; earlier memories have none, because nothing was drawn for them."""
    op.add_column("memory", sa.Column("rationale", sa.String()))
