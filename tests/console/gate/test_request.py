"""The digest that binds a decision to exactly what was asked."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import BadInput, Unknown
from console.gate.checks import check_id
from console.gate.policy import CheckFacts, Policy, Rule, Then, ruling
from console.gate.request import Asker, action_text, bind_asker, check_request
from console.trajectory import Step, call_action

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
WORD = TEXT.filter(str.strip)
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(WORD, PAIRS, WORD)
def test_steps_may_be_pairs_mappings_or_steps(task, pairs, action):
    as_mappings = [{"action": did, "observation": saw} for did, saw in pairs]
    as_steps = [Step(action=did, observation=saw) for did, saw in pairs]
    digests = {check_request(task, steps, action).digest for steps in (pairs, as_mappings, as_steps)}
    assert len(digests) == 1


@given(WORD, PAIRS, WORD, WORD)
def test_any_change_is_another_question(task, pairs, action, other):
    asked = check_request(task, pairs, action)
    longer = check_request(task, [*pairs, ("", "")], action)
    later = check_request(task, pairs, action, trial=1)
    named = check_request(task, pairs, action, task_id="named")
    digests = {one.digest for one in (asked, longer, later, named)}
    assert len(digests) == 4
    assert (check_request(task, pairs, other).digest == asked.digest) == (other == action)


@given(st.dictionaries(TEXT, JSON, max_size=4), st.randoms(use_true_random=False))
def test_order_of_a_calls_arguments_does_not_matter(arguments, random):
    shuffled = list(arguments.items())
    random.shuffle(shuffled)
    texts = {action_text({"name": "pay", "arguments": made}) for made in (arguments, dict(shuffled))}
    assert len(texts) == 1


@pytest.mark.parametrize(
    "arguments",
    ['{"amount": 1, "amount": 5000}', '{"to": {"iban": "A", "iban": "B"}}', '{"am\\u006funt": 1, "amount": 5000}'],
)
def test_arguments_as_text_that_name_one_twice_stay_as_written_and_ask(arguments):
    """The last of the two stood alone before, and an allow rule let it run."""
    action = action_text({"name": "pay", "arguments": arguments})
    assert action == f"pay({arguments})" == call_action("pay", arguments)
    allow = Policy((Rule("pay", Then.ALLOW, tool=("pay",)),))
    assert ruling(allow, CheckFacts(action)).then is Then.ASK
    assert ruling(allow, CheckFacts(action_text({"name": "pay", "arguments": '{"amount": 1}'}))).then is Then.ALLOW


NESTED = [
    ('{"body": "{\\"amount\\": 1, \\"amount\\": 5000}"}', "ask"),
    ('{"body": "[{\\"amount\\": 1, \\"amount\\": 5000}]"}', "ask"),
    ('{"body": {"to": ["x", "{\\"amount\\": 1, \\"am\\\\u006funt\\": 2}"]}}', "ask"),
    ('{"body": "{\\"in\\": \\"{\\\\\\"a\\\\\\":1,\\\\\\"a\\\\\\":2}\\"}"}', "ask"),
    ('{"body": "{\\"amount\\": 1, \\"to\\": {\\"amount\\": 5000}}"}', "allow"),
    ('{"body": "{amount: 1, amount: 5000}", "note": "\\"{\\""}', "allow"),
    ('{"body": "' + '{\\"a\\":' * 900 + "1" + "}" * 900 + '"}', "allow"),
]


@pytest.mark.parametrize(("arguments", "then"), NESTED)
def test_a_json_text_as_an_argument_with_a_key_twice_asks(arguments, then):
    """The tool that reads the text may take the first of the two, and a condition the last one."""
    allow = Policy((Rule("pay", Then.ALLOW, tool=("pay",)),))
    given = {"name": "pay", "arguments": arguments}, {"name": "pay", "arguments": orjson.loads(arguments)}
    assert [str(ruling(allow, CheckFacts(action_text(each))).then) for each in given] == [then, then]


def test_a_json_text_in_brackets_with_a_key_twice_asks():
    allow = Policy((Rule("pay", Then.ALLOW, tool=("pay",)),))
    texts = ('pay[{"amount": 1, "amount": 5000}]', 'pay[{"amount": 1}]')
    assert [str(ruling(allow, CheckFacts(text)).then) for text in texts] == ["ask", "allow"]


def test_call_may_come_with_its_arguments_as_text():
    assert action_text({"name": "pay", "arguments": '{"b": 1, "a": 2}'}) == 'pay({"a":2,"b":1})'
    assert action_text({"name": "pay", "arguments": "{broken"}) == "pay({broken)"
    assert action_text({"name": "pay"}) == "pay({})"


def test_steps_may_hold_calls_and_objects():
    asked = check_request("t", [({"name": "look", "arguments": {"at": 1}}, {"found": 2}), {"thought": "so"}], "pay")
    assert [(step.thought, step.action, step.observation) for step in asked.record.steps] == [
        ("", 'look({"at":1})', '{"found":2}'),
        ("so", "", ""),
    ]


def test_half_a_character_is_spelled_out_in_a_step_and_refused_in_the_action():
    assert check_request("t", [("a", "\ud800")], "pay").record.steps[0].observation == "\\ud800"
    with pytest.raises(BadInput, match="lone surrogate"):
        check_request("t", [], "pay \ud800")


@pytest.mark.parametrize(
    ("task", "steps", "action", "trial", "said"),
    [
        ("", [], "pay", 0, "task is missing"),
        ("t", "ab", "pay", 0, "steps is not a list"),
        ("t", [("a", "b", "c")], "pay", 0, "Step 1 has an invalid type"),
        ("t", ["ab"], "pay", 0, "Step 1 has an invalid type"),
        ("t", [], " ", 0, "action is empty"),
        ("t", [], {"tool": "pay"}, 0, "an invalid type. Give a string or a tool call"),
        ("t", [], ["pay"], 0, "an invalid type. Give a string or a tool call"),
        ("t", [], {"name": ""}, 0, "an invalid type. Give a string or a tool call"),
        ("t", [], {"name": "pay", "arguments": {"when": object()}}, 0, "cannot be written as JSON"),
        ("t", [], "pay", -1, "trial is -1"),
        ("t", [], "pay", True, "trial is True"),
        ("t", [], "pay", 2**31, "trial is 2147483648"),
    ],
)
def test_incomplete_question_is_refused_in_one_sentence(task, steps, action, trial, said):
    with pytest.raises(BadInput, match=said):
        check_request(task, steps, action, trial=trial)
    assert check_request("t", [], "pay", trial=2**31 - 1).record.trial == 2**31 - 1


def test_nul_is_spelled_out_in_a_step_and_refused_in_the_action():
    request = check_request("a\0b", [("look\0", "x")], "pay[1]", task_id="t\0")
    assert (request.record.instruction, request.record.task_id) == ("a\\x00b", "t\\x00")
    assert request.record.steps[0].action == "look\\x00"
    with pytest.raises(BadInput, match="a NUL"):
        check_request("t", [], "pay\0[1]")


@pytest.mark.parametrize("wrong", ["a" * 31, "a" * 33, "A" * 32, "g" * 32, f"{'a' * 32}\n", ""])
def test_an_id_of_a_check_is_32_hexadecimal_digits(wrong):
    assert check_id("0123456789abcdef" * 2) == "0123456789abcdef" * 2
    with pytest.raises(Unknown, match="check"):
        check_id(wrong)


def test_a_trial_is_a_number_that_every_database_holds():
    for trial in (0, 2**31 - 1):
        assert check_request("Pay.", [], "pay", trial=trial).record.trial == trial
    for wrong in (-1, 2**31, True, 1.0, "1"):
        with pytest.raises(BadInput, match=f"trial is {wrong!r}. Use a whole number from 0 to {2**31 - 1}"):
            check_request("Pay.", [], "pay", trial=wrong)


def test_an_agent_with_a_token_has_a_digest_of_its_own():
    asked = check_request("Pay.", [], "pay")
    digests = {bind_asker(asked, Asker(number, "bot")).digest for number in (None, 1, 2)}
    assert len(digests) == 3
    assert bind_asker(asked, Asker(None, "cat")).digest == asked.digest
    assert bind_asker(asked, Asker(1, "cat")).digest == bind_asker(asked, Asker(1, "bot")).digest
    assert {bind_asker(asked, asker).asker for asker in (Asker(1, "bot"), Asker(None, "bot"))} == {
        Asker(1, "bot"),
        Asker(None, "bot"),
    }
