"""What of an item its reviewer was shown."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Adds the digest of the text; nobody knows it of decisions so far."""
    op.add_column("decision", sa.Column("seen_digest", sa.String()))
