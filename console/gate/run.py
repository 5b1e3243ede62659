"""The run behind a gate: made on first use, reused by its name from any process."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
from sqlalchemy import Select, bindparam, select
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.errors import Refused
from console.gate.policy import store as policy_store
from storage import tables
from storage.tables import RunKind

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What a gate says its run should be."""

    name: str
    environment: str
    critical: tuple[str, ...]
    detector: str
    threshold: float | None
    budget_cap: int | None
    reviews_per_item: int
    undo_ms: int
    agent: str | None

    @property
    def fields(self) -> dict[str, Any]:
        """The columns of the run that come from here."""
        return {
            "critical": orjson.dumps(list(self.critical)).decode(),
            "detector": self.detector,
            "threshold": self.threshold,
            "budget_cap": self.budget_cap,
            "reviews_per_item": self.reviews_per_item,
            "undo_ms": self.undo_ms,
        }


def open_run(url: str, wanted: RunSpec) -> tables.Run:
    """The run of that name, made if there is none; its stored settings stand. Raises Refused for another kind."""
    with reading(url) as session:
        run = _known(session, wanted.name)
    if run is None:
        run = _made(url, wanted)
    _tell_differences(run, wanted.fields)
    return run


def current(session: Session, name: str) -> tables.Run:
    """The run as it stands now; raises Unknown where it was taken away."""
    run = session.execute(_named(), {"name": name}).scalars().first() or runs.get(session, name)
    session.expunge(run)
    return run


# Built once, because every critical action asks for it.
@cache
def _named() -> Select[Any]:
    return select(tables.Run).where(col(tables.Run.name) == bindparam("name"))


def open_budget(url: str, run: tables.Run, trial: int) -> None:
    """Opens the trial's budget with the run's cap, unless it is open."""
    with reading(url) as session:
        cap = runs.cap(session, run)
    runs.open_budgets(review_queue(url), run.id or 0, [trial], cap)


def _known(session: Session, name: str) -> tables.Run | None:
    run = runs.find(session, name)
    if run is None:
        return None
    if run.kind != RunKind.GATE:
        raise Refused(f"Run {name!r} is of kind {run.kind}; give the gate a run name of its own.")
    session.expunge(run)
    return run


def _made(url: str, wanted: RunSpec) -> tables.Run:
    try:
        with writing(url) as session:
            run = _known(session, wanted.name)
            if run is None:
                run = runs.create(
                    session, wanted.name, RunKind.GATE, now_ms(), actor=wanted.agent or "agent", **wanted.fields
                )
                run.environment = wanted.environment
                session.flush()
                policy_store.begin(session, run, now_ms())
                session.expunge(run)
            return run
    except IntegrityError:
        # On a server, another process made the run between our look and our write.
        with reading(url) as session:
            return current(session, wanted.name)


def _tell_differences(run: tables.Run, fields: Mapping[str, Any]) -> None:
    differing = [name for name, value in fields.items() if getattr(run, name) != value]
    if differing:
        names = ", ".join(differing)
        _log.warning("Run %r was started with other settings (%s); the stored ones stand.", run.name, names)
