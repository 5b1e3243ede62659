"""A real Chromium in front of a real server. Missing either, tests skip with the reason, or fail where required.

All tests of this folder share one browser and one console: they run one after the other, and before each the console
moves to the data directory of that test.
"""

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from console import runs
from console.detection import batch
from console.runs import ingest
from tests.at_home import at_home
from tests.browser.walking import ready, shown_item
from tests.logs import purchase, stuck, write_log
from tests.serving import free_port, serving
from tests.signing_in import let_in, signed_in

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LOCAL = {"127.0.0.1", "localhost", ""}


def pytest_collection_modifyitems(items):
    """All tests of this folder carry the mark `browser`, and one that fails is run once more.

    Two cores under a browser and two other workers now and then bring something too late; the summary names it.
    """
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.flaky(reruns=1))


class Shared:
    """What the tests of this folder share, each thing opened when it is first asked for."""

    def __init__(self):
        self._stack, self._opened = ExitStack(), {}

    def once(self, name, opening, *arguments):
        """What the context manager `opening(*arguments)` gives, entered once under that name."""
        if name not in self._opened:
            self._opened[name] = self._stack.enter_context(opening(*arguments))
        return self._opened[name]

    def close(self):
        """Ends all of it."""
        self._opened.clear()
        self._stack.close()


SHARED = Shared()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Ends the browser with this folder: while playwright is on, no other test of the process can run an event loop."""
    try:
        return (yield)
    finally:
        if nextitem is None or HERE not in Path(nextitem.path).parents:
            SHARED.close()


def _missing(reason):
    if os.environ.get("INFERACT_REQUIRE_BROWSER") == "1":
        pytest.fail(f"INFERACT_REQUIRE_BROWSER is 1, but {reason}")
    pytest.skip(reason)


@pytest.fixture
def chromium():
    """The running Chromium."""
    return SHARED.once("chromium", _chromium)


@contextmanager
def _chromium():
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
        runs.set_budget("kettles", budget)
        batch.detect("kettles", ["rules"])

    return fill


@pytest.fixture
def profiles():
    """Browser profiles by width, height and theme: tests share what the browser has read of a server."""
    return SHARED.once("profiles", nullcontext, {})


@pytest.fixture
def open_page(chromium, profiles):
    """A function that opens a page of that size and theme; at the end no request may have left the machine.

    The first page of its size and theme has the shared profile, emptied after each test; others have one of their own.
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
        page.set_default_timeout(40_000)
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
    """A function that moves the shared console to this test's data directory and returns its address.

    Its `until_closed` is a context manager of a server at a given port, for tests that restart one.
    """

    def start():
        console = SHARED.once("console", _moving, tmp_path)
        console.move(data_dir)
        return console.address

    start.until_closed = lambda port: _until_closed(data_dir, port)
    return start


@pytest.fixture
def desk(filled, serve, open_page, settled):
    """The Review page on the first of nine items."""
    filled(budget="9")
    page, address = open_page(), serve()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/review?run=kettles")
    ready(page, shown_item(page))
    settled(page)
    return page


@pytest.fixture
def app(tmp_path):
    """A function from the name of a small app of these tests to its address."""

    def start(name):
        return f"{SHARED.once('apps', _serving, HERE / 'apps' / 'main.py', {}, tmp_path)}/{name}"

    return start


@pytest.fixture
def app_page(app, chromium):
    """A function from the name of a small app to its page, which stays open for all tests of the folder."""

    @contextmanager
    def opened(address):
        page = chromium.new_page(viewport={"width": 1280, "height": 720})
        page.goto(address)
        yield page
        page.close()

    return lambda name: SHARED.once(f"the page of {name}", opened, app(name))


@pytest.fixture(scope="module")
def furnished(tmp_path_factory):
    """A function from what fills a data directory to (the address of the console over it, a researcher's session).

    For tests that only read: one server does for all of a file.
    """
    with ExitStack() as stack:

        def start(fill):
            folder = tmp_path_factory.mktemp("furnished")
            # Playwright keeps an event loop in this thread, and agents begin one of their own.
            with at_home(folder / "data"), ThreadPoolExecutor(1) as aside:
                aside.submit(fill).result()
                return stack.enter_context(_until_closed(folder / "data")), signed_in("Grace")

        yield start


class Console:
    """A running console that can be told to keep its data elsewhere."""

    def __init__(self, process, address):
        self.process, self.address = process, address

    def move(self, data):
        """Returns once all that the console reads and writes is in that directory."""
        self.process.stdin.write(f"{data}\n".encode())
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"moved\n"


@contextmanager
def _moving(folder):
    port = free_port()
    command = [sys.executable, str(HERE / "moving_console.py"), str(port)]
    with _running(command, {}, folder, port, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Console(process, f"http://127.0.0.1:{port}")


@contextmanager
def _until_closed(data, port=None):
    with serving(data, port=port) as server:
        yield server.url


@contextmanager
def _serving(script, more, folder):
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    with _running(command, more, folder, port):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _running(command, more, folder, port, **pipes):
    env = {**os.environ, **more}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    with (folder / f"server-{port}.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=ROOT, env=env, **{"stdout": log, "stderr": log} | pipes)
        try:
            _await_health(server, port, log.name)
            yield server
        finally:
            server.terminate()
            server.communicate(timeout=30)


def _await_health(server, port, log):
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.fail(f"the server ended at once: {Path(log).read_text()}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    pytest.fail(f"the server was not ready within 90 s: {Path(log).read_text()}")
