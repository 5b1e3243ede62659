"""What happened to a study as a tidy table: opened, closed, invitations, withdrawals, settings of runs that changed.

It stands alone as every table of results does.
"""

from __future__ import annotations

from typing import Any

import orjson
import pandas as pd
from sqlmodel import Session, col, select

from console.studies.results.condition_runs import condition_runs
from console.studies.results.data_dictionary import fields, typed
from storage import tables

_OF_STUDY = {
    "study created": "created",
    "study open": "opened",
    "study paused": "paused",
    "study closed": "closed",
    "participant withdrew": "withdrawal",
}
_OF_RUNS = ("budget set", "critical actions set", "reasons set", "detector recalibrated", "judged")


def history(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each event of the study, and for each setting of a participant's run that was changed meanwhile."""
    event, name = tables.Event, session.get_one(tables.Study, study_id).name
    runs = {arm.run_id or 0: arm for arm in condition_runs(session, study_id)}
    of_study = col(event.kind).in_(_OF_STUDY) & (event.subject == name)
    of_runs = col(event.kind).in_(_OF_RUNS) & col(event.run_id).in_(runs)
    rows: list[tuple[Any, ...]] = []
    for found in session.exec(select(event).where(of_study | of_runs).order_by(col(event.id))):
        arm, before, after = runs.get(found.run_id or -1), _words(found.before), _words(found.after)
        if arm is None:
            rows.append((name, found.at_ms, _OF_STUDY[found.kind], None, None, None, None))
        elif before and before != after:
            rows.append((name, found.at_ms, found.kind, arm.participant, arm.condition, before, after))
    invitation = tables.StudyInvitation
    invited = select(invitation.created_ms).where(invitation.study_id == study_id)
    rows += [(name, at_ms, "invited", None, None, None, None) for at_ms in session.exec(invited)]
    rows.sort(key=lambda row: row[1])
    columns = fields("history", ())
    return typed(columns, pd.DataFrame(rows, columns=[field.name for field in columns], dtype=object))


def _words(stored: str | None) -> str | None:
    """What an event holds, as a text."""
    if stored is None:
        return None
    value = orjson.loads(stored)
    return value if isinstance(value, str) else stored
