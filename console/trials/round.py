"""One round of a run: what its trials share while they are played, and what it did, in numbers and in words."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from sqlmodel import Session

from console import runs
from console.actors import Actor
from console.database import now_ms
from console.detection.verdicts import (
    flagged_item,
    halted_item,
    is_audited,
    keep_verdict,
    routing_verdict,
    stored_verdict,
)
from console.environments.environment import Environment
from console.runs import trajectory_rows
from console.runs.options import run_options
from console.trajectory import Outcome
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, checkpoints
from console.trials.group_commit import GroupCommit
from console.trials.planning.versions import plan_for
from console.trials.start import ActorAndEnvironments
from console.trials.store import Trial
from storage import tables


@dataclass(slots=True)
class Advance:
    """`revealed` tasks got their next trial; `unknown` executions were cut off; `problems` say what did not go on.

    `undoable` decisions were not due yet, the first of them is at `due_ms` (ms since 1970).
    """

    delivered: int = 0
    approved: int = 0
    rejected: int = 0
    revealed: int = 0
    nothing_recorded: int = 0
    carried_over: int = 0
    released: int = 0
    queued: int = 0
    unknown: int = 0
    interrupted: int = 0
    problems: list[str] = field(default_factory=list)
    undoable: int = 0
    due_ms: int | None = None

    def interrupt(self, sentence: str) -> None:
        """Counts a trial that could not go on now; the sentence is kept once."""
        self.interrupted += 1
        if sentence not in self.problems:
            self.problems.append(sentence)

    def as_dict(self) -> dict[str, Any]:
        """The shape that `run next --json` prints."""
        document = asdict(self)
        return document | {"due_at": runs.iso(document.pop("due_ms"))}

    def in_words(self, at_ms: int) -> str:
        """What was done, and what waits at `at_ms` (ms since 1970) until it can no longer be taken back."""
        delivered = "1 decision" if self.delivered == 1 else f"{self.delivered} decisions"
        revealed = "1 task got its" if self.revealed == 1 else f"{self.revealed} tasks got their"
        parts = [f"{delivered} delivered", f"{revealed} next trial"]
        carried = "1 solved one was" if self.carried_over == 1 else f"{self.carried_over} solved ones were"
        parts += [f"{carried} carried over"] if self.carried_over else []
        unknown = "1 trial ended" if self.unknown == 1 else f"{self.unknown} trials ended"
        parts += [f"{unknown} because nobody knows whether the action ran"] if self.unknown else []
        waits = "1 new item waits" if self.queued == 1 else f"{self.queued} new items wait"
        sentences = [f"{', '.join(parts)}, {waits}."]
        if self.due_ms is not None:
            sentences.append(_undo_window(self.undoable, self.due_ms, at_ms))
        if self.nothing_recorded:
            tasks = "1 task has" if self.nothing_recorded == 1 else f"{self.nothing_recorded} tasks have"
            sentences.append(f"{tasks} no recorded next trial.")
        return " ".join(sentences)


def _undo_window(undoable: int, due_ms: int, at_ms: int) -> str:
    clock = datetime.fromtimestamp(due_ms / 1_000).strftime("%H:%M:%S")
    when = f"in {math.ceil((due_ms - at_ms) / 1_000)} s" if due_ms > at_ms else "now"
    if undoable == 1:
        return f"1 decision can still be taken back; it is delivered from {clock} on ({when})."
    return f"{undoable} decisions can still be taken back; the first is delivered from {clock} on ({when})."


NO_FEEDBACK = "none"
"""The arm without inspections: critical actions run unseen and unsolved tasks are tried again."""


@dataclass(frozen=True, slots=True)
class RoundContext:
    """One round of one run, `limit` trials at once; threads of `pool` judge, so that no trial waits for another's.

    `plans` are those that the run goes by, by type of task.
    """

    run: tables.Run
    actor_and_environments: ActorAndEnvironments
    group_commit: GroupCommit
    pool: Executor
    done: Advance
    limit: int
    plans: Mapping[str, str] = field(default_factory=dict)

    @property
    def patterns(self) -> list[str]:
        """The run's critical actions."""
        return runs.patterns(self.run)

    @property
    def explores(self) -> bool:
        """Whether plans are learnt from the trials."""
        return run_options(self.run).explores

    def plan(self, trial: Trial) -> str:
        """The plan that the run goes by in tasks of that type; empty where it has none."""
        return plan_for(self.plans, self.environment(trial).task_type(trial.task))

    @property
    def actor(self) -> Actor:
        """Who plays the trials."""
        return self.actor_and_environments.actor

    def environment(self, trial: Trial) -> Environment:
        """The environment that the trial is in."""
        return self.actor_and_environments.environment(trial.task.environment)

    def inspects(self, trial: Trial) -> bool:
        """Whether the trial's critical actions are judged."""
        return self.run.feedback_mode != NO_FEEDBACK and not trial.released

    async def judge(self, trial: Trial) -> bool:
        """Writes the trial as held and says whether its action waits: it is flagged or audited. Errors go up."""
        record = trial.record
        return await self._judge(trial, checkpoint_at(record, len(record.steps), CheckpointKind.ACTION))

    async def inspect_end(self, trial: Trial) -> None:
        """Queues a halted trial, and judges the end of another where the run has checkpoints there."""
        if not self.inspects(trial):
            return
        if trial.record.outcome is Outcome.HALTED:
            record = trial.record
            await self.group_commit.queue(halted_item(self.run, record.trial, trial.id, len(record.steps), now_ms()))
            self.done.queued += 1
        elif end := self._end(trial):
            await self._judge(trial, end)

    def _end(self, trial: Trial) -> Checkpoint | None:
        ends = self.environment(trial).ends if self.run.ends is None else self.run.ends
        found = checkpoints(trial.record, self.patterns, ends=ends)
        return found[-1] if found and found[-1].kind is CheckpointKind.END else None

    async def _judge(self, trial: Trial, seen: Checkpoint) -> bool:
        loop, run = asyncio.get_running_loop(), self.run
        known = await self.group_commit.write(lambda session: _hold(session, self, trial, seen))
        if known is None:
            row = await loop.run_in_executor(self.pool, routing_verdict, run, trial.id, seen)
            known = await self.group_commit.write(lambda session: keep_verdict(session, run, trial.id, seen, row))
        waits = known.flagged or is_audited(run, trial.record.task_id, trial.record.trial)
        if waits:
            await self.group_commit.queue(flagged_item(run, trial.record.trial, known, lambda: seen, now_ms()))
            self.done.queued += 1
        return waits


def _hold(session: Session, context: RoundContext, trial: Trial, seen: Checkpoint) -> tables.Verdict | None:
    trajectory_rows.write(session, trial.id, trial.record, context.patterns)
    return stored_verdict(session, context.run, trial.id, seen)
