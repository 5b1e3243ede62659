"""What happens around a decision: memories, execution intents, agents and their questions, deliveries."""

from sqlalchemy import BigInteger, Index, UniqueConstraint, text
from sqlmodel import Field

from storage.tables.base import NumberedTable


class Memory(NumberedTable, table=True):
    """What one trial left for the next ones: a reviewer's words as they are, or the Actor's own reflection."""

    __tablename__ = "memory"
    __table_args__ = (UniqueConstraint("decision_id"), Index("ix_memory_task", "task_id", "trial"))

    task_id: int = Field(foreign_key="task.id")
    trial: int
    decision_id: int = Field(foreign_key="decision.id")
    origin: str
    text: str
    created_ms: int = Field(sa_type=BigInteger)


class Intent(NumberedTable, table=True):
    """That a critical action is about to run, written before it does; without a result nobody knows whether it ran."""

    __tablename__ = "intent"
    __table_args__ = (UniqueConstraint("trajectory_id", "step"),)

    trajectory_id: int = Field(foreign_key="trajectory.id")
    step: int
    action: str
    action_digest: str
    decision_id: int | None = Field(default=None, foreign_key="decision.id")
    started_ms: int = Field(sa_type=BigInteger)
    finished_ms: int | None = Field(default=None, sa_type=BigInteger)


class Agent(NumberedTable, table=True):
    """Somebody's agent that asks over HTTP; `name_key` is its name casefolded, `token_hash` its token's SHA-256."""

    __tablename__ = "agent"
    __table_args__ = (UniqueConstraint("name_key"), UniqueConstraint("token_hash"))

    name: str
    name_key: str
    token_hash: str
    created_ms: int = Field(sa_type=BigInteger)
    disabled_ms: int | None = Field(default=None, sa_type=BigInteger)
    seen_ms: int | None = Field(default=None, sa_type=BigInteger)


class Ask(NumberedTable, table=True):
    """One question of somebody's agent at the gate, known by what it asked; asked again, it is the same row.

    `token` is its name to the agent. `action` may run, once somebody says that it begins (its intent). `beats` says
    that the agent waits with a heartbeat. Without an `agent_id` it came from a process that has the database open.
    """

    __tablename__ = "ask"
    __table_args__ = (
        UniqueConstraint("run_id", "digest"),
        UniqueConstraint("token"),
        Index("ix_ask_trajectory", "trajectory_id"),
        Index("ix_ask_item", "item_id"),
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
    """One version of a run's rules, or of those for every run that has none (no `run_id`); never changed, only added.

    `text` is YAML, as `console.gate.policy` reads it.
    """

    __tablename__ = "policy"
    __table_args__ = (UniqueConstraint("run_id", "version"),)

    run_id: int | None = Field(default=None, foreign_key="run.id")
    version: int
    text: str
    digest: str
    author: str
    created_ms: int = Field(sa_type=BigInteger)


class Allowed(NumberedTable, table=True):
    """How often a rule let a tool's calls run at once; nothing else is stored of them."""

    __tablename__ = "allowed"
    __table_args__ = (UniqueConstraint("run_id", "policy_id", "rule", "tool"),)

    run_id: int = Field(foreign_key="run.id")
    policy_id: int = Field(foreign_key="policy.id")
    rule: str
    tool: str
    checks: int


class PlanVersion(NumberedTable, table=True):
    """One version of a plan for all tasks of a type; never changed but for `pinned`: of each plan one at most is.

    `lineage` is JSON, an entry a line of the text; `training` is JSON, what the plan was learnt from and how.
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


class WebhookDelivery(NumberedTable, table=True):
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

    decision_id: int = Field(foreign_key="decision.id")
    url: str
    attempts: int = 0
    next_ms: int = Field(sa_type=BigInteger)
    delivered_ms: int | None = Field(default=None, sa_type=BigInteger)
    failure: str = ""
