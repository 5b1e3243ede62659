"""Waking open tabs: one look at the database for all tabs of a server, then a run of the fragment whose news it is.

A page that asks every few seconds by itself costs its server as often, news or none. Streamlit has no public way to run
a fragment from outside, so `_run` uses the one that its own file watcher goes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from streamlit import runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.runtime.session_manager import SessionManager

from console.database import changes, database_url, reading

Look = Callable[..., Hashable]
"""What a tab wants to know: a function of a session and of the arguments that stand beside it."""

_EVERY_S = 0.5
_AFTER_FAILURE_S = 5.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Watch:
    """A fragment of an open tab, and what it shows; it runs again once a look finds something else."""

    fragment: ClientState
    look: Look
    arguments: tuple[Hashable, ...]
    shows: Hashable
    pause_s: float
    found: Hashable
    rested_until_s: float


_watches: WeakKeyDictionary[AppSession, _Watch] = WeakKeyDictionary()
_guard = threading.Lock()
_watcher: list[threading.Thread] = []
_changes = [0]
_new = threading.Event()
"""What a tab shows was read before its watch began; so a new watch is looked at in any case."""


def wake_when_other(look: Look, *arguments: Hashable, shows: Hashable, pause_s: float = _EVERY_S) -> None:
    """Runs the fragment that calls this again once `look` finds another value than what it `shows`.

    Called in a fragment; a tab has one such fragment, the one that called last. Between two runs lie `pause_s` seconds
    at least, so that many changes at once cost no more than one.
    """
    context = get_script_run_ctx()
    fragment_id = ThreadState.get().fragment_id
    tabs = _tabs()
    info = tabs.get_active_session_info(context.session_id) if context and tabs else None
    if context is None or fragment_id is None or info is None:
        # Without a server, as when a script drives the page, nobody could wake it.
        return
    fragment = ClientState(
        fragment_id=fragment_id,
        page_script_hash=context.page_script_hash,
        query_string=context.query_string,
        is_auto_rerun=True,
    )
    rested = time.monotonic() + pause_s
    with _guard:
        _watches[info.session] = _Watch(fragment, look, arguments, shows, pause_s, shows, rested)
        _new.set()
        if not (_watcher and _watcher[0].is_alive()):
            _watcher[:] = [threading.Thread(target=_keep_looking, name="waking", daemon=True)]
            _watcher[0].start()


def any_change(_session: object = None) -> int:
    """How many changes of the database were noticed: as a look, whatever anybody writes is news."""
    return _changes[0]


def _tabs() -> SessionManager | None:
    return getattr(runtime.get_instance(), "_session_mgr", None) if runtime.exists() else None


def _keep_looking() -> None:
    """Looks until no tab wants to know anything any more."""
    while _is_needed():
        try:
            _look_at(database_url())
        except Exception:
            _log.exception("What is new for the open tabs could not be looked up; it is tried again.")
            time.sleep(_AFTER_FAILURE_S)


def _look_at(url: str) -> None:
    """Looks as long as that is the database of the settings."""
    with changes(url) as changed:
        while _is_needed() and database_url() == url:
            news = changed()
            _changes[0] += news
            if news or _new.is_set():
                _new.clear()
                _look()
            _wake()
            time.sleep(_EVERY_S)


def _is_needed() -> bool:
    """Whether a tab still shows its fragment, and this thread is the one that looks for it."""
    with _guard:
        for gone in [tab for tab, watch in _watches.items() if not tab.has_fragment(watch.fragment.fragment_id)]:
            del _watches[gone]
        if not _watches:
            _watcher.clear()
        return _watcher == [threading.current_thread()]


def _standing() -> list[tuple[AppSession, _Watch]]:
    with _guard:
        return list(_watches.items())


def _look() -> None:
    """Asks once for all tabs that want to know the same."""
    known: dict[Hashable, Hashable] = {}
    with reading() as session:
        for _, watch in _standing():
            question = (watch.look, watch.arguments)
            if question not in known:
                known[question] = watch.look(session, *watch.arguments)
            watch.found = known[question]


def _wake() -> None:
    now_s = time.monotonic()
    for tab, watch in _standing():
        if watch.found != watch.shows and now_s >= watch.rested_until_s:
            tab._event_loop.call_soon_threadsafe(_run, tab, watch)


def _run(tab: AppSession, watch: _Watch) -> None:
    """Runs the fragment where a browser is connected and nothing else runs; else it is tried again at the next look.

    A request that met another on its way would take that one's page and address from it.
    """
    tabs = _tabs()
    if tab._scriptrunner is None and tabs is not None and tabs.is_active_session(tab.id):
        watch.shows, watch.rested_until_s = watch.found, time.monotonic() + watch.pause_s
        tab.request_rerun(watch.fragment)
