"""Items of known answer in the queue, whose actions the database refuses to execute."""

import sqlalchemy as sa
from alembic import op

from storage import never_executed

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Create the table of marks and the triggers."""
    op.create_table(
        "seeded_item",
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", name="fk_seeded_item_item_id"), primary_key=True),
        sa.Column(
            "trajectory_id",
            sa.Integer(),
            sa.ForeignKey("trajectory.id", name="fk_seeded_item_trajectory_id"),
            nullable=False,
        ),
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("expected", sa.String(), nullable=False),
        sa.Column("reviewers", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("trajectory_id", name="uq_seeded_item_trajectory_id"),
    )
    connection = op.get_bind()
    sqlite = connection.dialect.name == "sqlite"
    for statement in never_executed.SQLITE if sqlite else never_executed.POSTGRESQL:
        connection.exec_driver_sql(statement)
