"""A console below a path of its host: every address, redirect and cookie has the path, also without a proxy."""

import re

import httpx
import pytest
from inferact_client import Gate
from websockets.sync.client import connect

from console.auth import invitations
from console.auth.people import Role
from console.database import now_ms, writing
from tests.serving import free_port, new_agent, serving


@pytest.fixture(scope="module")
def below(tmp_path_factory):
    """A console whose public URL has a path."""
    port = free_port()
    with serving(
        tmp_path_factory.mktemp("below") / "data", "--public-url", f"http://127.0.0.1:{port}/tools/inferact", port=port
    ) as server:
        yield server


@pytest.fixture
def browser(below):
    with httpx.Client(base_url=below.url, headers={"Accept": "text/html"}, trust_env=False) as client:
        yield client


def invited(below):
    with writing(f"sqlite:///{below.data / 'console.db'}") as session:
        return invitations.invite(session, "Ada", frozenset({Role.REVIEWER}), "root", now_ms())


@pytest.mark.at_length
def test_sign_in_leads_to_addresses_and_cookies_below_the_path(below, browser):
    assert browser.get("/tools/inferact").headers["location"] == "/tools/inferact/"
    away = browser.get("/tools/inferact/review?item=7")
    assert away.headers["location"] == "/tools/inferact/sign-in"
    shown = browser.get("/tools/inferact/sign-in")
    addresses = re.findall(r'(?:href|action)="([^"?]*)', shown.text)
    assert addresses
    assert {address for address in addresses if address and not address.startswith("/tools/inferact/")} == set()
    assert browser.get("/tools/inferact/sign-in/style.css").status_code == 200
    path = f"/tools/inferact/invite/{invited(below)}"
    used = browser.post(path, data={}, headers={"Origin": below.url})
    assert (used.status_code, used.headers["location"]) == (303, "/tools/inferact/review?item=7")
    cookies = used.headers.get_list("set-cookie")
    assert len(cookies) == 2
    assert all("Path=/tools/inferact/;" in f"{cookie};" for cookie in cookies)
    assert browser.get("/tools/inferact/whoami").json()["name"] == "Ada"
    assert browser.get("/whoami").status_code == 401  # the browser keeps the cookie to the path
    session = "; ".join(cookie.partition(";")[0] for cookie in cookies)
    address = f"{below.url.replace('http', 'ws')}/tools/inferact/_stcore/stream"
    with connect(address, origin=below.url, additional_headers={"Cookie": session}, subprotocols=["streamlit"]):
        pass


@pytest.mark.at_length
def test_agents_and_health_checks_reach_the_api_with_and_without_the_path(below):
    for path in ("/tools/inferact", ""):
        assert httpx.get(f"{below.url}{path}/api/v1/health", trust_env=False).status_code == 200
    token = new_agent(below.data, "support-bot")
    gate = Gate(run="support-bot", url=f"{below.url}/tools/inferact", token=token, deadline_s=1)
    decision = gate.check("Refund order 7", [], "refund(7)")
    gate.close()
    assert decision.check_id
    assert f"Console     {below.url}/tools/inferact/" in below.said()


def test_an_address_beside_the_path_is_not_the_console_s(below, browser):
    for path in ("/tools/inferactive/whoami", "/tools/whoami"):
        assert browser.get(path).headers.get("location", "").startswith("/tools/inferact/")  # nothing but the sign-in
