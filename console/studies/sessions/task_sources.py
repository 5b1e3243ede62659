"""The tasks that a study can draw on: an environment's own, by its seed, or those that an archive run recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from sqlmodel import Session, col, select

from console import runs
from console.environments import environment
from console.environments.environment import TaskSpec
from console.errors import BadInput, Refused
from console.studies.design import Design, conditions, task_count
from storage import tables
from storage.tables import RunKind

_SPARE_PER_PROBE = 30
"""Tasks played for each item with a known answer: the Actor gets some wrong, and detectors flag few of the others."""
_LEAST_SPARE, _MOST_SPARE = 60, 600

Tasks = Mapping[str, TaskSpec]


def probes_wanted(design: Design) -> int:
    """Items with gold that one participant meets beside those of the study."""
    return design.practice + len(conditions(design)) * design.checks.known


def keys(session: Session, design: Design) -> tuple[str, ...]:
    """Keys of all tasks to sample from; raises BadInput, Unknown, and Refused where the run is no archive."""
    if design.source.run is None:
        return tuple(specs(design))
    run = runs.get(session, design.source.run)
    if run.kind != RunKind.ARCHIVE:
        raise Refused(f"Run {run.name!r} is no archive of imported logs; only those can be replayed in a study.")
    task = tables.Task
    return tuple(
        session.exec(select(task.task_key).where(task.run_id == run.id).distinct().order_by(col(task.task_key)))
    )


def specs(design: Design) -> Tasks:
    """The tasks of the design's environment by key, those for known items included; raises BadInput and Unknown."""
    name = design.source.environment or ""
    wanted = probes_wanted(design)
    spare = min(max(_LEAST_SPARE, _SPARE_PER_PROBE * wanted), _MOST_SPARE) if wanted else 0
    return _specs(name, design.seed, task_count(design) + spare)


def chosen(design: Design, wanted: Sequence[str]) -> list[TaskSpec]:
    """The tasks of those keys, in their order."""
    known = specs(design)
    if not known.keys() >= set(wanted):
        # Made by a version that kept more tasks to spare.
        known = _specs(design.source.environment or "", design.seed, task_count(design) + _MOST_SPARE)
    return [known[key] for key in wanted]


@lru_cache(maxsize=8)
def _specs(name: str, seed: int, count: int) -> Tasks:
    make = environment(name).tasks
    if make is None:
        raise BadInput(f"source.environment: {name} is known from logs only; no agent can act in it, so replay a run.")
    return MappingProxyType({task.task_id: task for task in make(seed, count)})
