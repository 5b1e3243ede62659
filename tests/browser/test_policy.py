"""Under the policy that the served console sends, every page works and nothing of another server can be loaded."""

import re
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from console.detection import batch
from console.runs import ingest
from tests.at_home import at_home
from tests.logs import purchase, stuck, write_log
from tests.serving import serving
from tests.signing_in import cookie, signed_in

ROOT = Path(__file__).resolve().parents[2]
PAGES = re.findall(r'url_path="([\w-]+)"', (ROOT / "streamlit_app.py").read_text())

LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation",
    event => window.violations.push(event.violatedDirective + " " + event.blockedURI));
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """(address, a session) of the whole console, as `inferact serve` runs it, over a run with items."""
    folder = tmp_path_factory.mktemp("policy")
    with at_home(folder / "data") as data:
        log = write_log(folder / "kettles.jsonl", *(purchase(n, wrong=True) for n in range(4)), stuck(5))
        ingest.import_file(log, "kettles", "auto", lambda _: None)
        ingest.set_budget("kettles", "3")
        batch.detect("kettles", ["rules"])
        token = signed_in()
    with serving(data) as server:
        yield server.url, token


@pytest.fixture
def visit(served, open_page, settled):
    """A function that opens a page of the console as a researcher, with an ear for violations; all share a sign-in."""
    address, token = served
    page = open_page()
    page.add_init_script(LISTEN)
    page.context.add_cookies([cookie(address, token)])
    page.goto(address)
    page.get_by_role("heading", name="Inbox").wait_for()
    settled(page, quiet_ms=300)

    def go(path):
        page.goto(f"{address}/{path}")
        settled(page, quiet_ms=400)
        return page

    return go


@pytest.fixture
def elsewhere():
    """(the address of another server on this machine, the paths that were asked of it)."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/gif")
            self.end_headers()
            self.wfile.write(
                b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
            )

        def log_message(self, *_):
            """Says nothing."""

    with ExitStack() as stack:
        server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        yield f"http://127.0.0.1:{server.server_address[1]}", asked


def test_no_page_breaks_the_policy(visit):
    assert len(PAGES) >= 5
    for path in (page for page in PAGES if page != "participate"):
        page = visit(path)
        assert page.locator("[data-testid=stMain]").inner_text().strip(), path
        assert page.locator("[data-testid=stException]").count() == 0, path
        assert page.evaluate("window.violations") == [], path


def test_the_plain_pages_keep_to_a_policy_of_their_own(served, open_page):
    page = open_page()
    page.add_init_script(LISTEN)
    for path in ("sign-in", "join", "participate", "invite/made-up"):
        page.goto(f"{served[0]}/{path}")
        page.locator("main h1").wait_for()
        assert page.evaluate("getComputedStyle(document.querySelector('main')).borderRadius") != "0px", path
        assert page.evaluate("window.violations") == [], path


def test_keys_and_drafts_work_under_the_policy(visit, settled):
    page = visit("review")
    item = page.locator("[class*='st-key-skip-']").first
    item.wait_for()
    shown = re.search(r"st-key-skip-(\d+)", item.get_attribute("class"))[1]
    page.wait_for_timeout(450)
    page.keyboard.press("x")
    page.wait_for_selector(f".st-key-skip-{shown}", state="detached")
    settled(page)
    assert page.evaluate("window.violations") == []


def test_a_remote_image_cannot_load(visit, elsewhere, open_page):
    address, asked = elsewhere
    page = visit("inbox")
    page.evaluate(
        """address => new Promise(done => {
            const image = new Image();
            image.onload = image.onerror = done;
            image.src = address + "/beacon.gif";
            document.body.append(image);
        })""",
        address,
    )
    assert asked == []
    assert page.evaluate("window.violations") == [f"img-src {address}/beacon.gif"]
    assert not page.evaluate("address => fetch(address + '/called').then(() => true, () => false)", address)
    assert asked == []
    open_page(f"{address}/seen")
    assert "/seen" in asked


def test_the_console_cannot_be_framed(served, elsewhere, open_page):
    address, _ = elsewhere
    page = open_page(address)
    page.evaluate(
        """served => new Promise(done => {
            const frame = document.createElement("iframe");
            frame.onload = done;
            frame.src = served;
            document.body.append(frame);
        })""",
        served[0],
    )
    page.wait_for_timeout(500)
    assert page.frames[1].locator("[data-testid=stApp]").count() == 0
