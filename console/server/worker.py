"""The worker: a loop that releases expired claims, expires abandoned items, advances runs and sends messages."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

from anyio.from_thread import start_blocking_portal
from sqlalchemy.exc import DBAPIError

from console import runs
from console.auth.audit_log import span
from console.database import database_url, now_ms, reading, review_queue, writing
from console.errors import ConsoleError
from console.gate.policy import policy_store
from console.language import counted
from console.runs import live_traces, outbox, workers
from console.server import log_lines, notices
from console.settings import settings
from console.trials import replay
from storage import tables
from storage.check import seal_chains
from storage.errors import StorageError
from storage.tables import RunKind, WorkerStatus

Tell = Callable[[str], None]

_PAUSE_MS = 30_000
"""The time for which the worker skips a run after a failure."""

_PRUNING, _PRUNES_EVERY_MS, _DAY_MS = 0, 3_600_000, 86_400_000
"""The key of the removal of old allowed checks among the ids of skipped runs; no run has the id 0."""

_log = logging.getLogger(__name__)


def work(tell: Tell, *, once: bool = False, every_s: float = 1.0) -> None:
    """Run until SIGINT, SIGTERM or `inferact worker drain`, or for one round with `once`.

    The first signal ends the worker after its present job, the second at once. Raise BadInput if a setting of messages
    is invalid.
    """
    notices.check_settings()
    log_lines.set_up_logs()
    database_url()
    rested: dict[int, int] = {}
    own = Presence()
    if once:
        with start_blocking_portal() as portal:
            _round(tell, rested, own)
            portal.call(notices.send_due)
        return
    with own.shown(tell), start_blocking_portal() as portal:
        tell("Working. Stop with Ctrl+C.")
        # In loops of their own, so that a slow receiver and a long trial do not delay each other.
        sending = portal.start_task_soon(notices.keep_sending)
        beating = portal.start_task_soon(own.keep_beating)
        try:
            with suppress(KeyboardInterrupt):
                while not own.must_end.is_set():
                    _run_safely(partial(_round, tell, rested, own))
                    own.must_end.wait(every_s)
        finally:
            sending.cancel()
            beating.cancel()


class Presence:
    """The worker's record in the database, and whether the worker must end."""

    def __init__(self) -> None:
        self.must_end = threading.Event()
        self._id: int | None = None
        self._job = ""

    @contextmanager
    def shown(self, tell: Tell) -> Iterator[None]:
        """Record the worker until the end of the block, and handle the signals that stop it."""

        def hear(_number: int, _frame: FrameType | None) -> None:
            if self.must_end.is_set():
                raise KeyboardInterrupt
            self.must_end.set()
            if self._job:
                tell(f"{self._job}: finishing this round; press Ctrl+C again to stop at once.")

        before = {number: signal.signal(number, hear) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            self._register()
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            with suppress(StorageError, DBAPIError), writing() as session:
                workers.end_worker(session, self._id or 0, now_ms())

    async def keep_beating(self) -> None:
        """Record heartbeats until cancelled; end the worker if an operator drains it."""
        while True:
            await asyncio.sleep(workers.BEATS_EVERY_S)
            await asyncio.to_thread(_run_safely, self._beat)

    @contextmanager
    def job(self, name: str) -> Iterator[None]:
        """Record the job while the block runs, and the reason if the block fails."""
        self._record(name)
        try:
            with span("job"):
                yield
        except Exception as failed:
            self._record("", str(failed) or type(failed).__name__)
            raise
        self._record("")

    def _record(self, job: str, failure: str | None = None) -> None:
        self._job = job
        if self._id is not None:
            with writing() as session:
                workers.record_job(session, self._id, job, now_ms(), failure)

    def _register(self) -> None:
        with writing() as session:
            self._id = workers.add_worker(session, f"{platform.node()}-{os.getpid()}", now_ms())

    def _beat(self) -> None:
        with writing() as session:
            status = workers.record_heartbeat(session, self._id or 0, now_ms())
        if status is None:
            # A restored backup does not know this worker.
            self._register()
        elif status != WorkerStatus.WORKING:
            self.must_end.set()


def _round(tell: Tell, rested: dict[int, int], own: Presence) -> None:
    at_ms = now_ms()
    if freed := review_queue().sweep(now_ms=at_ms):
        tell(f"{counted(freed, 'claim')} expired and returned to the queue.")
    if at_ms >= rested.get(_PRUNING, 0):
        rested[_PRUNING] = at_ms + _PRUNES_EVERY_MS
        with writing() as session:
            policy_store.prune_allowed(session, at_ms - settings().keep_allowed_days * _DAY_MS)
            live_traces.prune(session, at_ms - live_traces.KEPT_DAYS * _DAY_MS)
            outbox.prune(session, at_ms - outbox.KEPT_DAYS * _DAY_MS)
        seal_chains(database_url())
    # Traces whose root span never came are read after a silence.
    live_traces.build_due(at_ms)
    with reading() as session:
        moving = runs.list_active_runs(session)
    for run in moving:
        if own.must_end.is_set():
            return
        run_id = run.id or 0
        if run.kind == RunKind.GATE:
            if gone := review_queue().expire_overdue(run_id=run_id, now_ms=at_ms):
                tell(f"{run.name}: {counted(gone, 'item')} expired: the deadline has passed, or the agent is gone.")
            continue
        due = at_ms >= rested.get(run_id, 0) and review_queue().due(run_id=run_id, now_ms=at_ms)
        if due and not _run_safely(partial(_advance, run, tell, own)):
            rested[run_id] = now_ms() + _PAUSE_MS


def _advance(run: tables.Run, tell: Tell, own: Presence) -> None:
    with own.job(run.name):
        tell(f"{run.name}: {replay.advance(run.name).in_words(now_ms())}")


def _run_safely(step: Callable[[], None]) -> bool:
    """Run the step and return whether the step succeeded; only log a failure, because the step is retried later."""
    try:
        step()
    except (ConsoleError, StorageError, DBAPIError) as refusal:
        _log.warning("%s", refusal)
    except Exception:
        # One failing run must not stop the others.
        _log.exception("A round of the worker failed; it continues with the next.")
    else:
        return True
    return False
