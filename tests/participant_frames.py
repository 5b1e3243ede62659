"""The frames that a participant's browser receives: the page's own script in a bare run of Streamlit.

A tab keeps its session state from run to run, as a browser's does.
"""

from contextlib import contextmanager
from unittest.mock import MagicMock

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.runtime import Runtime
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.exceptions import RerunException
from streamlit.runtime.scriptrunner_utils.script_run_context import (
    ScriptRunContext,
    add_script_run_ctx,
    get_script_run_ctx,
)
from streamlit.runtime.state import SafeSessionState, SessionState

from tests.console.web.conftest import ROOT

_PAGE = ROOT / "console/web/pages/participate.py"
_CODE = compile(_PAGE.read_text("utf-8"), str(_PAGE), "exec")


@contextmanager
def streamlit_runtime():
    """A runtime that serves nobody, as Streamlit's own AppTest has one."""
    runtime = MagicMock(spec=Runtime)
    runtime.media_file_mgr = MediaFileManager(MemoryMediaFileStorage("/media"))
    components = BidiComponentManager()
    runtime.bidi_component_registry = components
    Runtime._instance = runtime
    try:
        yield
    finally:
        Runtime._instance = None


class Tab:
    """A participant's tab."""

    def __init__(self, secret):
        self.state = SafeSessionState(SessionState(), lambda: None)
        self.state["me"] = secret
        self.fragments = MemoryFragmentStorage()

    def frames(self):
        """The messages of one run of the page, each as bytes are made of it, in their order."""
        sent, before = [], get_script_run_ctx(suppress_warning=True)
        context = ScriptRunContext(
            "tab", sent.append, "", self.state, MemoryUploadedFileManager("/upload"), str(_PAGE), {},
            self.fragments, PagesManager(str(_PAGE), setup_watcher=False),
        )  # fmt: skip
        add_script_run_ctx(ctx=context)
        try:
            context.reset(page_script_hash="")
            exec(_CODE, {"__name__": "__main__"})
        except RerunException:
            return self.frames()
        finally:
            add_script_run_ctx(ctx=before)
        return sent
