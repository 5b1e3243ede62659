"""Every table. Times are whole milliseconds since 1970 UTC (`*_ms`); JSON is stored as text, already serialised.

The base has its own registry, so that a page reloaded by Streamlit never defines a table twice.
"""

from enum import StrEnum

from sqlalchemy import BigInteger, CheckConstraint, Index, MetaData, UniqueConstraint, text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

_NAMES = {"uq": "uq_%(table_name)s_%(column_0_N_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s"}
"""A later migration can only change a constraint that has a name."""


class Table(SQLModel, registry=registry(metadata=MetaData(naming_convention=_NAMES))):
    """Base of all tables."""


class RunKind(StrEnum):
    """`archive`: imported logs; `replay`: a log, trial by trial; `live`: our Actors; `gate`: somebody's agent."""

    ARCHIVE = "archive"
    REPLAY = "replay"
    LIVE = "live"
    GATE = "gate"


class ItemStatus(StrEnum):
    """`pending`: a slot is free; `claimed`: all are taken; `decided`: all reviews in; `delivered`: the agent knows."""

    PENDING = "pending"
    CLAIMED = "claimed"
    DECIDED = "decided"
    DELIVERED = "delivered"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class SlotStatus(StrEnum):
    """A reviewer's place at an item. Only `claimed` and `decided` occupy it."""

    CLAIMED = "claimed"
    DECIDED = "decided"
    SKIPPED = "skipped"
    RELEASED = "released"
    LAPSED = "lapsed"


class DecisionKind(StrEnum):
    """What a reviewer answers; only approve and edit let an action run."""

    APPROVE = "approve"
    REJECT = "reject"
    EDIT = "edit"
    RESPOND = "respond"
    ESCALATE = "escalate"


def _one_of(column: str, words: type[StrEnum]) -> CheckConstraint:
    allowed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({allowed})", name=f"ck_{column}_known")


class Run(Table, table=True):
    """A batch of tasks with its Actor, routing detector, budget, feedback mode and number of trials."""

    __tablename__ = "run"
    __table_args__ = (_one_of("kind", RunKind),)

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    kind: str
    environment: str
    actor: str | None = None
    source_run_id: int | None = Field(default=None, foreign_key="run.id")
    critical: str = "[]"
    ends: bool | None = None
    detector: str | None = None
    threshold: float | None = None
    seed: int = 0
    budget_cap: int | None = None
    budget_percent: float | None = None
    halted_free: bool = False
    feedback_mode: str = "nl"
    reviews_per_item: int = 1
    blind: bool = True
    lease_ms: int = 600_000
    undo_ms: int = 5_000
    trials: int = 1
    options: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})
    created_ms: int = Field(sa_type=BigInteger)


class Task(Table, table=True):
    """What the user asked."""

    __tablename__ = "task"
    __table_args__ = (UniqueConstraint("run_id", "task_key", "instruction_digest"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    task_key: str
    environment: str
    instruction: str
    instruction_digest: str
    gold: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})
    options: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})


class Trajectory(Table, table=True):
    """One trial of one task. `recorded_outcome` is what the log says; `outcome` is how it stands here and now."""

    __tablename__ = "trajectory"
    __table_args__ = (
        UniqueConstraint("run_id", "digest"),
        Index("ix_trajectory_run_trial", "run_id", "trial"),
        Index("ix_trajectory_task", "task_id", "trial"),
    )

    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    task_id: int = Field(foreign_key="task.id")
    trial: int
    environment: str
    outcome: str
    recorded_outcome: str
    label: str | None = None
    carried_over: bool = False
    critical_action: str | None = None
    n_steps: int
    n_critical: int
    digest: str
    source: str = "{}"
    released_by: str | None = None
    created_ms: int = Field(sa_type=BigInteger)


class TrajectoryBody(Table, table=True):
    """The canonical JSON of a trajectory, apart, so that the queue's rows stay narrow."""

    __tablename__ = "trajectory_body"

    trajectory_id: int = Field(primary_key=True, foreign_key="trajectory.id")
    body: str


class Verdict(Table, table=True):
    """A detector's answer for one checkpoint.

    Requests, tokens, latency and cost (null: no price was known) are those of the replies that it rests on, when they
    were really asked; detectors that share a reply have it each.
    """

    __tablename__ = "verdict"
    __table_args__ = (
        UniqueConstraint("trajectory_id", "step", "kind", "detector"),
        Index("ix_verdict_run_detector", "run_id", "detector"),
    )

    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    trajectory_id: int = Field(foreign_key="trajectory.id")
    step: int
    kind: str
    detector: str
    score: float
    probability: float | None = None
    threshold: float
    flagged: bool
    inferred_task: str | None = None
    rationale: str = ""
    model: str | None = None
    prompt_fingerprint: str | None = None
    parameters: str = "{}"
    seed: int = 0
    raw: str | None = None
    latency_ms: float = 0.0
    requests: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    prompt_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    completion_tokens: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    cost_usd: float | None = None
    created_ms: int = Field(sa_type=BigInteger)


class Item(Table, table=True):
    """A checkpoint in the review queue. `open_slots` counts the reviews that nobody has taken yet."""

    __tablename__ = "item"
    __table_args__ = (
        UniqueConstraint("trajectory_id", "step", "kind"),
        _one_of("status", ItemStatus),
        CheckConstraint("open_slots >= 0 AND open_slots <= reviews_required", name="ck_item_open_slots"),
        Index(
            "ix_item_ready",
            "run_id",
            "trial",
            text("priority DESC"),
            "id",
            sqlite_where=text("open_slots > 0"),
            postgresql_where=text("open_slots > 0"),
        ),
        Index("ix_item_run_status", "run_id", "trial", "status", "created_ms"),
    )

    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    trial: int
    trajectory_id: int = Field(foreign_key="trajectory.id")
    step: int
    kind: str
    status: str = ItemStatus.PENDING
    priority: float
    open_slots: int = 1
    reviews_required: int = 1
    verdict_id: int | None = Field(default=None, foreign_key="verdict.id")
    created_ms: int = Field(sa_type=BigInteger)


class Slot(Table, table=True):
    """One reviewer's place at one item, with its lease; a reviewer who comes back takes the same place again.

    `units` is what the place costs while claimed or decided; once it is neither, `lease_until_ms` is when it was left.
    """

    __tablename__ = "slot"
    __table_args__ = (
        UniqueConstraint("item_id", "reviewer"),
        _one_of("status", SlotStatus),
        CheckConstraint("units >= 0", name="ck_slot_units"),
        Index(
            "ix_slot_lease",
            "lease_until_ms",
            sqlite_where=text("status = 'claimed'"),
            postgresql_where=text("status = 'claimed'"),
        ),
        Index("ix_slot_reviewer", "reviewer", "status"),
    )

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(foreign_key="item.id")
    budget_id: int = Field(foreign_key="budget.id")
    reviewer: str
    status: str
    token: str
    units: int = 1
    claimed_ms: int = Field(sa_type=BigInteger)
    lease_until_ms: int = Field(sa_type=BigInteger)


class Budget(Table, table=True):
    """The cap of one (run, trial), or of a participant's share of it (`scope`); a null cap is no cap."""

    __tablename__ = "budget"
    __table_args__ = (
        UniqueConstraint("run_id", "trial", "scope"),
        CheckConstraint("used >= 0 AND (cap IS NULL OR used <= cap)", name="ck_budget_cap"),
    )

    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    trial: int
    scope: str = ""
    cap: int | None = None
    used: int = 0
    halted: int = 0


class LedgerEntry(Table, table=True):
    """One movement of a budget: +1 `spend`, -1 `refund`, 0 `settle` at a decision; `reason` says what caused it."""

    __tablename__ = "ledger"
    __table_args__ = (Index("ix_ledger_budget", "budget_id"),)

    id: int | None = Field(default=None, primary_key=True)
    budget_id: int = Field(foreign_key="budget.id")
    item_id: int = Field(foreign_key="item.id")
    slot_id: int = Field(foreign_key="slot.id")
    reviewer: str
    entry: str
    reason: str
    units: int
    at_ms: int = Field(sa_type=BigInteger)


class Draft(Table, table=True):
    """What a reviewer has typed and not yet submitted."""

    __tablename__ = "draft"

    item_id: int = Field(primary_key=True, foreign_key="item.id")
    reviewer: str = Field(primary_key=True)
    feedback_text: str
    updated_ms: int = Field(sa_type=BigInteger)


class Decision(Table, table=True):
    """One revision of a reviewer's answer; a later revision or an undo marks it superseded, nothing is overwritten."""

    __tablename__ = "decision"
    __table_args__ = (
        UniqueConstraint("slot_id", "revision"),
        _one_of("decision", DecisionKind),
        Index("ix_decision_item", "item_id"),
        Index(
            "ux_decision_current",
            "slot_id",
            unique=True,
            sqlite_where=text("NOT superseded"),
            postgresql_where=text("NOT superseded"),
        ),
        Index(
            "ix_decision_undelivered",
            "deliverable_ms",
            sqlite_where=text("delivered_ms IS NULL AND NOT superseded"),
            postgresql_where=text("delivered_ms IS NULL AND NOT superseded"),
        ),
    )

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(foreign_key="item.id")
    slot_id: int = Field(foreign_key="slot.id")
    reviewer: str
    annotator_kind: str = "human"
    decision: str
    label: str | None = None
    feedback_type: str
    feedback_text: str = ""
    edited_action: str | None = None
    action_digest: str
    submit_key: str = Field(unique=True)
    revision: int = 1
    superseded: bool = False
    budget_cap: int | None = None
    budget_used: int
    claimed_ms: int = Field(sa_type=BigInteger)
    decided_ms: int = Field(sa_type=BigInteger)
    withdrawn_ms: int | None = Field(default=None, sa_type=BigInteger)
    deliverable_ms: int = Field(sa_type=BigInteger)
    delivered_ms: int | None = Field(default=None, sa_type=BigInteger)


class Event(Table, table=True):
    """What happened, in order, for audit and for the events export."""

    __tablename__ = "event"
    __table_args__ = (Index("ix_event_run", "run_id"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: int | None = Field(default=None, foreign_key="run.id")
    at_ms: int = Field(sa_type=BigInteger)
    actor: str
    kind: str
    subject: str = ""
    detail: str = "{}"


class Memory(Table, table=True):
    """What one trial left for the next ones: a reviewer's words as they are, or the Actor's own reflection."""

    __tablename__ = "memory"
    __table_args__ = (UniqueConstraint("decision_id"), Index("ix_memory_task", "task_id", "trial"))

    id: int | None = Field(default=None, primary_key=True)
    task_id: int = Field(foreign_key="task.id")
    trial: int
    decision_id: int = Field(foreign_key="decision.id")
    origin: str
    text: str
    created_ms: int = Field(sa_type=BigInteger)


class Intent(Table, table=True):
    """That a critical action is about to run, written before it does; without a result nobody knows whether it ran."""

    __tablename__ = "intent"
    __table_args__ = (UniqueConstraint("trajectory_id", "step"),)

    id: int | None = Field(default=None, primary_key=True)
    trajectory_id: int = Field(foreign_key="trajectory.id")
    step: int
    action: str
    action_digest: str
    decision_id: int | None = Field(default=None, foreign_key="decision.id")
    started_ms: int = Field(sa_type=BigInteger)
    finished_ms: int | None = Field(default=None, sa_type=BigInteger)


class Ask(Table, table=True):
    """One question of somebody's agent at the gate, known by what it asked; asked again, it is the same row."""

    __tablename__ = "ask"
    __table_args__ = (UniqueConstraint("run_id", "digest"), Index("ix_ask_trajectory", "trajectory_id"))

    id: int | None = Field(default=None, primary_key=True)
    run_id: int = Field(foreign_key="run.id")
    digest: str
    trajectory_id: int = Field(foreign_key="trajectory.id")
    item_id: int | None = Field(default=None, foreign_key="item.id")
    asked_ms: int = Field(sa_type=BigInteger)
    heartbeat_ms: int = Field(sa_type=BigInteger)
    deadline_ms: int | None = Field(default=None, sa_type=BigInteger)
    answer: str | None = None
    answered_ms: int | None = Field(default=None, sa_type=BigInteger)


class WebhookDelivery(Table, table=True):
    """A decision on its way to somebody's server; tried again until it is taken or given up."""

    __tablename__ = "webhook_delivery"
    __table_args__ = (
        UniqueConstraint("decision_id", "url"),
        Index(
            "ix_webhook_due",
            "next_ms",
            sqlite_where=text("delivered_ms IS NULL"),
            postgresql_where=text("delivered_ms IS NULL"),
        ),
    )

    id: int | None = Field(default=None, primary_key=True)
    decision_id: int = Field(foreign_key="decision.id")
    url: str
    attempts: int = 0
    next_ms: int = Field(sa_type=BigInteger)
    delivered_ms: int | None = Field(default=None, sa_type=BigInteger)
    failure: str = ""
