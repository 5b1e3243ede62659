"""Concurrent detection by models: checkpoints are opened once for all detectors, and verdicts stored as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from console.database import writing
from console.detection.detectors import Detector
from console.detection.detectors.shared.model_clients import Clients, ModelOptions, Setup
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.shared.reply_verdict import explain_silence
from console.detection.reports import DetectionUsage
from console.detection.verdicts import build_row, store_verdicts
from console.llm.errors import Deferred, ModelError, ModelSilent
from console.settings import settings
from console.trajectory.checkpoints import Checkpoint
from storage import tables

_HOPELESS = 20
"""The number of failures in a row after which a detection stops."""

SILENCE = 10
"""The number of empty or refused replies in a row after which a detection stops."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """A checkpoint and the detectors for which it is pending."""

    trajectory_id: int
    checkpoint: Checkpoint
    judges: tuple[Detector, ...]


@dataclass(frozen=True, slots=True)
class ConcurrentJudge:
    """The options of a detection; `judged` gets a row, `failed` an endpoint's error, `over` a finished job."""

    run: tables.Run
    bars: Mapping[str, float]
    asking: ModelOptions
    setup: Callable[[Detector, str], Setup]
    judged: Callable[[Detector, Row], None]
    failed: Callable[[Detector, ModelError], None]
    over: Callable[[Job], None]


def judge(panel: ConcurrentJudge, pages: Iterable[Callable[[], Sequence[Job]]]) -> DetectionUsage:
    """Judge the jobs of all pages and return the usage; only failed checkpoints do not get a verdict.

    Raises NoModel, SpendingCapReached, ModelSilent, or the last ModelError if every request fails.
    """
    return asyncio.run(_Worker(panel).judge(pages))


@dataclass(slots=True)
class _Worker:
    panel: ConcurrentJudge
    rows: asyncio.Queue[Row | None] = field(default_factory=asyncio.Queue)
    failures: int = 0
    silences: int = 0

    async def judge(self, pages: Iterable[Callable[[], Sequence[Job]]]) -> DetectionUsage:
        async with Clients(self.panel.asking) as clients:
            writer = asyncio.create_task(_write(self.rows))
            try:
                await self._judge_all(clients, pages)
            except ExceptionGroup as several:
                raise several.exceptions[0] from None
            finally:
                self.rows.put_nowait(None)
                await writer
            return DetectionUsage(clients.tally, clients.lacking())

    async def _judge_all(self, clients: Clients, pages: Iterable[Callable[[], Sequence[Job]]]) -> None:
        # Twice the requests at a time: a checkpoint between two questions leaves no slot idle.
        seats = asyncio.Semaphore(2 * (self.panel.asking.concurrency or settings().concurrency))
        async with asyncio.TaskGroup() as group:
            for page in pages:
                for job in await asyncio.to_thread(page):
                    await seats.acquire()
                    task = group.create_task(self._job(clients, job))
                    task.add_done_callback(lambda _done: seats.release())

    async def _job(self, clients: Clients, job: Job) -> None:
        benches: dict[tuple[str, str], QueryCache] = {}
        waiting = []
        # Those with the longest chain of questions go first, so that the others fill its pauses.
        for one in sorted(job.judges, key=lambda judge: -len(judge.prompts)):
            names = self.panel.asking.names(one)
            if names not in benches:
                benches[names] = QueryCache(job.checkpoint, clients.models(names), self.panel.run.seed)
            waiting.append(self._ask(job, one, benches[names]))
        await asyncio.gather(*waiting)
        self.panel.over(job)
        for bench in benches.values():
            self._heed(bench)

    async def _ask(self, job: Job, one: Detector, bench: QueryCache) -> None:
        panel, bar = self.panel, self.panel.bars[one.name]
        try:
            verdict = await panel.asking.verdict(one, bench, bar)
        except ModelError as failure:
            panel.failed(one, failure)
            self.failures += not isinstance(failure, Deferred)
            if self.failures >= _HOPELESS:
                raise
            return
        self.failures = 0
        setup = panel.setup(one, job.checkpoint.environment)
        row = build_row(panel.run, one, bar, job.trajectory_id, job.checkpoint, verdict, setup)
        panel.judged(one, row)
        self.rows.put_nowait(row)

    def _heed(self, cache: QueryCache) -> None:
        """Raise ModelSilent after too many empty or refused replies in a row."""
        for call in cache.calls:
            cause = explain_silence(call)
            self.silences = self.silences + 1 if cause else 0
            if self.silences >= SILENCE:
                raise ModelSilent(
                    f"{call.model} gave {self.silences} empty or refused replies in a row (the last: {cause}), so no "
                    "more was asked. Verdicts that rest on them flag; the next detection asks for them again."
                )


async def _write(rows: asyncio.Queue[Row | None]) -> None:
    """Store the rows that have arrived, in one short transaction off the event loop, until None arrives."""
    open_for_more = True
    while open_for_more:
        batch = [await rows.get()]
        while not rows.empty():
            batch.append(rows.get_nowait())
        open_for_more = None not in batch
        if found := [row for row in batch if row is not None]:
            await asyncio.to_thread(_keep, found)


def _keep(rows: Sequence[Row]) -> None:
    with writing() as session:
        store_verdicts(session, rows)
