"""Who may come in: this machine while only it can, otherwise whoever has the token, and no page of another site."""

import stat

import httpx
import pytest

from console.cli import run_command
from tests.serving import free_port

TOKEN = "a-token-of-24-characters"


@pytest.fixture(scope="module")
def paths():
    return [
        ("POST", "/checks"),
        ("GET", "/checks/1-1"),
        ("POST", "/checks/1-1/result"),
        ("POST", "/trajectories?run=a"),
    ]


def test_on_this_machine_alone_no_token_is_needed_and_the_start_says_so(shared, api):
    assert "open to this machine, no token needed" in shared.said()
    assert api.get("/checks/1-1").status_code == 404


def test_a_token_of_the_settings_is_asked_for_everywhere(serve, paths):
    server = serve(INFERACT_API_TOKEN=TOKEN)
    assert "token: INFERACT_API_TOKEN" in server.said()
    assert TOKEN not in server.said()
    for method, path in paths:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer"}):
            said = server.client.request(method, path, headers=headers)
            assert said.status_code == 401
            assert said.headers["www-authenticate"] == "Bearer"
            assert "Authorization: Bearer" in said.json()["error"]
        assert server.client.request(method, path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code != 401
    cookie = {"Cookie": f"token={TOKEN}; inferact_8501={TOKEN}"}
    assert server.client.get("/checks/1-1", headers=cookie).status_code == 401
    assert server.client.get("/health").status_code == 200
    assert server.client.get("/openapi.json").status_code == 200


def test_a_server_that_others_can_reach_makes_a_token_and_asks_even_this_machine(serve, data_dir):
    server = serve("--host", "0.0.0.0", "--public-url", "https://console.example")
    kept = data_dir / "api.token"
    assert f"token: {kept}" in server.said()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert server.client.get("/checks/1-1").status_code == 401
    headers = {"Authorization": f"Bearer {kept.read_text()}"}
    assert server.client.get("/checks/1-1", headers=headers).status_code == 404
    assert kept.read_text() not in server.said()


def test_a_token_that_protects_nothing_is_refused_at_the_start(data_dir, monkeypatch, capsys):
    monkeypatch.setenv("INFERACT_API_TOKEN", "short")
    assert run_command(["serve", "--port", str(free_port())]) == 2
    said = capsys.readouterr().err
    assert "INFERACT_API_TOKEN is too short" in said
    assert "short'" not in said


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
def test_another_site_s_page_is_refused_even_with_the_token(api, shared, headers):
    said = api.post("/checks", json={}, headers=headers | {"Authorization": f"Bearer {TOKEN}"})
    assert said.status_code == 403
    assert "another site" in said.json()["error"]


def test_the_console_s_own_page_may_ask(api, shared):
    assert api.get("/checks/1-1", headers={"Origin": shared.url, "Sec-Fetch-Site": "same-origin"}).status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "console.example:8501"},
        {"X-Forwarded-For": "203.0.113.7"},
        {"Forwarded": "for=203.0.113.7"},
    ],
)
def test_what_comes_under_another_name_or_through_a_proxy_needs_the_token(api, headers):
    assert api.get("/checks/1-1", headers=headers).status_code == 401


def test_a_page_that_takes_over_a_name_cannot_ask_in_it(shared):
    """A name rebound to this machine sends matching Origin and Host headers."""
    named = {"Origin": "http://rebound.example:8501", "Host": "rebound.example:8501"}
    said = httpx.post(f"{shared.url}/api/v1/checks", headers=named, json={})
    assert said.status_code == 401
