"""Pictures, each stored once, and decisions that somebody made elsewhere: they took no reviewer's place here."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Adds the table, empty, and lets a decision stand without a slot."""
    op.create_table(
        "picture",
        sa.Column("digest", sa.String(), primary_key=True),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
    )
    with op.batch_alter_table("decision") as decision:
        decision.alter_column("slot_id", existing_type=sa.Integer(), nullable=True)
        # Said again, since the default comes back in brackets from a table that is copied.
        decision.alter_column("reason_codes", existing_type=sa.String(), nullable=False, server_default="")
