"""Kills the engine within critical actions of the embedded worlds, and compares its trials with an undisturbed run's.

`python -m tests.console.trials.killing_embedded FOLDER --points N --seed S` prints what it found as JSON. Every third
critical action kills its process after it took effect and before its result is stored.
"""

import argparse
import json
import os
import random
import signal
import sys
from dataclasses import replace
from pathlib import Path

from sqlmodel import col, func, select

from console.actors import ACTORS
from console.database import database_url, reading
from console.environments import ENVIRONMENTS
from console.settings import settings
from console.trajectory.checkpoints import is_critical
from console.trials import engine, start
from console.trials.start import ActorAndEnvironments
from storage import tables
from storage.engine import close
from tests.console.trials.test_resuming import records

TASKS = {"webshop": 20, "hotpotqa": 20, "alfworld": 20}


class Deadly:
    """A world whose critical actions may kill their process."""

    def __init__(self, world, critical, chance):
        self._world, self._critical, self._chance, self.reset = world, critical, chance, world.reset

    def step(self, action):
        told = self._world.step(action)
        if is_critical(action, self._critical) and self._chance.random() < 1 / 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return told


def deadly(environment, chance):
    """The environment with deadly worlds."""
    return replace(environment, start=lambda task: Deadly(environment.start(task), environment.critical, chance))


def kill_at(points: int, seed: int) -> dict:
    """What came of a run with at most so many kills."""
    harmless, kills = ActorAndEnvironments(ACTORS["scripted"]), 0
    for name in ("whole", "killed"):
        start.start_run(name, TASKS, actor_and_environments=harmless, feedback_mode="none", seed=5, trials=1)
    engine.resume("whole", actor_and_environments=harmless)
    while kills < points:
        close(database_url())
        child = os.fork()
        if child == 0:
            chance = random.Random(f"{seed} {kills}")
            environments = {name: deadly(ENVIRONMENTS[name], chance) for name in TASKS}
            engine.resume("killed", actor_and_environments=replace(harmless, environments=environments), concurrency=6)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            break
        kills += 1
    engine.resume("killed", actor_and_environments=harmless)
    event, intent = tables.Event, tables.Intent
    with reading() as session:
        undone = session.exec(select(func.count()).where(event.kind == "action undone by a crash")).one()
        unfinished = session.exec(select(func.count()).where(col(intent.finished_ms).is_(None))).one()
    same = sum(one == other for one, other in zip(records("whole"), records("killed"), strict=True))
    return {"kills": kills, "undone": undone, "unfinished": unfinished, "trials": sum(TASKS.values()), "same": same}


def main() -> None:
    """Prints the findings as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    os.environ["INFERACT_DATA_DIR"] = str(wanted.folder / "data")
    settings.cache_clear()
    sys.stdout.write(json.dumps(kill_at(wanted.points, wanted.seed)) + "\n")


if __name__ == "__main__":
    main()
