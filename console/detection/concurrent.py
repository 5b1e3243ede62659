"""Concurrent detection by models: checkpoints are opened once for all detectors, and verdicts are stored on arrival."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from console.database import now_ms, writing
from console.detection.detectors import Detector
from console.detection.detectors.shared.model_clients import Clients, ModelOptions
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.shared.reply_verdict import explain_silence
from console.detection.verdicts import DetectionUsage, Setup, build_row, store_verdicts
from console.llm.declined import find_refusal
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


@dataclass(slots=True)
class ConcurrentJudge:
    """The options of a detection; callbacks receive each row (`judged`), error (`failed`) and finished job (`over`).

    `keep` stores the rows that have arrived, by default in the database.
    """

    run: tables.Run
    bars: Mapping[str, float]
    asking: ModelOptions
    setup: Callable[[Detector, str], Setup]
    judged: Callable[[Detector, Row], None]
    failed: Callable[[Detector, ModelError], None]
    over: Callable[[Job], None]
    keep: Callable[[Sequence[Row]], None] = field(default_factory=lambda: _keep)
    _rows: asyncio.Queue[Row | None] = field(default_factory=asyncio.Queue)
    _failures: int = 0
    _silences: int = 0

    async def judge(self, pages: Iterable[Callable[[], Sequence[Job]]]) -> DetectionUsage:
        """Judge the jobs of all pages and return the usage; failed checkpoints get no verdict.

        Raise NoModel without a model, SpendingCapReached at the cap, ModelSilent after many empty replies, or the last
        ModelError if every request fails.
        """
        async with Clients(self.asking) as clients:
            writer = asyncio.create_task(_write(self._rows, self.keep))
            try:
                await self._judge_all(clients, pages)
            except ExceptionGroup as several:
                raise several.exceptions[0] from None
            finally:
                self._rows.put_nowait(None)
                await writer
            return DetectionUsage(clients.tally, clients.lacking())

    async def _judge_all(self, clients: Clients, pages: Iterable[Callable[[], Sequence[Job]]]) -> None:
        # Twice the requests at a time: a checkpoint between two questions leaves no slot idle.
        seats = asyncio.Semaphore(2 * (self.asking.concurrency or settings().concurrency))
        async with asyncio.TaskGroup() as group:
            for page in pages:
                for job in await asyncio.to_thread(page):
                    await seats.acquire()
                    task = group.create_task(self._job(clients, job))
                    task.add_done_callback(lambda _done: seats.release())

    async def _job(self, clients: Clients, job: Job) -> None:
        # Those with the longest chain of questions go first, so that the others fill its pauses.
        judges = sorted(job.judges, key=lambda judge: -len(judge.prompts))
        caches = clients.open_caches(judges, job.checkpoint, self.run.seed)
        await asyncio.gather(*(self._ask(job, one, caches[self.asking.names(one)]) for one in judges))
        self.over(job)
        for cache in caches.values():
            self._heed(cache)

    async def _ask(self, job: Job, one: Detector, cache: QueryCache) -> None:
        bar = self.bars[one.name]
        try:
            verdict = await self.asking.verdict(one, cache, bar)
        except ModelError as failure:
            self.failed(one, failure)
            self._failures += not isinstance(failure, Deferred)
            if self._failures >= _HOPELESS:
                raise
            return
        self._failures = 0
        setup = self.setup(one, job.checkpoint.environment)
        row = build_row(self.run, one, bar, job.trajectory_id, job.checkpoint, verdict, setup, now_ms())
        self.judged(one, row)
        self._rows.put_nowait(row)

    def _heed(self, cache: QueryCache) -> None:
        """Raise ModelSilent after too many consecutive empty or refused replies."""
        for call in cache.calls:
            cause = explain_silence(call) or ("" if self.asking.paper else find_refusal(call.reply))
            self._silences = self._silences + 1 if cause else 0
            if self._silences >= SILENCE:
                raise ModelSilent(
                    f"{call.model} gave {self._silences} empty or refused replies in a row (the last: {cause}), so the "
                    "detection stopped. The affected verdicts are flags. Run the detection again to replace them."
                )


async def _write(rows: asyncio.Queue[Row | None], keep: Callable[[Sequence[Row]], None]) -> None:
    """Store the rows that have arrived, in one call of `keep` off the event loop, until None arrives."""
    open_for_more = True
    while open_for_more:
        batch = [await rows.get()]
        while not rows.empty():
            batch.append(rows.get_nowait())
        open_for_more = None not in batch
        if found := [row for row in batch if row is not None]:
            await asyncio.to_thread(keep, found)


def _keep(rows: Sequence[Row]) -> None:
    with writing() as session:
        store_verdicts(session, rows)
