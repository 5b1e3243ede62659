"""Conditions on earlier results: recorded ones can loosen, what the agent states itself can only tighten."""

import json

import pytest
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, writing
from console.errors import BadInput
from console.gate.checks import Wait
from console.gate.policy import CheckFacts, read_policy, ruling
from console.gate.policy.expression import EarlierResult, EarlierResults
from console.gate.policy.lint import list_warnings
from console.gate.policy.replay import replay_policy, run_cases
from console.runs.trajectory_rows import insert_rows, prepare
from console.trajectory import Step, Trajectory
from storage import tables
from storage.tables import RunKind

OWN = 'when: args.order in results("get_user").orders'
REFUND = 'refund({"order":13})'
USER, OTHER = '{"orders":[12,13]}', '{"orders":[99]}'


def said(rules, recorded=(), stated=(), action=REFUND, default="ask"):
    policy = read_policy(f"default: {default}\nrules:\n{rules}")
    results = (tuple(EarlierResult(*one) for one in each) for each in (recorded, stated))
    found = ruling(policy, CheckFacts(action, task="t", results=EarlierResults(*results)))
    return str(found.then), found.rule


ASKED = ("get_user({})", USER)
GOOD = ("get_user({})", '{"risk":1}')
BAD = ("get_user({})", '{"risk":9}')


@pytest.mark.parametrize(
    ("recorded", "stated", "result"),
    [
        ([ASKED], [], "allow"),
        ([("mcp__shop__get_user({})", USER)], [], "allow"),
        ([], [ASKED], "deny"),
        ([], [], "deny"),
        ([("get_user({})", OTHER)], [], "deny"),
        ([ASKED, ("get_user({})", OTHER)], [], "deny"),
        ([ASKED, ("get_user({})", "not found")], [], "deny"),
        ([("get_user({})", OTHER), ASKED], [], "allow"),
        ([("get_user({})", OTHER)], [ASKED], "deny"),
        ([("get_user.x({})", USER)], [], "deny"),
        ([("get_user({})\nget_user({})", USER)], [], "deny"),
        ([("get_user({})", '{"orders":[13],"orders":[13]}')], [], "deny"),
        ([("get_user({})", "no such user")], [], "deny"),
        ([("get_user({})", "null")], [], "deny"),
    ],
)
@pytest.mark.parametrize("then", ["allow", "judge"])
def test_only_the_latest_recorded_result_loosens(then, recorded, stated, result):
    rules = f"- {{tool: refund, {OWN}, then: {then}}}\n- {{tool: '*', then: deny}}".replace(
        "when: ", "when: '"
    ).replace("orders,", "orders',")
    assert said(rules, recorded, stated)[0] == ("deny" if result == "deny" else then)


@pytest.mark.parametrize(
    ("recorded", "stated", "applies"),
    [
        ([GOOD], [], False),
        ([BAD], [], True),
        ([], [], True),
        ([], [GOOD], True),
        ([GOOD], [BAD], True),
        ([GOOD], [("> shop.get_user({})", '{"risk":9}')], True),
        ([BAD, GOOD], [], True),
        ([("get_user({})", "busy"), GOOD], [], False),
        ([GOOD, ("get_user({})", "busy")], [], True),
        ([GOOD], [("get_user({})", "busy")], False),
        ([GOOD], [("get_users({})", '{"risk":9}')], False),
    ],
)
@pytest.mark.parametrize("then", ["ask", "deny"])
def test_any_result_tightens(then, recorded, stated, applies):
    rules = f"- {{tool: refund, when: 'results(\"get_user\").risk > 5', then: {then}}}"
    assert said(rules, recorded, stated, default="allow")[0] == (then if applies else "allow")


@pytest.mark.parametrize("stated", [[], [BAD], [GOOD]])
def test_no_word_of_the_agent_reaches_a_laxer_rule(stated):
    rules = "- {tool: refund, when: 'results(\"get_user\").risk > 5', then: ask}\n- {tool: refund, then: deny}"
    assert said(rules, [], stated)[0] == "deny"
    assert said(rules, [BAD], stated) == ("ask", "rule 1")


def test_a_judge_rule_that_results_do_not_decide_asks_where_a_later_rule_allows():
    rules = "- {tool: refund, when: 'results(\"get_user\").risk > 5', then: judge}\n- {tool: refund, then: allow}"
    assert [said(rules, each)[0] for each in ([], [GOOD], [BAD])] == ["ask", "allow", "judge"]


@pytest.mark.parametrize("stated", [[], [ASKED]])
def test_an_allow_rule_that_no_recorded_result_meets_leaves_the_default(stated):
    rules = "- {tool: refund, when: '13 in results(\"get_user\").orders', then: allow}"
    assert said(rules, [], stated, default="judge") == ("judge", "default")


def test_results_of_two_tools_are_tried_in_each_combination_and_too_many_count_as_undecided():
    rules = '- {tool: refund, when: \'results("a") == results("b")\', then: deny}'
    recorded = [("a({})", "1"), ("b({})", "2")]
    assert said(rules, recorded, default="allow")[0] == "allow"
    assert said(rules, recorded, [("a({})", "2")], default="allow")[0] == "deny"
    few, many = ([(f"{tool}({{}})", f"{number}{tool}") for tool in "ab" for number in range(most)] for most in (30, 40))
    assert said(rules, recorded, few, default="allow")[0] == "allow"
    assert said(rules, recorded, many, default="allow")[0] == "deny"


def test_a_missing_result_matters_only_where_the_rest_does_not_decide():
    rules = "- {tool: refund, when: 'args.order > 20 && results(\"get_user\").risk > 5', then: deny}"
    assert said(rules, default="allow")[0] == "allow"
    assert said(rules, action='refund({"order":21})', default="allow")[0] == "deny"


@pytest.mark.parametrize(
    "condition",
    ["results(args.tool).ok", "results().ok", 'results("a", "b").ok', 'args.results("a")', "results('get_*').ok"],
)
def test_results_needs_the_name_of_a_tool(condition):
    with pytest.raises(BadInput, match="results needs the name of one tool"):
        read_policy(json.dumps({"rules": [{"tool": "x", "when": condition, "then": "allow"}]}))


@pytest.mark.parametrize("condition", ["_result_0.ok && results('a').ok", "result('a').ok"])
def test_other_spellings_are_refused(condition):
    with pytest.raises(BadInput, match="is not a"):
        read_policy(json.dumps({"rules": [{"tool": "x", "when": condition, "then": "allow"}]}))


def test_the_word_within_a_string_is_text():
    assert (
        said(
            "- {tool: refund, when: 'args.why == \"results(x)\"', then: allow}", action='refund({"why":"results(x)"})'
        )[0]
        == "allow"
    )


LOOSE = """
default: ask
rules:
- {tool: get_user, then: %s}
- {tool: refund, when: 'args.order in results("get_user").orders', then: allow}
"""


def test_check_warns_of_results_that_are_never_recorded():
    (found,) = list_warnings(read_policy(LOOSE % "allow"))
    assert found == (
        "Rule 'rule 2' needs recorded results of 'get_user', but rule 'rule 1' allows it at once, so none is recorded. "
        "Use `then: judge` there."
    )
    assert list_warnings(read_policy(LOOSE % "judge")) == []
    (by_default,) = list_warnings(
        read_policy(
            f"default: allow\nrules: [{{tool: refund, {OWN!r}: x}}]".replace(
                f"{OWN!r}: x", "when: 'results(\"get_user\").ok', then: judge"
            )
        )
    )
    assert "but `default` allows it" in by_default


def test_cases_state_results():
    text = """
cases:
- {action: 'refund({"order":13})', results: {get_user: '{"orders":[13]}'}, then: allow}
- {action: 'refund({"order":13})', results: {get_user: '{"orders":[14]}'}, then: ask}
- {action: 'refund({"order":13})', then: ask}
"""
    assert [row["agrees"] for row in run_cases(read_policy(LOOSE % "judge"), text, "cases.yaml")] == [True] * 3


@pytest.fixture
def looked(make_gate, meanwhile, person):
    """A function that begins `get_user` after a person approved it, and reports this result."""
    gate = make_gate(LOOSE % "ask", critical=[])

    def look(result=USER, task_id="one", trial=0):
        meanwhile(person().answer, "approve")
        found = gate.check("Refund 13.", [], "get_user({})", task_id=task_id, trial=trial, timeout_s=20)
        assert found.approved
        gate.done(found, result)
        return gate

    return look


def test_a_result_reported_after_a_begin_lets_the_next_action_run(looked):
    gate = looked()
    for steps, options, reason in (
        ([("get_user({})", USER)], {"task_id": "one"}, "not_critical"),
        ([], {"task_id": "one"}, "not_critical"),
        ([("get_user({})", USER)], {"task_id": "two"}, None),
        ([("get_user({})", USER)], {"task_id": "one", "trial": 1}, None),
    ):
        found = gate.ask("Refund 13.", steps, REFUND, **options)
        assert getattr(found, "reason", None) == reason, (steps, options)


def test_a_task_without_an_id_needs_its_own_steps_to_show_the_result(looked):
    gate = looked(task_id=None)
    assert getattr(gate.ask("Refund 13.", [], REFUND), "reason", None) is None
    assert getattr(gate.ask("Refund 13.", [("get_user({})", OTHER)], REFUND), "reason", None) is None
    assert gate.ask("Refund 13.", [("get_user({})", USER)], REFUND).reason == "not_critical"


def test_a_result_that_another_program_altered_is_not_recorded(looked, url):
    gate = looked(OTHER)
    with writing(url) as session:
        body = session.exec(select(tables.TrajectoryBody)).first()
        body.body = body.body.replace("99", "13")
        session.add(body)
    assert getattr(gate.ask("Refund 13.", [], REFUND, task_id="one"), "reason", None) is None


def test_replay_counts_results_of_a_log_and_those_that_a_gate_recorded(looked, url):
    gate = looked()
    gate.ask("Refund 13.", [("get_user({})", USER), ("get_user({})", USER)], 'refund({"order":12})', task_id="three")
    policy = read_policy(LOOSE % "judge")
    steps = (Step("", REFUND, "no"), Step("", "get_user({})", USER), Step("", REFUND, ""))
    with writing(url) as session:
        log = runs.create(session, "log", RunKind.REPLAY, now_ms())
        record = Trajectory("t", "shop", "Refund 13.", steps)
        insert_rows(session, log, [prepare(record, [])], now_ms())
    with reading(url) as session:
        in_log = replay_policy(session, runs.get(session, "log"), policy)
        at_gate = replay_policy(session, runs.get(session, "shop-bot"), policy)
    assert (in_log.allowed, in_log.asked) == (1, 1)
    assert (at_gate.allowed, at_gate.asked) == (0, 1)


def test_replay_takes_the_results_that_the_gate_recorded_for_this_trajectory(looked, person, url):
    gate, policy = (
        looked(),
        read_policy("rules: [{tool: refund, when: '13 in results(\"get_user\").orders', then: allow}]"),
    )

    def replayed():
        with reading(url) as session:
            found = replay_policy(session, runs.get(session, "shop-bot"), policy)
        return found.allowed, found.asked

    waiting = gate.ask("Refund 13.", [("get_user({})", USER)], 'refund({"order":14})', task_id="one")
    assert isinstance(waiting, Wait)
    assert replayed() == (1, 1)
    person().answer("approve")
    gate.done(gate.begin(waiting.look()), "refunded")
    assert replayed() == (1, 1)


def test_a_thousand_combinations_of_results_are_tried_and_no_more():
    def choices(*counts):
        stated = [
            EarlierResult(f"{tool}()", str(n)) for tool, count in zip("abc", counts, strict=True) for n in range(count)
        ]
        found = EarlierResults(stated=tuple(stated)).choices(tuple("abc"))
        return None if found is None else len({tuple(each.items()) for each in found})

    assert (choices(10, 10, 10), choices(7, 11, 13), choices(2, 0, 5)) == (1_000, None, 0)
    same = EarlierResults(recorded=(EarlierResult("a()", "1"),), stated=(EarlierResult("a()", "1"),))
    assert list(same.choices(("a",))) == [{"a": 1}]
