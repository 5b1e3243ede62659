"""A note beside each intent."""

import sqlalchemy as sa
from alembic import op

revision = "NEW"
down_revision = "OLD"


def upgrade() -> None:
    """Adds the column."""
    op.add_column("intent", sa.Column("seam_note", sa.String(), nullable=True))
