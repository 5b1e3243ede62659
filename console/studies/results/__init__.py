"""The tidy tables of a study. A new table needs a function, a line in TABLES, and its columns in the dictionary."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from sqlmodel import Session

from console.auth import audit_log
from console.auth.audit_log import By
from console.database import now_ms, writing
from console.studies.results.decisions import decisions, read_judged
from console.studies.results.participants import (
    allocation,
    exclusions,
    page_times,
    participants,
    questionnaires,
    scales,
    trace,
)
from console.studies.results.study_tables import budget, history, items, ledger, outcomes, plan, success
from console.studies.results.summary import Headline, data_versions, headline

TABLES: dict[str, Callable[[Session, int], pd.DataFrame]] = {
    "decisions": decisions,
    "items": items,
    "success": success,
    "outcomes": outcomes,
    "participants": participants,
    "allocation": allocation,
    "budget": budget,
    "ledger": ledger,
    "plan": plan,
    "history": history,
    "questionnaires": questionnaires,
    "scales": scales,
    "page_times": page_times,
    "trace": trace,
    "exclusions": exclusions,
}


def frames(session: Session, study_id: int) -> dict[str, pd.DataFrame]:
    """Return every table of the study's results by name."""
    return {name: read(session, study_id) for name, read in TABLES.items()}


def record_export(study: str, what: str, by: By | None = None) -> None:
    """Record an export of results; call this function before the export, so that every export is recorded."""
    with writing() as session:
        audit_log.record(session, None, "study exported", now_ms(), by=by, subject=study, detail={"what": what})
