"""Patterns, calls and checkpoints: what counts as critical, and what may be seen before it."""

import re
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.calls import Call, read_action
from console.trajectory.checkpoints import (
    CheckpointKind,
    checkpoint_at,
    checkpoints,
    digest,
    globs,
    is_critical,
    pending_action,
)

BUY = "click[Buy Now]"


def trip(*actions, **more):
    steps = tuple(Step(f"thought {i}", action, f"seen {i}") for i, action in enumerate(actions))
    return Trajectory("t", "webshop", "buy a kettle", steps, **more)


@pytest.mark.parametrize(
    ("action", "pattern"),
    [
        (BUY, "click[Buy Now]"),
        ("CLICK[buy now]", "click[Buy Now]"),
        ("  click[Buy Now] ", " click[Buy Now] "),
        ("> clean mug 1 with sinkbasin 1", "clean * with *"),
        ("Finish[a [b] c]", "Finish[*]"),
        ("Finish[two\nlines]", "Finish[*]"),
        ('refund_order({"id": 7})', "refund_*"),
        ('refund_order({"id": 7})', "refund_order"),
        ('transfer({"amount": 50, "to": {"name": "Ann"}})', "transfer.amount=5?"),
        ('transfer({"amount": 50, "to": {"name": "Ann"}})', 'transfer.to=*"Ann"*'),
        ('look({"id": 1})\nrefund_order({"id": 7})', "refund_order"),
        ("search[kettle]\nclick[Buy Now]", "click[Buy Now]"),
        ("think[it is cheap]\nclick[Buy Now]", "click[Buy Now]"),
        ('think: it is cheap\nrefund_order({"id": 7})', "refund_order"),
        ('refund_order({"id": 7)', "refund_order*"),
        ("refund_order({not json})", "refund_order"),
        ('refund_order({not json})\nlook({"id": 1})', "refund_order"),
        ("refund_order(amount=7)", "refund_order"),
        ("refund_order()", "refund_order"),
    ],
)
def test_a_pattern_matches_the_action_the_tool_or_an_argument(action, pattern):
    assert is_critical(action, [pattern])


@pytest.mark.parametrize(
    ("action", "pattern"),
    [
        ("", "*"),
        ("   ", "*"),
        ("click[B]", "click[Buy Now]"),
        ("click[B]", "click[BN]"),
        ("click B", "click[B]"),
        ("think[shall I click[Buy Now]?]", "click[Buy Now]"),
        ("think: click[Buy Now]", "*"),
        ("> think: click[Buy Now]", "*"),
        ('get_refund({"id": 7})', "refund*"),
        ('say({"text": "refund_order"})', "refund_order"),
        ("clean mug 1", "clean * with *"),
        (BUY, "click.Buy Now"),
    ],
)
def test_a_pattern_matches_nothing_else(action, pattern):
    assert not is_critical(action, [pattern])


def test_no_pattern_makes_nothing_critical():
    assert not is_critical(BUY, [])


@given(st.text(max_size=200), st.text(max_size=20))
def test_any_action_and_any_pattern_give_an_answer(action, pattern):
    assert is_critical(action, [pattern]) in (True, False)
    assert all(isinstance(call, Call) for call in read_action(action))


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60))
def test_an_action_without_wildcards_matches_itself(action):
    action = action.strip().replace("*", "").replace("?", "")
    assert not action or is_critical(action, [action]) or action.lower().lstrip("> ").startswith("think")


def test_each_critical_action_has_a_checkpoint_that_ends_before_it():
    found = checkpoints(trip("search[x]", BUY, "search[y]", BUY), ["click[Buy Now]"])
    assert [(at.index, at.kind, at.action, at.thought) for at in found] == [
        (1, CheckpointKind.ACTION, BUY, "thought 1"),
        (3, CheckpointKind.ACTION, BUY, "thought 3"),
    ]
    assert [len(at.steps) for at in found] == [1, 3]
    assert "seen 1" not in repr(found[0])


def test_what_a_source_keeps_beside_a_step_is_not_shown():
    steps = (Step("", "search[x]", "seen", {"reward": "secret"}), Step("", BUY, "", {"reward": "secret"}))
    at = checkpoints(Trajectory("t", "webshop", "i", steps), [BUY])[0]
    assert "secret" not in repr(at)
    assert "secret" not in repr(checkpoint_at(Trajectory("t", "webshop", "i", steps), 0, CheckpointKind.HALTED))


def test_a_waiting_action_is_a_checkpoint_after_all_steps():
    paused = trip("search[x]", critical_action=BUY, outcome=Outcome.PAUSED)
    assert pending_action(paused) == BUY
    (at,) = checkpoints(paused, [BUY])
    assert (at.index, at.action, len(at.steps), at.kind) == (1, BUY, 1, CheckpointKind.ACTION)


def test_an_action_that_ran_waits_no_more_unless_the_trial_is_paused_at_it_again():
    done = trip("search[x]", BUY, critical_action=BUY, outcome=Outcome.SUCCEEDED)
    assert pending_action(done) is None
    assert pending_action(replace(done, outcome=Outcome.PAUSED)) == BUY
    assert len(checkpoints(replace(done, outcome=Outcome.PAUSED), [BUY])) == 2


def test_the_end_is_a_checkpoint_without_its_last_observation():
    found = checkpoints(trip("go to desk 1", "look"), [], ends=True)
    assert [(at.index, at.kind, at.action) for at in found] == [(1, CheckpointKind.END, "look")]
    assert "seen 1" not in repr(found)


def test_the_end_is_not_judged_twice_where_the_last_action_is_critical():
    found = checkpoints(trip("search[x]", BUY), [BUY], ends=True)
    assert [at.kind for at in found] == [CheckpointKind.ACTION]


def test_a_halted_trial_has_no_end_and_shows_all_its_steps():
    halted = trip("look", "look", outcome=Outcome.HALTED)
    assert checkpoints(halted, [], ends=True) == []
    at = checkpoint_at(halted, len(halted.steps), CheckpointKind.HALTED)
    assert (at.kind, at.index, at.action, len(at.steps)) == (CheckpointKind.HALTED, 2, "", 2)


def test_a_stored_place_gives_the_same_checkpoint_again():
    whole = trip("search[x]", BUY, "look")
    for at in checkpoints(whole, [BUY], ends=True):
        assert checkpoint_at(whole, at.index, at.kind) == at
    assert checkpoint_at(whole, 0, CheckpointKind.HALTED) == checkpoint_at(whole, 3, CheckpointKind.HALTED)


def test_a_digest_tells_actions_apart_to_the_letter():
    assert digest(BUY) != digest(BUY + " ")
    assert digest("\ud800") == digest("\ud800")


@given(
    name=st.sampled_from(["refund_order", "pay", "Finish", "Überweisen", "se\u017f", "K\u212a"]),
    key=st.sampled_from(["amount", "note", "argument"]),
    value=st.one_of(
        st.text(max_size=8),
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-(2**63), 2**63),
        st.booleans(),
    ),
    pattern=st.sampled_from(
        [
            "refund_*",
            "*.amount=*",
            "*.amount=1*",
            "pay.note=?*",
            "*.argument=*",
            "finish",
            "über*",
            "ses",
            "KK",
            "*true",
        ]
    ),
)
def test_what_a_pattern_matches_is_never_missed_for_speed(name, key, value, pattern):
    """The quick look at words leaves nothing out: the slow definition, face by face, says the same."""
    action = f"{name}({orjson.dumps({key: value}).decode()})"
    (call,) = read_action(action)
    glob = re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.IGNORECASE | re.DOTALL)
    written = [v if isinstance(v, str) else orjson.dumps(v).decode() for v in call.arguments.values()]
    faces = [action, call.name, *(f"{call.name}.{k}={v}" for k, v in zip(call.arguments, written, strict=True))]
    assert is_critical(action, [pattern]) is any(bool(glob.fullmatch(face)) for face in faces)


def _matches(glob, text):
    """A glob tried by its definition, one character at a time."""
    if not glob:
        return not text
    if glob[0] == "*":
        return any(_matches(glob[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and (glob[0] in ("?", text[0])) and _matches(glob[1:], text[1:])


@given(st.text(alphabet="ab*?", max_size=7), st.text(alphabet="ab", max_size=8))
def test_a_glob_matches_what_its_signs_say(glob, text):
    assert bool(globs([glob]).fullmatch(text)) is _matches(glob, text)


def test_a_glob_of_many_stars_takes_no_longer_than_the_text_is():
    assert not is_critical("a" * 100_000, ["*a" * 20 + "*b"])
    assert is_critical("a" * 100_000 + "b", ["*a" * 20 + "*b"])
