"""Under the policy that the served console sends keys work, and nothing of another server can be loaded."""

import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.browser.screens import LISTEN
from tests.browser.walking import press_until_next
from tests.signing_in import let_in


@pytest.fixture
def address(filled, serve):
    """The address of the console over a run with items."""
    filled()
    return serve()


@pytest.fixture
def visit(address, open_page, settled):
    """A function that opens a page of the console as a researcher, with an ear for violations."""
    page = open_page()
    page.add_init_script(LISTEN)
    let_in(page, address)

    def go(path):
        page.goto(f"{address}/{path}")
        page.locator("h1, .ia-task").first.wait_for()
        settled(page)
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


def test_the_plain_pages_keep_to_a_policy_of_their_own(address, open_page):
    page = open_page()
    page.add_init_script(LISTEN)
    for path in ("sign-in", "join", "participate", "invite/made-up"):
        page.goto(f"{address}/{path}")
        page.locator("main h1").wait_for()
        assert page.evaluate("getComputedStyle(document.querySelector('main')).borderRadius") != "0px", path
        assert page.evaluate("window.violations") == [], path


@pytest.mark.at_length
def test_keys_and_drafts_work_under_the_policy(visit, settled):
    page = visit("review")
    press_until_next(page, settled, "x")
    assert page.evaluate("window.violations") == []


@pytest.mark.at_length
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


def test_the_console_cannot_be_framed(address, elsewhere, open_page):
    page = open_page(elsewhere[0])
    page.evaluate(
        """served => new Promise(done => {
            const frame = document.createElement("iframe");
            frame.onload = done;
            frame.src = served;
            document.body.append(frame);
        })""",
        address,
    )
    # What is refused comes as an error page of the browser's own.
    assert page.frames[1].url == "chrome-error://chromewebdata/"
