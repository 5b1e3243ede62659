"""The worker, a loop beside the console.

It frees lapsed claims, expires what no agent waits for, advances runs and sends webhooks.
"""

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
from console.database import database_url, now_ms, reading, review_queue
from console.errors import ConsoleError
from console.gate.wait import expire_abandoned
from console.server import webhooks
from console.trials import replay
from storage import tables
from storage.errors import StorageError
from storage.tables import RunKind

Tell = Callable[[str], None]

_PAUSE_MS = 30_000
"""How long a run is left alone after it could not go on."""

_log = logging.getLogger(__name__)


def work(tell: Tell, *, once: bool = False, every_s: float = 1.0) -> None:
    """Works until SIGINT or SIGTERM, or one round with `once`; raises BadInput for a webhook that cannot be used."""
    webhooks.receiver()
    rested: dict[int, int] = {}
    with _interruptible(), start_blocking_portal() as portal:
        if once:
            _round(tell, rested)
            portal.call(webhooks.send_due)
            return
        # In a loop of its own: neither a slow receiver nor a long trial makes the other wait.
        sending = portal.start_task_soon(webhooks.keep_sending)
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
        tell(f"{freed} claims had lapsed; their items are free again.")
    with reading() as session:
        moving = runs.moving(session)
    for run in moving:
        run_id = run.id or 0
        if run.kind == RunKind.GATE:
            if gone := expire_abandoned(database_url(), run_id, at_ms):
                tell(f"{run.name}: {gone} items expired, their agents went away.")
            continue
        due = at_ms >= rested.get(run_id, 0) and review_queue().due(run_id=run_id, now_ms=at_ms)
        if due and not _carefully(partial(_advance, run, tell)):
            rested[run_id] = now_ms() + _PAUSE_MS


def _advance(run: tables.Run, tell: Tell) -> None:
    tell(f"{run.name}: {replay.advance(run.name).in_words(now_ms())}")


def _carefully(step: Callable[[], None]) -> bool:
    """Whether the step was done; what it could not do is told and tried again later."""
    try:
        step()
    except (ConsoleError, StorageError, DBAPIError) as refusal:
        _log.warning("%s", refusal)
    except Exception:
        # One run that breaks must not keep the others from going on.
        _log.exception("A round of the worker broke; it goes on with the next.")
    else:
        return True
    return False


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM stops as Ctrl+C does: what is written is whole, and the next start takes up the rest."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
