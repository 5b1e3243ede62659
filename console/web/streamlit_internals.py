"""The undocumented members of Streamlit that the console uses; no other module of the console uses any of them.

`tests/console/web/test_streamlit_internals.py` lists what breaks if a member is missing. Run that test before you
widen the range of Streamlit versions in pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Callable

from streamlit import config, runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.web import bootstrap


def load_options(options: dict[str, object]) -> None:
    """Set these options of Streamlit; ignore the config files of the working and the home directory."""
    config.get_config_files = lambda file_name: []
    bootstrap.load_config_options(options)


def is_script_running() -> bool:
    """Return whether this thread runs the script of a page."""
    return get_script_run_ctx(suppress_warning=True) is not None


def page_in_address() -> str:
    """Return the page that the browser's address names; return an empty text if the page was chosen otherwise."""
    context = get_script_run_ctx(suppress_warning=True)
    return (context.pages_manager.intended_page_name or "") if context else ""


def forget_vanished_widgets() -> None:
    """Remove what Streamlit keeps about the widgets of this tab that the previous run no longer showed.

    Streamlit removes only their values. The keys of an item's widgets have its number, so each decision would leave
    some 20 kB in the server until the tab is closed.
    """
    if (context := get_script_run_ctx(suppress_warning=True)) is None:
        return
    with context.session_state._lock:
        state = context.session_state._state
        widgets, ids = state._new_widget_state, state._key_id_mapper
        values = {*state._old_state, *state._new_session_state, *widgets.states}
        kept = {key: id for key, id in ids._key_id_mapping.items() if key in values or id in values}
        ids.set_key_id_mapping(kept)
        for id in widgets.widget_metadata.keys() - values - set(kept.values()):
            del widgets.widget_metadata[id]


def current_fragment() -> tuple[AppSession, ClientState] | None:
    """Return the tab and the fragment that this thread runs; return None if no server or no fragment is running."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return None
    fragment_id = ThreadState.get().fragment_id
    tab = runtime.get_instance().get_app_session(context.session_id)
    if tab is None or fragment_id is None:
        return None
    return tab, ClientState(
        fragment_id=fragment_id,
        page_script_hash=context.page_script_hash,
        query_string=context.query_string,
        is_auto_rerun=True,
    )


def call_on_event_loop(tab: AppSession, action: Callable[[], None]) -> None:
    """Call the action on the event loop of the tab's server."""
    tab._event_loop.call_soon_threadsafe(action)


def is_idle(tab: AppSession) -> bool:
    """Return whether a browser is connected to the tab and no script runs. Call this function on the event loop."""
    return tab._scriptrunner is None and is_connected(tab)


def is_connected(tab: AppSession) -> bool:
    """Return whether a browser is connected to the tab."""
    return runtime.exists() and runtime.get_instance().is_active_session(tab.id)
