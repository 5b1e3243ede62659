"""The overseen agent with its token and the reviewer's name: by none of these ways does it decide about its action."""

import secrets
import time

import httpx
import pytest
from sqlmodel import select

from console import runs
from console.auth import sessions
from console.database import now_ms, reading, review_queue, writing
from console.review import decisions
from console.review.decisions import ReviewDecision
from console.settings import settings
from storage import tables
from tests.at_home import at_home
from tests.doors.adversaries import API_TOKEN, Site, agent_token, headers_of
from tests.doors.streamlit_socket import Refused, Tab
from tests.serving import serving
from tests.signing_in import signed_in

REVIEWER = "Rae"
PAY = {"name": "transfer", "arguments": {"amount": 5_000, "to": "mallory"}}


class Agent:
    """The agent: its requests show its token and a cookie with the reviewer's name."""

    def __init__(self, server):
        self.site, self.headers = Site(server.port), headers_of("agent", Site(server.port))
        own = {"Authorization": self.headers["Authorization"]}
        self.api = httpx.Client(base_url=f"{server.url}/api/v1", headers=own, timeout=30, trust_env=False)

    def asks(self, **more):
        """The answer to a new question, which names everything that could make it lax."""
        lax = {"critical": ["never"], "detector": "random", "threshold": 1.0, "undo_s": 0}
        question = {"run": "bot", "task": "Pay the bill.", "task_id": secrets.token_hex(4), "steps": [], "action": PAY}
        return self.api.post("/checks", json=question | lax | more)

    def waits_for(self, check_id):
        """Whether the check has neither a decision nor a go-ahead that could begin."""
        waiting = self.api.get(f"/checks/{check_id}").json()["status"] == "waiting"
        return waiting and self.api.post(f"/checks/{check_id}/begin").status_code == 409


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    data = tmp_path_factory.mktemp("overseen") / "data"
    with at_home(data), serving(data, INFERACT_API_TOKEN=API_TOKEN) as server:
        yield server


@pytest.fixture
def agent(served, monkeypatch):
    monkeypatch.setenv("INFERACT_DATA_DIR", str(served.data))
    settings.cache_clear()
    found = Agent(served)
    yield found
    found.api.close()
    assert {(row.reviewer, row.annotator_kind) for row in rows(tables.Decision)} <= {(REVIEWER, "human")}


def rows(table):
    with reading() as session:
        found = list(session.exec(select(table)))
        session.expunge_all()
    return found


def claimed(run_name):
    """(the run, the reviewer's claim on its next item)."""
    with reading() as session:
        run = runs.get(session, run_name)
        return run, decisions.claim_next_item(review_queue(), session, run, REVIEWER, now_ms())


def approve(run, claim):
    run.undo_ms = 0
    return decisions.submit(review_queue(), run, claim, REVIEWER, ReviewDecision("approve"), now_ms())


def test_websocket(agent):
    check_id = agent.asks().json()["check_id"]
    for cookie in (f"{agent.site.cookie}={REVIEWER}", f"{agent.site.cookie}={agent.headers['Authorization'][7:]}"):
        with pytest.raises(Refused), Tab(agent.site.port, agent.headers | {"Cookie": cookie}):
            pass
    assert agent.waits_for(check_id)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_api(agent, method):
    check_id = agent.asks().json()["check_id"]
    approval = {"decision": "approve", "approved": True, "reviewer": REVIEWER, "status": "decided"}
    for path in ("", "/decision", "/decide", "/approve", "/result", "/begin"):
        said = agent.api.request(method, f"/checks/{check_id}{path}", json=approval)
        assert said.status_code in (404, 405, 409, 422), path
    for path in ("/decisions", "/items/1/decision", "/people", "/sessions", "/policies", "/agents"):
        assert agent.api.request(method, path, json=approval).status_code == 404
    assert agent.waits_for(check_id)


def test_replayed_cookie(agent):
    check_id, token = agent.asks().json()["check_id"], signed_in(REVIEWER, "reviewer")
    seen = agent.headers | {"Cookie": f"{agent.site.cookie}={token}"}
    with Tab(agent.site.port, seen) as tab:
        approval = next(id for key, id in tab.open("review", run="bot").buttons.items() if key.startswith("approve-"))
    with writing() as session:
        sessions.end_session(session, token, now_ms())
    with pytest.raises(Refused), Tab(agent.site.port, seen) as tab:
        tab.press(approval)
    assert agent.waits_for(check_id)


def test_another_ports_cookie(agent):
    check_id = agent.asks().json()["check_id"]
    there = f"inferact_{agent.site.port + 1}={signed_in(REVIEWER, 'reviewer')}"
    with pytest.raises(Refused), Tab(agent.site.port, agent.headers | {"Cookie": there}):
        pass
    assert agent.waits_for(check_id)


def test_guessed_check_id(agent, served):
    check_id, other = agent.asks().json()["check_id"], Agent(served)
    guesses = [check_id, "0" * 32, f"{int(check_id, 16) + 1:032x}", "1", "../checks"]
    for guess in guesses:
        said = [other.api.get(f"/checks/{guess}"), other.api.post(f"/checks/{guess}/begin")]
        assert {answer.status_code for answer in said} <= {404, 405}
    assert other.api.delete(f"/checks/{check_id}").status_code == 404
    other.api.close()
    assert agent.waits_for(check_id)


def test_second_gate_with_other_patterns(agent):
    first, run = agent.asks(run="twice", critical=["transfer"], detector="full-validation").json(), "twice"
    for patterns in (["never"], [], ["*"]):
        for lax in ({"detector": "random", "threshold": 1.0}, {"detector": "rules", "threshold": 1.0}, {"budget": 0}):
            said = agent.asks(run=run, critical=patterns, **lax)
            assert (said.status_code, said.json()["decision"]) == (202, None)
    assert agent.waits_for(first["check_id"])


@pytest.mark.parametrize("patterns", [["never"], ["*"], []])
def test_new_run_name(agent, patterns):
    said = agent.asks(run=f"never heard of {secrets.token_hex(4)}", critical=patterns)
    assert (said.status_code, said.json()["status"]) == (202, "waiting")
    assert agent.waits_for(said.json()["check_id"])


@pytest.mark.at_length
def test_late_reviewer(agent):
    run_name = f"late {secrets.token_hex(4)}"
    check_id = agent.asks(run=run_name, timeout_s=0.6).json()["check_id"]
    run, claim = claimed(run_name)
    time.sleep(0.7)
    approve(run, claim)
    decision = agent.api.get(f"/checks/{check_id}").json()["decision"]
    assert (decision["approved"], decision["reason"]) == (False, "timeout")
    assert agent.api.post(f"/checks/{check_id}/begin").status_code == 409


def test_lost_reply(agent):
    run_name = f"lost {secrets.token_hex(4)}"
    check_id = agent.asks(run=run_name).json()["check_id"]
    approve(*claimed(run_name))
    for _ in range(3):
        assert agent.api.get(f"/checks/{check_id}").json()["decision"]["approved"]
    assert [agent.api.post(f"/checks/{check_id}/begin").status_code for _ in range(3)] == [200, 409, 409]
    assert len([intent for intent in rows(tables.Intent) if intent.decision_id is not None]) == 1


def test_disabled_agent(agent):
    token = agent_token(is_disabled=True)
    said = agent.api.post("/checks", headers={"Authorization": f"Bearer {token}"}, json={})
    assert said.status_code == 401
