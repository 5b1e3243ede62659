"""The sign-in by an organisation, walked as a browser does between a console that listens and an OpenID provider."""

import asyncio
import time

import httpx
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

pytest.importorskip("authlib", reason="the extra oidc is not installed")

from console.auth import people
from console.cli import run_command
from console.database import now_ms, reading, writing
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.server.sign_in.sign_in_pages import routes
from console.server.site import site_at
from console.settings import settings
from tests.doors.adversaries import sessions_of
from tests.openid_provider import CLIENT_ID, CLIENT_SECRET, providing
from tests.serving import serving
from tests.signing_in import invitation

BACK = "/sign-in/organisation/back"


@pytest.fixture(scope="module")
def provider():
    with providing() as found:
        yield found


@pytest.fixture(scope="module")
def server(provider, module_data):
    more = {
        "INFERACT_OIDC_METADATA_URL": f"{provider.issuer}/.well-known/openid-configuration",
        "INFERACT_OIDC_CLIENT_ID": CLIENT_ID,
        "INFERACT_OIDC_CLIENT_SECRET": CLIENT_SECRET,
    }
    with serving(module_data, **more) as found:
        yield found


@pytest.fixture(autouse=True)
def afresh(server, provider, module_data, monkeypatch):
    """No fault, the database of the server, and afterwards a right token, so that nobody waits for wrong answers."""
    provider.forget()
    monkeypatch.setenv("INFERACT_DATA_DIR", str(module_data))
    settings.cache_clear()
    yield
    httpx.post(f"{server.url}/invite/{invitation('Ida')}", headers={"Origin": server.url}, trust_env=False)


@pytest.fixture
def browser(server):
    with httpx.Client(base_url=server.url, timeout=30, trust_env=False) as found:
        yield found


def come_back(browser):
    """The address that the provider sends the browser back to."""
    to_provider = browser.get("/sign-in/organisation")
    assert (to_provider.status_code, to_provider.headers["cache-control"]) == (302, "no-store")
    assert "Max-Age=600;" in to_provider.headers["set-cookie"]
    return httpx.get(to_provider.headers["location"], trust_env=False).headers["location"]


def sign_in(browser):
    """What the console answers to the way back."""
    return browser.get(come_back(browser))


def invited(name, *, is_disabled=False):
    invitation(name)
    if is_disabled:
        with writing() as session:
            people.disable(session, people.get_person(session, name), now_ms())


def last_event():
    with reading() as session:
        return audit_trail.entry_sentence(audit_trail.list_entries(session, AuditFilter(), 1)[0])


def test_whoever_was_invited_comes_in_by_the_organisation_and_goes(browser, server, provider):
    invited("ada@example.org")
    page = browser.get("/sign-in").text
    assert f'href="{server.url}/sign-in/organisation"' in page
    assert "Sign in with your organisation" in page
    provider.claims = {"email": "Ada@Example.org"}
    answer = sign_in(browser)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert last_event() == f"ada@example.org signed in by {provider.issuer}, in the browser."
    (kept,) = [one for one in answer.headers.get_list("set-cookie") if one.startswith(f"inferact_{server.port}=")]
    assert "HttpOnly" in kept
    assert "SameSite=lax" in kept
    assert list(browser.cookies) == [f"inferact_{server.port}"]
    assert browser.get("/whoami").json() == {"name": "ada@example.org", "roles": ["reviewer"]}
    assert provider.asked[0]["code_challenge_method"] == "S256"
    assert browser.post("/sign-out", headers={"Origin": server.url}).status_code == 303
    assert browser.get("/whoami").status_code == 401
    assert last_event() == "ada@example.org signed out, in the browser."


FAULTS = {
    "wrong nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "expired": {"exp": int(time.time()) - 600},
    "of another console": {"aud": "another"},
    "of another provider": {"iss": "https://evil.example"},
}


@pytest.mark.parametrize("fault", [*FAULTS, "signed by a stranger", "no token"])
def test_a_token_that_is_not_ours_lets_nobody_in(browser, provider, fault):
    invited("bea@example.org")
    provider.claims = {"email": "bea@example.org"} | FAULTS.get(fault, {})
    provider.has_id_token = fault != "no token"
    provider.key = provider.stranger_key if fault == "signed by a stranger" else provider.key
    refused_with(browser, "could not be verified")
    assert last_event().startswith("A person was refused at the sign-in by an organisation: Your organisation refused")
    assert sessions_of("bea@example.org") == 0


NO_ADDRESS = "no verified e-mail address"
WHO = {
    "not verified": ({"email_verified": False}, NO_ADDRESS),
    "not verified, in words": ({"email_verified": "true"}, NO_ADDRESS),
    "of no word on it": ({"email_verified": None}, NO_ADDRESS),
    "without an address": ({"email": None}, NO_ADDRESS),
    "that looks alike": ({"email": "cleo@ｅxample.org"}, NO_ADDRESS),
    "that is a name alone": ({"email": "Dan"}, NO_ADDRESS),
    "nobody invited": ({"email": "<b>eve@example.org"}, "&lt;b&gt;eve@example.org has no invitation"),
    "of many letters": ({"email": f"{'e' * 300}@example.org"}, "has no invitation"),
    "disabled": ({"email": "fay@example.org"}, "fay@example.org is disabled"),
}


@pytest.mark.parametrize("who", WHO)
def test_whom_the_organisation_knows_and_the_console_does_not_stays_outside(browser, provider, who):
    invited("cleo@example.org")
    invited("Dan")
    invited("fay@example.org", is_disabled=True)
    claims, said = WHO[who]
    provider.claims = {"email": "cleo@example.org"} | claims
    refused_with(browser, said)
    with reading() as session:
        (entry,) = audit_trail.list_entries(session, AuditFilter(), 1)
    assert (entry.kind, entry.subject) == ("sign-in refused", (provider.claims["email"] or "")[:200])
    assert [sessions_of(name) for name in ("cleo@example.org", "Dan", "fay@example.org")] == [0, 0, 0]


def refused_with(browser, said):
    """Asserts that the way back is refused with that sentence, and leaves no cookie."""
    answer = sign_in(browser)
    assert answer.status_code == 403
    assert said in answer.text
    assert list(browser.cookies) == []


@pytest.mark.at_length
def test_an_answer_that_this_browser_did_not_ask_for_is_refused(browser, server):
    invited("gil@example.org")
    before = last_event()
    address = come_back(browser)
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as another:
        assert another.get(address).status_code == 403
        assert another.get(f"{BACK}?error=access_denied").status_code == 403
        assert another.get(BACK).status_code == 403
    assert last_event() == before
    assert browser.get(f"{address}x").status_code == 403
    began = time.monotonic()
    assert browser.get(address).status_code == 403
    assert time.monotonic() - began > 0.49
    assert "A wrong sign-in by the organisation from 127.0.0.1" in server.said()


def test_a_link_opened_before_it_is_where_the_organisation_leads(browser, provider):
    invited("ada@example.org")
    assert browser.get("/trajectories?run=kettles&id=3", headers={"Accept": "text/html"}).status_code == 303
    answer = sign_in(browser)
    assert answer.headers["location"] == "/trajectories?run=kettles&id=3"
    assert [name for name in browser.cookies if name.endswith("_link")] == []


def test_a_way_back_leads_in_once_by_the_longest_name_too(browser, provider, server):
    assert browser.get(BACK).status_code == 403
    first_wrong = server.said().count("(1 lately)")
    longest = f"{'a' * 48}@example.org"
    invited(longest)
    provider.claims = {"email": longest}
    address = come_back(browser)
    on_the_way = dict(browser.cookies)
    assert browser.get(address).status_code == 303
    assert httpx.get(address, cookies=on_the_way, trust_env=False).status_code == 403
    assert server.said().count("(1 lately)") == first_wrong + 1


def test_the_secrets_are_kept_and_never_printed(server, module_data):
    assert CLIENT_SECRET not in server.said()
    assert (module_data / "oidc.secret").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("url", "client_id", "said"),
    [
        ("https://idp.example/x", "", "belong together"),
        ("", "inferact", "belong together"),
        ("http://idp.example/x", "inferact", "not an https address"),
        ("idp.example", "inferact", "not an https address"),
    ],
)
def test_a_provider_that_cannot_be_used_stops_the_start(url, client_id, said, monkeypatch, capsys):
    monkeypatch.setenv("INFERACT_OIDC_METADATA_URL", url)
    monkeypatch.setenv("INFERACT_OIDC_CLIENT_ID", client_id)
    monkeypatch.setenv("INFERACT_OIDC_CLIENT_SECRET", CLIENT_SECRET)
    settings.cache_clear()
    assert run_command(["serve"]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert CLIENT_SECRET not in printed.out + printed.err


def test_a_provider_that_does_not_answer_is_one_sentence(monkeypatch):
    monkeypatch.setenv("INFERACT_OIDC_METADATA_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("INFERACT_OIDC_CLIENT_ID", CLIENT_ID)
    monkeypatch.setenv("INFERACT_OIDC_CLIENT_SECRET", CLIENT_SECRET)
    settings.cache_clear()
    transport = httpx.ASGITransport(Starlette(routes=routes(site_at("127.0.0.1", 8501, None))))

    async def asked():
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8501") as browser:
            return await browser.get("/sign-in/organisation")

    answer = asyncio.run(asked())
    assert answer.status_code == 502
    assert "sign-in service does not respond</h1>" in answer.text
    assert "Try again in a moment, or ask the operator for a link." in answer.text


@pytest.mark.parametrize("path", ["/sign-in/organisation", BACK])
def test_without_a_provider_there_is_nothing_and_no_button(path, data_dir, monkeypatch):
    monkeypatch.setenv("INFERACT_DATA_DIR", str(data_dir))
    settings.cache_clear()
    with TestClient(Starlette(routes=routes(site_at("127.0.0.1", 8501, None))), "http://127.0.0.1:8501") as browser:
        answer = browser.get(path)
        assert (answer.status_code, "<h1>Page not found</h1>" in answer.text) == (404, True)
        assert "This console has no sign-in with an organisation" in answer.text
        assert "/sign-in/organisation" not in browser.get("/sign-in").text
