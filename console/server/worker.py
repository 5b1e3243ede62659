"""The worker: a loop that releases expired claims, expires abandoned items, advances runs and sends messages."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from anyio.from_thread import start_blocking_portal
from sqlalchemy.exc import DBAPIError

from console import runs
from console.database import database_url, now_ms, reading, review_queue, writing
from console.errors import ConsoleError
from console.gate.policy import policy_store
from console.runs import live_traces, outbox
from console.server import notices
from console.settings import settings
from console.trials import replay
from storage import tables
from storage.check import seal_chains
from storage.errors import StorageError
from storage.tables import RunKind

Tell = Callable[[str], None]

_PAUSE_MS = 30_000
"""The time for which the worker skips a run after a failure."""

_PRUNING, _PRUNES_EVERY_MS, _DAY_MS = 0, 3_600_000, 86_400_000
"""The key of the removal of old allowed checks among the ids of skipped runs; no run has the id 0."""

_log = logging.getLogger(__name__)


def work(tell: Tell, *, once: bool = False, every_s: float = 1.0) -> None:
    """Run until SIGINT or SIGTERM, or for one round with `once`; raise BadInput if a setting of messages is invalid."""
    notices.check_settings()
    database_url()
    if not once:
        tell("Working. Stop with Ctrl+C.")
    rested: dict[int, int] = {}
    with _interruptible(), start_blocking_portal() as portal:
        if once:
            _round(tell, rested)
            portal.call(notices.send_due)
            return
        # In its own loop, so that a slow receiver and a long trial do not delay each other.
        sending = portal.start_task_soon(notices.keep_sending)
        try:
            with suppress(KeyboardInterrupt):
                while True:
                    _carefully(partial(_round, tell, rested))
                    time.sleep(every_s)
        finally:
            sending.cancel()


def _round(tell: Tell, rested: dict[int, int]) -> None:
    at_ms = now_ms()
    if freed := review_queue().sweep(now_ms=at_ms):
        tell(f"{freed} claims had expired; their items are pending again.")
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
        run_id = run.id or 0
        if run.kind == RunKind.GATE:
            if gone := review_queue().expire_overdue(run_id=run_id, now_ms=at_ms):
                tell(f"{run.name}: {gone} items expired, since their deadlines have passed or their agents are gone.")
            continue
        due = at_ms >= rested.get(run_id, 0) and review_queue().due(run_id=run_id, now_ms=at_ms)
        if due and not _carefully(partial(_advance, run, tell)):
            rested[run_id] = now_ms() + _PAUSE_MS


def _advance(run: tables.Run, tell: Tell) -> None:
    tell(f"{run.name}: {replay.advance(run.name).in_words(now_ms())}")


def _carefully(step: Callable[[], None]) -> bool:
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


@contextmanager
def _interruptible() -> Iterator[None]:
    """Handle SIGTERM like Ctrl+C: completed writes are kept, and the next start continues after these writes."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
