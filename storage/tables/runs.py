"""Tables of runs, tasks, trajectories and verdicts."""

from enum import StrEnum

from sqlalchemy import BigInteger, Index, UniqueConstraint, text
from sqlmodel import Field

from storage.tables.base import NumberedTable, Table, one_of


class RunKind(StrEnum):
    """The kind of a run.

    `archive`: imported logs; `replay`: a log that is replayed trial by trial; `live`: a run of Actors; `gate`: a user's
    own agent.
    """

    ARCHIVE = "archive"
    REPLAY = "replay"
    LIVE = "live"
    GATE = "gate"


class Run(NumberedTable, table=True):
    """A batch of tasks with its Actor, routing detector, budget, feedback mode and number of trials.

    A run with a `study_id` belongs to one participant of that study and does not appear in lists of runs. `tags` is a
    JSON list of words. An archived run (`archived_ms`) does not appear either, but keeps all its data. `hold` is the
    reason of a legal hold, or null.
    """

    __tablename__ = "run"
    __table_args__ = (one_of("kind", RunKind), Index("ix_run_study", "study_id"))

    name: str = Field(unique=True)
    kind: str
    environment: str
    actor: str | None = None
    source_run_id: int | None = Field(default=None, foreign_key="run.id")
    study_id: int | None = Field(default=None, foreign_key="study.id")
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
    tags: str = Field(default="[]", sa_column_kwargs={"server_default": "[]"})
    archived_ms: int | None = Field(default=None, sa_type=BigInteger)
    hold: str | None = None


class RunAccess(NumberedTable, table=True):
    """A person or a group (`group:NAME`) who may review the run; a run without rows is open to every reviewer."""

    __tablename__ = "run_access"
    __table_args__ = (UniqueConstraint("run_id", "entry_key"),)

    run_id: int = Field(foreign_key="run.id")
    entry: str
    entry_key: str


class LogImport(NumberedTable, table=True):
    """One import of a log file into a run, stored for a later undo; `imported` counts the import's trajectories."""

    __tablename__ = "log_import"
    __table_args__ = (Index("ix_log_import_run", "run_id"),)

    run_id: int = Field(foreign_key="run.id")
    file: str
    imported: int = 0
    created_ms: int = Field(sa_type=BigInteger)
    undone_ms: int | None = Field(default=None, sa_type=BigInteger)


class Task(NumberedTable, table=True):
    """A user's instruction to the agent."""

    __tablename__ = "task"
    __table_args__ = (UniqueConstraint("run_id", "task_key", "instruction_digest"),)

    run_id: int = Field(foreign_key="run.id")
    task_key: str
    environment: str
    instruction: str
    instruction_digest: str
    gold: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})
    options: str = Field(default="{}", sa_column_kwargs={"server_default": "{}"})


class Trajectory(NumberedTable, table=True):
    """One trial of one task. `recorded_outcome` is the outcome in the log, and `outcome` the current one."""

    __tablename__ = "trajectory"
    __table_args__ = (
        UniqueConstraint("run_id", "digest"),
        Index("ix_trajectory_run", "run_id", "id"),
        Index("ix_trajectory_run_outcome", "run_id", "trial", "outcome", "carried_over", "released_by"),
        Index("ix_trajectory_task", "task_id", "trial"),
        Index("ix_trajectory_import", "import_id"),
    )

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
    import_id: int | None = Field(default=None, foreign_key="log_import.id")


class TrajectoryBody(Table, table=True):
    """The canonical JSON of a trajectory, in a separate table to keep the queue's rows narrow."""

    __tablename__ = "trajectory_body"

    trajectory_id: int = Field(primary_key=True, foreign_key="trajectory.id")
    body: str


class LiveSpan(NumberedTable, table=True):
    """A span that an agent sent over OTLP, as JSON in `body`; `built_ms` is the time of its trace's last conversion.

    The table stores a repeated span once. The arrival of a span with `is_root` ends the trace.
    """

    __tablename__ = "live_span"
    __table_args__ = (
        UniqueConstraint("run_id", "trace_id", "span_id"),
        Index(
            "ix_live_span_waiting",
            "run_id",
            "trace_id",
            sqlite_where=text("built_ms IS NULL"),
            postgresql_where=text("built_ms IS NULL"),
        ),
    )

    run_id: int = Field(foreign_key="run.id")
    trace_id: str
    span_id: str
    is_root: bool
    body: str
    received_ms: int = Field(sa_type=BigInteger)
    built_ms: int | None = Field(default=None, sa_type=BigInteger)


class StoredPicture(Table, table=True):
    """A picture from a log, stored once under the SHA-256 (hex) of its bytes, which determine `media_type`."""

    __tablename__ = "picture"

    digest: str = Field(primary_key=True)
    media_type: str
    data: bytes


class Verdict(NumberedTable, table=True):
    """A detector's verdict on one checkpoint.

    Requests, tokens, latency and cost (null: price unknown) belong to the model's replies for this verdict. If several
    detectors share a reply, each detector counts it. `requirements` is JSON: the requirement table, or null if the
    detector fills in no table. `score` is null if the model declined to judge; the checkpoint is then flagged.
    """

    __tablename__ = "verdict"
    __table_args__ = (
        UniqueConstraint("trajectory_id", "step", "kind", "detector"),
        Index("ix_verdict_run_detector", "run_id", "detector"),
    )

    run_id: int = Field(foreign_key="run.id")
    trajectory_id: int = Field(foreign_key="trajectory.id")
    step: int
    kind: str
    detector: str
    score: float | None = None
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
    requirements: str | None = None
