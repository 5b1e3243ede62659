"""The Review page: an edit that cannot be run is refused in place, a long action is approved only whole."""

import time

import pytest
from sqlmodel import select

from console.database import now_ms, reading, writing
from console.gate import Gate
from console.gate.policy import policy_store
from storage import tables

REFUND = {"name": "refund_order", "arguments": {"amount": 45, "order": 12}}
NO_CALLS = ['refund_order({"amount":45,"order":', "please just give 30 euro, thanks", "drop_database(...)"]
DWELL_S = 0.45


@pytest.fixture
def desk(open_page):
    """A function that opens Review on a waiting action."""

    def show(action=REFUND):
        Gate("desk", "full-validation", undo_s=0).ask("Refund order 12.", [("look[12]", "paid 45")], action)
        at = open_page("review", run="desk")
        time.sleep(DWELL_S)
        return at

    return show


def answers():
    with reading() as session:
        return [(row.decision, row.edited_action, row.seen_digest) for row in session.exec(select(tables.Decision))]


def send_edit(at, text):
    at.text_input(key="instead-1").set_value(text).run()
    return at.button(key="submit-1").click().run()


@pytest.mark.parametrize("edit", NO_CALLS)
def test_an_edit_that_cannot_be_run_is_refused_in_place_and_kept(desk, words, edit):
    at = desk()
    at.text_area(key="words-1").set_value("Only half of it.").run()
    at.button(key="edit-1").click().run()
    at = send_edit(at, edit)
    assert "line 1, column" in words(at)
    assert at.text_input(key="instead-1").value == edit
    assert at.text_area(key="words-1").value == "Only half of it."
    at.button(key="submit-1").click().run()
    assert answers() == []


def test_another_tool_needs_a_second_press(desk, words):
    at = desk()
    at.button(key="edit-1").click().run()
    other = 'drop_database({"name":"all"})'
    at = send_edit(at, other)
    assert "another tool than refund_order" in words(at)
    assert answers() == []
    at.button(key="submit-1").click().run()
    assert [answer[:2] for answer in answers()] == [("edit", other)]


def test_what_was_seen_is_stored(desk):
    desk().button(key="approve-1").click().run()
    ((decision, _, seen),) = answers()
    assert decision == "approve"
    assert seen.startswith("all:")


def test_a_long_action_is_off_until_it_was_shown_whole(desk, words):
    at = desk({"name": "pay", "arguments": {"to": "ab " * 2_000, "why": "THE END"}})
    for button in ("approve-1", "edit-1"):
        at = at.button(key=button).click().run()
        assert "off until the whole action was shown" in words(at)
        assert not at.text_input
    assert answers() == []
    at = at.button(key="whole-1").click().run()
    assert "THE END" in words(at)
    at.button(key="approve-1").click().run()
    assert [answer[0] for answer in answers()] == ["approve"]


@pytest.mark.parametrize(("terms", "off", "said"), [
    ("decisions: [reject]", {"approve", "edit"}, "offers reject, not approve."),
    ("decisions: [approve, reject]", {"edit"}, "offers approve and reject, not edit."),
    ("who: [Bob, admin]", {"approve", "reject", "edit"}, "leaves it to Bob, admin, not Ada."),
    ("who: [researcher]", set(), None),
])  # fmt: skip
def test_what_the_rule_does_not_offer_is_off_and_says_why(desk, terms, off, said):
    with writing() as session:
        policy_store.save(session, None, f"rules: [{{tool: refund_order, then: ask, {terms}}}]", "ann", now_ms())
    at = desk()
    assert {name for name in ("approve", "reject", "edit") if at.button(key=f"{name}-1").disabled} == off
    told = " ".join(text.value for text in at.text)
    assert said in told if said else "The rule" not in told
    if not off:
        at.button(key="approve-1").click().run()
    assert [answer[0] for answer in answers()] == ([] if off else ["approve"])
