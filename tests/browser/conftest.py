"""A real Chromium in front of a real server. Missing either, tests skip with the reason, or fail where required."""

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from console.auth.sign_in import researcher_key

from console.detection import batch
from console.runs import ingest
from tests.at_home import at_home
from tests.logs import purchase, stuck, write_log
from tests.serving import free_port

ROOT = Path(__file__).resolve().parents[2]
APPS = Path(__file__).resolve().parent / "apps"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LOCAL = {"127.0.0.1", "localhost", ""}


def pytest_collection_modifyitems(items):
    """All tests of this folder carry the mark `browser`."""
    for item in items:
        if Path(__file__).parent in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)


def _missing(reason):
    if os.environ.get("INFERACT_REQUIRE_BROWSER") == "1":
        pytest.fail(f"INFERACT_REQUIRE_BROWSER is 1, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def chromium():
    """A running Chromium, for one file: while playwright is on, no other test of the process can run an event loop."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not path:
        _missing("Chromium is not installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def filled(tmp_path, data_dir):
    """A run of six wrong and two right purchases and a stuck trial, judged, with five inspections."""

    def fill(budget="5"):
        records = [purchase(n, wrong=True) for n in range(6)] + [purchase(n, wrong=False) for n in (6, 7)]
        log = write_log(tmp_path / "kettles.jsonl", *records, stuck(8))
        report = ingest.import_file(log, "kettles", "auto", lambda _: None)
        assert report.imported == 9
        ingest.set_budget("kettles", budget)
        batch.detect("kettles", ["rules"])

    return fill


@pytest.fixture(scope="module")
def profiles(chromium):
    """Browser profiles by width, height and theme: a file's tests share what the browser has read of a server."""
    return {}


@pytest.fixture
def open_page(chromium, profiles):
    """A function that opens a page of that size and theme; at the end no request may have left the machine.

    The first page of its size and theme has the file's profile, emptied after each test; others have one of their own.
    """
    used, own, strangers = [], [], []

    def listen(request):
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname not in LOCAL:
            strangers.append(request.url)

    def profile(*kind):
        width, height, theme = kind
        found = profiles.get(kind)
        if found is None or found in used:
            found = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
            if kind in profiles:
                own.append(found)
        profiles.setdefault(kind, found)
        used.append(found)
        found.on("request", listen)
        return found

    def new(url=None, *, width=1280, height=720, theme="light", context=None):
        page = (context or profile(width, height, theme)).new_page()
        page.set_default_timeout(15_000)
        if url:
            page.goto(url)
        return page

    yield new
    for context in own:
        context.close()
    for context in used:
        if context not in own:
            context.remove_listener("request", listen)
            _empty(context)
    assert strangers == []


def _empty(context):
    """Closes every page of the profile and forgets all but what may be cached."""
    for page in context.pages:
        if page.url.startswith("http"):
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.close()
    context.clear_cookies()
    context.set_offline(False)


@pytest.fixture
def settled():
    """A function that waits until the page shows the end of its script's run."""

    def wait(page, *, quiet_ms=60):
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        page.wait_for_timeout(quiet_ms)
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")

    return wait


@pytest.fixture
def serve(data_dir, tmp_path):
    """A function from a script's path to the address of a server of this test, with the project's settings.

    Its `until_closed` is a context manager of a server at a given port, for tests that restart one.
    """
    settings = {"INFERACT_DATA_DIR": str(data_dir)}
    with ExitStack() as stack:

        def start(script=ROOT / "streamlit_app.py", **more):
            return stack.enter_context(_serving(script, {**settings, **more}, tmp_path))

        start.until_closed = lambda port: _serving(ROOT / "streamlit_app.py", settings, tmp_path, port)
        yield start


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """A function from the name of a small app of these tests to the address of its server, one for all of a file."""
    running = {}
    with ExitStack() as stack:

        def start(name):
            if name not in running:
                folder = tmp_path_factory.mktemp(name)
                more = {"INFERACT_DATA_DIR": str(folder / "data")}
                running[name] = stack.enter_context(_serving(APPS / f"{name}.py", more, folder))
            return running[name]

        yield start


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    """A function from what fills a data directory to (the address of the console over it, the key).

    For tests that only read: one server does for all of a file.
    """
    with ExitStack() as stack:

        def start(fill):
            folder = tmp_path_factory.mktemp("furnished")
            with at_home(folder / "data"):
                fill()
                return stack.enter_context(_serving(ROOT / "streamlit_app.py", {}, folder)), researcher_key()

        yield start


@contextmanager
def _serving(script, more, folder, port=None):
    port = port or free_port()
    env = {**os.environ, **more}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    with (folder / f"server-{port}.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT)
        try:
            _await_health(server, port, log.name)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(timeout=10)


def _await_health(server, port, log):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.fail(f"the server ended at once: {Path(log).read_text()}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    pytest.fail(f"the server was not ready within 30 s: {Path(log).read_text()}")
