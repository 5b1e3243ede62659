"""All tables, one module per package of the console. Times are milliseconds since 1970 UTC (`*_ms`); JSON is text."""

from storage.tables.audit import ChainEnd, DatabaseKey, Event, EventLink, RowSalt
from storage.tables.base import Table
from storage.tables.loop import (
    Allowed,
    AllowedCheck,
    Ask,
    CarriedCheck,
    Intent,
    LimitUse,
    Memory,
    NoticeChannel,
    Outbox,
    PlanVersion,
    Policy,
    ReplacedPolicy,
    Worker,
    WorkerStatus,
)
from storage.tables.people import Agent, AgentOwner, GroupMember, Invitation, Person, PersonSession, SavedView
from storage.tables.queue import (
    IS_CURRENT,
    TAKEN,
    UNREVIEWED,
    AuditDraw,
    Budget,
    Decision,
    DecisionKind,
    Draft,
    Item,
    ItemReviewer,
    ItemStatus,
    LedgerEntry,
    LineCorrection,
    Note,
    SeededItem,
    Slot,
    SlotStatus,
)
from storage.tables.runs import (
    LiveSpan,
    LogImport,
    Run,
    RunAccess,
    RunKind,
    StoredPicture,
    Task,
    Trajectory,
    TrajectoryBody,
    Verdict,
)
from storage.tables.studies import (
    Adjudication,
    Assignment,
    AssignmentStatus,
    Confidence,
    PageEvent,
    Participant,
    ParticipantKind,
    Probe,
    ProbePurpose,
    QuestionnaireAnswer,
    Study,
    StudyInvitation,
    StudyStatus,
)
