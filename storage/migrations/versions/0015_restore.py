"""The epoch of a database, and what a restore carries over: checks that began or were rejected, and policies."""

import sqlalchemy as sa
from alembic import op

from storage.linked_rows import postgres_triggers

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the epoch to the database's key, and create the two tables that a restore fills."""
    op.add_column("database_key", sa.Column("epoch", sa.Integer(), server_default="1", nullable=False))
    op.create_table(
        "carried_check",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("agent_id", sa.Integer(), sa.ForeignKey("agent.id", name="fk_carried_check_agent_id")),
        sa.Column("task_key", sa.String(), nullable=False),
        sa.Column("instruction_digest", sa.String(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("action_digest", sa.String(), nullable=False),
        sa.Column("begun", sa.Boolean(), nullable=False),
        sa.Column("answer", sa.String()),
        sa.Column("feedback_text", sa.String(), nullable=False),
        sa.Column("reason_codes", sa.String(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("token", name="uq_carried_check_token"),
    )
    op.create_index("ix_carried_check_run", "carried_check", ["run"])
    op.create_table(
        "replaced_policy",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("chosen_ms", sa.BigInteger()),
        sa.UniqueConstraint("epoch", "run", "version", name="uq_replaced_policy_epoch_run_version"),
    )
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        for statement in postgres_triggers(("carried_check", "replaced_policy"), later=("marked_steps",)):
            connection.exec_driver_sql(statement)
