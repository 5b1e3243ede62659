"""Tables of user studies: designs, participants, assignments, probes, questionnaires, settled labels."""

from enum import StrEnum

from sqlalchemy import BigInteger, Index, UniqueConstraint
from sqlmodel import Field

from storage.tables.base import NumberedTable, Table, one_of


class StudyStatus(StrEnum):
    """The status of a study. `draft`: not yet open; `paused`: participants cannot continue; `closed`: ended."""

    DRAFT = "draft"
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class ParticipantKind(StrEnum):
    """The kind of a participant: a person, or a type of simulated reviewer."""

    HUMAN = "human"
    ORACLE = "oracle"
    NOISY = "noisy"
    RULES = "rules"


class AssignmentStatus(StrEnum):
    """The status of an assignment. `waiting`: not started; `working`: its runs exist; `done`: all trials are closed."""

    WAITING = "waiting"
    WORKING = "working"
    DONE = "done"


class ProbePurpose(StrEnum):
    """The purpose of an item with a known answer."""

    PRACTICE = "practice"
    ATTENTION = "attention"
    KNOWN_GOOD = "known-good"
    KNOWN_BAD = "known-bad"


class Study(NumberedTable, table=True):
    """A user study; `design` is the complete design as JSON in the format of `console.studies.design`."""

    __tablename__ = "study"
    __table_args__ = (one_of("status", StudyStatus),)

    name: str = Field(unique=True)
    design: str
    status: str = StudyStatus.DRAFT
    join_code: str = Field(unique=True)
    created_ms: int = Field(sa_type=BigInteger)
    opened_ms: int | None = Field(default=None, sa_type=BigInteger)
    closed_ms: int | None = Field(default=None, sa_type=BigInteger)


class Participant(NumberedTable, table=True):
    """One place in the allocation and its participant; a personal link identifies the participant.

    `secret` is the SHA-256 (hex) of the link's secret, null while the place is free. `code` is the pseudonym in
    exports. `answers` are the answers to questions outside items (JSON). `outside_id` is a keyed digest of the
    participant's id on a recruiting platform; `consent_version` is the accepted version of the consent text.
    """

    __tablename__ = "participant"
    __table_args__ = (
        UniqueConstraint("study_id", "code"),
        Index("ix_participant_study", "study_id", "number"),
        Index("ix_participant_outside", "study_id", "outside_id", unique=True),
        one_of("kind", ParticipantKind),
    )

    study_id: int = Field(foreign_key="study.id")
    number: int
    code: str
    kind: str = ParticipantKind.HUMAN
    rule: str = "{}"
    secret: str | None = Field(default=None, unique=True)
    stage: str = "free"
    answers: str = "{}"
    practice_run_id: int | None = Field(default=None, foreign_key="run.id")
    joined_ms: int | None = Field(default=None, sa_type=BigInteger)
    consented_ms: int | None = Field(default=None, sa_type=BigInteger)
    finished_ms: int | None = Field(default=None, sa_type=BigInteger)
    completion_code: str | None = None
    outside_id: str | None = None
    consent_version: str | None = None


class Assignment(NumberedTable, table=True):
    """One condition of one participant: its position in the participant's order, its run and its run of probes.

    `tasks` holds the keys of the condition's tasks (JSON); `levels` holds its level of each factor (JSON).
    """

    __tablename__ = "assignment"
    __table_args__ = (
        UniqueConstraint("participant_id", "position"),
        Index("ix_assignment_study", "study_id"),
        Index("ix_assignment_run", "run_id"),
        Index("ix_assignment_checks_run", "checks_run_id"),
        one_of("status", AssignmentStatus),
    )

    study_id: int = Field(foreign_key="study.id")
    participant_id: int = Field(foreign_key="participant.id")
    position: int
    condition: str
    levels: str
    tasks: str
    run_id: int | None = Field(default=None, foreign_key="run.id")
    checks_run_id: int | None = Field(default=None, foreign_key="run.id")
    status: str = AssignmentStatus.WAITING
    began_ms: int | None = Field(default=None, sa_type=BigInteger)
    ended_ms: int | None = Field(default=None, sa_type=BigInteger)


class Probe(NumberedTable, table=True):
    """An item with a known correct decision; shown after the participant has decided `after` items of the run."""

    __tablename__ = "probe"
    __table_args__ = (UniqueConstraint("item_id"), one_of("purpose", ProbePurpose), Index("ix_probe_study", "study_id"))

    study_id: int = Field(foreign_key="study.id")
    participant_id: int = Field(foreign_key="participant.id")
    assignment_id: int | None = Field(default=None, foreign_key="assignment.id")
    item_id: int = Field(foreign_key="item.id")
    purpose: str
    expected: str
    explanation: str = ""
    after: int = 0


class StudyInvitation(NumberedTable, table=True):
    """A link that opens one place of a study, once; `token` is the SHA-256 (hex) of the link's secret."""

    __tablename__ = "study_invitation"
    __table_args__ = (Index("ix_study_invitation_study", "study_id"),)

    study_id: int = Field(foreign_key="study.id")
    token: str = Field(unique=True)
    participant_id: int | None = Field(default=None, foreign_key="participant.id")
    created_ms: int = Field(sa_type=BigInteger)


class QuestionnaireAnswer(NumberedTable, table=True):
    """A participant's answer to one item of an instrument, collected after the condition `assignment_id`."""

    __tablename__ = "questionnaire_answer"
    __table_args__ = (
        Index("ix_questionnaire_answer_participant", "participant_id"),
        Index("ix_questionnaire_answer_study", "study_id"),
    )

    study_id: int = Field(foreign_key="study.id")
    participant_id: int = Field(foreign_key="participant.id")
    assignment_id: int | None = Field(default=None, foreign_key="assignment.id")
    moment: str
    instrument: str
    item: str
    answer: str
    at_ms: int = Field(sa_type=BigInteger)


class Confidence(Table, table=True):
    """A participant's confidence in one decision, on the design's scale (lowest value: 1)."""

    __tablename__ = "confidence"
    __table_args__ = (Index("ix_confidence_participant", "participant_id"),)

    decision_id: int = Field(primary_key=True, foreign_key="decision.id")
    participant_id: int = Field(foreign_key="participant.id")
    level: int
    at_ms: int = Field(sa_type=BigInteger)


class PageEvent(NumberedTable, table=True):
    """An event on an item's page, in a participant's browser: away and idle times, steps opened, scrolls, keys.

    `ms` is the time since the page showed the item; `lasted_ms` is the away or idle time. `detail` is a step's number,
    a key's name or a depth in percent, never typed text.
    """

    __tablename__ = "page_event"
    __table_args__ = (Index("ix_page_event_participant", "participant_id"), Index("ix_page_event_study", "study_id"))

    study_id: int = Field(foreign_key="study.id")
    participant_id: int = Field(foreign_key="participant.id")
    item_id: int = Field(foreign_key="item.id")
    kind: str
    detail: str = ""
    ms: int
    lasted_ms: int = 0
    at_ms: int = Field(sa_type=BigInteger)


class Adjudication(NumberedTable, table=True):
    """The final label of a checkpoint on which reviewers disagreed; the reviewers' own labels do not change.

    `unit` identifies the checkpoint within its study or run. A later revision replaces the previous one.
    """

    __tablename__ = "adjudication"
    __table_args__ = (
        UniqueConstraint("study_id", "run_id", "unit", "revision"),
        Index("ix_adjudication_study", "study_id"),
        Index("ix_adjudication_run", "run_id"),
    )

    study_id: int | None = Field(default=None, foreign_key="study.id")
    run_id: int | None = Field(default=None, foreign_key="run.id")
    unit: str
    revision: int = 1
    label: str
    note: str = ""
    adjudicator: str
    at_ms: int = Field(sa_type=BigInteger)
