"""Live runs: memory, intents, asks at the gate, webhooks."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Adds what the closed loop needs."""
    op.add_column("run", _json("options"))
    op.add_column("task", _json("gold"))
    op.add_column("task", _json("options"))
    op.add_column("trajectory", sa.Column("released_by", sa.String()))
    _memory()
    _intent()
    _ask()
    _webhook_delivery()


def _json(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=False, server_default="{}")


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer(), primary_key=True)


def _reference(table: str, target: str, *, required: bool = True) -> sa.Column[int]:
    key = sa.ForeignKey(f"{target}.id", name=f"fk_{table}_{target}_id")
    return sa.Column(f"{target}_id", sa.Integer(), key, nullable=not required)


def _time(name: str, *, required: bool = True) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=not required)


def _text(name: str, *, required: bool = True) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=not required)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _memory() -> None:
    op.create_table(
        "memory",
        _id(),
        _reference("memory", "task"),
        _number("trial"),
        _reference("memory", "decision"),
        _text("origin"),
        _text("text"),
        _time("created_ms"),
        sa.UniqueConstraint("decision_id", name="uq_memory_decision_id"),
    )
    op.create_index("ix_memory_task", "memory", ["task_id", "trial"])


def _intent() -> None:
    op.create_table(
        "intent",
        _id(),
        _reference("intent", "trajectory"),
        _number("step"),
        _text("action"),
        _text("action_digest"),
        _reference("intent", "decision", required=False),
        _time("started_ms"),
        _time("finished_ms", required=False),
        sa.UniqueConstraint("trajectory_id", "step", name="uq_intent_trajectory_id_step"),
    )


def _ask() -> None:
    op.create_table(
        "ask",
        _id(),
        _reference("ask", "run"),
        _text("digest"),
        _reference("ask", "trajectory"),
        _reference("ask", "item", required=False),
        _time("asked_ms"),
        _time("heartbeat_ms"),
        _time("deadline_ms", required=False),
        _text("answer", required=False),
        _time("answered_ms", required=False),
        sa.UniqueConstraint("run_id", "digest", name="uq_ask_run_id_digest"),
    )
    op.create_index("ix_ask_trajectory", "ask", ["trajectory_id"])


def _webhook_delivery() -> None:
    op.create_table(
        "webhook_delivery",
        _id(),
        _reference("webhook_delivery", "decision"),
        _text("url"),
        _number("attempts"),
        _time("next_ms"),
        _time("delivered_ms", required=False),
        _text("failure"),
        sa.UniqueConstraint("decision_id", "url", name="uq_webhook_delivery_decision_id_url"),
    )
    waiting = sa.text("delivered_ms IS NULL")
    op.create_index("ix_webhook_due", "webhook_delivery", ["next_ms"], sqlite_where=waiting, postgresql_where=waiting)
