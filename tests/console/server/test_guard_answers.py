"""The guard before an app of one line, in one process: who is let by, and what everybody else is answered."""

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from console.auth import people, sessions
from console.auth.people import Role
from console.auth.sessions import participant_cookie, participant_cookie_name
from console.database import now_ms, reading, writing
from console.server.guard import Guard, person_behind
from console.server.site import site_at
from tests.sweeps import sweep

BASE = "http://127.0.0.1:8123"
SITE = site_at("127.0.0.1", 8123, None)
COOKIE = sessions.cookie_name(8123)


async def app(scope, receive, send):
    """Answers whatever comes by; a websocket is greeted."""
    if scope["type"] == "websocket":
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        await socket.send_text("hello")
        await socket.receive_text()
    else:
        await PlainTextResponse("behind")(scope, receive, send)


def browser(token=None, **cookies):
    known = {COOKIE: token} if token else {}
    return TestClient(Guard(app, SITE), BASE, cookies=known | cookies, follow_redirects=False)


@pytest.fixture
def ada():
    """The token of a session that is open."""
    with writing() as session:
        return sessions.open_session(session, people.add_person(session, "Ada", [Role.REVIEWER], 0), now_ms())


@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("/api", True),
        ("/api/v1/checks", True),
        ("/apis", False),
        ("/", False),
        ("/inbox", False),
        ("/whoami", True),
        ("/whoami/", False),
        ("/join", True),
        ("/sign-out", True),
        ("/sign-in", True),
        ("/sign-in/style.css", True),
        ("/invite/x", True),
        ("/invite", False),
        ("/static/js/main.js", True),
        ("/static", False),
        ("/media/x", False),
        ("/favicon.png", True),
        ("/_stcore/health", True),
        ("/_stcore/stream", False),
    ],
)
def test_without_a_session_only_what_is_open_is_behind(path, passes):
    answer = browser().get(path)
    assert (answer.status_code, answer.text) == ((200, "behind") if passes else (401, "Sign in first."))
    assert passes or answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {"Accept": "text/html"}, 303),
        ("HEAD", {"Accept": "text/html,*/*"}, 303),
        ("GET", {"Accept": "text/html", "Sec-Fetch-Dest": "document"}, 303),
        ("GET", {"Accept": "text/html", "Sec-Fetch-Dest": "iframe"}, 401),
        ("GET", {"Accept": "*/*"}, 401),
        ("GET", {"Accept": "*/*", "Sec-Fetch-Dest": "document"}, 401),
        ("POST", {"Accept": "text/html", "Origin": BASE}, 401),
    ],
)
def test_document_is_led_to_the_sign_in_and_all_else_is_told_so(method, headers, status):
    answer = browser().request(method, "/inbox", headers=headers)
    assert answer.status_code == status
    assert answer.headers.get("location") == ("/sign-in" if status == 303 else None)
    assert answer.headers["cache-control"] == "no-store"


def test_who_is_signed_in_is_let_by_until_the_session_ends(ada):
    assert browser(ada).get("/inbox").text == "behind"
    assert browser("made-up").get("/inbox").status_code == 401
    with writing() as session:
        sessions.end_session(session, ada, now_ms())
    assert browser(ada).get("/inbox").status_code == 401


@sweep(
    ("method", "headers", "status"),
    [
        ("GET", {}, 200),
        ("OPTIONS", {}, 200),
        ("GET", {"Origin": BASE}, 200),
        ("GET", {"Origin": "https://evil.example"}, 403),
        ("GET", {"Origin": "http://localhost:8123"}, 403),
        ("GET", {"Host": "localhost:8123"}, 200),
        ("POST", {"Host": "localhost:8123", "Origin": "http://localhost:8123"}, 200),
        ("GET", {"Host": "rebound.example:8123"}, 403),
        ("GET", {"Host": "127.0.0.1"}, 403),
        ("POST", {}, 403),
        ("PUT", {"Origin": "null"}, 403),
        ("POST", {"Origin": BASE}, 200),
    ],
    kept=4,
)
def test_only_our_own_names_and_pages_act(ada, method, headers, status):
    answer = browser(ada).request(method, "/inbox", headers=headers)
    assert answer.status_code == status
    if "rebound" in str(headers):
        assert "'rebound.example:8123' is not a host name of this console" in answer.text
    elif status == 403 and headers.get("Host") is None:
        assert answer.text == "This request came from another site's page, so it is refused."


@pytest.mark.parametrize("path", ["/participate", "/participate/"])
def test_a_study_is_joined_without_a_session(path):
    assert browser().get(path).status_code == 200
    wrong = browser().get(f"{path}?me=made-up")
    assert (wrong.status_code, "This link is no longer valid" in wrong.text) == (410, True)
    cookie = {participant_cookie_name(8123): participant_cookie("made-up")}
    assert browser(**cookie).get("/inbox").status_code == 401


def test_a_websocket_is_greeted_with_a_session_and_closed_without(ada):
    with browser(ada).websocket_connect("ws://127.0.0.1:8123/_stcore/stream", headers={"Origin": BASE}) as socket:
        assert socket.receive_text() == "hello"
        socket.send_text("thanks")
    for client, origin in ((browser(), BASE), (browser(ada), "https://evil.example")):
        with (
            pytest.raises(WebSocketDisconnect) as closed,
            client.websocket_connect("ws://127.0.0.1:8123/_stcore/stream", headers={"Origin": origin}) as socket,
        ):
            socket.receive_text()
        assert closed.value.code == 4401


def test_a_session_in_use_is_noted_once_in_five_minutes(ada):
    def seen_ms():
        with reading() as session:
            return sessions.open_sessions(session, now_ms())[0].seen_ms

    for ago_ms, noted in ((299_000, False), (301_000, True)):
        with writing() as session:
            sessions.mark_seen(session, ada, before := now_ms() - ago_ms)
        assert person_behind({COOKIE: ada}, 8123).name == "Ada"
        assert (seen_ms() > before) is noted
    assert person_behind({COOKIE: "made-up"}, 8123) is None
    assert person_behind({}, 8123) is None
    assert person_behind({COOKIE: ada}, 8124) is None


def test_without_the_database_nobody_is_known(ada, data_dir, caplog):
    assert browser(ada).get("/inbox").status_code == 200
    (database,) = data_dir.glob("*.db")
    database.rename(data_dir / "away")
    assert browser(ada).get("/inbox").status_code == 401
    assert "The session could not be looked up." in caplog.text


@pytest.mark.parametrize("path", ["/api/v1/checks/%00", "/api/v1/checks/a//b", "/api/v1/checks/%5C%5Cx", "/api/..%2Fx"])
def test_an_odd_address_of_the_api_is_answered_in_json(path):
    said = browser().get(path)
    assert said.status_code == 404
    assert "openapi.json" in said.json()["error"]
