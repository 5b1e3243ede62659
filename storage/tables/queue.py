"""Tables of the review queue: items, slots, budgets with their ledger, drafts and decisions."""

from enum import StrEnum

from sqlalchemy import DDL, BigInteger, CheckConstraint, Index, UniqueConstraint, event, text
from sqlmodel import Field

from storage import never_executed
from storage.tables.base import NumberedTable, Table, one_of

IS_CURRENT = "NOT superseded"
"""The SQL condition for a current decision: neither undone nor revised."""
IS_TAKEN = "open_slots = 0 OR open_slots < reviews_required"
"""The SQL condition for an item that can have a current decision."""


class ItemStatus(StrEnum):
    """The status of an item.

    `pending`: a slot is free; `claimed`: no slot is free, and a claim is live. `decided`: all required reviews are
    done; `delivered`: the agent has the decisions. `expired` and `cancelled` items are no longer in the queue.
    """

    PENDING = "pending"
    CLAIMED = "claimed"
    DECIDED = "decided"
    DELIVERED = "delivered"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


UNREVIEWED = (ItemStatus.PENDING, ItemStatus.CLAIMED)
"""The statuses of an item that still lacks a review."""


class SlotStatus(StrEnum):
    """The status of a reviewer's slot at an item. Only `claimed` and `decided` occupy the slot."""

    CLAIMED = "claimed"
    DECIDED = "decided"
    SKIPPED = "skipped"
    RELEASED = "released"
    LAPSED = "lapsed"


TAKEN = (SlotStatus.CLAIMED, SlotStatus.DECIDED)
"""The statuses of a slot that a reviewer took."""


class DecisionKind(StrEnum):
    """A reviewer's decision; only approve and edit allow an action to run."""

    APPROVE = "approve"
    REJECT = "reject"
    EDIT = "edit"
    RESPOND = "respond"
    ESCALATE = "escalate"


class Item(NumberedTable, table=True):
    """A checkpoint in the review queue. `open_slots` counts the required reviews without a claim.

    `terms` is JSON: the `decisions` that a rule offers, `who` may decide, and the allowed entry points (`doors`). A
    missing term sets no limit.
    """

    __tablename__ = "item"
    __table_args__ = (
        UniqueConstraint("trajectory_id", "step", "kind"),
        one_of("status", ItemStatus),
        CheckConstraint("open_slots >= 0 AND open_slots <= reviews_required", name="ck_item_open_slots"),
        Index(
            "ix_item_ready",
            "run_id",
            "trial",
            text("priority DESC"),
            "id",
            "open_slots",
            sqlite_where=text("open_slots > 0"),
            postgresql_where=text("open_slots > 0"),
        ),
        Index("ix_item_run_status", "run_id", "trial", "status", "created_ms"),
        Index("ix_item_trajectory", "run_id", "trial", "trajectory_id", "kind", "reviews_required"),
        Index(
            "ix_item_taken",
            *("run_id", "trial", "trajectory_id", "open_slots", "reviews_required"),
            sqlite_where=text(IS_TAKEN),
            postgresql_where=text(IS_TAKEN),
        ),
    )

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
    terms: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})


class Slot(NumberedTable, table=True):
    """One reviewer's slot at one item, with its lease; a returning reviewer takes the same slot again.

    `units` is the cost of the slot while it is claimed or decided. After a release, `lease_until_ms` is the time of the
    release; after a skip, it is the time when the item returns to the normal order.
    """

    __tablename__ = "slot"
    __table_args__ = (
        UniqueConstraint("item_id", "reviewer"),
        one_of("status", SlotStatus),
        CheckConstraint("units >= 0", name="ck_slot_units"),
        Index(
            "ix_slot_lease",
            "lease_until_ms",
            sqlite_where=text("status = 'claimed'"),
            postgresql_where=text("status = 'claimed'"),
        ),
        Index("ix_slot_reviewer", "reviewer", "status"),
    )

    item_id: int = Field(foreign_key="item.id")
    budget_id: int = Field(foreign_key="budget.id")
    reviewer: str
    status: str
    token: str
    units: int = 1
    claimed_ms: int = Field(sa_type=BigInteger)
    lease_until_ms: int = Field(sa_type=BigInteger)


class Budget(NumberedTable, table=True):
    """The cap of one (run, trial), or of a participant's share of the budget (`scope`); null means no cap."""

    __tablename__ = "budget"
    __table_args__ = (
        UniqueConstraint("run_id", "trial", "scope"),
        CheckConstraint("used >= 0 AND (cap IS NULL OR used <= cap)", name="ck_budget_cap"),
    )

    run_id: int = Field(foreign_key="run.id")
    trial: int
    scope: str = ""
    cap: int | None = None
    used: int = 0
    halted: int = 0


class LedgerEntry(NumberedTable, table=True):
    """One entry in a budget's ledger: +1 `spend`, -1 `refund`, or 0 `settle` at a decision; `reason` is the cause."""

    __tablename__ = "ledger"
    __table_args__ = (Index("ix_ledger_budget_time", "budget_id", "at_ms", "units"),)

    budget_id: int = Field(foreign_key="budget.id")
    item_id: int = Field(foreign_key="item.id")
    slot_id: int = Field(foreign_key="slot.id")
    reviewer: str
    entry: str
    reason: str
    units: int
    at_ms: int = Field(sa_type=BigInteger)


class Draft(Table, table=True):
    """A reviewer's input before submission.

    `edit` is JSON: the raw text of each field of the reviewer's edited action. `marked_steps` and `answers` are JSON,
    as in a decision.
    """

    __tablename__ = "draft"

    item_id: int = Field(primary_key=True, foreign_key="item.id")
    reviewer: str = Field(primary_key=True)
    feedback_text: str
    updated_ms: int = Field(sa_type=BigInteger)
    reason_codes: str = Field(default="", sa_column_kwargs={"server_default": ""})
    edit: str = Field(default="", sa_column_kwargs={"server_default": ""})
    marked_steps: str = Field(default="", sa_column_kwargs={"server_default": ""})
    answers: str = Field(default="", sa_column_kwargs={"server_default": ""})


class Note(NumberedTable, table=True):
    """A reviewer's note to other reviewers about an item; agents never receive notes.

    A note with a `decision_id` escalates the item, to any reviewer or to the `addressee`.
    """

    __tablename__ = "note"
    __table_args__ = (Index("ix_note_item", "item_id"),)

    item_id: int = Field(foreign_key="item.id")
    decision_id: int | None = Field(default=None, foreign_key="decision.id")
    author: str
    addressee: str = ""
    text: str
    created_ms: int = Field(sa_type=BigInteger)


class LineCorrection(NumberedTable, table=True):
    """A reviewer's correction of a detector's requirement line: the user did not ask for this requirement.

    `line` is the line as JSON, as shown to the reviewer, and `line_key` its digest; undo sets `withdrawn_ms`.
    """

    __tablename__ = "line_correction"
    __table_args__ = (Index("ix_line_correction_item", "item_id"),)

    item_id: int = Field(foreign_key="item.id")
    detector: str
    model: str | None = None
    reviewer: str
    line_key: str
    line: str
    created_ms: int = Field(sa_type=BigInteger)
    withdrawn_ms: int | None = Field(default=None, sa_type=BigInteger)


class ItemReviewer(Table, table=True):
    """The person to whom a researcher assigned the item; other reviewers get no offer of the item."""

    __tablename__ = "item_reviewer"
    __table_args__ = (Index("ix_item_reviewer_reviewer", "reviewer"),)

    item_id: int = Field(primary_key=True, foreign_key="item.id")
    reviewer: str
    assigned_by: str
    assigned_ms: int = Field(sa_type=BigInteger)


class AuditDraw(NumberedTable, table=True):
    """One unflagged action, with the random number (0 to 1) that determines whether reviewers audit it.

    Reviewers audit the action if the number is below the `probability`; an action's number never changes.
    """

    __tablename__ = "audit_draw"
    __table_args__ = (UniqueConstraint("trajectory_id", "step", "kind"), Index("ix_audit_draw_run", "run_id"))

    run_id: int = Field(foreign_key="run.id")
    trajectory_id: int = Field(foreign_key="trajectory.id")
    step: int
    kind: str
    score: float
    probability: float
    number: float
    at_ms: int = Field(sa_type=BigInteger)


class SeededItem(Table, table=True):
    """The mark of an item with a known answer: its trajectory may never execute (`storage.never_executed`).

    `expected` is the correct label and `source_id` the copied trajectory. `reviewers` is a JSON list of the people
    whose decisions gave the answer.
    """

    __tablename__ = "seeded_item"
    __table_args__ = (UniqueConstraint("trajectory_id"),)

    item_id: int = Field(primary_key=True, foreign_key="item.id")
    trajectory_id: int = Field(foreign_key="trajectory.id")
    source_id: int
    expected: str
    reviewers: str
    created_ms: int = Field(sa_type=BigInteger)


for _statements, _dialect in ((never_executed.SQLITE, "sqlite"), (never_executed.POSTGRESQL, "postgresql")):
    for _statement in _statements:
        _trigger = DDL(_statement).execute_if(dialect=_dialect)  # type: ignore[no-untyped-call]
        event.listen(Table.metadata, "after_create", _trigger)


class Decision(NumberedTable, table=True):
    """One revision of a reviewer's decision; a later revision or an undo marks it superseded.

    A decision from a log (its door is `import`) has no slot. `door` is its entry point, `seen_digest` the digest of the
    text shown to the reviewer; `reason_codes` are the reviewer's reasons, separated by blanks. `marked_steps` is a JSON
    list of the steps that the reviewer marked as wrong. `answers` is a JSON object of the answers to the run's
    questions. Both are null if empty.
    """

    __tablename__ = "decision"
    __table_args__ = (
        UniqueConstraint("slot_id", "revision"),
        one_of("decision", DecisionKind),
        Index("ix_decision_item", "item_id"),
        Index("ix_decision_reviewer", "reviewer", "id"),
        Index(
            "ux_decision_current",
            "slot_id",
            unique=True,
            sqlite_where=text(IS_CURRENT),
            postgresql_where=text(IS_CURRENT),
        ),
        Index(
            "ix_decision_undelivered",
            "deliverable_ms",
            sqlite_where=text(f"delivered_ms IS NULL AND {IS_CURRENT}"),
            postgresql_where=text(f"delivered_ms IS NULL AND {IS_CURRENT}"),
        ),
    )

    item_id: int = Field(foreign_key="item.id")
    slot_id: int | None = Field(default=None, foreign_key="slot.id")
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
    door: str = Field(default="browser", sa_column_kwargs={"server_default": "browser"})
    seen_digest: str | None = None
    reason_codes: str = Field(default="", sa_column_kwargs={"server_default": ""})
    marked_steps: str | None = None
    answers: str | None = None
