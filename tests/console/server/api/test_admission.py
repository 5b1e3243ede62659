"""Who may come in: an agent by its token, on this machine as through any proxy, and no page of another site."""

import re

import httpx
import pytest

from console.auth import agents
from console.cli import run_command
from console.database import now_ms, reading, writing
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from tests.serving import free_port, new_agent
from tests.sweeps import sweep

TOKEN = "a-token-of-24-characters"
NOBODY = "/checks/" + "0" * 32
PATHS = [
    ("POST", "/checks"),
    ("GET", NOBODY),
    ("DELETE", NOBODY),
    ("POST", f"{NOBODY}/begin"),
    ("POST", f"{NOBODY}/result"),
    ("POST", "/trajectories?run=a"),
]


@pytest.fixture
def nobody(shared, api):
    """A client without a token."""
    with shared.client_with("") as client:
        yield client


@sweep(("method", "path"), PATHS, kept=2)
def test_without_a_token_nobody_comes_in_on_this_machine_either(nobody, method, path):
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer"}):
        said = nobody.request(method, path, headers=headers)
        assert said.status_code == 401
        assert said.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer" in said.json()["error"]
    cookie = {"Cookie": f"token={TOKEN}; inferact_hat={TOKEN}"}
    assert nobody.request(method, path, headers=cookie).status_code == 401


def test_health_and_the_document_are_open(nobody):
    assert nobody.get("/health").status_code == 200
    assert nobody.get("/openapi.json").status_code == 200


def test_the_start_says_how_agents_get_in(shared):
    assert "inferact agent add NAME" in shared.said()
    assert "INFERACT_API_TOKEN" in shared.said()
    assert "the-token-of-the-settings" not in shared.said()


def test_the_token_of_the_settings_is_an_agent_too(admin):
    assert admin.get(NOBODY).status_code == 404


def test_an_agent_that_is_disabled_is_out_at_once(shared, api, module_data, question):
    with shared.client_with(new_agent(module_data, "gone soon")) as client:
        check_id = client.post("/checks", json=question()).json()["check_id"]
        with writing() as session:
            agents.disable(session, "Gone Soon", now_ms())
        for said in (client.get(f"/checks/{check_id}"), client.post("/checks", json=question())):
            assert said.status_code == 401


def test_a_wrong_token_is_counted_and_logged_without_its_text(shared):
    with shared.client_with("agent_of_somebody_else") as client:
        assert [client.get(NOBODY).status_code for _ in range(2)] == [401, 401]
    httpx.get(f"{shared.url}/invite/made-up")
    said = shared.said()
    # People who come from there are slowed by their own slips alone.
    assert "A wrong invitation from 127.0.0.1 (1 lately)." in said
    assert re.search(r"A wrong agent's token from 127\.0\.0\.1 \(\d+ lately\)\.", said)
    assert "agent_of_somebody_else" not in said


def test_a_token_that_protects_nothing_is_refused_at_the_start(data_dir, monkeypatch, capsys):
    monkeypatch.setenv("INFERACT_API_TOKEN", "short")
    assert run_command(["serve", "--port", str(free_port())]) == 2
    said = capsys.readouterr().err
    assert "INFERACT_API_TOKEN is too short" in said
    assert "short'" not in said
    with reading() as session:
        assert audit_trail.list_entries(session, AuditFilter(kind="person invited")) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_s_page_is_refused_even_with_a_token(api, headers):
    said = api.post("/checks", json={}, headers=headers)
    assert said.status_code == 403
    assert "another site" in said.json()["error"]


def test_the_console_s_own_page_may_ask_with_a_token(api, shared):
    assert api.get(NOBODY, headers={"Origin": shared.url, "Sec-Fetch-Site": "same-origin"}).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "console.example:8501"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Real-IP": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1"},
    ],
)
def test_a_proxy_opens_and_closes_nothing(api, nobody, headers):
    assert api.get(NOBODY, headers=headers).status_code in (404, 400)
    assert nobody.get(NOBODY, headers=headers).status_code == 401


def test_a_page_that_takes_over_a_name_cannot_ask_in_it(shared):
    """A name rebound to this machine sends matching Origin and Host headers."""
    named = {"Origin": "http://rebound.example:8501", "Host": "rebound.example:8501"}
    said = httpx.post(f"{shared.url}/api/v1/checks", headers=named, json={})
    assert said.status_code == 401
