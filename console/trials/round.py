"""One round of a run: the state that its trials share, its result, and its grouped commits."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from sqlmodel import Session

from console import runs
from console.actors import Actor
from console.database import now_ms, reading, review_queue, writing
from console.detection import audit_draws
from console.detection.routing import acts_first, flagged_item, halted_item
from console.detection.verdicts import find_verdict, judge_by_routing, store_verdict
from console.environments.environment import Environment
from console.errors import Refused
from console.language import WERE, counted
from console.runs import RunOptions, trajectory_rows
from console.trajectory import Outcome
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, checkpoints
from console.trials.planning.versions import choose_plan_text
from console.trials.start import ActorAndEnvironments
from console.trials.store import Trial
from storage import tables
from storage.queue import NewItem


@dataclass(slots=True)
class Advance:
    """The result of a round: its counts, and its `problems` as sentences.

    `revealed` counts the tasks that got their next trial, and `unknown` the trials that were ended because their action
    may have run. `undoable` decisions were not due yet; the first is due at `due_ms` (ms since 1970).
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
        """Count a trial that could not continue, and keep its problem unless it is already listed."""
        self.interrupted += 1
        if sentence not in self.problems:
            self.problems.append(sentence)

    def refuse_interrupted(self) -> None:
        """Raise Refused with the problems if trials could not continue, because figures would lack these trials."""
        if self.interrupted:
            many = counted(self.interrupted, "trial", WERE)
            raise Refused(f"{many} interrupted. {' '.join(self.problems)} Run the command again.")

    def as_dict(self) -> dict[str, Any]:
        """Return the result in the shape of `run next --json`."""
        document = asdict(self)
        return document | {"due_at": runs.iso(document.pop("due_ms"))}

    def in_words(self, at_ms: int) -> str:
        """Describe the round, and the decisions that could still be undone at `at_ms` (ms since 1970)."""
        revealed = counted(self.revealed, "task", ("got its", "got their"))
        parts = [f"{counted(self.delivered, 'decision')} delivered", f"{revealed} next trial"]
        carried = counted(self.carried_over, "solved one", WERE)
        parts += [f"{carried} carried over"] if self.carried_over else []
        unknown = counted(self.unknown, "trial")
        parts += [f"{unknown} ended because it is unknown whether the action ran"] if self.unknown else []
        sentences = [f"{', '.join(parts)}, {counted(self.queued, 'new item')}."]
        if self.due_ms is not None:
            sentences.append(_undo_window(self.undoable, self.due_ms, at_ms))
        if self.nothing_recorded:
            tasks = counted(self.nothing_recorded, "task", ("has", "have"))
            sentences.append(f"{tasks} no recorded next trial.")
        return " ".join(sentences)


def _undo_window(undoable: int, due_ms: int, at_ms: int) -> str:
    clock = datetime.fromtimestamp(due_ms / 1_000).strftime("%H:%M:%S")
    when = f"in {math.ceil((due_ms - at_ms) / 1_000)} s" if due_ms > at_ms else "now"
    first = "it" if undoable == 1 else "the first"
    return f"{counted(undoable, 'decision')} can still be undone; {first} is delivered at {clock} ({when})."


NO_FEEDBACK = "none"
"""The feedback mode without inspections: critical actions run at once and unsolved tasks are retried."""


@dataclass(frozen=True, slots=True)
class RoundContext:
    """One round of one run, with `limit` trials at a time; `pool` judges actions; `plans` are by task type."""

    run: tables.Run
    actor_and_environments: ActorAndEnvironments
    group_commit: GroupCommit
    pool: Executor
    done: Advance
    limit: int
    options: RunOptions
    plans: Mapping[str, str] = field(default_factory=dict)

    @property
    def patterns(self) -> list[str]:
        """The run's patterns of critical actions."""
        return runs.patterns(self.run)

    def plan(self, trial: Trial) -> str:
        """Return the run's plan for tasks of the trial's type, or an empty text if the run has none."""
        return choose_plan_text(self.plans, self.environment(trial).task_type(trial.task))

    @property
    def actor(self) -> Actor:
        """The Actor that plays the trials."""
        return self.actor_and_environments.actor

    def environment(self, trial: Trial) -> Environment:
        """Return the environment of the trial."""
        return self.actor_and_environments.environment(trial.task.environment)

    def is_stopped(self) -> bool:
        """Return whether an operator stopped the run since the round began; count the trial as interrupted."""
        with reading() as session:
            stopped = runs.run_options(session.get_one(tables.Run, self.run.id)).stopped
        if stopped:
            self.done.interrupt("An operator stopped the run.")
        return stopped

    def inspects(self, trial: Trial) -> bool:
        """Return whether the trial's critical actions are judged."""
        return self.run.feedback_mode != NO_FEEDBACK and not trial.released

    async def judge(self, trial: Trial) -> bool:
        """Store the trial as held and return whether its action waits for a review; let errors propagate."""
        record = trial.record
        return await self._judge(trial, checkpoint_at(record, len(record.steps), CheckpointKind.ACTION))

    async def is_flagged(self, trial: Trial) -> bool:
        """Return whether the detector flags the held action, without storing its verdict; let errors propagate."""
        seen = checkpoint_at(trial.record, len(trial.record.steps), CheckpointKind.ACTION)
        judged = asyncio.get_running_loop().run_in_executor
        row = await judged(self.pool, judge_by_routing, self.run, trial.id, seen, now_ms())
        return bool(row["flagged"])

    async def inspect_end(self, trial: Trial) -> None:
        """Queue the trial if it halted, or judge its end if the run has checkpoints at ends."""
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
            row = await loop.run_in_executor(self.pool, judge_by_routing, run, trial.id, seen, now_ms())
            known = await self.group_commit.write(lambda session: store_verdict(session, run, trial.id, seen, row))
        record = trial.record
        chance = audit_draws.draw_number(run, record.task_id, record.trial, seen.index, str(seen.kind))
        draw = audit_draws.build_draw(run, self.options, known, chance, now_ms())
        if draw is not None:
            number, probability = draw.number, draw.probability
            await self.group_commit.write(lambda session: audit_draws.store_draw(session, draw))
        is_audit = draw is not None and number < probability
        waits = (known.flagged or is_audit) and not acts_first(self.options, known)
        if waits:
            item = flagged_item(run, self.options, record.trial, known, lambda: seen, now_ms())
            if is_audit and run.study_id is None:
                item = audit_draws.place_live_audit(item, known.threshold, number, probability)
            await self.group_commit.queue(item)
            self.done.queued += 1
        return waits


def _hold(session: Session, context: RoundContext, trial: Trial, seen: Checkpoint) -> tables.Verdict | None:
    trajectory_rows.write(session, trial.id, trial.record, context.patterns)
    return find_verdict(session, context.run, trial.id, seen)


T = TypeVar("T")
Operation = Callable[[Session], Any]


class CommitBatch:
    """A batch of writes from the trials of one event loop, committed in a thread while the loop continues."""

    def __init__(self, commit: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        self._commit = commit
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def add(self, work: Any) -> Any:
        """Add the work and return its result once it is on disk; a failure affects the whole batch."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._drain())
        return await done

    async def _drain(self) -> None:
        # Trials that write in this turn of the loop still join the batch.
        await asyncio.sleep(0)
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                results = await asyncio.to_thread(self._commit, [work for work, _ in batch])
            except Exception as failure:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(failure)
            else:
                for (_, done), result in zip(batch, results, strict=True):
                    if not done.done():
                        done.set_result(result)


class GroupCommit:
    """Grouped writes of trials: several rows in one transaction, or several review items in one transaction."""

    def __init__(self, queued: Callable[[], None]) -> None:
        """Keep `queued`, a callback that runs in a thread after review items are stored."""
        self._rows, self._items = CommitBatch(_commit), CommitBatch(lambda items: _put(items, queued))

    async def write(self, operation: Callable[[Session], T]) -> T:
        """Run the operation and return its result once it is on disk."""
        result: T = await self._rows.add(operation)
        return result

    async def queue(self, item: NewItem) -> None:
        """Put the item in the review queue."""
        await self._items.add(item)


def _commit(operations: Sequence[Operation]) -> list[Any]:
    with writing() as session:
        return [operation(session) for operation in operations]


def _put(items: Sequence[NewItem], queued: Callable[[], None]) -> Sequence[NewItem]:
    review_queue().put(items)
    queued()
    return items
