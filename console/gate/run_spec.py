"""The run behind a gate: what its agent says it should be, and the run as stored, made where there is none."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from console import runs
from console.auth.origin import By, Door, acting, present
from console.database import now_ms, reading, writing
from console.errors import Refused
from console.gate import store
from console.gate.policy import policy_store
from storage import tables
from storage.tables import RunKind

_log = logging.getLogger(__name__)

_JUDGE, _UNDO_MS = "rules", 5_000
"""Who judges, and how long an answer can be taken back, in a run that an agent opens under a common policy."""


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
    judged: tuple[str, ...] = ()
    """The patterns of its first policy, where no common one is there: what they do not match asks a person."""
    is_agents: bool = False
    """Whether an agent over HTTP says so: where a common policy rules, its word chooses no judge."""

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


def stored_run(session: Session, spec: RunSpec) -> tables.Run | None:
    """The run of that name, whose stored settings stand, or None; raises Refused for one of another kind."""
    run = store.found_run(session, spec.name)
    if run is None:
        return None
    if run.kind != RunKind.GATE:
        raise Refused(f"Run {spec.name!r} is of kind {run.kind}; give the gate a run name of its own.")
    session.expunge(run)
    differing = [name for name, value in spec.fields.items() if getattr(run, name) != value]
    if differing:
        _warn(run.name, ", ".join(differing))
    return run


def open_run(url: str, spec: RunSpec) -> None:
    """Makes the run unless there is one of that name; raises Refused for another kind."""
    with reading(url) as session:
        run = stored_run(session, spec)
    if run is None:
        make_run(url, spec)


def make_run(url: str, spec: RunSpec) -> None:
    """Makes the run with its policy, unless another process does so in the same moment."""
    agent = By(spec.agent or "agent", Door.PYTHON)
    # On a server, another process can make the run between our look and our write.
    with suppress(IntegrityError), acting(present() or agent), writing(url) as session:
        if stored_run(session, spec) is None:
            _make(session, spec)


def _make(session: Session, spec: RunSpec) -> None:
    run = runs.create(session, spec.name, RunKind.GATE, now_ms(), actor=spec.agent or "agent", **spec.fields)
    run.environment = spec.environment
    session.flush()
    if spec.is_agents and policy_store.effective(session, run) is not None:
        run.detector, run.threshold, run.undo_ms = _JUDGE, None, max(run.undo_ms, _UNDO_MS)
        session.flush()
    policy_store.begin(session, run, now_ms(), spec.judged)


# Over HTTP each check brings its settings, and one line says it as well as a thousand.
@lru_cache(maxsize=256)
def _warn(run: str, differing: str) -> None:
    _log.warning("Run %r was started with other settings (%s); the stored ones stand.", run, differing)
