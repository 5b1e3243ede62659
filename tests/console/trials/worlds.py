"""A small world with two kinds of critical action, and Actors whose every move is known beforehand.

`seal *` is critical and can come midway, `send *` ends the task; both are written to a side file when they really run.
"""

import asyncio
import sys
from pathlib import Path

from console.actors import Actor, Move
from console.environments.environment import Environment, TaskSpec
from console.trials.start import ActorAndEnvironments


class Office:
    """Notes are taken, letters are sealed and sent; the right letter is the task's gold."""

    def __init__(self, task: TaskSpec, ledger: Path | None) -> None:
        self._task, self._ledger, self._steps = task, ledger, 0

    def reset(self, *, seed=None, options=None):
        self._steps = 0
        return f"You are in the office. {self._task.instruction}", {}

    def step(self, action):
        self._steps += 1
        word, _, rest = action.partition(" ")
        if word == "crash":
            raise RuntimeError("the office is on fire")
        if word in ("seal", "send"):
            self._write(action)
        done = word == "send"
        success = done and rest.split()[0] == self._task.gold["answer"]
        return (
            f"{self._steps}: you {action}",
            float(success),
            done,
            False,
            {"success": success, "score": float(success)},
        )

    def _write(self, action):
        # Repeating recorded steps to bring a world back is no execution; the ledger counts executions only.
        repeated, frame = False, sys._getframe()
        while frame := frame.f_back:
            repeated |= frame.f_code.co_name == "rebuild_world"
        if self._ledger and not repeated:
            with self._ledger.open("a") as ledger:
                ledger.write(f"{self._task.task_id}|{self._steps}|{action}\n")


def tasks(seed, count):
    """Task n wants letter n."""
    return [TaskSpec(f"letter-{n}", "office", f"Send letter {n}.", {"answer": str(n)}) for n in range(count)]


def office(ledger=None, **changes):
    """The environment, its executions written to the ledger file."""
    facts = {
        "critical": ("seal *", "send *"),
        "terminal": ("send *",),
        "step_cap": 8,
        "tasks": tasks,
        "start": lambda task: Office(task, ledger),
        "replayable": True,
    }
    return Environment("office", "Office", **facts | changes)


def actor(plan, *, pause=0.0, reflect=None, seen=None):
    """An Actor whose moves are those of `plan(view)`, one by one; it notes in `seen` how far it has come."""

    async def act(view):
        if seen and view.steps:
            letter = view.instruction.split()[-1].rstrip(".")
            with seen.open("a") as notes:
                notes.write(f"letter-{letter}|{view.seed % 1_009}|{len(view.steps)}\n")
        await asyncio.sleep(pause)
        return Move(f"step {len(view.steps)}", plan(view)[len(view.steps)])

    async def plan_from(reflection):
        return f"I was refused: {reflection.rejected_action}"

    return Actor("planner", "Planner", act, reflect or plan_from)


def sends_wrong_until_told(view):
    """Odd letters go wrong until a word in memory says which letter to send; a bare plan sends 99."""
    number = int(view.instruction.split()[-1].rstrip("."))
    letter = str(number) if number % 2 == 0 else "wrong"
    for text in view.memory:
        letter = next((word for word in text.split() if word.isdigit()), "99")
    return ["note a", "note b", f"send {letter}"]


def seals_midway(view):
    """Seals in the middle, then sends the right letter."""
    number = view.instruction.split()[-1].rstrip(".")
    return ["note a", f"seal {number}", "note b", f"send {number}"]


def players(plan, ledger=None, **changes):
    """An Actor with that plan, in the office."""
    pause = changes.pop("pause", 0.0)
    return ActorAndEnvironments(actor(plan, pause=pause), {"office": office(ledger, **changes)})
