"""One reading of calls: the same name and arguments wherever an action is read."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli import run_command
from console.database import reading
from console.environments.acts import pending_act
from console.gate.policy import CheckFacts, Then, read_policy, ruling
from console.review.edits import pending_calls
from console.runs import trajectory_list
from console.runs.critical_suggestions import suggest
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.call_values import leaves
from console.trajectory.calls import (
    BARE_WORD,
    BRACKETS,
    DUPLICATE_KEY,
    FENCE,
    NOT_JSON,
    OBJECT,
    OTHER_TEXT,
    PROMPT_MARK,
    TOO_LARGE,
    UNREADABLE,
    argument_text,
    read_action,
    read_arguments,
    read_calls,
    read_object,
    read_strictly,
)
from console.trajectory.checkpoints import checkpoints, is_critical
from console.trajectory.provenance import ReceivedText, arguments
from tests.logs import write_log
from tests.sweeps import sweep

PAID = ("transfer", {"amount": 500})
TEXTS = {
    "JSON": ('transfer({"amount": 500})', [PAID], ""),
    "keywords": ("transfer(amount=500)", [PAID], NOT_JSON),
    "a prompt mark": ('> transfer({"amount": 500})', [PAID], PROMPT_MARK),
    "marks and keywords": (">> transfer(amount=500)", [PAID], NOT_JSON),
    "a fence": ("```\ntransfer(amount=500)\n```", [PAID], NOT_JSON),
    "a fence of JSON": ('```json\n{"name": "transfer", "arguments": {"amount": 500}}\n```', [PAID], OBJECT),
    "a fence of a shell": ("```bash\nrm -r pay\n```", [("bash", {"command": "rm -r pay\n"})], FENCE),
    "an object": ('{"name": "transfer", "arguments": {"amount": 500}}', [PAID], OBJECT),
    "an object of texts": ('{"function": {"name": "transfer", "arguments": "{\\"amount\\": 500}"}}', [PAID], OBJECT),
    "within other text": (
        '<tool_call>{"name": "transfer", "arguments": {"amount": 500}}</tool_call>',
        [PAID],
        OTHER_TEXT,
    ),
    "a name and an object": ('Action: transfer\nAction Input: {"amount": 500}', [PAID], OTHER_TEXT),
    "an object of Python": ("transfer({'amount': 500})", [PAID], NOT_JSON),
    "by place": ("transfer(500, 'ann')", [("transfer", {"1": 500, "2": "ann"})], NOT_JSON),
    "bare words": ("transfer(500, to=ann)", [("transfer", {"1": 500, "to": "ann"})], BARE_WORD),
    "nested": ('pay({"to": {"name": ["Ann", 1]}})', [("pay", {"to": {"name": ["Ann", 1]}})], ""),
    "a key twice": ('pay({"a": 1, "a": 2})', [("pay", {"a": 2})], DUPLICATE_KEY),
    "a keyword twice": ("pay(a=1, a=2)", [("pay", {"a": 2})], DUPLICATE_KEY),
    "several lines": ('look({"id": 1})\ntransfer({"amount": 500})', [("look", {"id": 1}), PAID], ""),
    "several in a line": ("look({}); transfer(amount=500)", [("look", {}), PAID], NOT_JSON),
    "a list": ("[look(), transfer(amount=500)]", [("look", {}), PAID], NOT_JSON),
    "beside words": ("I will pay:\ntransfer(amount=500)", [PAID], NOT_JSON),
    "brackets": ("click[Buy Now]", [("click", {"argument": "Buy Now"})], ""),
    "brackets after a mark": ("> click[Buy Now]", [("click", {"argument": "Buy Now"})], PROMPT_MARK),
    "brackets in brackets": ("Finish[a [b] c]", [("Finish", {"argument": "a [b] c"})], BRACKETS),
    "a namespace": ('mcp__bank__transfer({"amount": 500})', [("mcp__bank__transfer", {"amount": 500})], ""),
    "slashes": ('bank/v1:transfer({"amount": 500})', [("bank/v1:transfer", {"amount": 500})], ""),
    "unicode": ('überweisen({"Betrag": "5 €"})', [("überweisen", {"Betrag": "5 €"})], ""),
    "nothing given": ("pay()", [("pay", {})], ""),
    "a number too large": ('pay({"n": 1' + "0" * 30 + "})", [("pay", {"n": 1e30})], TOO_LARGE),
    "cut off": ('pay({"a": ', [("pay", {"argument": '{"a":'})], UNREADABLE),
    "code to run": ("pay(total() + 1)", [("pay", {"argument": "total() + 1"})], UNREADABLE),
    "half a character": ('pay({"a": "\\ud800"})', [("pay", {"argument": '{"a": "\\ud800"}'})], UNREADABLE),
}
ROWS = pytest.mark.parametrize(("text", "expected", "problem"), TEXTS.values(), ids=TEXTS)


def seen(calls):
    return [(call.name, dict(call.arguments)) for call in calls]


@ROWS
def test_name_and_arguments_are_the_same_for_every_way_of_writing(text, expected, problem):
    calls = read_calls(text)
    assert seen(calls) == seen(read_action(text)) == expected
    assert calls[-1].problem == problem


@ROWS
def test_each_argument_makes_a_checkpoint(text, expected, problem):
    record = Trajectory("t", "generic", "pay", (Step("", text, ""),))
    for name, given_to in expected:
        assert len(checkpoints(record, [name])) == 1
        for key, value in given_to.items():
            assert len(checkpoints(record, [f"{name}.{key}={argument_text(value).strip()}*"])) == 1


@ROWS
def test_provenance_sees_the_same_arguments(text, expected, problem):
    record = Trajectory("t", "generic", "pay", (), critical_action=text, outcome=Outcome.PAUSED)
    (at,) = checkpoints(record, [])
    act = pending_act(at)
    assert seen(act.calls) == expected
    flat = [key for _, given_to in expected for key, value in given_to.items() if not isinstance(value, dict)]
    assert [
        one.name
        for call in act.calls
        for one in arguments(call, tuple(leaves(call.arguments)), ReceivedText("", "", ()))
    ] == (flat or ["name", "name"] * bool(expected[0][1]))


@ROWS
def test_an_edit_sees_the_same_arguments_or_none(text, expected, problem):
    calls = pending_calls(text)
    if calls and problem not in (FENCE, OBJECT, OTHER_TEXT):
        assert [call.name for call in calls] == [name for name, _ in expected]
        assert all(call.arguments in (None, expected[at][1]) for at, call in enumerate(calls))
    if problem in (DUPLICATE_KEY, UNREADABLE, BARE_WORD):
        assert [call.arguments for call in calls] in ([], [None])


@ROWS
def test_a_policy_sees_the_same_call_or_asks(text, expected, problem):
    parts = read_strictly(text)
    found = ruling(read_policy("rules: [{tool: '*', then: allow}]"), CheckFacts(text))
    if problem:
        assert [part.call for part in parts] == [None] * len(parts)
        assert found.then is Then.ASK
    else:
        assert seen(part.call for part in parts) == expected
        assert found.then is Then.ALLOW


@sweep(("text", "expected", "problem"), TEXTS.values(), kept=6, ids=TEXTS)
def test_an_import_keeps_the_call(text, expected, problem, tmp_path):
    log = write_log(tmp_path / "log.jsonl", Trajectory("t", "generic", "pay", (Step("", text, "done"),)))
    assert run_command(["trajectory", "import", str(log), "--run", "log"]) == 0
    with reading() as session:
        assert seen(read_action(trajectory_list.load(session, 1).steps[0].action)) == expected


def test_importers_of_written_calls_read_them_in_the_same_way(tmp_path):
    for place, arguments_text in enumerate(('{"amount": 500}', "amount=500", "{'amount': 500}")):
        assert read_arguments(arguments_text) == {"amount": 500}
        react = f"Thought: pay\nAction: transfer\nAction Input: {arguments_text}"
        turns = [
            {"from": "human", "value": "pay"},
            {"from": "gpt", "value": react},
            {"from": "human", "value": "Observation: ok"},
        ]
        log = tmp_path / f"{place}.json"
        log.write_text(json.dumps([{"conversations": turns}]))
        assert run_command(["trajectory", "import", str(log), "--run", f"r{place}", "--format", "sharegpt"]) == 0
        with reading() as session:
            assert seen(read_action(trajectory_list.load(session, place + 1).steps[0].action)) == [PAID]
    assert read_object({"name": "transfer", "parameters": {"amount": 500}}).arguments == {"amount": 500}


@pytest.mark.parametrize("text", [text for text, expected, _ in TEXTS.values() if PAID in expected])
def test_suggestions_name_the_same_tool(text):
    assert "transfer" in [one.pattern for one in suggest([(text, 1)])]


@pytest.mark.parametrize("text", [TEXTS[name][0] for name in ("JSON", "keywords", "a prompt mark")])
def test_three_spellings_of_a_transfer_are_three_checkpoints(text):
    assert is_critical(text, ["transfer.amount=*"])
    assert not is_critical(text.replace("amount", "count"), ["transfer.amount=*"])


@pytest.mark.parametrize(
    "text", ["", "   ", "please pay 500 euro", "Note: nothing to do.", "(500)", "[1, 2]", '{"a": 1}']
)
def test_plain_speech_has_no_call(text):
    assert read_calls(text) == ()


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("click[Buy [Now]]", [("click", {"argument": "Buy [Now]"})]),
        ('book({\n"seats": 2\n})', [("book", {"seats": 2})]),
        ("a[1]\nb[2]", [("a", {"argument": "1"}), ("b", {"argument": "2"})]),
        ("book([1, 2])", [("book", {"1": [1, 2]})]),
        ("> go to desk 1", [("go", {"argument": "to desk 1"})]),
        ("look", [("look", {"argument": ""})]),
        ("Search[a], Search[b]", [("Search", {"argument": "a], Search[b"})]),
        ("  ", []),
    ],
)
def test_an_action_without_brackets_is_named_by_its_first_word(action, expected):
    assert seen(read_action(action)) == expected


@given(st.one_of(st.text(), st.text(alphabet='ab_({[]})":,=1\n >`')))
def test_a_strict_call_is_read_in_the_same_way_tolerantly(action):
    parts = read_strictly(action)
    if all(part.call for part in parts):
        assert seen(part.call for part in parts) == seen(read_calls(action))
        assert not any(call.problem for call in read_calls(action))


@pytest.mark.parametrize(
    "text",
    ["f(" + "[" * 60_000, "f(" + "-" * 60_000 + "1)", "f(" + "(" * 30_000 + ")" * 30_000 + ")", "x(" * 30_000,
     "f(" + "a=1, " * 12_000 + ")", '{"name":"f","arguments":' * 2_000, "```\n" * 20_000, "> " * 100_000 + "f"],
)  # fmt: skip
def test_no_text_keeps_a_reader_waiting(text):
    began = time.process_time()
    assert isinstance(read_action(text), tuple)
    assert time.process_time() - began < 3


def test_an_action_of_many_blanks_takes_no_longer_than_it_is():
    blanks = " " * 200_000
    assert seen(read_action(f"a{blanks}b")) == [("a", {"argument": "b"})]
    assert seen(read_action(f'pay now{blanks}({{"bill":1}})')) == [("pay now", {"bill": 1})]
    assert seen(read_action(f"a b{blanks}\n{blanks}(")) == [("a", {"argument": f"b{blanks}\n{blanks}("})]
