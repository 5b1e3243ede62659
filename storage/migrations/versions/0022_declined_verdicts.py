"""Verdicts without a score: the model declined to judge."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Allow verdicts without a score, and remove the score of declined ones."""
    with op.batch_alter_table("verdict") as verdict:
        verdict.alter_column("score", existing_type=sa.Float(), nullable=True)
    op.execute("""UPDATE verdict SET score = NULL WHERE parameters LIKE '%"refused":true%'""")
