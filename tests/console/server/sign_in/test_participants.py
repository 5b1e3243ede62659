"""Participants at the door, in one process: the ways to a place, the cookie that they leave, and the consent."""

import logging
import re
import time
from itertools import count

import pytest
from sqlmodel import select
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from console.auth.sessions import outside_id_of, participant_cookie, participant_cookie_name, secret_of
from console.database import reading
from console.server.guard import Guard
from console.server.sign_in.sign_in_pages import routes
from console.server.site import site_at
from console.studies.sessions import joining
from storage import tables
from tests.doors.adversaries import study_code
from tests.sweeps import sweep

BASE = "http://127.0.0.1:8123"
COOKIE = participant_cookie_name(8123)
ADDRESSES = count(1)
PROLIFIC = {"platform": "prolific", "completion_url": "https://app.prolific.com/submissions/complete?cc=C1"}


@pytest.fixture
def browser():
    """A function that makes a browser of its own at the console."""

    def make(public_url=None):
        site = site_at("127.0.0.1", 8123, public_url)
        app = Starlette(routes=routes(site), middleware=[Middleware(Guard, site=site)])
        base = public_url or BASE
        # Whoever sends something wrong is slowed, so no two share an address.
        address = (f"203.0.113.{next(ADDRESSES)}", 4711)
        return TestClient(app, base, headers={"Origin": base}, follow_redirects=False, client=address)

    return make


def kept(answer):
    """(the participant's secret, the id on a platform) in the cookie that the answer sets."""
    cookie = answer.cookies[COOKIE]
    return secret_of(cookie), outside_id_of(cookie)


@pytest.mark.parametrize(("public_url", "secure"), [(None, False), ("https://console.example", True)])
def test_code_opens_one_place_for_a_browser_whose_cookie_no_script_reads(browser, public_url, secure):
    code, client = study_code(places=2), browser(public_url)
    came = client.post("/join", data={"code": code})
    assert (came.status_code, came.headers["location"]) == (303, "/participate")
    _, *attributes = came.headers["set-cookie"].split("; ")
    assert {one.lower() for one in attributes} == {
        *("httponly", f"max-age={30 * 24 * 3600}", "path=/", "samesite=lax"),
        *(["secure"] if secure else []),
    }
    assert kept(client.post("/join", data={"code": f" {code.lower()[:4]} {code[4:]} "})) == kept(came)
    assert kept(browser(public_url).post("/join", data={"code": code})) != kept(came)
    full = browser(public_url).post("/join", data={"code": code})
    assert (full.status_code, "Every place in this study is taken" in full.text) == (400, True)
    assert 'name="code"' not in full.text
    assert 'name="code"' in browser(public_url).post("/join", data={"code": "NOSUCH22"}).text


def test_own_link_leads_back_and_keeps_the_platforms_id_for_the_same_person_alone(browser):
    code, client = study_code(places=3, recruiting=PROLIFIC), browser()
    come = {"code": code, "given-PROLIFIC_PID": "5f1b2c", "given-elsewhere": "x"}
    secret, outside_id = kept(client.post("/join", data=come))
    assert outside_id == "5f1b2c"
    assert kept(client.post("/join", data=come)) == (secret, "5f1b2c")
    back = client.get("/participate", params={"me": secret})
    assert (back.status_code, back.headers["location"]) == (303, "/participate")
    assert back.headers["cache-control"] == "no-store"
    assert kept(back) == (secret, "5f1b2c")
    assert kept(browser().post("/join", data=come | {"given-PROLIFIC_PID": "x" * 201}))[1] == "x" * 200
    other = joining.join(study_code(places=1)).secret
    assert kept(client.get("/participate", params={"me": other})) == (other, "")


def test_address_with_a_code_asks_before_it_takes_a_place_and_is_dropped_once_it_has(browser):
    code, client = study_code(places=2), browser()
    asked = client.get("/participate", params={"code": code, "join": code, "PROLIFIC_PID": "5f1b2c"})
    assert asked.status_code == 200
    for hidden in (f'name="code" value="{code}"', 'name="given-PROLIFIC_PID" value="5f1b2c"'):
        assert hidden in asked.text
    client.post("/join", data={"code": code})
    again = client.get("/participate", params={"join": code})
    assert (again.status_code, again.headers["location"]) == (303, "/participate")
    assert client.get("/participate", params={"join": study_code(places=1)}).status_code == 200
    assert client.get("/participate").status_code == 404  # the page itself, which is not served here


@sweep(
    ("method", "path", "what"),
    [
        ("GET", "/participate?me=made-up", "participant's link"),
        ("POST", "/join", "study code"),
        ("GET", "/participate?join=NOSUCH22", "study code"),
        ("GET", "/invite/made-up", "invitation"),
        ("POST", "/invite/made-up", "invitation"),
    ],
    kept=2,
)
def test_fourth_wrong_secret_of_an_address_is_answered_late(browser, caplog, method, path, what):
    client = browser()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            client.request(method, path)
    assert f"A wrong {what} from 203.0.113." in caplog.text
    assert "(3 lately)" in caplog.text
    began = time.perf_counter()
    client.request(method, path)
    assert time.perf_counter() - began > 0.24


@sweep("sent", [{"code": "NOSUCH22"}, {"invitation": "made-up"}, {"code": "X", "PROLIFIC_PID": "5"}], kept=1)
@pytest.mark.parametrize("path", ["/join", "/participate"])
def test_an_address_with_an_unknown_code_says_at_once_what_the_press_would(browser, path, sent):
    study_code(places=1)
    asked = {"join" if (name, path) == ("code", "/participate") else name: value for name, value in sent.items()}
    shown = browser().get(path, params=asked)
    given = {f"given-{name}" if name == "PROLIFIC_PID" else name: value for name, value in sent.items()}
    pressed = browser().post("/join", data=given)
    # The link to the other language holds the address.
    texts = [re.sub(r'<p class="small">.*?</p>', "", one.text) for one in (shown, pressed)]
    assert (shown.status_code, texts[0]) == (pressed.status_code, texts[1])
    assert "You are invited" not in texts[0]


def test_who_came_by_a_link_of_their_own_is_not_asked_for_a_code(browser):
    refused = browser().post("/join", data={"invitation": "made-up"})
    assert (refused.status_code, 'name="code"' in refused.text) == (400, False)
    wanting = browser().post("/join", data={"code": "NOSUCH22", "given-PROLIFIC_PID": "5f1b2c"})
    assert (wanting.status_code, 'name="code"' in wanting.text) == (400, False)


def test_consent_is_looked_at_here_and_saved_with_its_style_in_it(browser):
    client = browser()
    secret, _ = kept(client.post("/join", data={"code": study_code(places=1)}))
    shown = client.get("/my-consent")
    assert "content-disposition" not in shown.headers
    for held in ("Agree?", "<dd>not yet</dd>", "<dd>P01</dd>", '<link rel="stylesheet" href="/sign-in/style.css">'):
        assert held in shown.text
    assert "<style>" not in shown.text
    with reading() as session:
        joining.consent(joining.find_participant(session, secret).id, True)
    saved = client.get("/my-consent?save=1")
    assert saved.headers["content-disposition"] == 'attachment; filename="consent.html"'
    font, _, sheet = client.get("/sign-in/style.css").text.partition("}\n")
    assert sheet in saved.text
    assert font.startswith("@font-face")
    assert font not in saved.text
    for left_out in ("<link", "/my-consent?save=1", "<dd>not yet</dd>"):
        assert left_out not in saved.text
    with reading() as session:
        (agreed,) = session.exec(select(tables.Participant.consented_ms)).all()
    assert agreed is not None
    assert " UTC</time></dd>" in saved.text
    for no_item in (b'{"item": 1, "events": []}', b"no json", b"[]"):
        assert client.post("/page-events", content=no_item).status_code == 403


def test_cookie_leads_back_for_thirty_days(monkeypatch):
    made = time.time()
    cookie = participant_cookie("secret", "5f1b2c")
    for age_s, secret in ((0, "secret"), (30 * 86_400, "secret"), (30 * 86_400 + 2, None)):
        monkeypatch.setattr(time, "time", lambda now=made + age_s: now)
        assert secret_of(cookie) == secret
        assert outside_id_of(cookie) == ("5f1b2c" if secret else "")
    for none in (None, "", "made-up", cookie[:-1]):
        assert (secret_of(none), outside_id_of(none)) == (None, "")
