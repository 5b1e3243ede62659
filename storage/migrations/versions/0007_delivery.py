"""Delivery: agents with tokens, questions whose names cannot be guessed, go-aheads that wait for their beginning."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_STEP = """
UPDATE ask SET step = coalesce(
    (SELECT i.step FROM item i WHERE i.id = ask.item_id),
    (SELECT n.step FROM intent n WHERE n.trajectory_id = ask.trajectory_id AND n.started_ms = ask.asked_ms),
    (SELECT t.n_steps FROM trajectory t WHERE t.id = ask.trajectory_id))"""


_DEADLINE = """
UPDATE ask SET deadline_ms = asked_ms + :longest_ms
WHERE answer IS NULL AND (deadline_ms IS NULL OR deadline_ms > asked_ms + :longest_ms)"""


def upgrade() -> None:
    """Adds the agents; earlier questions are nobody's in particular, and every go-ahead of theirs has begun."""
    op.create_table(
        "agent",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("disabled_ms", sa.BigInteger(), nullable=True),
        sa.Column("seen_ms", sa.BigInteger(), nullable=True),
        sa.UniqueConstraint("name_key", name="uq_agent_name_key"),
        sa.UniqueConstraint("token_hash", name="uq_agent_token_hash"),
    )
    with op.batch_alter_table("ask") as ask:
        ask.add_column(sa.Column("token", sa.String(), nullable=True))
        ask.add_column(sa.Column("step", sa.Integer(), nullable=True))
        ask.add_column(sa.Column("agent_id", sa.Integer(), nullable=True))
        ask.add_column(sa.Column("asker", sa.String(), nullable=True))
        ask.add_column(sa.Column("beats", sa.Boolean(), nullable=True))
        ask.add_column(sa.Column("action", sa.String(), nullable=True))
        ask.add_column(sa.Column("decision_id", sa.Integer(), nullable=True))
    _fill()
    with op.batch_alter_table("ask") as ask:
        for name, kind in (("token", sa.String()), ("asker", sa.String())):
            ask.alter_column(name, existing_type=kind, nullable=False)
        ask.alter_column("step", existing_type=sa.Integer(), nullable=False)
        ask.alter_column("beats", existing_type=sa.Boolean(), nullable=False)
        ask.create_unique_constraint("uq_ask_token", ["token"])
        ask.create_foreign_key("fk_ask_agent_id", "agent", ["agent_id"], ["id"])
        ask.create_foreign_key("fk_ask_decision_id", "decision", ["decision_id"], ["id"])


def _fill() -> None:
    connection = op.get_bind()
    connection.execute(sa.text(_STEP))
    connection.execute(sa.text("UPDATE ask SET asker = '', beats = false"))
    connection.execute(sa.text(_DEADLINE), {"longest_ms": 1_800_000})
    named = [{"id": id, "token": secrets.token_hex(16)} for (id,) in connection.execute(sa.text("SELECT id FROM ask"))]
    if named:
        connection.execute(sa.text("UPDATE ask SET token = :token WHERE id = :id"), named)
