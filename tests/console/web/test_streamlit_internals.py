"""The members of Streamlit that its documentation does not name: each exists, or its line says what breaks."""

import gc
import inspect
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import streamlit as st
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import FragmentThreadState, ThreadState
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import KeyIdMapper, SessionState, WStates
from streamlit.web import bootstrap

ROOT = Path(__file__).resolve().parents[3]
DWELL_S = 0.45
FIELDS = ("fragment_id", "page_script_hash", "query_string", "is_auto_rerun")

MEMBERS = {
    "lists and run overviews do not update by themselves: no tab by its session id": (
        lambda: list(inspect.signature(Runtime.get_app_session).parameters) == ["self", "session_id"]
    ),
    "lists and run overviews do not update by themselves: no check for a connected browser": (
        lambda: list(inspect.signature(Runtime.is_active_session).parameters) == ["self", "session_id"]
    ),
    "lists and run overviews do not update by themselves: no id of the running fragment": (
        lambda: "fragment_id" in FragmentThreadState.__dataclass_fields__ and hasattr(ThreadState, "get")
    ),
    "lists and run overviews do not update by themselves: no request for a fragment": (
        lambda: set(FIELDS) <= set(ClientState.DESCRIPTOR.fields_by_name)
    ),
    "lists and run overviews do not update by themselves: no run from outside": (
        lambda: list(inspect.signature(AppSession.request_rerun).parameters) == ["self", "client_state"]
    ),
    "a closed page is watched for ever: no check for a fragment": (
        lambda: list(inspect.signature(AppSession.has_fragment).parameters) == ["self", "fragment_id"]
    ),
    "two runs of a tab overlap: no event loop, no script runner": (
        lambda: {"_event_loop", "_scriptrunner"} <= set(AppSession.__init__.__code__.co_names)
    ),
    "every page is in the server's language: no check for a running script": (
        # A page that ran in this thread may have left its context.
        lambda: ThreadPoolExecutor(1).submit(get_script_run_ctx, suppress_warning=True).result() is None
    ),
    "an unknown address shows the Inbox: no page in the address": lambda: hasattr(PagesManager, "intended_page_name"),
    "config files of the working directory change the console": (
        lambda: list(inspect.signature(config.get_config_files).parameters) == ["file_name"]
    ),
    "the console starts without its settings": (
        lambda: list(inspect.signature(bootstrap.load_config_options).parameters) == ["flag_options"]
    ),
    "each decision leaves widgets in memory: no values, metadata or keys of widgets": (
        lambda: (
            {"_old_state", "_new_session_state", "_new_widget_state", "_key_id_mapper"}
            <= set(SessionState.__dataclass_fields__)
            and {"states", "widget_metadata"} <= set(WStates.__dataclass_fields__)
            and "_key_id_mapping" in KeyIdMapper.__dataclass_fields__
            and hasattr(KeyIdMapper, "set_key_id_mapping")
            and {"_state", "_lock"} <= set(SafeSessionState.__annotations__)
        )
    ),
    "tests only: the routes of the app cannot be listed": lambda: hasattr(st.App, "_build_starlette_app"),
    "tests only: no runtime for the frames of a participant": lambda: hasattr(Runtime, "_instance"),
    "tests only: pages start slowly": lambda: hasattr(manifest_scanner, "scan_component_manifests"),
}


@pytest.mark.parametrize("breaks", MEMBERS)
def test_member_is_there(breaks):
    assert MEMBERS[breaks](), breaks


def test_no_other_module_of_the_console_uses_one():
    marks = (
        "streamlit.runtime",
        "streamlit.proto",
        "streamlit.web",
        "streamlit import runtime",
        "streamlit import config",
    )
    using = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "console").rglob("*.py")
        for line in path.read_text().splitlines()
        if "import" in line and any(mark in line for mark in marks)
    }
    # The other module names the types of a tab and of a fragment in its signatures.
    assert using == {"console/web/live_fragments.py", "console/web/streamlit_internals.py"}


@pytest.mark.at_length
def test_items_decided_before_leave_no_widgets_in_memory(kettles, open_page):
    at, decided = open_page("review", run=kettles), []
    for _ in range(3):
        decided += [button.key for button in at.button if (button.key or "").startswith("approve-")]
        time.sleep(DWELL_S)
        at.button(key=decided[-1]).click().run()
    kept = [one.id for one in find_all(WidgetMetadata) if one.id.endswith(tuple(decided))]
    assert [id.endswith(decided[-1]) for id in kept] == [True]
    assert at.button(key="undo-0").click().run().button(key=decided[-1]).disabled is False


def find_all(kind):
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, kind)]
