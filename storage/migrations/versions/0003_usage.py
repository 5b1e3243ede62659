"""What a verdict took: requests, tokens and money."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Adds the columns; verdicts so far asked no model."""
    for name in ("requests", "prompt_tokens", "completion_tokens"):
        op.add_column("verdict", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    op.add_column("verdict", sa.Column("cost_usd", sa.Float()))
