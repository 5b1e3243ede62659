"""A new live run: its tasks, and a first trial of each that the engine then plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlmodel import Session

from console import runs
from console.actors import actor
from console.database import now_ms, writing
from console.detection.detectors import detector
from console.environments.environment import TaskSpec
from console.errors import BadInput
from console.live.beginning import fresh, insert_tasks, insert_trials
from console.live.players import Players
from storage import tables
from storage.tables import RunKind

FEEDBACK = ("nl", "binary", "none")


def start(
    name: str,
    counts: Mapping[str, int],
    *,
    actor_name: str = "scripted",
    players: Players | None = None,
    seed: int = 0,
    **fields: Any,
) -> tables.Run:
    """Makes a run of so many tasks per environment, its first trials not begun; `engine.resume` plays them.

    `fields` are those of `begin`, and further columns of the run. Raises BadInput, Unknown, Refused for a taken name.
    """
    players = players or Players(actor(actor_name))
    tasks = [task for environment, count in counts.items() for task in _tasks(players, environment, count, seed)]
    with writing() as session:
        run = begin(session, name, tasks, players=players, seed=seed, **fields)
        session.flush()
        session.expunge(run)
    return run


def begin(
    session: Session,
    name: str,
    tasks: Sequence[TaskSpec],
    *,
    players: Players,
    detector_name: str = "rules",
    threshold: float | None = None,
    **fields: Any,
) -> tables.Run:
    """Adds a run of exactly these tasks to the caller's transaction; raises as `start` does."""
    judge = detector(detector_name)
    if fields.get("feedback_mode", "nl") not in FEEDBACK:
        raise BadInput(f"Feedback is {', '.join(FEEDBACK)}, not {fields['feedback_mode']!r}.")
    if not tasks:
        raise BadInput("A run needs at least one task; name an environment and how many.")
    environments = list(dict.fromkeys(task.environment for task in tasks))
    run = runs.create(
        session,
        name,
        RunKind.LIVE,
        now_ms(),
        actor=players.actor.name,
        critical=orjson.dumps(_critical(players, environments)).decode(),
        detector=judge.name,
        threshold=judge.threshold if threshold is None else threshold,
        **fields,
    )
    run.environment = ",".join(environments)
    ids = insert_tasks(session, run, tasks)
    insert_trials(session, run, list(zip(ids, (fresh(task, 0) for task in tasks), strict=True)), now_ms())
    return run


def _tasks(players: Players, environment: str, count: int, seed: int) -> list[TaskSpec]:
    make = players.environment(environment).tasks
    if count < 1 or make is None:
        raise BadInput(f"{count} tasks of {environment} is no number to run; give at least 1.")
    return list(make(seed, count))


def _critical(players: Players, environments: Sequence[str]) -> list[str]:
    patterns = [pattern for name in environments for pattern in players.environment(name).critical]
    return list(dict.fromkeys(patterns))
