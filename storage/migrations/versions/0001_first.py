"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Makes every table of the first schema."""
    _run()
    _budget()
    _event()
    _task()
    _trajectory()
    _trajectory_body()
    _verdict()
    _item()
    _draft()
    _slot()
    _decision()
    _ledger()


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _run() -> None:
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("environment", sa.String(), nullable=False),
        sa.Column("actor", sa.String()),
        sa.Column("source_run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_run_source_run_id")),
        sa.Column("critical", sa.String(), nullable=False),
        sa.Column("ends", sa.Boolean()),
        sa.Column("detector", sa.String()),
        sa.Column("threshold", sa.Float()),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("budget_cap", sa.Integer()),
        sa.Column("budget_percent", sa.Float()),
        sa.Column("halted_free", sa.Boolean(), nullable=False),
        sa.Column("feedback_mode", sa.String(), nullable=False),
        sa.Column("reviews_per_item", sa.Integer(), nullable=False),
        sa.Column("blind", sa.Boolean(), nullable=False),
        sa.Column("lease_ms", sa.Integer(), nullable=False),
        sa.Column("undo_ms", sa.Integer(), nullable=False),
        sa.Column("trials", sa.Integer(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("kind IN ('archive', 'replay', 'live', 'gate')", name="ck_kind_known"),
        sa.UniqueConstraint("name", name="uq_run_name"),
    )


def _budget() -> None:
    op.create_table(
        "budget",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_budget_run_id"), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("cap", sa.Integer()),
        sa.Column("used", sa.Integer(), nullable=False),
        sa.Column("halted", sa.Integer(), nullable=False),
        sa.CheckConstraint("used >= 0 AND (cap IS NULL OR used <= cap)", name="ck_budget_cap"),
        sa.UniqueConstraint("run_id", "trial", "scope", name="uq_budget_run_id_trial_scope"),
    )


def _event() -> None:
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_event_run_id")),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
    )
    op.create_index("ix_event_run", "event", ["run_id"])


def _task() -> None:
    op.create_table(
        "task",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_task_run_id"), nullable=False),
        sa.Column("task_key", sa.String(), nullable=False),
        sa.Column("environment", sa.String(), nullable=False),
        sa.Column("instruction", sa.String(), nullable=False),
        sa.Column("instruction_digest", sa.String(), nullable=False),
        sa.UniqueConstraint(
            "run_id", "task_key", "instruction_digest", name="uq_task_run_id_task_key_instruction_digest"
        ),
    )


def _trajectory() -> None:
    op.create_table(
        "trajectory",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_trajectory_run_id"), nullable=False),
        sa.Column("task_id", sa.Integer(), sa.ForeignKey("task.id", name="fk_trajectory_task_id"), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("environment", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("recorded_outcome", sa.String(), nullable=False),
        sa.Column("label", sa.String()),
        sa.Column("carried_over", sa.Boolean(), nullable=False),
        sa.Column("critical_action", sa.String()),
        sa.Column("n_steps", sa.Integer(), nullable=False),
        sa.Column("n_critical", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("run_id", "digest", name="uq_trajectory_run_id_digest"),
    )
    op.create_index("ix_trajectory_run_trial", "trajectory", ["run_id", "trial"])
    op.create_index("ix_trajectory_task", "trajectory", ["task_id", "trial"])


def _trajectory_body() -> None:
    op.create_table(
        "trajectory_body",
        sa.Column(
            "trajectory_id",
            sa.Integer(),
            sa.ForeignKey("trajectory.id", name="fk_trajectory_body_trajectory_id"),
            primary_key=True,
        ),
        sa.Column("body", sa.String(), nullable=False),
    )


def _verdict() -> None:
    op.create_table(
        "verdict",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_verdict_run_id"), nullable=False),
        sa.Column(
            "trajectory_id",
            sa.Integer(),
            sa.ForeignKey("trajectory.id", name="fk_verdict_trajectory_id"),
            nullable=False,
        ),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("detector", sa.String(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("probability", sa.Float()),
        sa.Column("threshold", sa.Float(), nullable=False),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("inferred_task", sa.String()),
        sa.Column("rationale", sa.String(), nullable=False),
        sa.Column("model", sa.String()),
        sa.Column("prompt_fingerprint", sa.String()),
        sa.Column("parameters", sa.String(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("raw", sa.String()),
        sa.Column("latency_ms", sa.Float(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint(
            "trajectory_id", "step", "kind", "detector", name="uq_verdict_trajectory_id_step_kind_detector"
        ),
    )
    op.create_index("ix_verdict_run_detector", "verdict", ["run_id", "detector"])


def _item() -> None:
    op.create_table(
        "item",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_item_run_id"), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column(
            "trajectory_id", sa.Integer(), sa.ForeignKey("trajectory.id", name="fk_item_trajectory_id"), nullable=False
        ),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("priority", sa.Float(), nullable=False),
        sa.Column("open_slots", sa.Integer(), nullable=False),
        sa.Column("reviews_required", sa.Integer(), nullable=False),
        sa.Column("verdict_id", sa.Integer(), sa.ForeignKey("verdict.id", name="fk_item_verdict_id")),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "status IN ('pending', 'claimed', 'decided', 'delivered', 'expired', 'cancelled')", name="ck_status_known"
        ),
        sa.CheckConstraint("open_slots >= 0 AND open_slots <= reviews_required", name="ck_item_open_slots"),
        sa.UniqueConstraint("trajectory_id", "step", "kind", name="uq_item_trajectory_id_step_kind"),
    )
    op.create_index(
        "ix_item_ready",
        "item",
        ["run_id", "trial", sa.text("priority DESC"), "id"],
        **_where("open_slots > 0"),
    )
    op.create_index("ix_item_run_status", "item", ["run_id", "trial", "status", "created_ms"])


def _draft() -> None:
    op.create_table(
        "draft",
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", name="fk_draft_item_id"), primary_key=True),
        sa.Column("reviewer", sa.String(), primary_key=True),
        sa.Column("feedback_text", sa.String(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
    )


def _slot() -> None:
    op.create_table(
        "slot",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", name="fk_slot_item_id"), nullable=False),
        sa.Column("budget_id", sa.Integer(), sa.ForeignKey("budget.id", name="fk_slot_budget_id"), nullable=False),
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("claimed_ms", sa.BigInteger(), nullable=False),
        sa.Column("lease_until_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("status IN ('claimed', 'decided', 'skipped', 'released', 'lapsed')", name="ck_status_known"),
        sa.CheckConstraint("units >= 0", name="ck_slot_units"),
        sa.UniqueConstraint("item_id", "reviewer", name="uq_slot_item_id_reviewer"),
    )
    op.create_index("ix_slot_lease", "slot", ["lease_until_ms"], **_where("status = 'claimed'"))
    op.create_index("ix_slot_reviewer", "slot", ["reviewer", "status"])


def _decision() -> None:
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", name="fk_decision_item_id"), nullable=False),
        sa.Column("slot_id", sa.Integer(), sa.ForeignKey("slot.id", name="fk_decision_slot_id"), nullable=False),
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("annotator_kind", sa.String(), nullable=False),
        sa.Column("decision", sa.String(), nullable=False),
        sa.Column("label", sa.String()),
        sa.Column("feedback_type", sa.String(), nullable=False),
        sa.Column("feedback_text", sa.String(), nullable=False),
        sa.Column("edited_action", sa.String()),
        sa.Column("action_digest", sa.String(), nullable=False),
        sa.Column("submit_key", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("superseded", sa.Boolean(), nullable=False),
        sa.Column("budget_cap", sa.Integer()),
        sa.Column("budget_used", sa.Integer(), nullable=False),
        sa.Column("claimed_ms", sa.BigInteger(), nullable=False),
        sa.Column("decided_ms", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn_ms", sa.BigInteger()),
        sa.Column("deliverable_ms", sa.BigInteger(), nullable=False),
        sa.Column("delivered_ms", sa.BigInteger()),
        sa.CheckConstraint(
            "decision IN ('approve', 'reject', 'edit', 'respond', 'escalate')", name="ck_decision_known"
        ),
        sa.UniqueConstraint("slot_id", "revision", name="uq_decision_slot_id_revision"),
        sa.UniqueConstraint("submit_key", name="uq_decision_submit_key"),
    )
    op.create_index("ix_decision_item", "decision", ["item_id"])
    op.create_index(
        "ix_decision_undelivered", "decision", ["deliverable_ms"], **_where("delivered_ms IS NULL AND NOT superseded")
    )
    op.create_index("ux_decision_current", "decision", ["slot_id"], unique=True, **_where("NOT superseded"))


def _ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("budget_id", sa.Integer(), sa.ForeignKey("budget.id", name="fk_ledger_budget_id"), nullable=False),
        sa.Column("item_id", sa.Integer(), sa.ForeignKey("item.id", name="fk_ledger_item_id"), nullable=False),
        sa.Column("slot_id", sa.Integer(), sa.ForeignKey("slot.id", name="fk_ledger_slot_id"), nullable=False),
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("entry", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_ledger_budget", "ledger", ["budget_id"])
