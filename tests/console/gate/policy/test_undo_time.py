"""The time to undo a decision is the policy's; whoever asks can only lengthen it."""

import json

import pytest

from console import runs
from console.database import reading, writing
from console.errors import BadInput
from console.gate.checks import Wait
from console.gate.policy import CheckFacts, read_policy, ruling
from console.gate.request import Asker
from storage import tables
from tests.sweeps import sweep

TASK, STEPS = "Pay the March bill only.", [("look", "two bills")]


def decided_after(person):
    row = person().answer("approve")
    return row.deliverable_ms - row.decided_ms


@sweep(
    ("policy", "undo_s", "waits_ms"),
    [
        ("rules: [{tool: pay, then: ask, undo: 0}]", None, 0),
        ("rules: [{tool: pay, then: ask, undo: 2m}]", None, 120_000),
        ("rules: [{tool: pay, then: ask}]", None, 5_000),
        ("{undo: 0, rules: [{tool: pay, then: ask}]}", None, 0),
        ("{undo: 60, rules: [{tool: pay, then: ask, undo: 0}]}", None, 0),
        ("{undo: 7, default: ask}", None, 7_000),
        ("rules: [{tool: pay, then: ask, undo: 3}]", 60, 60_000),
        ("rules: [{tool: pay, then: ask, undo: 30}]", 0, 30_000),
    ],
)
def test_rule_then_policy_then_five_seconds_say_how_long_a_decision_can_be_undone(
    make_gate, person, policy, undo_s, waits_ms
):
    assert isinstance(make_gate(policy, undo_s=undo_s).ask(TASK, STEPS, "pay({})"), Wait)
    assert decided_after(person) == waits_ms


@pytest.mark.parametrize(("undo_s", "least"), [(None, {}), (0, {}), (3, {"least_undo_ms": 3_000})])
def test_only_a_time_that_the_caller_sets_is_a_term_of_the_item(make_gate, stored, undo_s, least):
    make_gate("default: ask", undo_s=undo_s).ask(TASK, STEPS, "pay({})")
    (item,) = stored(tables.Item)
    assert json.loads(item.terms) == {"doors": ["browser", "python"]} | least


@pytest.mark.parametrize("undo_s", [None, 0, 3])
def test_agent_over_http_gets_no_shorter_time_in_a_run_that_it_opens(make_gate, person, url, undo_s):
    asker = Asker(name="bot")
    with_token = make_gate(None, undo_s=undo_s)
    agent = tables.Agent(name="bot", name_key="bot", token_hash="x", created_ms=0)
    with writing(url) as session:
        session.add(agent)
        session.flush()
        asker = Asker(agent.id, "bot")
    assert isinstance(with_token.ask_for(asker, TASK, STEPS, "pay({})"), Wait)
    with reading(url) as session:
        assert runs.get(session, "shop-bot").undo_ms == 5_000
    assert decided_after(person) == 5_000


def test_of_several_calls_the_longest_time_counts_and_a_rule_without_one_has_five_seconds():
    text = "rules: [{tool: a, then: ask, undo: 0}, {tool: b, then: ask, undo: 60}, {tool: c, then: ask}]"
    found = [ruling(read_policy(text), CheckFacts(action)).undo_s for action in ("a()\nb()", "a()\nc()", "a()", "c()")]
    assert found == [60, 5, 0, None]


@pytest.mark.parametrize("undo", ["-1", "2h", "3600.5", "soon", "'0'"])
def test_time_to_undo_is_at_most_an_hour(undo):
    assert {read_policy(f"undo: {most}").undo_s for most in ("1h", "60m", 3_600)} == {3_600}
    read_policy("rules: [{then: ask, undo: 1h}]")
    with pytest.raises(BadInput, match="undo: must be a time such as 0, 30"):
        read_policy(f"rules: [{{then: ask, undo: {undo}}}]")
