"""Fragments of open tabs that run again when the database changes; one thread watches for all tabs of a server.

Fragments that ran every few seconds would load the server even if nothing had changed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from weakref import WeakKeyDictionary

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession

from console.database import changes, database_url, may_create, reading
from console.web.streamlit_internals import call_on_event_loop, current_fragment, is_connected, is_idle

Query = Callable[..., Hashable]
"""A function of a session and further arguments that returns the value a fragment depends on."""

_EVERY_S = 0.5
_AFTER_FAILURE_S = 5.0
SHARED_A_ROUND = 5
"""The reruns of shared fragments over all tabs in one look at the database; else they grow with the number of tabs."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watch:
    """A fragment of an open tab, with the query value that the fragment shows and the latest query value."""

    fragment: ClientState
    query: Query
    arguments: tuple[Hashable, ...]
    shows: Hashable
    pause_s: float
    latest: Hashable
    not_before_s: float
    is_stale: bool = True
    """Whether the database changed since the query ran; a new fragment read the database before its watch began."""
    is_shared: bool = False
    asked_s: float = 0.0


_watches: WeakKeyDictionary[AppSession, dict[str, _Watch]] = WeakKeyDictionary()
_guard = threading.Lock()
_watcher: list[threading.Thread] = []
_changes = [0]
_stopped = threading.Event()


def rerun_on_change(
    query: Query, *arguments: Hashable, shows: Hashable, pause_s: float = _EVERY_S, shared: bool = False
) -> None:
    """Run the calling fragment again if `query` no longer returns `shows`, at most every `pause_s` seconds.

    The tabs take turns with a `shared` fragment, which every tab has. A tab may have several such fragments. Do nothing
    if no server runs.
    """
    running = current_fragment()
    if running is None:
        return
    tab, fragment = running
    not_before_s = time.monotonic() + pause_s
    with _guard:
        watch = _Watch(fragment, query, arguments, shows, pause_s, shows, not_before_s, is_shared=shared)
        _watches.setdefault(tab, {})[fragment.fragment_id] = watch
        if not (_watcher and _watcher[0].is_alive()):
            _stopped.clear()
            _watcher[:] = [threading.Thread(target=_watch_database, name="live-fragments", daemon=True)]
            _watcher[0].start()


def choose_due(watches: Iterable[_Watch], now_s: float) -> list[_Watch]:
    """Return the watches whose queries run now: of the shared ones those that were asked longest ago."""
    due = [watch for watch in watches if watch.is_stale and now_s >= watch.not_before_s]
    shared = sorted((watch for watch in due if watch.is_shared), key=attrgetter("asked_s"))
    return [watch for watch in due if not watch.is_shared] + shared[:SHARED_A_ROUND]


def stop_watching() -> None:
    """Forget the open tabs, and wait until the thread that watches the database has ended."""
    with _guard:
        watcher = list(_watcher)
        _watches.clear()
    _stopped.set()
    for thread in watcher:
        thread.join()


def count_changes(_session: object = None) -> int:
    """Return the number of database changes so far. A fragment with this `query` runs again after every change."""
    return _changes[0]


def _watch_database() -> None:
    # A removed database stays removed: only what starts work creates one.
    may_create.set(False)
    while _is_needed():
        try:
            _watch(database_url())
        except Exception:
            _log.exception("Could not read what changed for the open tabs; trying again.")
            _stopped.wait(_AFTER_FAILURE_S)


def _watch(url: str) -> None:
    """Watch the database at `url` until the settings name another database or no tab is left."""
    with changes(url) as changed:
        while _is_needed() and database_url() == url:
            news = changed()
            _changes[0] += news
            for _, watch in _list_watches() if news else ():
                watch.is_stale = True
            _run_queries()
            _schedule_reruns()
            _stopped.wait(_EVERY_S)


def _is_needed() -> bool:
    """Return whether a tab still shows its fragment and this thread is the current watcher."""
    with _guard:
        for tab in list(_watches):
            _watches[tab] = {name: watch for name, watch in _watches[tab].items() if tab.has_fragment(name)}
            if not _watches[tab]:
                del _watches[tab]
        if not _watches:
            _watcher.clear()
        return _watcher == [threading.current_thread()]


def _list_watches() -> list[tuple[AppSession, _Watch]]:
    with _guard:
        return [(tab, watch) for tab, of_tab in _watches.items() for watch in of_tab.values()]


def _run_queries() -> None:
    known: dict[Hashable, Hashable] = {}
    # A closed tab stays for minutes, in case its browser comes back, and takes no turn until then.
    connected = (watch for tab, watch in _list_watches() if is_connected(tab))
    due = choose_due(connected, time.monotonic())
    if not due:
        return
    with reading() as session:
        for watch in due:
            question = (watch.query, watch.arguments)
            if question not in known:
                known[question] = watch.query(session, *watch.arguments)
            watch.latest, watch.is_stale, watch.asked_s = known[question], False, time.monotonic()


def _schedule_reruns() -> None:
    now_s = time.monotonic()
    for tab, watch in _list_watches():
        if watch.latest != watch.shows and now_s >= watch.not_before_s:
            call_on_event_loop(tab, partial(_rerun, tab, watch))


def _rerun(tab: AppSession, watch: _Watch) -> None:
    """Request a rerun of the fragment if the tab is idle; otherwise the next round of the watcher schedules it again.

    A request during another run of the tab could mix up their pages and addresses.
    """
    if is_idle(tab):
        watch.shows, watch.not_before_s = watch.latest, time.monotonic() + watch.pause_s
        tab.request_rerun(watch.fragment)
