"""The plain pages of the sign-in as a browser meets them: status, ways, the cookie, the list of a person's sessions."""

import re
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from console.auth import invitations, people, sessions
from console.auth.people import Role
from console.auth.sessions import participant_cookie_name
from console.database import now_ms, reading, writing
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.server.guard import Guard
from console.server.sign_in.session_cookies import PAGES
from console.server.sign_in.sign_in_pages import routes
from console.server.site import site_at
from tests.sweeps import sweep

MONTH_S = 30 * 24 * 3600
APP = Path(__file__).resolve().parents[4] / "streamlit_app.py"


def invited(name=None, *roles):
    with writing() as session:
        return invitations.invite(session, name, roles or None, "tests", now_ms())


def browser(public_url=None, **more):
    site = site_at("127.0.0.1", 8123, public_url)
    base = public_url or "http://127.0.0.1:8123"
    return TestClient(Starlette(routes=routes(site)), base, follow_redirects=False, **more)


def entries(kind):
    with reading() as session:
        return audit_trail.list_entries(session, AuditFilter(kind=kind))


SECURE = pytest.mark.parametrize(("public_url", "secure"), [(None, False), ("https://console.example", True)])


@SECURE
def test_invitation_opens_a_session_whose_cookie_no_script_reads(public_url, secure):
    with browser(public_url, headers={"User-Agent": "Firefox/1 Linux"}) as client:
        shown = client.get(f"/invite/{(token := invited('Ada'))}")
        assert (shown.status_code, "Ada" in shown.text, shown.headers["cache-control"]) == (200, True, "no-store")
        used = client.post(f"/invite/{token}", data={})
        assert (used.status_code, used.headers["location"]) == (303, "/")
        name, *attributes = used.headers.get_list("set-cookie")[0].split("; ")
        assert name.startswith("inferact_8123=")
        assert {one.lower() for one in attributes} == {
            *("httponly", f"max-age={MONTH_S}", "path=/", "samesite=lax"),
            *(["secure"] if secure else []),
        }
        assert client.get("/whoami").json() == {"name": "Ada", "roles": ["reviewer"]}
    (entry,) = entries("signed in")
    assert (entry.who, entry.door, entry.subject) == ("Ada", "browser", "Ada")
    with reading() as session:
        (opened,) = sessions.open_sessions(session, now_ms())
    assert (opened.browser, opened.address) == ("Firefox/1 Linux", "testclient")


OURS = {
    "/inbox": "/inbox",
    "/review/?run=kettles&item=7": "/review?run=kettles&item=7",
    "/trajectories?run=a+b&id=3&search=%D7%A7%D7%95%D7%9E": "/trajectories?run=a+b&id=3&search=%D7%A7%D7%95%D7%9E",
    "/inbox?only=mine&only=escalated&__e=1": "/inbox?only=mine&only=escalated",
    "/review?run=demo&welcome=1": "/review?run=demo&welcome=1",
    "/review?run=https://evil.example": "/review?run=https%3A%2F%2Fevil.example",
    "/review?run=a%0D%0ASet-Cookie:x&item=7": "/review?item=7",
}
OTHERS = [
    *(
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "javascript:1",
    ),
    *(
        "//evil.example/review",
        "//[",
        "inbox",
        "/in\nbox",
        "/inbox\r\nX: y",
        "/ä",
        "",
        "/",
        "/sign-out",
        "/api/v1/runs",
    ),
    *("/invite/x", "/participate?join=x", "/../inbox", "/inbox#x", "/inbox/x", "/%69nbox", "/inbox?run=" + "a" * 1_000),
]


def test_invitation_leads_on_to_a_page_of_ours_alone():
    for wanted, leads in OURS.items() | dict.fromkeys(OTHERS, "/").items():
        used = browser().post(f"/invite/{invited('Ada')}", data={"next": wanted})
        assert (used.status_code, used.headers["location"]) == (303, leads), wanted
        # Whatever another server of this machine has put into the browser.
        by_cookie = browser(cookies={"inferact_8123_link": quote(wanted, "")})
        assert by_cookie.post(f"/invite/{invited('Ada')}", data={}).headers["location"] == leads, wanted


@SECURE
def test_a_link_opened_before_the_sign_in_waits_in_a_cookie_that_no_script_reads(public_url, secure):
    site, said = site_at("127.0.0.1", 8123, public_url), "If you sign in with this browser within an hour"
    app = Guard(Starlette(routes=routes(site)), site)
    client = TestClient(app, public_url or "http://127.0.0.1:8123", follow_redirects=False)
    client.headers["Accept"] = "text/html"
    assert said not in client.get("/sign-in").text
    refused = client.get("/review?run=kettles&item=7")
    assert (refused.status_code, refused.headers["location"]) == (303, "/sign-in")
    name, *attributes = refused.headers["set-cookie"].split("; ")
    assert name == "inferact_8123_link=%2Freview%3Frun%3Dkettles%26item%3D7"
    rules = {"httponly", "max-age=3600", "path=/", "samesite=lax", *(["secure"] if secure else [])}
    assert {one.lower() for one in attributes} == rules
    assert said in client.get("/sign-in").text
    token = invited("Ada")
    shown = client.get(f"/invite/{token}")
    assert "set-cookie" not in shown.headers
    used = client.post(f"/invite/{token}", data={"next": ""}, headers={"Origin": str(client.base_url)})
    assert used.headers["location"] == "/review?run=kettles&item=7"
    assert "inferact_8123_link" not in client.cookies
    assert client.get("/whoami").json()["name"] == "Ada"


def test_of_several_pages_that_were_asked_for_the_latest_counts():
    site = site_at("127.0.0.1", 8123, None)
    client = TestClient(Guard(Starlette(routes=routes(site)), site), "http://127.0.0.1:8123", follow_redirects=False)
    for path in ("/review?item=7", "/inbox?find=tea"):
        client.get(path, headers={"Accept": "text/html"})
    assert client.cookies["inferact_8123_link"] == "%2Finbox%3Ffind%3Dtea"
    client.get("/", headers={"Accept": "text/html"})
    assert "inferact_8123_link" not in client.cookies


def test_every_page_of_the_navigation_can_be_asked_for():
    pages = set(re.findall(r'url_path="([\w-]+)"', APP.read_text()))
    assert pages - {"home", "participate", "study"} == set(PAGES.split("|"))


def test_open_invitation_asks_for_a_name_and_keeps_it_beside_what_is_wrong():
    token, client = invited(None, Role.RESEARCHER), browser()
    with writing() as session:
        people.add_person(session, "Ada", [Role.REVIEWER], 0)
    shown = client.get(f"/invite/{token}?next=/inbox")
    assert shown.status_code == 200
    assert "researcher and reviewer" in shown.text
    assert 'name="next" value="/inbox"' in shown.text
    taken = client.post(f"/invite/{token}", data={"name": "ADA"})
    assert (taken.status_code, 'value="ADA"' in taken.text) == (400, True)
    assert "The name Ada is taken" in taken.text
    assert "set-cookie" not in taken.headers
    assert client.post(f"/invite/{token}", data={"name": "Grace"}).status_code == 303
    assert client.get("/whoami").json()["roles"] == ["researcher", "reviewer"]


def test_link_that_opens_nothing_says_so_and_is_gone():
    client, token = browser(), invited("Ada")
    assert client.post(f"/invite/{token}", data={}).status_code == 303
    for answer in (client.get(f"/invite/{token}"), client.post("/invite/made-up", data={})):
        assert answer.status_code == 410
        assert "<h1>This link does not work</h1>" in answer.text
        assert "Ask the operator for a new link." in answer.text
    client.post(f"/invite/{invited('Ada')}", data={})


def test_right_link_ends_the_count_of_wrong_ones(caplog):
    client = browser(client=("192.0.2.40", 4711))
    for path in ("made-up", invited("Ada"), "made-up"):
        client.post(f"/invite/{path}", data={})
    assert caplog.text.count("A wrong invitation from 192.0.2.40 (1 lately).") == 2


def test_signing_out_ends_the_session_and_takes_its_cookie():
    client = browser()
    client.post(f"/invite/{invited('Ada')}", data={})
    assert "Ada" in client.get("/sign-in").text
    out = client.post("/sign-out")
    assert (out.status_code, out.headers["location"]) == (303, "/sign-in")
    assert 'inferact_8123=""' in out.headers["set-cookie"]
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert "HttpOnly" in out.headers["set-cookie"]
    with reading() as session:
        assert sessions.open_sessions(session, now_ms()) == []
    assert [(one.who, one.subject) for one in entries("signed out")] == [("Ada", "Ada")]
    assert browser().post("/sign-out").status_code == 303
    assert len(entries("signed out")) == 1


def test_nobody_is_signed_in_without_a_cookie():
    answer = browser().get("/whoami")
    assert (answer.status_code, answer.json()) == (401, {"error": "No one is signed in in this browser."})
    assert answer.headers["cache-control"] == "no-store"


def test_sign_in_says_that_a_session_is_over_only_where_it_is():
    plain, over = browser().get("/sign-in").text, browser().get("/sign-in?over=1").text
    assert "<h1>Open your link</h1>" in plain
    assert "<h1>Your session has ended</h1>" in over


def test_pages_allow_no_script_and_their_style_is_ours():
    shown = browser().get("/sign-in")
    policy = shown.headers["content-security-policy"]
    assert policy == (
        "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    )
    assert shown.headers["referrer-policy"] == "same-origin"
    style = browser().get("/sign-in/style.css")
    assert (style.status_code, style.headers["content-type"]) == (200, "text/css; charset=utf-8")
    font = re.search(r'url\("../static/media/([^"]+)"\)', style.text)[1]
    assert files("streamlit").joinpath("static/static/media", font).is_file()


@pytest.mark.parametrize(("length", "status"), [(9_995, 410), (9_996, 413)])
def test_form_of_ten_thousand_bytes_is_read_and_no_longer_one(length, status):
    client = browser()
    answer = client.post("/invite/made-up", content=b"name=" + b"x" * length)
    assert answer.status_code == status
    client.post(f"/invite/{invited('Ada')}", data={})


def test_language_that_the_address_asks_for_is_kept_for_a_year():
    client = browser(headers={"Accept-Language": "en"})
    assert "set-cookie" not in client.get("/sign-in").headers
    assert "set-cookie" not in client.get("/sign-in?language=xx").headers
    asked = client.get("/sign-in?language=de")
    assert f"Max-Age={365 * 86_400}" in asked.headers["set-cookie"]
    assert "SameSite=strict" in asked.headers["set-cookie"]
    assert '<html lang="de"' in asked.text
    assert '<html lang="de"' in client.get("/sign-in").text


def test_study_code_that_opens_nothing_is_refused_with_the_field_again():
    client = browser()
    assert client.get("/join").status_code == 200
    assert "No study has this code." in client.get("/join?code=ABC").text
    refused = client.post("/join", data={"code": "WRONG"})
    assert refused.status_code == 400
    assert participant_cookie_name(8123) not in refused.headers.get("set-cookie", "")
    client.post(f"/invite/{invited('Ada')}", data={})


@pytest.mark.parametrize("sent", ["{}", "no json", "[]"])
def test_events_of_nobodys_page_are_refused(sent):
    assert browser().post("/page-events", content=sent).status_code == 403


def test_nobody_but_a_participant_has_a_consent_to_look_at():
    answer = browser().get("/my-consent")
    assert (answer.status_code, "<h1>Page not found</h1>" in answer.text) == (404, True)
    assert "Only participants in a study have a consent form." in answer.text


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


def browser_with(token=None):
    site = site_at("127.0.0.1", 8123, None)
    cookies = {sessions.cookie_name(site.port): token} if token else {}
    return TestClient(Starlette(routes=routes(site)), "http://127.0.0.1:8123", cookies=cookies, follow_redirects=False)


def rows(page):
    """What each row of the page says, without its tags."""
    found = re.findall(r"<li>(.*?)<form", re.sub("</?time>", "", page), re.DOTALL)
    return [" ".join(re.sub("<[^>]*>", " ", row).split()) for row in found]


def test_rows_say_which_browser_from_where_and_since_when(opened):
    token = opened("Ada", browser="Firefox/1 Linux", address="192.0.2.9", at=SINCE_MS)
    with writing() as session:
        sessions.mark_seen(session, token, SINCE_MS + 60_000)
    opened("Ada", at=SINCE_MS)
    opened("Grace", at=SINCE_MS)
    shown = browser_with(token).get("/sessions")
    when = "since 2030-03-17 17:46 UTC, last seen 2030-03-17 17:4"
    assert shown.status_code == 200
    assert rows(shown.text) == [
        f"Ada this browser Firefox on Linux 192.0.2.9, {when}7 UTC",
        f"Ada unknown browser unknown address, {when}6 UTC",
    ]
    assert "<h1>Your sessions</h1>" in shown.text


def test_an_admin_sees_everybodys_sessions_and_ends_one(opened):
    root, ada = opened("Rosa", Role.ADMIN), opened("Ada")
    page = browser_with(root).get("/sessions")
    assert [row.split()[0] for row in rows(page.text)] == ["Rosa", "Ada"]
    assert "Who is signed in" in page.text
    with reading() as session:
        (number,) = [one.id for one in sessions.open_sessions(session, now_ms(), "Ada")]
    ended = browser_with(root).post("/sessions", data={"id": str(number)})
    assert (ended.status_code, ended.headers["location"]) == (303, "/sessions")
    assert browser_with(ada).get("/whoami").status_code == 401
    assert browser_with(root).get("/whoami").json() == {"name": "Rosa", "roles": ["admin", "reviewer"]}
    with reading() as session:
        (entry,) = audit_trail.list_entries(session, AuditFilter(kind="session ended"))
    assert (entry.who, entry.door, entry.subject) == ("Rosa", "browser", "Ada")


@sweep("number", ["", "x", "0", "-1", "²", "9" * 17, "9" * 18, "9" * 40])
def test_number_that_is_no_open_session_ends_nothing(opened, number):
    token = opened("Ada")
    answer = browser_with(token).post("/sessions", data={"id": number})
    assert (answer.status_code, "<h1>The session was not ended</h1>" in answer.text) == (403, True)
    assert browser_with(token).get("/whoami").status_code == 200


def test_somebody_elses_session_stays_open(opened):
    ada, grace = opened("Ada"), opened("Grace")
    with reading() as session:
        (number,) = [one.id for one in sessions.open_sessions(session, now_ms(), "Ada")]
    answer = browser_with(grace).post("/sessions", data={"id": str(number)})
    assert (answer.status_code, "Only an admin or the owner of a session can end the session." in answer.text) == (
        403,
        True,
    )
    assert browser_with(ada).get("/whoami").status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("token", [None, "made-up"])
def test_who_is_not_signed_in_is_led_to_the_sign_in(method, token):
    answer = browser_with(token).request(method, "/sessions")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert answer.headers["cache-control"] == "no-store"
