"""Conditions on the time of the check and on text in any case."""

from datetime import UTC, datetime

import pytest

from console.errors import BadInput
from console.gate.policy import CheckFacts, read_policy, ruling
from console.gate.policy.expression import ToolHints


def at(text):
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1_000)


def said(condition, action="pay({})", zone="", **facts):
    policy = read_policy(f"{zone}\nrules:\n- tool: '*'\n  when: {condition}\n  then: allow")
    found = ruling(policy, CheckFacts(action, **facts))
    return found.then, found.rule


ALLOWED, OTHERWISE, UNKNOWN = ("allow", "rule 1"), ("ask", "default"), ("ask", "rule 1")


@pytest.mark.parametrize(
    ("condition", "zone", "when", "result"),
    [
        ("hour >= 9 && hour < 17", "", "2026-11-23T09:00:00", ALLOWED),
        ("hour >= 9 && hour < 17", "", "2026-11-23T17:00:00", OTHERWISE),
        ("hour == 0", "timezone: Europe/Berlin", "2026-11-23T23:30:00", ALLOWED),
        ("hour == 1", "timezone: Europe/Berlin", "2026-07-01T23:30:00", ALLOWED),
        ("weekday == 1", "", "2026-11-23T23:30:00", ALLOWED),
        ("weekday == 2", "timezone: Europe/Berlin", "2026-11-23T23:30:00", ALLOWED),
        ("weekday <= 5", "", "2026-11-22T12:00:00", OTHERWISE),
    ],
)
def test_hour_and_weekday_are_those_of_the_time_zone(condition, zone, when, result):
    assert said(condition, zone=zone, at_ms=at(when)) == result


@pytest.mark.parametrize("condition", ["hour >= 0", "weekday >= 1"])
def test_unknown_time_asks(condition):
    assert said(condition) == UNKNOWN


def test_gate_reads_its_clock(make_gate):
    gate = make_gate("rules: [{tool: pay, when: 'hour >= 0 && hour <= 23 && weekday >= 1', then: allow}]", critical=[])
    assert gate.ask("pay", [], "pay({})").reason == "not_critical"


@pytest.mark.parametrize(
    ("condition", "action", "result"),
    [
        ("lower(args.why) == 'damaged'", 'pay({"why": "DAMAGED"})', ALLOWED),
        ("lower(args.why) == 'damaged'", 'pay({"why": "lost"})', OTHERWISE),
        ("args.why.icontains('Maß')", 'pay({"why": "NACH MASS"})', ALLOWED),
        ("args.why.icontains('mass')", 'pay({"why": "other"})', OTHERWISE),
        ("task.icontains('refund') && lower(tool) == 'pay'", "PAY({})", OTHERWISE),
        ("lower(args.why) == 'x'", 'pay({"why": 5})', UNKNOWN),
        ("args.why.icontains('x')", 'pay({"why": ["x"]})', UNKNOWN),
        ("args.why.icontains('x')", "pay({})", UNKNOWN),
    ],
)
def test_text_is_compared_in_any_case_and_what_is_no_text_asks(condition, action, result):
    assert said(f'"{condition}"', action) == result


@pytest.mark.parametrize("zone", ["Mars/Base", "../etc/passwd", "''"])
def test_time_zone_that_is_not_known_is_refused(zone):
    with pytest.raises(BadInput, match="timezone"):
        read_policy(f"timezone: {zone}\ndefault: ask")


@pytest.mark.parametrize(
    ("condition", "hints", "result"),
    [
        ("hints.read_only", {"read_only": True}, ALLOWED),
        ("hints.read_only", {}, OTHERWISE),
        ("!hints.destructive", {"destructive": False}, ALLOWED),
        ("!hints.destructive", {"read_only": True}, OTHERWISE),
    ],
)
def test_tool_without_hints_may_write_and_destroy(condition, hints, result):
    believed = {"zone": "hints_from: gateway", "agent": "gateway"}
    assert said(f"'{condition}'", hints=ToolHints(**hints), **believed) == result
    assert said(f"'{condition}'") == OTHERWISE


def test_gate_allows_a_tool_by_its_hint_until_its_definition_changes(make_gate):
    text = "hints_from: [gateway]\nrules: [{tool: look, when: hints.read_only, then: allow}]"
    gate = make_gate(text, critical=[], agent="gateway")
    assert gate.ask("look", [], "look({})", hints={"read_only": True}).reason == "not_critical"
    assert not hasattr(gate.ask("look", [], "look({})"), "reason")
    assert not hasattr(gate.ask("look", [], "look({})", hints={"read_only": True, "changed": True}), "reason")


@pytest.mark.parametrize("then", ["allow", "judge", "deny"])
def test_hints_of_an_agent_that_the_policy_does_not_name_do_not_count(make_gate, then):
    condition = "hints.destructive" if then == "deny" else "hints.read_only"
    text = f"hints_from: [gateway]\nrules: [{{tool: look, when: {condition}, then: {then}}}]"
    gate = make_gate(text, critical=[], agent="bot")
    answer = gate.ask("look", [], "look({})", hints={"read_only": True, "destructive": False})
    assert getattr(answer, "approved", None) is (False if then == "deny" else None)
