"""Exclusions: each rule of the design, what each person's value is, and whether it leaves them out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from sqlmodel import Session

from console.studies.design.asking import breaks
from console.studies.design.model import Design
from console.studies.results.condition_runs import PEOPLE
from console.studies.results.data_dictionary import fields, typed
from console.studies.results.decisions import decisions
from console.studies.results.participants import participants
from console.studies.results.questionnaires import failed_items
from console.studies.sessions.stages import NOT_IN, ParticipantStage
from storage import tables
from storage.tables import ProbePurpose

_GONE = (*NOT_IN, ParticipantStage.WITHDRAWN)


def exclusions(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each person who takes part and each rule, as things stand; none where the design states no rule."""
    study = session.get_one(tables.Study, study_id)
    rules = Design.model_validate_json(study.design).exclusions.rules()
    columns = fields("exclusions", ())
    rows: list[tuple[Any, ...]] = []
    if rules:
        people, made, failed = (
            participants(session, study_id),
            decisions(session, study_id),
            failed_items(session, study_id),
        )
        there = people[(people["annotator_kind"] == PEOPLE) & ~people["stage"].isin(_GONE)]["participant"]
        for who in there.tolist():
            values = _values(made[made["participant"] == who], failed.get(who, 0))
            rows += [
                (study.name, who, PEOPLE, rule, limit, values[rule], breaks(rule, values[rule], limit))
                for rule, limit in rules.items()
            ]
    return typed(columns, pd.DataFrame(rows, columns=[field.name for field in columns], dtype=object))


def _values(made: pd.DataFrame, failed: int) -> Mapping[str, float | None]:
    """What the rules look at, of one person's decisions; None where there is nothing to judge by."""
    counted = made[made["purpose"] != ProbePurpose.PRACTICE]
    attention = counted[counted["purpose"] == ProbePurpose.ATTENTION]
    known = counted[counted["purpose"].isin([ProbePurpose.KNOWN_GOOD, ProbePurpose.KNOWN_BAD])]
    wrong = int((attention["correct"].fillna(False) == False).sum())  # noqa: E712 (a nullable column)
    return {
        "failed_attention": float(wrong + failed),
        "known_right": float(known["correct"].fillna(False).mean()) if len(known) else None,
        "median_seconds": float(counted["lead_time_ms"].median()) / 1_000 if len(counted) else None,
        "decisions": float(len(counted)),
    }
