"""The list of open sessions as a person's browser shows it."""

import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from console.auth import people, sessions
from console.auth.people import Role
from console.database import now_ms, reading, writing
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.server.sign_in.sign_in_pages import routes
from console.server.site import site_at

SINCE_MS = 1_900_000_000_000
DAY_MS = 86_400_000


@pytest.fixture
def opened():
    """A function that opens a session of that person and returns its token."""

    def open_session(name, *roles, at=None, **more):
        with writing() as session:
            person = people.find_person(session, name) or people.add_person(session, name, roles, 0)
            return sessions.open_session(session, person, at or now_ms(), **more)

    return open_session


def browser(token=None):
    site = site_at("127.0.0.1", 8123, None)
    cookies = {sessions.cookie_name(site.port): token} if token else {}
    return TestClient(Starlette(routes=routes(site)), "http://127.0.0.1:8123", cookies=cookies, follow_redirects=False)


def rows(page):
    """What each row of the page says, without its tags."""
    found = re.findall(r"<li>(.*?)<form", page, re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", " ", row).split()) for row in found]


def test_rows_say_which_browser_from_where_and_since_when(opened):
    token = opened("Ada", browser="Firefox/1 Linux", address="192.0.2.9", at=SINCE_MS)
    with writing() as session:
        sessions.mark_seen(session, token, SINCE_MS + 60_000)
    opened("Ada", at=SINCE_MS)
    opened("Grace", at=SINCE_MS)
    shown = browser(token).get("/sessions")
    when = "since 2030-03-17 17:46 UTC, last seen 2030-03-17 17:4"
    assert shown.status_code == 200
    assert rows(shown.text) == [
        f"Ada unknown browser unknown address, {when}6 UTC",
        f"Ada this browser Firefox on Linux 192.0.2.9, {when}7 UTC",
    ]
    assert "<h1>Your sessions</h1>" in shown.text


def test_an_admin_sees_everybodys_sessions_and_ends_one(opened):
    root, ada = opened("Rosa", Role.ADMIN), opened("Ada")
    page = browser(root).get("/sessions")
    assert [row.split()[0] for row in rows(page.text)] == ["Ada", "Rosa"]
    assert "Who is signed in" in page.text
    with reading() as session:
        (number,) = [one.id for one in sessions.open_sessions(session, now_ms(), "Ada")]
    ended = browser(root).post("/sessions", data={"id": str(number)})
    assert (ended.status_code, ended.headers["location"]) == (303, "/sessions")
    assert browser(ada).get("/whoami").status_code == 401
    assert browser(root).get("/whoami").json() == {"name": "Rosa", "roles": ["admin", "reviewer"]}
    with reading() as session:
        (entry,) = audit_trail.list_entries(session, AuditFilter(kind="session ended"))
    assert (entry.who, entry.door, entry.subject) == ("Rosa", "browser", "Ada")


@pytest.mark.parametrize("number", ["", "x", "0", "-1", "²", "9" * 17, "9" * 18, "9" * 40])
def test_number_that_is_no_open_session_ends_nothing(opened, number):
    token = opened("Ada")
    answer = browser(token).post("/sessions", data={"id": number})
    assert (answer.status_code, "<h1>The session was not ended</h1>" in answer.text) == (403, True)
    assert browser(token).get("/whoami").status_code == 200


def test_somebody_elses_session_stays_open(opened):
    ada, grace = opened("Ada"), opened("Grace")
    with reading() as session:
        (number,) = [one.id for one in sessions.open_sessions(session, now_ms(), "Ada")]
    answer = browser(grace).post("/sessions", data={"id": str(number)})
    assert (answer.status_code, "Only an admin or the owner of a session can end the session." in answer.text) == (
        403,
        True,
    )
    assert browser(ada).get("/whoami").status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("token", [None, "made-up"])
def test_who_is_not_signed_in_is_led_to_the_sign_in(method, token):
    answer = browser(token).request(method, "/sessions")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert answer.headers["cache-control"] == "no-store"
