"""The run behind a gate: its settings as the agent gives them, and the stored run, created if missing."""

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
from console.auth.origin import By, Door, acting, current_origin
from console.database import now_ms, reading, writing
from console.errors import Refused
from console.gate import store
from console.gate.policy import policy_store
from storage import tables
from storage.tables import RunKind

_log = logging.getLogger(__name__)

_JUDGE, _UNDO_MS = "rules", 5_000
"""The detector and the undo time of a run that an agent opens under a common policy."""


@dataclass(frozen=True, slots=True)
class RunSpec:
    """The settings that a gate gives for its run."""

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
    """The patterns of the run's first policy, if no common policy exists; a person is asked about all other actions."""
    is_agents: bool = False
    """Whether an agent over HTTP gave the settings; under a common policy the agent cannot choose the detector."""

    @property
    def fields(self) -> dict[str, Any]:
        """The columns of the run that these settings fill."""
        return {
            "critical": orjson.dumps(list(self.critical)).decode(),
            "detector": self.detector,
            "threshold": self.threshold,
            "budget_cap": self.budget_cap,
            "reviews_per_item": self.reviews_per_item,
            "undo_ms": self.undo_ms,
        }


def stored_run(session: Session, spec: RunSpec) -> tables.Run | None:
    """Return the stored run of that name, or None if there is none; raise Refused if the run is of another kind."""
    run = store.find_run(session, spec.name)
    if run is None:
        return None
    if run.kind != RunKind.GATE:
        raise Refused(f"Run {spec.name!r} is of kind {run.kind}; give the gate a run name of its own.")
    session.expunge(run)
    differing = [name for name, value in spec.fields.items() if getattr(run, name) != value]
    if differing:
        _warn_of_difference(run.name, ", ".join(differing))
    return run


def open_run(url: str, spec: RunSpec) -> None:
    """Create the run if no run has its name; raise Refused if a run of another kind has it."""
    with reading(url) as session:
        run = stored_run(session, spec)
    if run is None:
        create_run(url, spec)


def create_run(url: str, spec: RunSpec) -> None:
    """Create the run with its policy, unless another process creates it at the same moment."""
    agent = By(spec.agent or "agent", Door.PYTHON)
    # On a server, another process can create the run between our look and our write.
    with suppress(IntegrityError), acting(current_origin() or agent), writing(url) as session:
        if stored_run(session, spec) is None:
            _create_run(session, spec)


def _create_run(session: Session, spec: RunSpec) -> None:
    run = runs.create(session, spec.name, RunKind.GATE, now_ms(), actor=spec.agent or "agent", **spec.fields)
    run.environment = spec.environment
    session.flush()
    if spec.is_agents and policy_store.effective_version(session, run) is not None:
        run.detector, run.threshold, run.undo_ms = _JUDGE, None, max(run.undo_ms, _UNDO_MS)
        session.flush()
    policy_store.ensure_policy(session, run, now_ms(), spec.judged)


# Over HTTP each check brings its settings; one line in the log is enough.
@lru_cache(maxsize=256)
def _warn_of_difference(run: str, differing: str) -> None:
    _log.warning("Run %r was started with other settings (%s); the stored ones apply.", run, differing)
