"""The guard and the sign-in, against a console that really listens; who is answered what is in tests/doors."""

import re
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlmodel import select
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from console.auth import people, sessions
from console.cli import run_command
from console.database import now_ms, reading, writing
from console.gate import Gate
from console.review.notices.texts import ItemEvent, compose, compose_test
from console.server.sign_in.wrong_tokens import delay_s
from console.settings import settings
from storage import tables
from tests.doors import table
from tests.doors.adversaries import Site, headers_of, participant, sessions_of
from tests.doors.streamlit_socket import Refused as NotLetIn
from tests.doors.streamlit_socket import Tab
from tests.signing_in import invitation, signed_in
from tests.sweeps import sweep


@pytest.fixture(scope="module")
def site(shared, module_data):
    """(the running server, its own Host, its own Origin); what the test writes reaches its database."""
    host = shared.url.partition("//")[2]
    return shared, host, shared.url


@pytest.fixture(autouse=True)
def same_database(module_data, monkeypatch):
    monkeypatch.setenv("INFERACT_DATA_DIR", str(module_data))
    settings.cache_clear()


def opens(site, headers):
    """Whether the websocket lets those headers in."""
    try:
        with Tab(site[0].port, headers):
            return True
    except NotLetIn:
        return False


def test_a_websocket_needs_an_origin(site):
    headers = headers_of("reviewer", Site(site[0].port))
    assert opens(site, headers)
    del headers["Origin"]
    assert not opens(site, headers)
    assert not opens(site, headers | {"Origin": "https://evil.example"})
    assert "another site's page (Origin 'https%3A//evil.example')" in site[0].said()


@sweep("way", [way for way in table.TABLE["routes"] if way.startswith("POST /") and "_" not in way])
@pytest.mark.parametrize("adversary", ["foreign page", "page of another local port", "sandboxed page", "rebound name"])
def test_no_form_of_another_page_acts(site, way, adversary):
    path = way.split(" ")[1].replace("{token}", invitation("Mallory", "admin"))
    headers = headers_of(adversary, Site(site[0].port))
    assert httpx.post(f"{site[2]}{path}", headers=headers, data={"name": "Mallory"}).status_code == 403
    assert sessions_of("Mallory") == 0


def test_no_form_without_an_origin_acts(site):
    assert httpx.post(f"{site[2]}/invite/{invitation('Mallory')}", data={}).status_code == 403


def test_an_invitation_is_shown_by_get_and_used_by_post_once(site):
    link = f"{site[2]}/invite/{invitation('Ina', 'reviewer')}"
    for _ in range(3):
        shown = httpx.get(link)
        assert shown.status_code == 200
        assert "Welcome, Ina" in shown.text
        assert "script" not in shown.text
    assert sessions_of("Ina") == 0
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: httpx.post(link, headers={"Origin": site[2]}, data={}), range(4)))
    assert sorted(answer.status_code for answer in answers) == [303, 410, 410, 410]
    assert sessions_of("Ina") == 1
    kept = next(answer for answer in answers if answer.status_code == 303)
    cookie = kept.headers["set-cookie"]
    assert cookie.startswith(f"inferact_{site[0].port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Secure" not in cookie
    assert kept.headers["location"] == "/"


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "https://evil.example", "javascript:1", "/a\nb"])
def test_an_invitation_leads_to_a_page_of_ours_alone(site, path):
    answer = httpx.post(f"{site[2]}/invite/{invitation('Ina')}", headers={"Origin": site[2]}, data={"next": path})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


@sweep("end", ["its owner signs out", "an admin ends it", "the person is disabled"], kept=1)
def test_a_session_that_ends_closes_its_open_websocket(site, end):
    name = f"Zoe {end}"
    token, cookie = signed_in(name), f"inferact_{site[0].port}"
    own = {"Cookie": f"{cookie}={token}", "Origin": site[2]}
    with connect(
        f"ws://{site[1]}/_stcore/stream", origin=site[2], additional_headers={"Cookie": own["Cookie"]}
    ) as opened:
        if end == "its owner signs out":
            assert httpx.post(f"{site[2]}/sign-out", headers=own).status_code == 303
        elif end == "an admin ends it":
            with reading() as session:
                (number,) = [one.id for one in sessions.open_sessions(session, now_ms(), name)]
            admin = {"Cookie": f"{cookie}={signed_in('Rosa', 'admin')}", "Origin": site[2]}
            assert httpx.post(f"{site[2]}/sessions", headers=admin, data={"id": number}).status_code == 303
        else:
            with writing() as session:
                people.disable(session, people.get_person(session, name), now_ms())
        with pytest.raises(ConnectionClosed):
            deque(iter(lambda: opened.recv(timeout=10), None), maxlen=0)
    assert httpx.get(f"{site[2]}/whoami", headers=own).status_code == 401
    assert not opens(site, {"Host": site[1], **own})


def test_nobody_but_its_owner_or_an_admin_ends_a_session(site):
    signed_in("Uma")
    with reading() as session:
        (number,) = [one.id for one in sessions.open_sessions(session, now_ms(), "Uma")]
    other = {"Cookie": f"inferact_{site[0].port}={signed_in('Rae', 'researcher')}", "Origin": site[2]}
    said = httpx.post(f"{site[2]}/sessions", headers=other, data={"id": number})
    assert said.status_code == 403
    assert "Uma" not in httpx.get(f"{site[2]}/sessions", headers=other).text
    assert sessions_of("Uma") == 1


def test_the_list_of_sessions_names_a_browser_in_words(site):
    agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/131.0 Safari/537.36 Edg/131.0"
    with httpx.Client(base_url=site[2], headers={"Origin": site[2], "User-Agent": agent}) as browser:
        browser.post(f"/invite/{invitation('Vera')}", data={})
        page = browser.get("/sessions").text
    assert f'<span class="small" title="{agent}">Edge on Windows</span>' in page


def test_a_participant_comes_in_by_code_or_by_their_own_link(site):
    _, person, _ = participant()
    with httpx.Client(base_url=site[2], headers={"Origin": site[2]}) as browser:
        wrong = browser.post("/join", data={"code": "WRONG"})
        assert wrong.status_code == 400
        assert "No study has this code" in wrong.text
        arrived = browser.get("/participate", params={"me": person.secret})
        assert (arrived.status_code, arrived.headers["location"]) == (303, "/participate")
        assert "HttpOnly" in arrived.headers["set-cookie"]
        page = browser.get("/participate")
        assert 'id="root"' in page.text
        assert browser.get("/sessions").status_code == 303
    assert httpx.get(f"{site[2]}/participate?me=made-up").status_code == 410


def test_wrong_tokens_are_logged_without_their_text_and_slowed(site):
    for _ in range(2):
        httpx.get(f"{site[2]}/invite/made-up-token")
    said = site[0].said()
    assert "A wrong invitation from 127.0.0.1" in said
    assert "made-up-token" not in said
    assert [delay_s(count) for count in (0, 2, 3, 4, 5, 50)] == [0.0, 0.0, 0.25, 0.5, 1.0, 5.0]


@pytest.mark.at_length
def test_the_stated_address_is_the_one_that_is_answered(serve, data_dir):
    """A proxy that keeps the Host of the machine behind it lets nobody sign in."""
    roles = ("--role", "researcher", "--role", "admin")
    server = serve("--public-url", "https://console.example", "--invite", "Ada", *roles)
    assert "https://console.example/invite/" in server.said()
    named = {"Host": "console.example", "Origin": "https://console.example"}
    answer = httpx.post(f"{server.url}/invite/{invitation_of(server)}", headers=named, data={"name": "Ada"})
    assert answer.status_code == 303
    assert "Secure" in answer.headers["set-cookie"]
    with reading(f"sqlite:///{data_dir / 'console.db'}") as session:
        assert people.get_person(session, "Ada").roles == "admin,researcher,reviewer"
    careless = {"Host": f"127.0.0.1:{server.port}", "Origin": "https://console.example"}
    assert httpx.post(f"{server.url}/invite/x", headers=careless, data={}).status_code == 403
    plain = {"Host": "console.example", "Origin": "http://console.example"}
    assert httpx.post(f"{server.url}/invite/x", headers=plain, data={}).status_code == 403


def invitation_of(server):
    """The token of the link that the server printed."""
    return server.said().partition("/invite/")[2].split()[0]


def test_beyond_this_machine_nothing_starts_without_an_address(data_dir, capsys):
    assert run_command(["serve", "--host", "0.0.0.0"]) == 1
    assert "--public-url" in capsys.readouterr().err


def test_nobody_decides_by_an_address_in_a_notice(site):
    Gate("notices", "full-validation", critical=["pay*"], undo_s=0).ask("pay the bill", [], "pay[7]", task_id="t")
    with reading() as session:
        item = session.exec(select(tables.Item.id).order_by(tables.Item.id.desc())).first()
    channel = tables.NoticeChannel(language="en", time_zone="UTC")
    events = [ItemEvent(event, item + n, "notices", "pay", "", None, outcome) for event, outcome in
              (("item.pending", ""), ("item.closed", "expired")) for n in range(6)]  # fmt: skip
    told = [compose(events, channel, site[2]).text, compose(events[:1], channel, site[2]).text]
    told += [compose_test(channel, site[2]).text, *(event.document(site[2])["link"] for event in events)]
    found = set(re.findall(r"https?://\S+", "\n".join(told)))
    assert {address.partition("?")[0].removeprefix(site[2]) for address in found} == {"/review", "/inbox", "/notices"}
    for address in found:
        for method in ("GET", "POST", "HEAD", "PUT", "DELETE"):
            answer = httpx.request(method, address, trust_env=False)
            assert answer.status_code in (303, 401, 403, 405), (method, address)
            assert "/sign-in" in answer.headers.get("Location", "/sign-in")
    with reading() as session:
        assert session.exec(select(tables.Decision.id).where(tables.Decision.item_id == item)).all() == []
        assert session.exec(select(tables.Slot.id).where(tables.Slot.item_id == item)).all() == []
