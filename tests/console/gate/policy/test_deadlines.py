"""Deadlines of minutes to days: the agent may leave and come back, and what nobody decided is told."""

import time

import pytest

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.gate import Reason, checks
from console.gate.checks import CheckId, Wait
from console.gate.request import NOBODY
from console.runs.status import run_status, status_rows
from storage import audit_chain, tables
from storage.engine import engine
from storage.queue.values import DEAD_MS

TASK, STEPS = "Pay the March bill only.", [("look", "two bills")]
PATIENT = "rules: [{then: ask, deadline: 3d}]"


def change_ask(url, **fields):
    with writing(url) as session:
        ask = session.get_one(tables.Ask, 1)
        for name, value in fields.items():
            setattr(ask, name, value)
        session.add(ask)


@pytest.mark.parametrize(
    ("deadline", "timeout_s", "waits_s"),
    [("10m", None, 600), ("4h", None, 14_400), ("3d", 60, 259_200), ("90", 3_600, 90), ("1.5h", None, 5_400)],
)
def test_rule_says_how_long_a_person_has_whatever_the_agent_says(make_gate, stored, deadline, timeout_s, waits_s):
    gate = make_gate(f"rules: [{{then: ask, deadline: {deadline}}}]", timeout_s=timeout_s)
    gate.ask(TASK, STEPS, "pay[1]")
    (ask,) = stored(tables.Ask)
    assert ask.deadline_ms - ask.asked_ms == waits_s * 1_000


@pytest.mark.parametrize(("timeout_s", "waits_s"), [(None, 1_800), (7_200, 7_200), (60, 60), (10**8, 7 * 86_400)])
def test_without_a_deadline_of_the_rule_the_agent_says_it_or_half_an_hour(make_gate, stored, timeout_s, waits_s):
    make_gate(timeout_s=timeout_s).ask(TASK, STEPS, "pay[1]")
    (ask,) = stored(tables.Ask)
    assert ask.deadline_ms - ask.asked_ms == waits_s * 1_000


def test_agent_leaves_after_its_own_time_and_fetches_the_answer_by_the_id(make_gate, person, items, url):
    gate = make_gate(PATIENT)
    left = gate.ask(TASK, STEPS, "pay[1]", timeout_s=0)
    told = left.look()
    assert (told.approved, told.reason) == (False, Reason.TIMEOUT)
    assert "still pending" in told.feedback
    assert items() == ["pending"]
    person().answer("approve", "go on")
    back = checks.open_wait(url, CheckId(told.check_id), NOBODY, beats=True)
    assert isinstance(back, Wait)
    answer = back.look()
    assert (answer.approved, answer.reason) == (True, Reason.APPROVED)
    assert gate.begin(answer).intent_id is not None


def test_check_of_an_agent_that_left_is_not_taken_for_dead(make_gate, items, url):
    gone = make_gate(PATIENT).ask(TASK, STEPS, "pay[1]", timeout_s=0)
    checks.open_wait(url, CheckId(gone.look().check_id), NOBODY, beats=True).look()
    change_ask(url, heartbeat_ms=now_ms() - DEAD_MS - 1)
    assert review_queue(url).expire_overdue(run_id=1, now_ms=now_ms()) == 0
    assert items() == ["pending"]


def test_agent_that_waits_within_its_call_ends_its_check_as_before(make_gate, items):
    decision = make_gate(PATIENT).check(TASK, STEPS, "pay[1]", timeout_s=0.05)
    assert decision.reason is Reason.TIMEOUT
    assert items() == ["expired"]


@pytest.mark.parametrize("ended_by", ["worker", "claim", "agent"])
def test_what_expires_undecided_is_an_event_and_a_figure(make_gate, person, stored, url, ended_by):
    gate = make_gate("rules: [{then: ask, deadline: 10m}]")
    waiting = gate.ask(TASK, STEPS, "pay[1]")
    change_ask(url, deadline_ms=now_ms() - 1)
    if ended_by == "worker":
        assert review_queue(url).expire_overdue(run_id=1, now_ms=now_ms()) == 1
    elif ended_by == "claim":
        with pytest.raises(TimeoutError):
            person().claim(timeout_s=0.05)
    waiting.deadline_ms = 0
    assert waiting.look().reason is Reason.TIMEOUT
    told = [(event.kind, event.subject) for event in stored(tables.Event)]
    assert told.count(("gate: timeout", "item 1")) == 1
    with engine(url).connect() as connection:
        assert audit_chain.problems(connection) == []
    with reading(url) as session:
        status = run_status(session, runs.get(session, "shop-bot"))
    assert [trial["expired"] for trial in status["trials"]] == [1]
    assert status_rows(status, "gate")[0]["expired"] == 1


@pytest.mark.at_length
def test_decision_in_time_counts_although_the_agent_comes_back_after_the_deadline(make_gate, person, url):
    left = make_gate("rules: [{then: ask, deadline: 1}]").ask(TASK, STEPS, "pay[1]", timeout_s=0)
    check_id = CheckId(left.look().check_id)
    person().answer("approve")
    time.sleep(1.05)
    assert checks.open_wait(url, check_id, NOBODY, beats=True).look().reason is Reason.APPROVED
