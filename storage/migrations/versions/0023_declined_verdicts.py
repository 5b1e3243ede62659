"""Verdicts without a score: the model declined to judge."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Allow verdicts without a score, and remove the score of declined ones."""
    with op.batch_alter_table("verdict") as changed:
        changed.alter_column("score", existing_type=sa.Float(), nullable=True)
    verdict = sa.table("verdict", sa.column("score"), sa.column("parameters", sa.String()))
    declined = verdict.c.parameters.contains('"refused":true')
    op.execute(verdict.update().where(declined).values(score=sa.null()))
