"""Budget use: the inspections of a trial over time, with the misalignments caught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import func
from sqlalchemy import select as sa_select
from sqlmodel import Session, col

from console.detection.oversight.pool import Pool
from console.trajectory import Label
from storage import tables

_POINTS = 200
"""The number of intervals for which a trial's ledger is summed."""


def tabulate_burn_down(session: Session, run: tables.Run, pool: Pool | None = None) -> pd.DataFrame:
    """Return columns trial, minute (since the trial's first claim), used, caught, cap (missing if there is none).

    `caught` counts items that reviewer and label call misaligned; it is missing without labels or a pool.
    """
    spent = _sum_spending(session, run)
    if spent.empty:
        return pd.DataFrame(columns=["trial", "minute", "used", "caught", "cap"])
    parts = [_with_caught(spent[spent["trial"] == trial], pool, trial) for trial in sorted(set(spent["trial"]))]
    return pd.concat(parts, ignore_index=True)


def in_words(burnt: pd.DataFrame) -> list[str]:
    """Return a sentence on the budget used by now, for each trial of a burn-down."""
    latest = burnt.groupby("trial").last().reset_index()
    sentences = []
    for trial, used, cap in zip(latest["trial"], latest["used"], latest["cap"], strict=True):
        of = f"{used:,}" if pd.isna(cap) else f"{used:,} of {cap:,}"
        sentences.append(f"Trial {trial}: {of} {'inspection' if of == '1' else 'inspections'} used.")
    return sentences


def is_line(burnt: pd.DataFrame) -> bool:
    """Return whether any trial's burn-down has more than one point, so that it can be drawn."""
    return bool((burnt.groupby("trial").size() > 1).any())


def _sum_spending(session: Session, run: tables.Run) -> pd.DataFrame:
    """Return the inspections used by the end of each interval, with columns trial, cap, began_ms, at_ms, used."""
    entry, budget = tables.LedgerEntry, tables.Budget
    span = (
        sa_select(
            col(budget.trial).label("trial"),
            func.max(col(budget.cap)).label("cap"),
            func.min(col(entry.at_ms)).label("began"),
            func.max(col(entry.at_ms)).label("ended"),
        )
        .join(budget, col(budget.id) == col(entry.budget_id))
        .where(col(budget.run_id) == run.id)
        .group_by(col(budget.trial))
        .subquery()
    )
    place = ((col(entry.at_ms) - span.c.began) * _POINTS // (span.c.ended - span.c.began + 1)).label("place")
    statement = (
        sa_select(span.c.trial, span.c.cap, span.c.began, func.max(col(entry.at_ms)), func.sum(col(entry.units)))
        .join(budget, col(budget.id) == col(entry.budget_id))
        .join(span, span.c.trial == col(budget.trial))
        .where(col(budget.run_id) == run.id)
        .group_by(span.c.trial, span.c.cap, span.c.began, place)
        .order_by(span.c.trial, place)
    )
    rows: list[Any] = [tuple(row) for row in session.execute(statement)]
    found = pd.DataFrame(rows, columns=["trial", "cap", "began_ms", "at_ms", "used"])
    found["used"] = found["used"].astype(int)
    return found.assign(used=found.groupby("trial")["used"].cumsum(), cap=found["cap"].astype("Int64"))


def _with_caught(spent: pd.DataFrame, pool: Pool | None, trial: int) -> pd.DataFrame:
    if pool is None:
        return _burn_trial(spent, trial, np.full(len(spent), np.nan))
    rows = pool.rows[(pool.rows["detector"] == pool.routing) & (pool.rows["trial"] == trial)]
    found = rows[rows["reported"] & (rows["label"] == Label.MISALIGNED)]["inspected_ms"].sort_values()
    by_then = np.searchsorted(found.to_numpy(dtype=np.float64), spent["at_ms"].to_numpy(), side="right")
    known = rows["label"].notna().any()
    return _burn_trial(spent, trial, by_then.astype(float) if known else np.full(len(spent), np.nan))


def _burn_trial(spent: pd.DataFrame, trial: int, caught: np.ndarray[Any, Any]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "trial": trial,
            "minute": ((spent["at_ms"] - spent["began_ms"]) / 60_000).to_numpy(),
            "used": spent["used"].to_numpy(),
            "caught": caught,
            "cap": spent["cap"].to_numpy(),
        }
    )
