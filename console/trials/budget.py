"""The inspection budget of live trials: a percentage is frozen when trial 0 has stopped (design: items, budget).

Until then the budget stands at the share of those trials that are sure to count, so that it only ever grows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlmodel import Session, col, func, or_, select

from console.database import reading, review_queue, writing
from console.errors import Refused
from console.runs import open_budgets, share_of
from console.runs.options import run_options
from console.trajectory import Outcome
from storage import tables
from storage.errors import QueueRefusal


def open_all(run: tables.Run) -> None:
    """Opens the budget of every trial that the run has reached, where it is not open: later ones get trial 0's cap."""
    queue, cap = review_queue(), run.budget_cap
    with reading() as session:
        trials = _trials(session, run)
    if run.budget_percent is not None:
        first = queue.budget(run_id=run.id or 0, trial=0)
        cap = first.cap if first else 0
    open_budgets(queue, run.id or 0, trials, cap)


def grow(run: tables.Run) -> None:
    """Raises a percentage cap that is not frozen to the share of trial 0 that is sure to count."""
    if run.budget_percent is None or run_options(run).budget_frozen:
        return
    with reading() as session:
        cap = _share(session, run)
    found = review_queue().budget(run_id=run.id or 0, trial=0)
    if found is None or found.cap is None or found.cap < cap:
        open_budgets(review_queue(), run.id or 0, [0], cap, again=True)


def freeze(run: tables.Run) -> None:
    """Sets a percentage cap for good once no trajectory of trial 0 is running; it stays after that."""
    if run.budget_percent is None or run_options(run).budget_frozen:
        return
    with reading() as session:
        running = session.exec(select(func.count()).where(*_first(run), _outcome() == Outcome.RUNNING)).one()
        cap, trials = _share(session, run), _trials(session, run)
    if running:
        return
    try:
        open_budgets(review_queue(), run.id or 0, trials, cap, again=True)
    except QueueRefusal as refusal:
        raise Refused(f"The budget of {run.name!r} cannot be set: {refusal}") from refusal
    with writing() as session:
        stored = session.get_one(tables.Run, run.id)
        stored.options = replace(run_options(stored), budget_frozen=True).to_json()
        run.options = stored.options
        session.add(stored)


def _share(session: Session, run: tables.Run) -> int:
    """The share of the non-halted of trial 0, those left out that may still halt."""
    item = tables.Item
    flagged = select(item.id).where(item.trajectory_id == col(tables.Trajectory.id)).exists()
    ended = _outcome().in_([Outcome.SUCCEEDED, Outcome.FAILED, Outcome.REJECTED])
    counted = or_(ended, (_outcome() == Outcome.PAUSED) & flagged)
    n = session.exec(select(func.count()).where(*_first(run), counted)).one()
    return share_of((run.budget_percent or 0.0) / 100, n)


def _trials(session: Session, run: tables.Run) -> list[int]:
    trial = tables.Trajectory.trial
    return list(session.exec(select(trial).where(tables.Trajectory.run_id == run.id).distinct()))


def _first(run: tables.Run) -> tuple[Any, ...]:
    return col(tables.Trajectory.run_id) == run.id, col(tables.Trajectory.trial) == 0


def _outcome() -> Any:
    return col(tables.Trajectory.outcome)
