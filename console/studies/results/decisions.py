"""The current decisions of a study's participants as one tidy table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pandas as pd
from sqlalchemy import select
from sqlmodel import Session

from console.analysis.statistics.feedback_words import count_words
from console.runs import is_current
from console.runs.export.query import next_id, next_outcome, next_score, reasons_sent
from console.studies.results.adjudication import Of, checkpoint_key, gold_labels, settled_labels
from console.studies.results.condition_runs import ConditionRun, condition_runs, practice, tidy
from console.studies.sessions.steps import CLOSED
from console.trials.evasion import read_blind_labels
from storage.tables import ProbePurpose, Table

_tables = Table.metadata.tables
_decision, _item, _task, _verdict, _trajectory, _probe, _event = (
    _tables[name] for name in ("decision", "item", "task", "verdict", "trajectory", "probe", "event")
)

_JUDGED: dict[str, Any] = {
    "decision_id": _decision.c.id,
    "item_id": _item.c.id,
    "task_id": _task.c.task_key,
    "environment": _trajectory.c.environment,
    "trial": _trajectory.c.trial,
    "step": _item.c.step,
    "checkpoint": _item.c.kind,
    "purpose": _probe.c.purpose,
    "expected": _probe.c.expected,
    "label": _decision.c.label,
    "trajectory_label": _trajectory.c.label,
}
_SELECTED: dict[str, Any] = {
    **_JUDGED,
    "detector": _verdict.c.detector,
    "score": _verdict.c.score,
    "threshold": _verdict.c.threshold,
    "flagged": _verdict.c.flagged,
    "decision": _decision.c.decision,
    "feedback_text": _decision.c.feedback_text,
    "claimed_ms": _decision.c.claimed_ms,
    "decided_ms": _decision.c.decided_ms,
    "next_trial_outcome": next_outcome,
    "reasons_sent": reasons_sent,
    "next_trial_score": next_score,
    "next_trial_id": next_id,
}
_JOINED = (
    _item.join(_decision, _decision.c.item_id == _item.c.id)
    .join(_trajectory, _trajectory.c.id == _item.c.trajectory_id)
    .join(_task, _task.c.id == _trajectory.c.task_id)
    .outerjoin(_verdict, _verdict.c.id == _item.c.verdict_id)
    .outerjoin(_probe, _probe.c.item_id == _item.c.id)
)

JUDGED = ("participant", "annotator_kind", "condition", "environment", "task_id", "purpose", "correct")
"""The columns of decisions that are needed to assess correctness."""


def decisions(session: Session, study_id: int, participant: str | None = None) -> pd.DataFrame:
    """Return one row per current decision of all participants, or of one, sorted by id."""
    everyone = [*practice(session, study_id), *condition_runs(session, study_id)]
    raw = _add_labels(session, study_id, _raw(session, everyone, participant, _SELECTED))
    labels = read_blind_labels(session)
    raw["next_trial_label"] = raw["next_trial_id"].map(labels).astype("str")
    raw["feedback_words"] = [count_words(text) for text in raw["feedback_text"].tolist()]
    raw["closed_ms"] = _closed_page_ms(session, everyone, raw)
    _pace(raw, raw["arm"].map(dict(enumerate(arm.participant_id for arm in everyone))))
    return tidy("decisions", raw, everyone)


def read_judged(session: Session, study_id: int, participant: str | None = None) -> pd.DataFrame:
    """Return the decisions with the columns JUDGED only, in half the time of all columns."""
    everyone = [*practice(session, study_id), *condition_runs(session, study_id)]
    raw = _add_labels(session, study_id, _raw(session, everyone, participant, _JUDGED))
    return tidy("decisions", raw, everyone, JUDGED)


def _raw(
    session: Session, everyone: Sequence[ConditionRun], participant: str | None, selected: dict[str, Any]
) -> pd.DataFrame:
    places = {
        run_id: place
        for place, arm in enumerate(everyone)
        if participant in (None, arm.participant)
        for run_id in filter(None, (arm.run_id, arm.checks_run_id))
    }
    statement = select(*selected.values(), _item.c.run_id, _decision.c.reviewer).select_from(_JOINED)
    statement = statement.where(_item.c.run_id.in_(places), is_current(_decision.c))
    *told, runs, reviewers = _columns(session, statement)
    types = ("str" if value.type.python_type is str else None for value in selected.values())
    cells = zip(selected, told, types, strict=True)
    raw = pd.DataFrame({name: pd.Series(values, dtype=dtype) for name, values, dtype in cells})
    raw["purpose"], raw["trial"] = raw["purpose"].fillna(""), raw["trial"].astype("Int64")
    raw["arm"] = np.array([places[run_id] for run_id in runs], dtype="int64")
    names = np.array([arm.participant for arm in everyone], dtype=object)
    mine: pd.DataFrame = raw[names[raw["arm"]] == np.array(reviewers, dtype=object)]
    return mine.sort_values("decision_id", ignore_index=True)


def _columns(session: Session, statement: Any) -> list[list[Any]]:
    columns: list[list[Any]] = [[] for _ in statement.selected_columns]
    # Use the driver's tuples in batches; SQLAlchemy rows, or all tuples at once, would take as long as the query.
    with session.connection().execute(statement) as found:
        while found.cursor and (rows := found.cursor.fetchmany(1_000)):
            for column, values in zip(columns, zip(*rows, strict=True), strict=True):
                column.extend(values)
    return columns


def _add_labels(session: Session, study_id: int, raw: pd.DataFrame) -> pd.DataFrame:
    """Add the key of each shared checkpoint, its true labels, and whether the participant's label is correct."""
    shared = raw[((raw["trial"] == 0) & (raw["purpose"] == "")).astype(bool)]
    keys = map(checkpoint_key, *(shared[name].tolist() for name in ("task_id", "step", "checkpoint")))
    unit = pd.Series(list(keys), index=shared.index, dtype="str").reindex(raw.index)
    gold, agreed = (gold_labels(session, raw), unit.map(settled_labels(session, Of(study_id=study_id))).astype("str"))
    truth = raw["expected"].fillna(gold).fillna(agreed)
    known = raw["label"].notna() & truth.notna()
    correct = (raw["label"] == truth).astype("boolean").where(known)
    return raw.assign(unit=unit, gold_label=gold, adjudicated_label=agreed, correct=correct)


def _closed_page_ms(session: Session, everyone: Sequence[ConditionRun], raw: pd.DataFrame) -> list[int]:
    """Return the ms between claim and decision during which the participant had no page open, by decision."""
    ids = [run_id for arm in everyone for run_id in (arm.run_id, arm.checks_run_id) if run_id is not None]
    gaps: dict[int, list[tuple[int, int]]] = {}
    for detail in session.execute(select(_event.c.detail).where(_event.c.kind == CLOSED, _event.c.run_id.in_(ids))):
        gap = orjson.loads(detail[0])
        if gap:
            gaps.setdefault(gap["item"], []).append((gap["from_ms"], gap["until_ms"]))
    if not gaps:
        return [0] * len(raw)
    held = zip(raw["item_id"], raw["claimed_ms"], raw["decided_ms"], strict=True)
    return [sum(max(0, min(b, until) - max(a, since)) for a, b in gaps.get(item, ())) for item, since, until in held]


def _pace(raw: pd.DataFrame, whose: pd.Series[int]) -> None:
    raw["lead_time_ms"] = raw["decided_ms"] - raw["claimed_ms"] - raw["closed_ms"]
    raw["claimed_at"], raw["decided_at"] = raw["claimed_ms"], raw["decided_ms"]
    counted = raw[raw["purpose"] != ProbePurpose.PRACTICE].sort_values(["decided_ms", "decision_id"])
    by_person = counted.groupby(whose)
    raw["session_minute"] = (counted["decided_ms"] - by_person["claimed_ms"].transform("min")) / 60_000
    raw["place_in_session"] = by_person.cumcount().add(1).astype("Int64")
