"""The whole application, driven without a browser, over a small real database."""

from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner

from console import runs
from console.detection import batch
from console.runs import ingest
from tests.logs import purchase, stuck, write_log
from tests.signing_in import signed_in

ROOT = Path(__file__).resolve().parents[3]

# At the start of each application Streamlit reads what every installed package says of itself, for a tenth of a second.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

# It compiles the scripts anew for every run, too.
_compiled = cache(lambda path, changed, compiled=ScriptCache.get_bytecode: compiled(ScriptCache(), path))
ScriptCache.get_bytecode = lambda self, path: _compiled(path, Path(path).stat().st_mtime_ns)


def _wait(runner, timeout, wait=local_script_runner.require_widgets_deltas):
    """Wait for the end of the run; Streamlit looks for it a thousand times a second, each time in the page's way."""
    runner._script_thread.join(timeout)
    wait(runner, timeout if runner.script_stopped() else 0)


local_script_runner.require_widgets_deltas = _wait


@pytest.fixture
def kettles(tmp_path, data_dir):
    """An archive run of five purchases, three of them wrong, and a stuck trial; judged, with three inspections."""
    records = [purchase(n, wrong=n < 3) for n in range(5)]
    ingest.import_file(write_log(tmp_path / "kettles.jsonl", *records, stuck(5)), "kettles", "auto", lambda _: None)
    runs.set_budget("kettles", "3")
    batch.detect("kettles", ["rules"])
    return "kettles"


@pytest.fixture
def open_page(data_dir):
    """A function that opens a page of the console, signed in as Ada; no page may ever show an exception."""
    opened = []

    def show(page, /, *, role="researcher", **query):
        st.cache_data.clear()
        st.cache_resource.clear()
        at = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=30)
        if role:
            at.session_state["session"] = signed_in("Ada", role)
        for name, value in query.items():
            at.query_params[name] = value
        at.switch_page(f"console/web/pages/{page}.py").run()
        opened.append(at)
        return at

    yield show
    for at in opened:
        assert [found.value for found in at.exception] == []


@pytest.fixture
def words():
    """A function from a page to all words on it that are not in a table."""

    def read(at):
        html = " ".join(str(element.proto.body) for element in at.get("html"))
        return " ".join([html, *(found.value for found in [*at.title, *at.header, *at.caption, *at.markdown])])

    return read
