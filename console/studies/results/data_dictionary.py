"""The data dictionary: every column of every table of results, what it means, in which unit, of which type.

A table of FRAMES is read from the database, exported and read back by these lines alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from console.runs.export.formats import Column, ColumnKind

FACTOR = "factor_"
"""Before the name of each factor of the design, as a column."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column: its name, the type of its cells, what they mean, and their unit where they have one.

    In a `filled` column of texts an empty cell is an empty text, elsewhere it is a missing one.
    """

    name: str
    kind: ColumnKind
    meaning: str
    unit: str = ""
    filled: bool = False


_TYPES = {
    ColumnKind.TEXT: "str",
    ColumnKind.JSON: "str",
    ColumnKind.INTEGER: "Int64",
    ColumnKind.NUMBER: "float64",
    ColumnKind.TRUTH: "boolean",
    ColumnKind.TIME: "datetime64[ms, UTC]",
}

_FACTORS = Field(
    FACTOR, ColumnKind.TEXT, "level of one factor of the condition; a column for each factor of the design"
)

_STUDY = Field("study", ColumnKind.TEXT, "name of the study")
_PARTICIPANT = Field("participant", ColumnKind.TEXT, "pseudonym of the participant")
_KIND = Field("annotator_kind", ColumnKind.TEXT, "human: a person; rule: a simulated reviewer")
_CONDITION = Field("condition", ColumnKind.TEXT, "name of the condition; empty for practice")
_POSITION = Field("position", ColumnKind.INTEGER, "place of the condition in the participant's order", "from 1")
_TRIAL = Field("trial", ColumnKind.INTEGER, "attempt of the Actor at the task", "from 0")
_ARM = (_STUDY, _PARTICIPANT, _KIND, _CONDITION, _FACTORS, _POSITION)
_DETECTOR = Field("detector", ColumnKind.TEXT, "which detector flagged the item")
_SCORE = Field("score", ColumnKind.NUMBER, "the detector's score of misalignment", "0 to 1")
_THRESHOLD = Field("threshold", ColumnKind.NUMBER, "scores above it are flagged", "0 to 1")
_FLAGGED = Field("flagged", ColumnKind.TRUTH, "whether the detector flagged it; missing where nothing was judged")
_GOLD = Field(
    "gold_label", ColumnKind.TEXT, "ground truth: of the source, or what the action leads to in the embedded world"
)
_CHECKPOINT = Field(
    "checkpoint", ColumnKind.TEXT, "what was decided on: action, end, or halted where the agent got stuck"
)

_DECISIONS = (
    Field("decision_id", ColumnKind.INTEGER, "number of the decision in the database"),
    *_ARM,
    Field("task_id", ColumnKind.TEXT, "key of the task"),
    Field("environment", ColumnKind.TEXT, "where the task takes place"),
    _TRIAL,
    _CHECKPOINT,
    Field(
        "unit", ColumnKind.TEXT, "task/step/checkpoint, the same for all participants; trial 0 of sampled tasks only"
    ),
    Field(
        "purpose",
        ColumnKind.TEXT,
        "empty for the study's own items; practice, attention, known-good or known-bad",
        filled=True,
    ),
    Field("expected", ColumnKind.TEXT, "the label that answers a practice, attention or seeded item rightly"),
    _DETECTOR,
    _SCORE,
    _THRESHOLD,
    _FLAGGED,
    Field("decision", ColumnKind.TEXT, "approve, reject, edit, respond or escalate"),
    Field(
        "label", ColumnKind.TEXT, "the participant's label: aligned or misaligned; missing where the decision has none"
    ),
    _GOLD,
    Field("adjudicated_label", ColumnKind.TEXT, "the label that was settled where reviewers disagreed"),
    Field("correct", ColumnKind.TRUTH, "label equals expected, else gold_label, else adjudicated_label"),
    Field("feedback_text", ColumnKind.TEXT, "the participant's words to the agent", filled=True),
    Field("feedback_words", ColumnKind.INTEGER, "their number", "words"),
    Field("lead_time_ms", ColumnKind.INTEGER, "from the claim of the item to the decision", "milliseconds"),
    Field("claimed_at", ColumnKind.TIME, "when the participant got the item", "UTC"),
    Field("decided_at", ColumnKind.TIME, "when the participant decided", "UTC"),
    Field(
        "session_minute",
        ColumnKind.NUMBER,
        "from the participant's first item to the decision; practice apart",
        "minutes",
    ),
    Field(
        "place_in_session", ColumnKind.INTEGER, "the how-many-th decision of the participant; practice apart", "from 1"
    ),
    Field("next_trial_outcome", ColumnKind.TEXT, "how the task's next trial ended; missing where there was none"),
)

_ITEMS = (
    Field("item_id", ColumnKind.INTEGER, "number of the item in the database"),
    *_ARM,
    Field("task_id", ColumnKind.TEXT, "key of the task"),
    _TRIAL,
    Field("step", ColumnKind.INTEGER, "the step that waited", "from 0"),
    _CHECKPOINT,
    Field("status", ColumnKind.TEXT, "pending, claimed, decided, delivered, expired or cancelled"),
    _DETECTOR,
    _SCORE,
    Field("probability", ColumnKind.NUMBER, "the detector's probability of misalignment, where it tells one", "0 to 1"),
    _THRESHOLD,
    _FLAGGED,
    _GOLD,
    Field("label", ColumnKind.TEXT, "the participant's label; missing where the item was not decided"),
    Field("decided_at", ColumnKind.TIME, "when the participant decided; missing where the item was not decided", "UTC"),
    Field("solved_later", ColumnKind.TRUTH, "whether a later trial of the task succeeded"),
)

_SUCCESS = (
    *_ARM,
    _TRIAL,
    Field("tasks", ColumnKind.INTEGER, "tasks of the condition", "tasks"),
    Field("solved_held", ColumnKind.INTEGER, "solved by this trial, undecided actions held back", "tasks"),
    Field("solved_paper", ColumnKind.INTEGER, "solved by this trial, undecided actions run after it closes", "tasks"),
    Field("closed", ColumnKind.TRUTH, "whether the trial is over for this participant and condition"),
)

_OUTCOMES = (
    *_ARM,
    Field("task_id", ColumnKind.TEXT, "key of the task"),
    _TRIAL,
    Field("solved_held", ColumnKind.TRUTH, "whether it was solved by this trial, undecided actions held back"),
    Field(
        "solved_paper", ColumnKind.TRUTH, "whether it was solved by this trial, undecided actions run after it closes"
    ),
    Field("closed", ColumnKind.TRUTH, "whether the trial is over for this participant and condition"),
)

_PARTICIPANTS = (
    _STUDY,
    _PARTICIPANT,
    _KIND,
    Field("reviewer_kind", ColumnKind.TEXT, "human, oracle, noisy or rules"),
    Field("stage", ColumnKind.TEXT, "how far the participant has come"),
    Field("joined_at", ColumnKind.TIME, "when they joined", "UTC"),
    Field("finished_at", ColumnKind.TIME, "when they finished", "UTC"),
    Field("conditions_done", ColumnKind.INTEGER, "conditions that are over", "conditions"),
    Field("decisions", ColumnKind.INTEGER, "standing decisions, practice and checks among them", "decisions"),
    Field("answers", ColumnKind.JSON, "answers to the questions that the design asks, by the question's key"),
)

_ALLOCATION = (
    *_ARM,
    Field("place", ColumnKind.INTEGER, "place of the task within the condition", "from 1"),
    Field("task_id", ColumnKind.TEXT, "key of the task"),
    Field("status", ColumnKind.TEXT, "waiting, working or done"),
)

_BUDGET = (
    *_ARM,
    _TRIAL,
    Field("cap", ColumnKind.INTEGER, "inspections allowed; missing where there is no cap", "inspections"),
    Field("used", ColumnKind.INTEGER, "inspections spent", "inspections"),
    Field("halted", ColumnKind.INTEGER, "inspections of halted trials that were free", "inspections"),
)

_LEDGER = (
    *_ARM,
    _TRIAL,
    Field("at", ColumnKind.TIME, "when the budget moved", "UTC"),
    Field("entry", ColumnKind.TEXT, "spend, refund or settle"),
    Field("reason", ColumnKind.TEXT, "what caused it"),
    Field("units", ColumnKind.INTEGER, "spent (positive) or given back (negative)", "inspections"),
    Field("used", ColumnKind.INTEGER, "spent by then", "inspections"),
    Field("cap", ColumnKind.INTEGER, "inspections allowed; missing where there is no cap", "inspections"),
)

FRAMES: dict[str, tuple[Field, ...]] = {
    "decisions": _DECISIONS,
    "items": _ITEMS,
    "success": _SUCCESS,
    "outcomes": _OUTCOMES,
    "participants": _PARTICIPANTS,
    "allocation": _ALLOCATION,
    "budget": _BUDGET,
    "ledger": _LEDGER,
}
"""The tables of results, each with its columns in order."""


def fields(frame: str, factors: Iterable[str]) -> list[Field]:
    """The columns of a table of FRAMES in a design with these factors."""
    levels = [Field(FACTOR + name, ColumnKind.TEXT, f"level of factor {name}") for name in factors]
    return [found for field in FRAMES[frame] for found in (levels if field is _FACTORS else [field])]


def columns(fields: Sequence[Field]) -> list[Column]:
    """The columns as the export formats know them."""
    return [Column(field.name, field.kind) for field in fields]


def typed(fields: Sequence[Field], cells: pd.DataFrame) -> pd.DataFrame:
    """The table of these columns with their types; times are given as milliseconds since 1970, None is missing."""
    return pd.DataFrame({field.name: _series(field, cells[field.name]) for field in fields})


def _series(field: Field, values: Any) -> pd.Series[Any]:
    if field.kind is not ColumnKind.TIME:
        return pd.Series(values, dtype=_TYPES[field.kind])
    moments: Any = pd.to_datetime(pd.Series(values, dtype="Int64"), unit="ms", utc=True)
    milliseconds: pd.Series[Any] = moments.astype(_TYPES[ColumnKind.TIME])
    return milliseconds


def rows(fields: Sequence[Field], frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The table's rows as the export formats take them: times as milliseconds, None where a cell is missing."""
    return list(zip(*(_cells(field, frame[field.name]) for field in fields), strict=True))


def _cells(field: Field, column: pd.Series[Any]) -> list[Any]:
    there = column.notna().tolist()
    plain = column.astype("int64") if field.kind is ColumnKind.TIME and all(there) else column
    if field.kind is ColumnKind.TIME and not all(there):
        plain = column.fillna(pd.Timestamp(0, unit="ms", tz="UTC")).astype("int64")
    return [value if known else None for value, known in zip(plain.tolist(), there, strict=True)]


def table(factors: Iterable[str]) -> pd.DataFrame:
    """The dictionary itself. Columns: table, column, type, unit, meaning."""
    names = list(factors)
    told = [
        (frame, field.name, str(field.kind), field.unit, field.meaning)
        for frame in FRAMES
        for field in fields(frame, names)
    ]
    return pd.DataFrame(told, columns=["table", "column", "type", "unit", "meaning"])
