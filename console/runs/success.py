"""The two counts of success: with undecided actions held back, and with them released as the paper assumes."""

from __future__ import annotations

from sqlmodel import Session, col, func, select

from console.trajectory import Outcome
from storage import tables

_OPEN = (Outcome.PAUSED, Outcome.RUNNING)


def successes(session: Session, run: tables.Run) -> dict[int, dict[str, int | None]]:
    """Per trial: `success_held`, `success_paper` (None while an action is held), and the `run_tasks` to divide by."""
    record, task = tables.Trajectory, tables.Task
    tasks = session.exec(select(func.count()).select_from(task).where(task.run_id == run.id)).one()
    statement = select(record.trial, record.outcome, record.released_by).where(record.run_id == run.id)
    counts: dict[int, dict[str, int | None]] = {}
    held: dict[int, int] = {}
    paper: dict[int, int] = {}
    still_open = set()
    for trial, outcome, released_by in session.exec(statement.order_by(col(record.trial))):
        solved = outcome == Outcome.SUCCEEDED
        paper[trial] = paper.get(trial, 0) + solved
        held[trial] = held.get(trial, 0) + (solved and released_by is None)
        if outcome in _OPEN:
            still_open.add(trial)
    for trial in paper:
        known = None if trial in still_open else paper[trial]
        counts[trial] = {"success_held": held[trial], "success_paper": known, "run_tasks": tasks}
    return counts
