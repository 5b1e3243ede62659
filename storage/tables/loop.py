"""Tables around a decision: memories, execution intents, gate checks, policies, the outbox, its channels, workers."""

from enum import StrEnum

from sqlalchemy import DDL, BigInteger, Index, UniqueConstraint, event, text
from sqlmodel import Field

from storage.tables.base import NumberedTable, one_of


class Memory(NumberedTable, table=True):
    """A memory from one trial for later trials: a reviewer's feedback, or the Actor's own reflection.

    `rationale` is `sent` if the reasons of the detector were added, otherwise `withheld`; NULL in older rows.
    """

    __tablename__ = "memory"
    __table_args__ = (UniqueConstraint("decision_id"), Index("ix_memory_task", "task_id", "trial"))

    task_id: int = Field(foreign_key="task.id")
    trial: int
    decision_id: int = Field(foreign_key="decision.id")
    origin: str
    text: str
    created_ms: int = Field(sa_type=BigInteger)
    rationale: str | None = None


class Intent(NumberedTable, table=True):
    """The start of a critical action; if the result is missing, it is unknown whether the action ran.

    `result_digest` is the SHA-256 of the result reported by the agent; the text is in the trajectory.
    """

    __tablename__ = "intent"
    __table_args__ = (UniqueConstraint("trajectory_id", "step"),)

    trajectory_id: int = Field(foreign_key="trajectory.id")
    step: int
    action: str
    action_digest: str
    decision_id: int | None = Field(default=None, foreign_key="decision.id")
    started_ms: int = Field(sa_type=BigInteger)
    finished_ms: int | None = Field(default=None, sa_type=BigInteger)
    result_digest: str | None = None


class Ask(NumberedTable, table=True):
    """One check by an agent at the gate, identified by its content; a repeated check uses the same row.

    `token` is the check's id for the agent. `action` may run after the agent has reported its start (an intent).
    `beats` is true if the agent sends heartbeats while it waits. `agent_id` is null if the check came from a process
    with access to the database.
    """

    __tablename__ = "ask"
    __table_args__ = (
        UniqueConstraint("run_id", "digest"),
        UniqueConstraint("token"),
        Index("ix_ask_trajectory", "trajectory_id"),
        Index("ix_ask_item", "item_id"),
        Index(
            "ix_ask_open",
            "deadline_ms",
            sqlite_where=text("answer IS NULL AND item_id IS NOT NULL"),
            postgresql_where=text("answer IS NULL AND item_id IS NOT NULL"),
        ),
    )

    run_id: int = Field(foreign_key="run.id")
    digest: str
    trajectory_id: int = Field(foreign_key="trajectory.id")
    item_id: int | None = Field(default=None, foreign_key="item.id")
    asked_ms: int = Field(sa_type=BigInteger)
    heartbeat_ms: int = Field(sa_type=BigInteger)
    deadline_ms: int | None = Field(default=None, sa_type=BigInteger)
    answer: str | None = None
    answered_ms: int | None = Field(default=None, sa_type=BigInteger)
    token: str
    step: int
    agent_id: int | None = Field(default=None, foreign_key="agent.id")
    asker: str = ""
    beats: bool = False
    action: str | None = None
    decision_id: int | None = Field(default=None, foreign_key="decision.id")
    policy_version: int | None = None
    rule: str | None = None
    tool: str | None = None


class Policy(NumberedTable, table=True):
    """One version of a run's policy, or of the common policy (no `run_id`); a change adds a version.

    `text` is YAML in the format of `console.gate.policy`.
    """

    __tablename__ = "policy"
    __table_args__ = (UniqueConstraint("run_id", "version"),)

    run_id: int | None = Field(default=None, foreign_key="run.id")
    version: int
    text: str
    digest: str
    author: str
    created_ms: int = Field(sa_type=BigInteger)


class CarriedCheck(NumberedTable, table=True):
    """A check that a restore carried over from the replaced database: its action began, or reviewers rejected it.

    `run` is the run's name, `token` the check's id, and `digest` identifies the request. `answer` is the answer to the
    agent, or null if the agent received no answer.
    """

    __tablename__ = "carried_check"
    __table_args__ = (UniqueConstraint("token"), Index("ix_carried_check_run", "run"))

    run: str
    token: str
    digest: str
    agent_id: int | None = Field(default=None, foreign_key="agent.id")
    task_key: str
    instruction_digest: str
    trial: int
    step: int
    action_digest: str
    begun: bool
    answer: str | None = None
    feedback_text: str = ""
    reason_codes: str = ""
    at_ms: int = Field(sa_type=BigInteger)
    marked_steps: str | None = None


class ReplacedPolicy(NumberedTable, table=True):
    """A policy version of a database that a restore replaced; it also applies until a person chooses a policy.

    `epoch` is the epoch after the restore. `run` is the run's name, or `*` for the common policy. `chosen_ms` is the
    time of the choice, after which the run's rows of this epoch no longer apply.
    """

    __tablename__ = "replaced_policy"
    __table_args__ = (UniqueConstraint("epoch", "run", "version"),)

    epoch: int
    run: str
    version: int
    text: str
    digest: str
    author: str
    created_ms: int = Field(sa_type=BigInteger)
    chosen_ms: int | None = Field(default=None, sa_type=BigInteger)


class Allowed(NumberedTable, table=True):
    """The number of a tool's calls that a rule allowed immediately; `AllowedCheck` stores the individual calls."""

    __tablename__ = "allowed"
    __table_args__ = (UniqueConstraint("run_id", "policy_id", "rule", "tool"),)

    run_id: int = Field(foreign_key="run.id")
    policy_id: int = Field(foreign_key="policy.id")
    rule: str
    tool: str
    checks: int


class LimitUse(NumberedTable, table=True):
    """The amount that one action uses of a rule's limit: `scope`, `rule` and `counted_by` identify the counter.

    `token` is the token of the action's check, for a refund; null if the policy allowed the action immediately.
    """

    __tablename__ = "limit_use"
    __table_args__ = (Index("ix_limit_use_counter", "scope", "rule", "counted_by", "at_ms"),)

    run_id: int = Field(foreign_key="run.id")
    scope: str
    rule: str
    counted_by: str
    amount: float
    token: str | None = None
    at_ms: int = Field(sa_type=BigInteger)


class AllowedCheck(NumberedTable, table=True):
    """One check that the policy allowed immediately, kept for the number of days in `keep_allowed_days`."""

    __tablename__ = "allowed_check"
    __table_args__ = (Index("ix_allowed_check_run", "run_id"), Index("ix_allowed_check_at", "at_ms"))

    run_id: int = Field(foreign_key="run.id")
    tool: str
    action_digest: str
    rule: str
    policy_version: int
    agent: str
    at_ms: int = Field(sa_type=BigInteger)


class WorkerStatus(StrEnum):
    """The status of a worker: `working`, `draining` (it ends after its job) or `stopped`."""

    WORKING = "working"
    DRAINING = "draining"
    STOPPED = "stopped"


class Worker(NumberedTable, table=True):
    """A worker process with its last heartbeat; `job` is the run that it continues now, or empty."""

    __tablename__ = "worker"
    __table_args__ = (one_of("status", WorkerStatus),)

    name: str
    status: str = WorkerStatus.WORKING
    job: str = ""
    jobs_done: int = 0
    failure: str = ""
    started_ms: int = Field(sa_type=BigInteger)
    seen_ms: int = Field(sa_type=BigInteger)


class PlanVersion(NumberedTable, table=True):
    """One version of a plan for all tasks of a type; only `pinned` can change, and at most one version is pinned.

    `lineage` is JSON, one entry per line of the text; `training` is JSON: the source and method of the training.
    """

    __tablename__ = "plan_version"
    __table_args__ = (UniqueConstraint("name", "task_type", "version"),)

    name: str
    environment: str
    task_type: str
    version: int
    text: str
    author: str
    lineage: str
    training: str
    pinned: bool = False
    created_ms: int = Field(sa_type=BigInteger)


class Outbox(NumberedTable, table=True):
    """A message to send: one row per event, subject and channel, retried until accepted or given up.

    `subject_id` is the id of a decision or of an item, depending on the event. While `is_open` is true, later events of
    the subject go to the same channel. The view `webhook_delivery` shows the decisions sent to webhooks.
    """

    __tablename__ = "outbox"
    __table_args__ = (
        UniqueConstraint("subject_id", "event", "channel"),
        Index(
            "ix_outbox_due",
            "channel",
            "next_ms",
            sqlite_where=text("delivered_ms IS NULL"),
            postgresql_where=text("delivered_ms IS NULL"),
        ),
        Index("ix_outbox_open", "channel", sqlite_where=text("is_open"), postgresql_where=text("is_open")),
    )

    event: str
    subject_id: int
    channel: str
    created_ms: int = Field(sa_type=BigInteger)
    attempts: int = 0
    next_ms: int = Field(sa_type=BigInteger)
    delivered_ms: int | None = Field(default=None, sa_type=BigInteger)
    failure: str = ""
    is_open: bool = False


WEBHOOK_DELIVERY = """
CREATE VIEW webhook_delivery AS
SELECT id, subject_id AS decision_id, substr(channel, 9) AS url, attempts, next_ms, delivered_ms, failure
FROM outbox WHERE event = 'decision.made'"""
"""The view of the decisions sent to webhooks, with the columns of the former table `webhook_delivery`."""
event.listen(Outbox.__table__, "after_create", DDL(WEBHOOK_DELIVERY))  # type: ignore[attr-defined, no-untyped-call]


class NoticeChannel(NumberedTable, table=True):
    """A person's channel for notices: `kind` is webhook, mail, slack or apprise, `address` is the destination.

    The address and the signing `secret` are secrets. `run_ids` is a JSON list of runs, empty for all runs with waiting
    agents. `events` are words joined by commas; `quiet` is `HH:MM-HH:MM` in `time_zone`, or empty. Items created before
    `since_ms` cause no notice. `old_secret` signs beside `secret` until `old_until_ms`. `next_ms` is the earliest time
    of the next message, `used_ms` that of the last message.
    """

    __tablename__ = "notice_channel"
    __table_args__ = (Index("ix_notice_channel_person", "person_id"),)

    person_id: int = Field(foreign_key="person.id")
    kind: str
    address: str
    secret: str = ""
    old_secret: str | None = None
    old_until_ms: int | None = Field(default=None, sa_type=BigInteger)
    run_ids: str = "[]"
    events: str
    quiet: str = ""
    time_zone: str = "UTC"
    language: str = "en"
    muted: bool = False
    since_ms: int = Field(sa_type=BigInteger)
    next_ms: int = Field(default=0, sa_type=BigInteger)
    used_ms: int | None = Field(default=None, sa_type=BigInteger)
    failure: str = ""
