"""Limits of rules: so many actions, or so much of an argument, in a window; beyond it a person is asked."""

from dataclasses import replace
from functools import partial

import pytest

from console import runs
from console.auth import agents
from console.database import now_ms, reading, writing
from console.errors import BadInput
from console.gate import Reason, limits
from console.gate.checks import Wait
from console.gate.policy import read_policy
from console.gate.policy.policy_store import PolicyVersion
from console.gate.policy.rules import Limit, LimitedAmount, Ruling, Then
from console.gate.request import NOBODY, Asker, Ruled, check_request
from console.runs import maintenance
from storage import tables
from storage.tables import RunKind

TASK, STEPS = "Pay the bills.", [("look", "bills")]
CALM = {"detector": "random", "threshold": 1.0, "critical": []}
THREE = "rules: [{name: few, tool: pay, then: allow, limit: {count: 3, per: day, by: task}}]"


def answers(gate, count, action='pay({{"bill": {}}})', start=0, **options):
    """Whether each of so many actions waits for a person."""
    found = [gate.ask(TASK, STEPS, action.format(start + number), **options) for number in range(count)]
    return [isinstance(one, Wait) for one in found]


def test_beyond_the_count_a_person_is_asked(make_gate):
    gate = make_gate(THREE, **CALM)
    assert answers(gate, 5, task_id="a") == [False, False, False, True, True]
    assert answers(gate, 1, task_id="b") == [False]


def test_action_that_no_detector_flags_is_limited_as_well(make_gate):
    gate = make_gate("rules: [{tool: look, then: judge, limit: {count: 2, per: week}}]", **CALM)
    assert answers(gate, 4, "look({{}})", task_id="a") == [False, False, False, False]
    found = [gate.ask(TASK, STEPS, "look({})", task_id=task) for task in ("a", "b", "c", "d")]
    assert [isinstance(one, Wait) for one in found] == [False, False, True, True]


def test_sum_of_an_argument_is_limited(make_gate):
    policy = "rules: [{name: sum, tool: pay, then: allow, limit: {sum: args.amount, most: 500, per: day}}]"
    gate = make_gate(policy, **CALM)
    pay = 'pay({{"amount": {}}})'
    assert answers(gate, 1, pay, 300) == [False]
    assert answers(gate, 1, pay, 201) == [True]
    for waiting in ["pay({})", 'pay({"amount": -900})', 'pay({"amount": "5"})', 'pay({"amount": true})']:
        assert isinstance(gate.ask(TASK, STEPS, waiting), Wait), waiting


def test_several_calls_of_one_action_are_added_and_given_back_by_a_rejection(make_gate, person):
    gate = make_gate("rules: [{tool: pay, then: allow, limit: {sum: args.amount, most: 500, per: day}}]", **CALM)
    waiting = gate.ask(TASK, STEPS, 'pay({"amount": 300})\npay({"amount": 300})')
    assert isinstance(waiting, Wait)
    assert isinstance(gate.ask(TASK, STEPS, 'pay({"amount": 200})', timeout_s=0), Wait)
    person().answer("reject")
    assert waiting.look().reason is Reason.REJECTED
    assert gate.ask(TASK, STEPS, 'pay({"amount": 100})').reason is Reason.NOT_CRITICAL


def test_rejection_and_expiry_give_back_and_an_approval_does_not(make_gate, person, url):
    policy = "rules: [{name: one, tool: pay, then: judge, limit: {count: 1, per: day}}]"
    gate = make_gate(policy, detector="full-validation", critical=[])
    first = gate.ask(TASK, STEPS, "pay({})", task_id="1")
    person().answer("reject")
    assert first.look().reason is Reason.REJECTED
    calm = make_gate(None, run="calm", **CALM)
    assert calm.ask(TASK, STEPS, "pay({})", task_id="2").reason is Reason.NOT_FLAGGED
    waiting = calm.ask(TASK, STEPS, "pay({})", task_id="3", timeout_s=0)
    assert isinstance(waiting, Wait)
    assert waiting.look().reason is Reason.TIMEOUT
    with reading(url) as session:
        assert len(session.exec(tables.LimitUse.__table__.select()).all()) == 3


def test_an_edited_amount_counts_in_place_of_the_one_that_was_asked_about(make_gate, person):
    limited = "{tool: pay, then: allow, limit: {sum: args.amount, most: 500, per: day}}"
    gate = make_gate(f"rules: [{{tool: pay, when: args.amount == 7, then: ask}}, {limited}]", **CALM)
    pay = 'pay({{"amount":{}}})'
    for asked, edited in ((7, 450), (600, 40)):
        waiting = gate.ask(TASK, STEPS, pay.format(asked), task_id=str(asked))
        person().answer("edit", edited_action=pay.format(edited))
        assert waiting.look().reason is Reason.EDITED
    assert answers(gate, 1, pay, 10, task_id="b") == [False]
    assert answers(gate, 1, pay, 1, task_id="c") == [True]


@pytest.fixture
def count(url):
    """A function that records one use at this time; another that says whether one more has room."""
    version = PolicyVersion(1, 1, "default: ask", "ada", 0, own=True)

    def use(work, at_ms, by="run", most=1, task_id="a", asker=NOBODY, amount=1.0, rule="few"):
        request = replace(check_request(TASK, STEPS, "pay({})", task_id=task_id), asker=asker)
        uses = (LimitedAmount(rule, Limit(most, 3_600, by), amount),)
        with writing(url) as session:
            run = runs.find(session, "shop") or runs.create(session, "shop", RunKind.GATE, 0)
            session.flush()
            return work(session, run, request, Ruled(version, Ruling(Then.ALLOW, rule, uses=uses)), at_ms)

    return partial(use, limits.record_uses), partial(use, limits.has_room)


def test_a_use_counts_for_the_length_of_its_window(count):
    record, has_room = count
    record(5_000)
    assert [has_room(5_000 + after_ms) for after_ms in (0, 3_599_999, 3_600_000)] == [False, False, True]
    assert has_room(5_000, rule="other")


def test_uses_are_counted_by_task_agent_or_run(count):
    record, has_room = count
    for by in ("task", "agent", "run"):
        record(5_000, by, asker=Asker(None, "bot"))
    rooms = {
        (by, what): has_room(5_000, by, **{"asker": Asker(None, "bot"), **other})
        for by in ("task", "agent", "run")
        for what, other in {"same": {}, "task": {"task_id": "b"}, "agent": {"asker": Asker(None, "cat")}}.items()
    }
    assert [key for key, has in rooms.items() if has] == [("task", "task"), ("agent", "agent")]
    assert has_room(5_000, "agent", asker=Asker(1, "bot"))


def test_amounts_are_added_without_an_error_of_rounding(count):
    record, has_room = count
    for _ in range(2):
        record(5_000, amount=0.1)
    assert has_room(5_000, amount=0.1, most=0.3)
    assert not has_room(5_000, amount=0.1001, most=0.3)


def test_uses_older_than_the_longest_window_are_removed(count, stored):
    record, _ = count
    day_ms = 86_400_000
    for at_ms in (0, 8 * day_ms):
        record(at_ms)
    assert [use.at_ms for use in stored(tables.LimitUse)] == [0, 8 * day_ms]
    record(8 * day_ms + 1, rule="other")
    assert len(stored(tables.LimitUse)) == 3
    record(8 * day_ms + 1)
    assert [use.at_ms for use in stored(tables.LimitUse)] == [8 * day_ms, 8 * day_ms + 1, 8 * day_ms + 1]


def test_window_ends_and_the_common_policy_counts_an_agent_over_all_its_runs(make_gate, url):
    policy = "rules: [{name: few, tool: pay, then: allow, limit: {count: 1, per: hour, by: agent}}]"
    gate = make_gate(policy, **CALM)
    with writing(url) as session:
        for name in ("bot", "other"):
            agents.add(session, name, 0)
    bot, other = Asker(1, "bot"), Asker(2, "other")
    assert not isinstance(gate.ask_for(bot, TASK, STEPS, "pay({})"), Wait)
    assert isinstance(make_gate(None, run="another", **CALM).ask_for(bot, TASK, STEPS, "pay({})"), Wait)
    assert not isinstance(gate.ask_for(other, TASK, STEPS, "pay({})"), Wait)
    with writing(url) as session:
        session.execute(tables.LimitUse.__table__.update().values(at_ms=now_ms() - 3_600_000))
    assert not isinstance(gate.ask_for(bot, TASK, STEPS, "pay({})"), Wait)


def test_rejected_action_does_not_run_once_there_is_room_again(make_gate, person, url):
    gate = make_gate(THREE, **CALM)
    answers(gate, 3, task_id="a")
    waiting = gate.ask(TASK, STEPS, "pay({})", task_id="a")
    person().answer("reject")
    assert waiting.look().reason is Reason.REJECTED
    with writing(url) as session:
        session.execute(tables.LimitUse.__table__.delete())
    assert gate.ask(TASK, STEPS, "pay({})", task_id="a").reason is Reason.ALREADY_REJECTED


def test_run_with_uses_can_be_deleted(make_gate, url):
    answers(make_gate(THREE, **CALM), 2, task_id="a")
    with writing(url) as session:
        maintenance.delete_run(session, runs.get(session, "shop-bot"), now_ms())
    with reading(url) as session:
        assert session.exec(tables.LimitUse.__table__.select()).all() == []


@pytest.mark.at_length
def test_eight_processes_at_once_are_let_run_no_more_than_the_limit(make_gate, start, tmp_path):
    make_gate(
        "rules: [{name: few, tool: pay, then: allow, limit: {sum: args.amount, most: 70, per: day, by: agent}}]"
    ).open()
    outs = [tmp_path / f"{number}" for number in range(8)]
    running = [start("limited", f"p{number}", 4, out) for number, out in enumerate(outs)]
    assert [process.wait(120) for process in running] == [0] * 8
    assert sum(int(out.read_text()) for out in outs) == 7


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("{count: 3}", "per"),
        ("{count: 3, per: year}", "must be hour, day, week"),
        ("{count: 3, per: day, by: person}", "must be task, agent, run"),
        ("{count: 3, sum: args.a, most: 5, per: day}", "write either"),
        ("{sum: args.a, per: day}", "write either"),
        ("{sum: amount, most: 5, per: day}", "must name an argument"),
        ("{count: -1, per: day}", "must be a number from 0"),
        ("{count: 1000000000000.5, per: day}", "must be a number from 0 to 1,000,000,000,000"),
    ],
)
def test_limit_that_cannot_be_meant_is_refused(limit, said):
    with pytest.raises(BadInput, match=said):
        read_policy(f"rules: [{{tool: pay, then: allow, limit: {limit}}}]")


@pytest.mark.parametrize(("per", "window_s"), [("hour", 3_600), ("day", 86_400), ("week", 604_800)])
def test_a_limit_is_read_with_its_window_and_its_counter(per, window_s):
    for by in ("task", "agent", "run"):
        (rule,) = read_policy(
            f"rules: [{{tool: pay, then: allow, limit: {{count: 1000000000000, per: {per}, by: {by}}}}}]"
        ).rules
        assert rule.limit == Limit(1e12, window_s, by)


@pytest.mark.parametrize("then", ["ask", "deny"])
def test_limit_is_for_rules_that_let_actions_run(then):
    with pytest.raises(BadInput, match="applies only to rules that let actions run"):
        read_policy(f"rules: [{{tool: pay, then: {then}, limit: {{count: 3, per: day}}}}]")


def test_count_of_zero_always_asks(make_gate):
    assert answers(make_gate("rules: [{tool: pay, then: allow, limit: {count: 0, per: day}}]", **CALM), 1) == [True]
