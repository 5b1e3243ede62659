"""Runs that judge each action before it runs: no later detection changes how they judge, or what they judged."""

from __future__ import annotations

from collections.abc import Sequence

from console.detection.detectors import detector
from console.errors import Refused
from storage import tables
from storage.tables import RunKind

BEFOREHAND = (RunKind.LIVE, RunKind.GATE)
"""In the other kinds there is nothing left to stop, and a detection judges and queues after the fact."""


def judges_beforehand(run: tables.Run) -> bool:
    """Whether the run's actions wait for its routing detector's verdict."""
    return run.kind in BEFOREHAND


def routing_name(run: tables.Run) -> str:
    """The name of the detector that flags and ranks in the run."""
    return run.detector or "rules"


def is_locked(run: tables.Run, name: str) -> bool:
    """Whether that detector's verdicts in the run stay as they are, since actions ran or were held because of them."""
    return judges_beforehand(run) and name == routing_name(run)


def refuse_changes(
    run: tables.Run, methods: Sequence[str], threshold: float | None, seed: int | None, route: str | None
) -> None:
    """Raises Refused where a detection asks for another routing detector, or for another threshold or seed of it."""
    routing = detector(routing_name(run))
    if route is not None and detector(route).name != routing.name:
        raise Refused(
            f"Run {run.name!r} is {run.kind}: {routing.name} judges its actions before they run, so --route cannot "
            "name another detector; leave it out, or start another run."
        )
    bar = routing.threshold if run.threshold is None else run.threshold
    if routing.name in methods and (threshold not in (None, bar) or seed not in (None, run.seed)):
        raise Refused(
            f"Run {run.name!r} is {run.kind}: {routing.name} judges its actions before they run, with threshold "
            f"{bar:g} and seed {run.seed}; leave --threshold and --seed out, or leave {routing.name} out."
        )
