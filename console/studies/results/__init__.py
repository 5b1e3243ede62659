"""The results of a user study as tidy tables out of the database; all else is computed from these alone.

A new table is one function, one line in TABLES, and its columns in the data dictionary.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from sqlmodel import Session

from console.auth.origin import By
from console.database import now_ms, writing
from console.runs import audit_log
from console.studies.results.budget_spending import budget, ledger
from console.studies.results.data_versions import data_versions
from console.studies.results.decisions import decisions, judged
from console.studies.results.exclusions import exclusions
from console.studies.results.history import history
from console.studies.results.items import items
from console.studies.results.page_times import page_times, trace
from console.studies.results.participants import allocation, participants
from console.studies.results.plan import plan
from console.studies.results.questionnaires import questionnaires, scales
from console.studies.results.success_counts import outcomes, success
from console.studies.results.summary import Headline, headline

__all__ = [
    "TABLES",
    "Headline",
    "allocation",
    "budget",
    "data_versions",
    "decisions",
    "exclusions",
    "frames",
    "headline",
    "history",
    "items",
    "judged",
    "ledger",
    "outcomes",
    "page_times",
    "participants",
    "plan",
    "questionnaires",
    "record_export",
    "scales",
    "success",
    "trace",
]

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
    """Every table of the study's results by its name."""
    return {name: read(session, study_id) for name, read in TABLES.items()}


def record_export(study: str, what: str, by: By | None = None) -> None:
    """Records that results leave the console; call it before they do, for what cannot be recorded stays."""
    with writing() as session:
        audit_log.record(session, None, "study exported", now_ms(), by=by, subject=study, detail={"what": what})
