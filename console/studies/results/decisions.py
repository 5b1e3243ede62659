"""Every standing decision of a study's participants as one tidy table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pandas as pd
from sqlalchemy import select
from sqlmodel import Session

from console.analysis.statistics.feedback_words import word_count
from console.runs.current_decisions import is_current
from console.runs.export.decisions import next_outcome
from console.studies.results.adjudication import Of, settled
from console.studies.results.condition_runs import ConditionRun, condition_runs, practice, tidy
from console.studies.results.ground_truth import checkpoint_key, gold_labels
from console.studies.sessions.presence import CLOSED
from storage.tables import ProbePurpose, Table

_tables = Table.metadata.tables
_decision, _item, _task, _verdict, _trajectory, _probe, _event = (
    _tables[name] for name in ("decision", "item", "task", "verdict", "trajectory", "probe", "event")
)

_SELECTED: dict[str, Any] = {
    "decision_id": _decision.c.id,
    "item_id": _item.c.id,
    "task_id": _task.c.task_key,
    "environment": _trajectory.c.environment,
    "trial": _trajectory.c.trial,
    "step": _item.c.step,
    "checkpoint": _item.c.kind,
    "purpose": _probe.c.purpose,
    "expected": _probe.c.expected,
    "detector": _verdict.c.detector,
    "score": _verdict.c.score,
    "threshold": _verdict.c.threshold,
    "flagged": _verdict.c.flagged,
    "decision": _decision.c.decision,
    "label": _decision.c.label,
    "trajectory_label": _trajectory.c.label,
    "feedback_text": _decision.c.feedback_text,
    "claimed_ms": _decision.c.claimed_ms,
    "decided_ms": _decision.c.decided_ms,
    "next_trial_outcome": next_outcome,
}

_WORDS = list(_SELECTED).index("feedback_text")
_JOINED = (
    _item.join(_decision, _decision.c.item_id == _item.c.id)
    .join(_trajectory, _trajectory.c.id == _item.c.trajectory_id)
    .join(_task, _task.c.id == _trajectory.c.task_id)
    .outerjoin(_verdict, _verdict.c.id == _item.c.verdict_id)
    .outerjoin(_probe, _probe.c.item_id == _item.c.id)
)


def decisions(session: Session, study_id: int, participant: str | None = None) -> pd.DataFrame:
    """One row for each standing decision of a participant, or of that one, by rising id; see the data dictionary."""
    everyone = [*practice(session, study_id), *condition_runs(session, study_id)]
    raw = _raw(session, everyone, participant)
    raw["gold_label"] = gold_labels(session, raw)
    raw["adjudicated_label"] = raw["unit"].map(settled(session, Of(study_id=study_id))).astype("str")
    _judge(raw)
    raw["closed_ms"] = _closed(session, everyone, raw)
    _pace(raw)
    return tidy("decisions", raw.drop(columns="participant"), everyone)


def _raw(session: Session, everyone: Sequence[ConditionRun], participant: str | None) -> pd.DataFrame:
    rows = [
        (*row, place)
        for place, arm in enumerate(everyone)
        if participant in (None, arm.participant)
        for run_id in filter(None, (arm.run_id, arm.checks_run_id))
        for row in _of_run(session, run_id, arm.participant)
    ]
    rows.sort()
    raw = pd.DataFrame.from_records(rows, columns=[*_SELECTED, "arm"])
    text = ("purpose", "expected", "label", "trajectory_label", "next_trial_outcome", "feedback_text")
    raw = raw.astype(dict.fromkeys(text, "str") | {"arm": "int64", "trial": "Int64"})
    raw["purpose"] = raw["purpose"].fillna("")
    raw["participant"] = [everyone[row[-1]].participant for row in rows]
    raw["unit"] = _units(raw, rows)
    raw["feedback_words"] = [word_count(row[_WORDS]) for row in rows]
    return raw


def _of_run(session: Session, run_id: int, participant: str) -> Sequence[Any]:
    """Only what the participant decided: a run may hold others' answers, and a withdrawn name stands for nobody."""
    mine = _item.c.run_id == run_id, _decision.c.reviewer == participant, is_current(_decision.c)
    statement = select(*(value.label(name) for name, value in _SELECTED.items())).select_from(_JOINED).where(*mine)
    # The driver's own tuples: rows of SQLAlchemy would take as long as the query.
    with session.connection().execute(statement) as found:
        return found.cursor.fetchall() if found.cursor else ()


def _units(raw: pd.DataFrame, rows: Sequence[Sequence[Any]]) -> pd.Series[Any]:
    task, step, kind = (list(_SELECTED).index(name) for name in ("task_id", "step", "checkpoint"))
    named = [checkpoint_key(row[task], row[step], row[kind]) for row in rows]
    shared = (raw["trial"] == 0) & (raw["purpose"] == "")
    return pd.Series(named, index=raw.index, dtype="str").where(shared.astype(bool))


def _judge(raw: pd.DataFrame) -> None:
    """Adds whether each label is right."""
    truth = raw["expected"].fillna(raw["gold_label"]).fillna(raw["adjudicated_label"])
    known = raw["label"].notna() & truth.notna()
    raw["correct"] = (raw["label"] == truth).astype("boolean").where(known)


def _closed(session: Session, everyone: Sequence[ConditionRun], raw: pd.DataFrame) -> list[int]:
    """How much of the time between claim and decision no page of the participant was open, in ms."""
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


def _pace(raw: pd.DataFrame) -> None:
    """Adds how long each decision took and where in the participant's session it stands."""
    raw["lead_time_ms"] = raw["decided_ms"] - raw["claimed_ms"] - raw["closed_ms"]
    raw["claimed_at"], raw["decided_at"] = raw["claimed_ms"], raw["decided_ms"]
    counted = raw[raw["purpose"] != ProbePurpose.PRACTICE].sort_values(["decided_ms", "decision_id"])
    by_person = counted.groupby("participant")
    raw["session_minute"] = (counted["decided_ms"] - by_person["claimed_ms"].transform("min")) / 60_000
    raw["place_in_session"] = by_person.cumcount().add(1).astype("Int64")
