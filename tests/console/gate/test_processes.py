"""Agents and reviewers as processes of their own, some of them killed."""

import json
import random
import runpy
import time
from pathlib import Path

import pytest

from storage import tables

answer_to = runpy.run_path(str(Path(__file__).parent / "programs" / "reviewer.py"))["answer_to"]
MINUTE = 60


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for(condition, what):
    until = time.monotonic() + 3 * MINUTE
    while not condition():
        assert time.monotonic() < until, f"{what} did not happen"
        time.sleep(0.02)


def allowed(action):
    """What may run for an action: itself, its edited form, or nothing."""
    answer = answer_to(action)
    return {"approve": action, "edit": answer.edited_action, "reject": None}[answer.decision]


def check_own_decision(told):
    """The decision that an agent got is the one about its own action."""
    answer = answer_to(told["asked"])
    assert told["action"] == (allowed(told["asked"]) or told["asked"])
    assert told["approved"] == (answer.decision != "reject")
    if answer.decision == "reject":
        assert told["feedback"] == f"do not {told['asked']}"


@pytest.mark.at_length
def test_every_decision_of_two_reviewers_reaches_its_own_action(start, tmp_path, stored, make_gate):
    make_gate().open()
    people = [start("reviewer", name) for name in ("ann", "bob")]
    logs = {name: tmp_path / f"{name}.jsonl" for name in ("left", "right")}
    agents = [start("agent", name, 40, 20, log, tmp_path / f"{name}.done") for name, log in logs.items()]
    assert [agent.wait(3 * MINUTE) for agent in agents] == [0, 0]
    assert [one.poll() for one in people] == [None, None]
    told = [line for log in logs.values() for line in lines(log) if "reason" in line]
    assert len(told) == 80
    for line in told:
        check_own_decision(line)
    ran = [line["ran"] for log in logs.values() for line in lines(log) if "ran" in line]
    assert sorted(ran) == sorted(allowed(line["asked"]) for line in told if line["approved"])
    assert len({line["decision_id"] for line in told}) == 80
    assert {item.status for item in stored(tables.Item)} == {"delivered"}
    assert all(intent.finished_ms for intent in stored(tables.Intent))


def test_answer_survives_an_agent_that_is_killed_while_it_waits(start, person, tmp_path, items, make_gate):
    make_gate().open()
    log, done = tmp_path / "log.jsonl", tmp_path / "done"
    agent = start("agent", "solo", 1, 1, log, done)
    wait_for(lambda: items() == ["pending"], "the question")
    agent.kill()
    agent.wait(MINUTE)
    person().answer("edit", edited_action="pay[half]")
    assert items() == ["decided"]
    assert start("agent", "solo", 1, 1, log, done).wait(MINUTE) == 0
    assert [line["ran"] for line in lines(log) if "ran" in line] == ["pay[half]"]
    assert items() == ["delivered"]


@pytest.mark.at_length
def test_action_of_an_agent_that_died_with_the_go_ahead_is_not_let_run_again(start, person, tmp_path, make_gate):
    make_gate().open()
    log, done = tmp_path / "log.jsonl", tmp_path / "done"
    agent = start("agent", "solo", 1, 1, log, done, "die")
    person().answer("approve")
    assert agent.wait(MINUTE) != 0
    assert start("agent", "solo", 1, 1, log, done).wait(MINUTE) == 0
    (told,) = lines(log)
    assert (told["approved"], told["reason"]) == (False, "already_handed_out")


@pytest.mark.at_length
def test_killed_agents_and_reviewers_run_nothing_twice_and_nothing_unapproved(start, tmp_path, stored, make_gate):
    make_gate().open()
    chance, log, done = random.Random(7), tmp_path / "log.jsonl", tmp_path / "done"
    names = ("ann", "bob")
    people = {name: start("reviewer", name) for name in names}
    agent = start("agent", "solo", 40, 6, log, done)
    for _ in range(8):
        time.sleep(chance.uniform(0.6, 1.4))
        if chance.random() < 0.5:
            name = chance.choice(names)
            people[name].kill()
            people[name].wait(MINUTE)
            people[name] = start("reviewer", name)
        elif not done.exists():
            agent.kill()
            agent.wait(MINUTE)
            agent = start("agent", "solo", 40, 6, log, done)
    wait_for(done.exists, "the end of the agent")
    told = [line for line in lines(log) if "reason" in line]
    ran = [line["ran"] for line in lines(log) if "ran" in line]
    assert len(ran) == len(set(ran))
    for line in told:
        if line["reason"] != "already_handed_out":
            check_own_decision(line)
    assert {line["asked"] for line in told} == {f"pay[solo-{number}]" for number in range(40)}
    assert set(ran) <= {allowed(line["asked"]) for line in told}
    intended = [intent.action for intent in stored(tables.Intent)]
    assert len(intended) == len(set(intended))
    assert set(ran) <= set(intended)
