"""Which rule a check goes by: against an evaluator of its own, and for actions that try to slip through."""

import json
import re
import time
from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.gate.policy import CheckFacts, Policy, Rule, Then, read_policy, ruling
from console.gate.policy.rules import Limit
from console.trajectory.calls import name_suffixes, read_strictly

REFUNDS = """
default: ask
rules:
  - tool: [get_*, find_*]
    then: allow
  - name: the order of the task
    tool: refund_order
    when: type(args.order) == int && task.matches("order " + string(args.order) + "\\\\b") && args.amount <= 100
    then: judge
  - tool: drop_*
    then: deny
    because: Nothing is dropped here.
"""


def said(action, text=REFUNDS, **facts):
    found = ruling(read_policy(text), CheckFacts(action, task="refund order 12", **facts))
    return found.then, found.rule


@pytest.mark.parametrize(
    ("action", "then"),
    [
        ("get_order({})", "allow"),
        ("mcp__shop__get_order({})", "allow"),
        ("functions.shop.get_order({})", "allow"),
        ('refund_order({"order":12,"amount":20})', "judge"),
        ('refund_order({"order":12,"amount":19.5})', "judge"),
        ('mcp__shop__refund_order({"order":12,"amount":20})', "judge"),
        ('refund_order({"order":13,"amount":20})', "ask"),
        ('refund_order({"order":1,"amount":20})', "ask"),
        ('refund_order({"order":".*","amount":20})', "ask"),
        ('refund_order({"order":12,"amount":999999})', "ask"),
        ('refund_order({"order":12,"amount":"20"})', "ask"),
        ('refund_order({"order":12})', "ask"),
        ('refund_order({"order":13,"order":12,"amount":20})', "ask"),
        ('refund_order({"amount":45,"order":', "ask"),
        ("refund_order(order=13)", "ask"),
        ("transfer(5000, mallory)", "ask"),
        ("please just give 30 euro, thanks", "ask"),
        ("get_order({})\ntransfer({})", "ask"),
        ("get_order({})\nplease also drop the tables", "ask"),
        ("get_order({}) drop_tables({})", "ask"),
        ("get_order({})\ndrop_tables({})", "deny"),
        ("get_order[1]\nget_order[2]", "allow"),
        ("get_order(" + json.dumps({"ids": list(range(5_000))}) + ")", "ask"),
        ("get_order(" + "[" * 5_000 + "]" * 5_000 + ")", "ask"),
        ("get_order({})\r\nrm -rf /", "ask"),
        ("get_order[1\u2028drop_tables]", "ask"),
    ],
)
def test_action_goes_by_the_first_rule_that_matches_and_fails_closed(action, then):
    assert said(action)[0] == then


@pytest.mark.parametrize(
    ("action", "then"),
    [
        ("get_a.drop_database({})", "deny"),
        ("mcp__find_shop__refund_order({})", "ask"),
        ('mcp__find_shop__refund_order({"order":12,"amount":20})', "judge"),
        ('mcp__find_shop__refund_order({"order":12,"amount":20000})', "ask"),
        ("mcp__get_x__transfer({})", "ask"),
        ("mcp__a.get_x__transfer({})", "ask"),
        ("get_.transfer({})", "ask"),
        ("get_a.find_b.transfer[1]", "ask"),
        ("get_order.({})", "allow"),
        ("mcp__shop__find({})", "ask"),
        ("mcp__drop_shop__get_order({})", "allow"),
    ],
)
def test_namespace_that_looks_harmless_lets_no_other_tool_run(action, then):
    assert said(action)[0] == then


@pytest.mark.parametrize("condition", ["tool", "pattern"])
@pytest.mark.parametrize(
    ("glob", "action", "then"),
    [
        ("get_*", "get_a.drop({})", "ask"),
        ("get_*.drop", "get_a.drop({})", "allow"),
        ("get_a.*", "get_a.x.drop({})", "ask"),
        ("mcp__shop__*", "mcp__shop__pay({})", "allow"),
        ("mcp__shop__*", "mcp__shop__x__pay({})", "ask"),
        ("mcp__*", "mcp__shop__pay({})", "ask"),
        ("mcp*pay", "mcp__shop__pay({})", "ask"),
        ("*", "mcp__shop__pay({})", "allow"),
    ],
)
def test_star_of_a_rule_that_allows_never_crosses_a_separator(condition, glob, action, then):
    assert said(action, f"rules:\n- {{{condition}: '{glob}', then: allow}}")[0] == then


@pytest.mark.parametrize(
    ("pattern", "action", "then"),
    [
        ("get_*.id=*", 'get_order({"id":1})', "allow"),
        ("get_*.id=*", 'get_order({"no":1})', "ask"),
        ("get_*.id=*", 'get_a.drop({"id":1})', "ask"),
        ("get_*=1", 'get_a.drop({"id":1})', "ask"),
        ("get_*({*})", 'get_order({"id":1})', "allow"),
        ("get_*({*})", 'get_a.drop({"id":1})', "ask"),
        ("get_*)", 'get_a.drop({"id":1})', "ask"),
        ("click[Buy Now]", "click[Buy Now]", "allow"),
        ("click[*", "x.click[Buy Now]", "ask"),
        ("refund_order", "mcp__shop__refund_order({})", "ask"),
    ],
)
def test_pattern_that_allows_names_the_tool_itself(pattern, action, then):
    assert said(action, f"rules:\n- {{pattern: '{pattern}', then: allow}}")[0] == then


def test_of_several_patterns_that_allow_one_must_both_match_and_name_the_tool():
    for patterns in ("'get_*)'", "get_order", "['get_*)', get_order]"):
        assert said("get_a.get_order({})", f"rules:\n- {{pattern: {patterns}, then: allow}}")[0] == "ask"


def test_judge_loosens_a_default_that_asks_for_the_tool_itself_and_tightens_one_that_allows_for_every_suffix():
    for default, found in (("ask", "ask"), ("allow", "judge"), ("deny", "deny")):
        text = f"default: {default}\nrules:\n- {{tool: pay_*, then: judge}}"
        assert said("pay_x.drop({})", text)[0] == found
        assert said("x.pay_all({})", text)[0] == "judge"
    assert said("get_x({})\ndrop({})", "rules:\n- {pattern: 'get_*', then: judge}")[0] == "ask"


SEGMENTS = st.sampled_from(["get_a", "find_shop", "mcp", "mcp__get_x", "drop_database", "refund_order", "pay", "x"])
ATTACKS = st.builds(
    lambda parts, ends, bracketed: "".join(chain(*zip(parts, ends, strict=False))) + ("[1]" if bracketed else "({})"),
    st.lists(SEGMENTS, min_size=1, max_size=4),
    st.lists(st.sampled_from([".", "__", "..", "._", "-"]), min_size=0, max_size=3).map(
        lambda ends: [*ends, "", "", "", ""]
    ),
    st.booleans(),
)


@settings(max_examples=10 * settings.default.max_examples)
@given(ATTACKS, st.sampled_from(["tool", "pattern"]), st.sampled_from(["allow", "judge"]))
def test_no_name_before_a_tool_loosens_what_becomes_of_it(action, condition, then):
    text = f"rules:\n- {{{condition}: ['get_*', 'find_*'], then: {then}}}"
    if said(action, text)[0] != "ask":
        name = re.split(r"[(\[]", action)[0]
        mcp = re.search(r"(^|\.)mcp__", name)
        own = re.split(r"\.|__" if mcp else r"\.", name.rstrip("."))[-1]
        assert own.startswith(("get_", "find_"))


def test_rule_that_cannot_be_told_is_never_passed_over():
    text = "rules:\n- {tool: pay, when: args.amount > 100, then: deny}\n- {then: allow}"
    assert said('pay({"amount": 200})', text) == (Then.DENY, "rule 1")
    assert said('pay({"amount": 20})', text) == (Then.ALLOW, "rule 2")
    assert said("pay({})", text) == (Then.ASK, "rule 1")
    assert said('pay({"amount": "much"})', text) == (Then.ASK, "rule 1")
    assert said("pay 20", text) == (Then.ASK, "rule 1")


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ("args.order.lines.exists(line, line.price > 50)", True),
        ("args.order.lines.all(line, line.price > 50)", False),
        ("has(args.order.note)", False),
        ("!has(args.order.note) || args.order.note == ''", True),
        ("args.order.lines[1].price == 60.0", True),
        ("size(args.order.lines) > 1 && 'vip' in args.tags", True),
        ("args.order.total >= 99.5", True),
    ],
)
def test_condition_reads_nested_arguments_lists_and_numbers(when, holds):
    order = {"lines": [{"price": 40}, {"price": 60}], "total": 100}
    action = f"pay({json.dumps({'order': order, 'tags': ['vip']})})"
    assert said(action, f'rules:\n- when: "{when}"\n  then: deny')[0] == ("deny" if holds else "ask")


def test_pattern_that_allows_says_nothing_about_the_other_lines():
    text = "rules:\n- {pattern: 'look*', then: allow}"
    assert said("look at it", text)[0] == "allow"
    assert said("look at it\npay everything", text)[0] == "ask"


def test_pattern_over_several_lines_holds_for_each_unless_it_allows():
    for then, found in (("ask", "ask"), ("deny", "deny"), ("allow", "judge")):
        text = f"default: judge\nrules:\n- {{pattern: 'pay*all', then: {then}}}"
        assert said("pay 1\nget all", text)[0] == found


def test_further_patterns_turn_allow_into_judge_and_nothing_else():
    policy = read_policy(REFUNDS)
    for action, then in (("get_order({})", "judge"), ("drop_x({})", "deny"), ("other({})", "ask")):
        assert ruling(policy, CheckFacts(action), ("*",)).then == then
        assert ruling(policy, CheckFacts("get_order({})"), ("never",)).then == "allow"


def test_action_too_long_to_look_for_further_patterns_is_judged():
    policy = read_policy("default: allow")
    for characters, then in ((65_536, "allow"), (65_537, "judge")):
        assert ruling(policy, CheckFacts("x" * characters), ("never",)).then == then
        assert ruling(policy, CheckFacts("x" * characters)).then == "allow"


def test_action_of_many_lines_is_ruled_on_in_a_time_that_grows_with_its_length():
    policy = read_policy("default: allow\nrules:\n- {pattern: 'pay*', then: ask}")

    def seconds(lines, then):
        began = time.process_time()
        assert ruling(policy, CheckFacts("\n".join(f'say({{"word":{line}}})' for line in range(lines)))).then == then
        return time.process_time() - began

    # Beyond a thousand parts a person is asked, so that many rules for many lines take no minutes.
    assert seconds(8_000, "ask") < 30 * max(seconds(1_000, "allow"), 0.001)


def test_a_part_that_is_denied_is_denied_among_very_many_parts():
    policy = read_policy("default: allow\nrules:\n- {tool: drop, then: deny}")
    assert ruling(policy, CheckFacts("say({})\n" * 1_000 + "drop({})")).then == "ask"
    assert ruling(policy, CheckFacts("drop({})\n" + "say({})\n" * 1_000)).then == "deny"


@pytest.mark.parametrize(
    ("action", "then"),
    [
        ("get_shop__drop({})", "ask"),
        ("get_shop___drop({})", "ask"),
        ("shop__get_order({})", "ask"),
        ("own__look({})", "allow"),
        ("get__look({})", "ask"),
        ("x.shop__refund({})", "deny"),
        ("shop__refund__now({})", "ask"),
        ("shop__pay({})", "ask"),
        ("shop___pay[1]", "ask"),
    ],
)
def test_two_underscores_are_read_as_a_server_s_prefix_and_as_part_of_the_name(action, then):
    policy = read_policy(
        "rules:\n- {tool: refund, then: deny}\n- {pattern: pay, then: ask}\n- {tool: [get_*, own__*], then: allow}"
    )
    assert ruling(policy, CheckFacts(action)).then == then
    assert ruling(replace(policy, default=Then.ALLOW), CheckFacts(action)).then == (
        then if "pay" in action or then == "deny" else "allow"
    )


@pytest.mark.parametrize("action", ["{}x({{}})", "{}x[1]"])
def test_a_name_of_very_many_segments_asks_at_once(action):
    policy = read_policy("default: allow\nrules:\n- {tool: drop, then: deny}\n- {tool: x, then: allow}")
    assert ruling(policy, CheckFacts(action.format("a." * 127 + "a"))).then == "allow"
    began = time.process_time()
    assert ruling(policy, CheckFacts(action.format("a." * 128))).then == "ask"
    assert ruling(policy, CheckFacts(action.format("a." * 100_000))).then == "ask"
    assert time.process_time() - began < 2


NAMES = st.sampled_from(["pay", "get", "mcp__shop__pay", "shop.get", "get.pay", "mcp__get__pay", "g.mcp__pay__get"])
RULES = st.builds(
    Rule,
    name=st.just("r"),
    then=st.sampled_from(Then),
    tool=st.sampled_from([(), ("pay",), ("get", "pay"), ("g*",)]),
    environment=st.sampled_from([(), ("shop",), ("other",)]),
    when=st.sampled_from(["", "args.n > 1", "args.missing == 1", "tool == 'pay'", "task == 't'", "args.n"]),
)
ACTIONS = st.one_of(
    st.lists(st.tuples(NAMES, st.one_of(st.none(), st.integers(0, 3), st.just("x"))), min_size=1, max_size=3),
    st.sampled_from(["pay(", "pay it all", "", "get({})\npay it"]),
)
ORDER = ["allow", "judge", "ask", "deny"]


def by_hand(policy, calls):
    """The evaluator that the other one is compared with: plain Python, no globs, no CEL."""
    worst = "allow"
    for call in calls:
        verdict, least = str(policy.default), "allow"
        for rule in policy.rules:
            if rule.environment == ("other",):
                continue
            if rule.tool and call is None:
                verdict = "ask"
                break
            parts = re.split(r"\.|__", call[0]) if call else [None]
            wide = named_by_hand(rule.tool, parts)
            narrow = named_by_hand(rule.tool, parts[-1:])
            if rule.tool and not wide:
                continue
            known = {"": True, "args.missing == 1": None, "task == 't'": True, "args.n": None}.get(rule.when, "call")
            if known == "call":
                if call is None:
                    known = None
                elif rule.when == "tool == 'pay'":
                    known = parts[-1] == "pay"
                else:
                    known = call[1] > 1 if isinstance(call[1], int) else None
            said = "ask" if known is None else str(rule.then)
            if known is False:
                continue
            if rule.tool and not narrow and rule.then in ("allow", "judge"):
                least = max(least, said if rule.then == "judge" else "allow", key=ORDER.index)
                continue
            verdict = said
            break
        worst = max(worst, least, verdict, key=ORDER.index)
    return worst


def named_by_hand(tools, parts):
    """Whether one of the tools of a rule names a suffix that begins with one of those parts."""
    names = [part for part in parts if part != "shop"]
    return (
        (tools in (("pay",), ("get", "pay")) and parts[-1] == "pay")
        or (tools == ("get", "pay") and parts[-1] == "get")
        or (tools == ("g*",) and any(name and name.startswith("g") for name in names))
    )


@settings(max_examples=6 * settings.default.max_examples)
@given(st.lists(RULES, max_size=5), st.sampled_from(Then), ACTIONS)
def test_policy_says_what_an_evaluator_of_its_own_says(rules, default, action):
    if isinstance(action, str):
        text, calls = action, [None]
    else:
        text = "\n".join(f"{name}({json.dumps({} if n is None else {'n': n})})" for name, n in action)
        calls = action
    policy = Policy(tuple(rules), default)
    assert ruling(policy, CheckFacts(text, environment="shop", task="t")).then == by_hand(policy, calls)


@settings(max_examples=6 * settings.default.max_examples)
@given(st.one_of(st.text(), st.text(alphabet='getpay_({[]})":,x1\n ')))
def test_no_text_runs_that_is_not_one_of_the_allowed_calls(action):
    policy = read_policy("rules:\n- {tool: get, then: allow}")
    if ruling(policy, CheckFacts(action)).then is Then.ALLOW:
        assert all(line.strip().endswith(("get({})", "get()", "]", ")")) for line in action.strip().splitlines())
        assert "get" in action
        assert "pay(" not in action


@pytest.mark.parametrize(
    "action",
    ["get_x[12]; drop[13]", "get_x[12] drop({}) [x]", "get_x[12]\u2028drop[13]", "get_x[a[b]", "get_x[a]b]"],
)
def test_what_another_reader_may_take_for_two_calls_is_none(action):
    assert said(action, "rules:\n- {tool: get_*, then: allow}") == (
        Then.ASK,
        "default" if "\u2028" in action else "rule 1",
    )


@pytest.mark.parametrize(
    ("arguments", "then"),
    [
        ('{"a":' * 31 + "1" + "}" * 31, "allow"),
        ('{"a":' * 32 + "1" + "}" * 32, "ask"),
        (json.dumps({"ids": [1] * 1_998}), "allow"),
        (json.dumps({"ids": [1] * 1_999}), "ask"),
        (json.dumps({"a": "b" * 65_527}), "allow"),
        (json.dumps({"a": "b" * 65_528}), "ask"),
    ],
    ids=["32 deep", "deeper", "2,000 values", "more values", "65,536 characters", "more characters"],
)
def test_arguments_are_read_up_to_a_bound(arguments, then):
    assert said(f"get_order({arguments})")[0] == then


@pytest.mark.parametrize("number", ["-1e400", "1e400", "NaN", "-Infinity", "true", '"5"', "null", "[5]"])
def test_what_is_no_number_meets_no_comparison(number):
    assert said(f'pay({{"n":{number}}})', "rules:\n- {tool: pay, when: args.n <= 100, then: allow}")[0] == "ask"


@pytest.mark.parametrize(
    "tool", ["MCP__shop__pay", "mcp__a__b__pay", "functions.MCP__shop__pay", "ｐａｙ", "Pay", ".pay", "mcp__a__x.pay"]
)
@pytest.mark.parametrize("condition", ["tool: pay", "pattern: pay"])
def test_no_spelling_of_a_tool_slips_by_the_rule_that_denies_it(tool, condition):
    if condition == "tool: pay" or tool != "ｐａｙ":
        assert said(f"{tool}({{}})", f"default: allow\nrules:\n- {{{condition}, then: deny}}")[0] == "deny"


@pytest.mark.parametrize(
    "action", ['get({"a":1}) ; pay({"b":2})', 'get pay({"b":2})', 'get({"a":1,"a":2})', "get(1)", "get[1] pay[2]"]
)
def test_pattern_that_allows_lets_no_call_run_that_cannot_be_read(action):
    assert said(action, "rules:\n- {pattern: get*, then: allow}")[0] == "ask"


@pytest.mark.parametrize("action", ["a({})\nb({})\nc({})", "c({})\nb({})\na({})"])
def test_of_several_calls_the_shortest_deadline_counts_and_the_doors_of_all(action):
    text = "rules:\n- {tool: a, then: ask, deadline: 60, doors: [cli, browser]}\n- {tool: b, then: ask, deadline: 30}\n"
    found = ruling(read_policy(f"{text}- {{tool: c, then: ask}}"), CheckFacts(action))
    assert (found.deadline_s, found.doors) == (30, ("browser",))
    assert ruling(read_policy(f"{text}- {{tool: c, then: ask, doors: cli}}"), CheckFacts(action)).doors == ()


def test_rules_of_several_calls_with_no_decision_in_common_offer_none_that_runs():
    text = "rules:\n- {tool: a, then: ask, decisions: [approve]}\n- {tool: b, then: ask, decisions: [edit]}"
    found = ruling(read_policy(text), CheckFacts("a({})\nb({})"))
    assert found.decisions == ("reject",)
    text = "rules:\n- {tool: a, then: ask, decisions: [approve, edit]}\n- {tool: b, then: ask}"
    assert ruling(read_policy(text), CheckFacts("b({})\na({})")).decisions == ("approve", "edit")


@pytest.mark.parametrize(("characters", "then"), [(0, "allow"), (65_536, "allow"), (65_537, "ask")])
def test_what_stands_in_brackets_is_read_up_to_a_bound(characters, then):
    assert said(f"get_order[{'x' * characters}]")[0] == then


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("pay", ("pay",)),
        ("shop.pay", ("shop.pay", "pay")),
        ("a.b.pay.", ("a.b.pay.", "a.b.pay", "b.pay", "pay")),
        ("mcp__shop__pay", ("mcp__shop__pay", "shop__pay", "pay")),
        ("shop__pay", ("shop__pay",)),
        ("x.MCP__shop__pay", ("x.MCP__shop__pay", "MCP__shop__pay", "shop__pay", "pay")),
        ("\uff50ay", ("\uff50ay", "pay")),
    ],
)
def test_a_call_is_known_by_each_of_its_names(name, names):
    (part,) = read_strictly(f" {name} [1] ")
    assert (name_suffixes(part.call.name), dict(part.call.arguments)) == (names, {"argument": "1"})
    assert name_suffixes(read_strictly(f"{name}( )")[0].call.name) == names


def test_an_action_has_a_part_a_line_and_no_call_where_one_line_is_none():
    calls = read_strictly('a({"n": 1})\n\nb[2]\n')
    assert [(part.text, part.call.name) for part in calls] == [('a({"n": 1})', "a"), ("b[2]", "b")]
    assert [(part.text, part.call) for part in read_strictly("a({})\nand b")] == [("a({})", None), ("and b", None)]
    assert [(part.text, part.call) for part in read_strictly(" \n")] == [(" \n", None)]


@pytest.mark.parametrize(("amount", "uses"), [(0, 0.0), (2.5, 2.5), (10**15, 1e15), (10**15 + 1, None), (-1, None)])
def test_an_amount_counts_as_long_as_it_can_be_added_exactly(amount, uses):
    policy = read_policy("rules: [{tool: pay, then: allow, limit: {sum: args.n, most: 5, per: day, by: task}}]")
    found = ruling(policy, CheckFacts(f'pay({{"n": {amount}}})'))
    assert (found.then, [use.amount for use in found.uses]) == (
        (Then.ASK, []) if uses is None else (Then.ALLOW, [uses])
    )
    assert all((use.rule, use.limit) == ("rule 1", Limit(5, 86_400, "task", "n")) for use in found.uses)


def test_a_policy_gives_its_undo_time_to_an_action_of_too_many_parts():
    found = ruling(read_policy("{default: allow, undo: 2m}"), CheckFacts("say({})\n" * 1_001))
    assert (found.then, found.rule, found.undo_s) == (Then.ASK, "default", 120)
