"""What one round of a run did.

All that the trials of one round share: the run, its players, the journal, the detector's threads.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass, field

from sqlmodel import Session

from console.database import now_ms
from console.detection.enqueue import HALTED_PRIORITY
from console.detection.verdicts import item_for, keep_verdict, routing_verdict, stored_verdict
from console.environments.environment import Environment
from console.runs import patterns
from console.trajectory import Outcome
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, checkpoints
from console.trials import store
from console.trials.group_commit import GroupCommit
from console.trials.start import ActorAndEnvironments
from console.trials.store import Trial
from storage import tables
from storage.queue import HALTED, NewItem


@dataclass(slots=True)
class Advance:
    """`revealed` tasks got their next trial; `unknown` executions were cut off; `problems` say what did not go on."""

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

    def interrupt(self, sentence: str) -> None:
        """Counts a trial that could not go on now; the sentence is kept once."""
        self.interrupted += 1
        if sentence not in self.problems:
            self.problems.append(sentence)


NO_FEEDBACK = "none"
"""The arm without inspections: critical actions run unseen and unsolved tasks are tried again."""


@dataclass(frozen=True, slots=True)
class RoundContext:
    """One round of one run, `limit` trials at once; threads of `pool` judge, so that no trial waits for another's."""

    run: tables.Run
    players: ActorAndEnvironments
    journal: GroupCommit
    pool: Executor
    done: Advance
    limit: int

    @property
    def patterns(self) -> list[str]:
        """The run's critical actions."""
        return patterns(self.run)

    def environment(self, trial: Trial) -> Environment:
        """The environment that the trial is in."""
        return self.players.environment(trial.task.environment)

    def inspects(self, trial: Trial) -> bool:
        """Whether the trial's critical actions are judged."""
        return self.run.feedback_mode != NO_FEEDBACK and not trial.released

    async def judge(self, trial: Trial) -> bool:
        """Writes the trial as held and says whether its action is flagged; an item waits then. Errors go up."""
        record = trial.record
        return await self._judge(trial, checkpoint_at(record, len(record.steps), CheckpointKind.ACTION))

    async def inspect_end(self, trial: Trial) -> None:
        """Queues a halted trial, and judges the end of another where the run has checkpoints there."""
        if not self.inspects(trial):
            return
        if trial.record.outcome is Outcome.HALTED:
            await self.journal.queue(_halted(self.run, trial))
            self.done.queued += 1
        elif end := self._end(trial):
            await self._judge(trial, end)

    def _end(self, trial: Trial) -> Checkpoint | None:
        ends = self.environment(trial).ends if self.run.ends is None else self.run.ends
        found = checkpoints(trial.record, self.patterns, ends=ends)
        return found[-1] if found and found[-1].kind is CheckpointKind.END else None

    async def _judge(self, trial: Trial, seen: Checkpoint) -> bool:
        loop, run = asyncio.get_running_loop(), self.run
        known = await self.journal.write(lambda session: _hold(session, self, trial, seen))
        if known is None:
            row = await loop.run_in_executor(self.pool, routing_verdict, run, trial.id, seen)
            known = await self.journal.write(lambda session: keep_verdict(session, run, trial.id, seen, row))
        if known.flagged:
            await self.journal.queue(item_for(run, trial.id, trial.record.trial, seen, known))
            self.done.queued += 1
        return known.flagged


def _hold(session: Session, stage: RoundContext, trial: Trial, seen: Checkpoint) -> tables.Verdict | None:
    store.write(session, trial.id, trial.record, stage.patterns)
    return stored_verdict(session, stage.run, trial.id, seen)


def _halted(run: tables.Run, trial: Trial) -> NewItem:
    return NewItem(
        run_id=run.id or 0,
        trial=trial.record.trial,
        trajectory_id=trial.id,
        step=len(trial.record.steps),
        kind=HALTED,
        priority=HALTED_PRIORITY,
        reviews_required=run.reviews_per_item,
        verdict_id=None,
        created_ms=now_ms(),
    )
