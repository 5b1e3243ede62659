"""The Review page: an edit that cannot be run is refused in place, a long action is approved only whole."""

import time

import pytest
from sqlmodel import select

from console.database import now_ms, reading, writing
from console.gate import Gate
from console.gate.policy import policy_store
from storage import tables
from tests.sweeps import sweep

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


@pytest.mark.parametrize("page", ["inbox", "review"])
@sweep(
    ("deadline_s", "heard_s", "beats", "said", "unsaid"),
    [
        (1_790, 0, True, "waits until", "last seen"),
        (1_790, -20, True, "then the action will not run</span></span>, last seen 2", "stopped waiting"),
        (1_790, -20, False, "29:4", "last seen"),
        (1_790, -90, True, "has not responded for 1 min: your decision applies only if the agent asks", "waits until"),
        (-5, 0, True, "stopped waiting: your decision is recorded, but the action will not run", "waits until"),
    ],
)
def test_who_waits_and_until_when_is_said(open_page, words, page, deadline_s, heard_s, beats, said, unsaid):
    Gate("desk", "full-validation", agent="shop <b>").ask("Refund order 12.", [], REFUND)
    if page == "review":
        open_page("review", run="desk")
    with writing() as session:
        (ask,) = session.exec(select(tables.Ask))
        ask.beats, ask.heartbeat_ms = beats, now_ms() + heard_s * 1_000
        ask.deadline_ms = now_ms() + deadline_s * 1_000
    told = words(open_page(page, run="desk"))
    if page == "inbox" and (deadline_s < 0 or heard_s < -60):
        # Its agent stopped waiting, so the item is no longer pending.
        assert "shop" not in told
        return
    assert "shop &lt;b&gt;" in told
    assert said in told
    assert unsaid not in told


def answers():
    with reading() as session:
        return [(row.decision, row.edited_action, row.seen_digest) for row in session.exec(select(tables.Decision))]


def write_as_text(at, text):
    at.button(key="edit-1").click().run()
    at.button(key="as-1").click().run()
    at.text_area(key="instead-1").set_value(text).run()
    return at.button(key="submit-1").click().run()


def drafted(at):
    with reading() as session:
        return [(row.feedback_text, row.reason_codes, row.edit) for row in session.exec(select(tables.Draft))]


@sweep("edit", NO_CALLS, kept=1)
def test_an_edit_that_cannot_be_run_is_refused_in_place_and_kept(desk, words, edit):
    at = desk()
    at.text_area(key="words-1").set_value("Only half of it.").run()
    at = write_as_text(at, edit)
    assert "line 1, column" in words(at)
    assert at.text_area(key="instead-1").value == edit
    assert at.text_area(key="words-1").value == "Only half of it."
    at.button(key="submit-1").click().run()
    assert answers() == []


@pytest.mark.at_length
def test_another_tool_needs_a_second_press(desk, words):
    at = desk()
    other = 'drop_database({"name":"all"})'
    at = write_as_text(at, other)
    assert "not the tool of the pending call, refund_order" in words(at)
    assert answers() == []
    at.button(key="submit-1").click().run()
    assert [answer[:2] for answer in answers()] == [("edit", other)]
    again = at.button(key="undo-0").click().run()
    assert again.text_area(key="instead-1").value == other
    as_before = 'refund_order({"amount":46,"order":12})'
    at = again.text_area(key="instead-1").set_value(as_before).run()
    again = at.button(key="submit-1").click().run().button(key="undo-0").click().run()
    assert [field.value for field in again.text_input] == ["46", "12"]


def test_what_was_seen_is_stored(desk):
    desk().button(key="approve-1").click().run()
    ((decision, _, seen),) = answers()
    assert decision == "approve"
    assert seen.startswith("all:")


def test_a_long_action_is_off_until_it_was_shown_whole(desk, words):
    at = desk({"name": "pay", "arguments": {"to": "ab " * 2_000, "why": "THE END"}})
    for button in ("approve-1", "edit-1"):
        at = at.button(key=button).click().run()
        assert "only after seeing the whole action" in words(at)
        assert not [area for area in at.text_area if area.label == "Edited action"]
    assert answers() == []
    at = at.button(key="whole-1").click().run()
    assert "THE END" in words(at)
    at.button(key="approve-1").click().run()
    assert [answer[0] for answer in answers()] == ["approve"]


def test_an_edit_is_a_field_for_each_argument_and_compared_before_it_is_sent(desk, words):
    at = desk({"name": "refund_order", "arguments": {"amount": 45, "why": "late <b>parcel</b>", "ids": [1, 2]}})
    at = at.button(key="edit-1").click().run()
    assert [(field.label, field.value) for field in at.text_input] == [
        ("amount (number)", "45"),
        ("why (text)", "late <b>parcel</b>"),
    ]
    assert "ids (list, as JSON)" in [area.label for area in at.text_area]
    at.text_input(key="field-1-0").set_value("30.5")
    at = at.button(key="submit-1").click().run()
    assert "Check the changes" in words(at)
    assert "<del>45</del><ins>30.5</ins>" in words(at)
    assert answers() == []
    at.button(key="submit-1").click().run()
    edited = 'refund_order({"amount":30.5,"ids":[1,2],"why":"late <b>parcel</b>"})'
    assert [answer[:2] for answer in answers()] == [("edit", edited)]
    back = at.button(key="previous-0").click().run()
    assert "<del>45</del><ins>30.5</ins>" in words(back)
    again = back.button(key="undo-1").click().run()
    assert again.text_input(key="field-1-0").value == "30.5"
    assert again.text_input(key="field-1-2").value == "late <b>parcel</b>"
    assert "<del>45</del><ins>30.5</ins>" in words(again)


@sweep("amount", ["20", "2e1"], kept=1)
def test_an_edit_that_changes_no_value_is_shown_as_no_change_and_cannot_be_sent(desk, open_page, words, amount):
    at = desk({"name": "refund_order", "arguments": {"amount": 20.0}})
    at = at.button(key="edit-1").click().run()
    at = at.text_input(key="field-1-0").set_value(amount).run()
    assert "No change: the edit has the same values as the pending action." in words(at)
    at = at.button(key="submit-1").click().run()
    assert "has the same values as the pending action" in words(at)
    assert answers() == []
    again = open_page("review", run="desk")
    assert again.text_input(key="field-1-0").value == amount
    assert again.button(key="submit-1")


def test_an_edit_of_a_recorded_text_begins_without_an_error(open_page, kettles, words):
    at = open_page("review", run=kettles)
    item = next(one.key.removeprefix("edit-") for one in at.button if (one.key or "").startswith("edit-"))
    said = words(at.button(key=f"edit-{item}").click().run())
    assert "No change: the edit has the same values as the pending action." in said
    assert "Change a value or approve" not in said


@sweep(
    ("field", "text", "said"),
    [
        (0, "a lot", "amount: &#x27;a lot&#x27; is not a number"),
        (1, "[1,\n2", "ids: invalid JSON in line 2, column 2"),
    ],
    kept=1,
)
def test_a_field_that_cannot_be_read_says_where(desk, words, field, text, said):
    at = desk({"name": "refund_order", "arguments": {"amount": 45, "ids": [1, 2]}})
    at = at.button(key="edit-1").click().run()
    (at.text_input if field == 0 else at.text_area)(key=f"field-1-{field}").set_value(text)
    at = at.button(key="submit-1").click().run()
    assert said in words(at)
    assert answers() == []


@pytest.mark.at_length
def test_an_edit_is_drafted_on_the_server(desk, open_page):
    at = desk()
    at = at.button(key="edit-1").click().run()
    at.text_input(key="field-1-0").set_value("30").run()
    again = open_page("review", run="desk")
    assert again.text_input(key="field-1-0").value == "30"
    again.button(key="edit-1").click().run()
    assert drafted(again) == [("", "", "")]
    assert not open_page("review", run="desk").text_input


def test_reasons_are_stored_read_by_the_agent_and_refused_with_an_approval(desk, words):
    at = desk()
    at.button_group(key="reasons-1").set_value(["not-asked-for", "policy"]).run()
    at = at.button(key="approve-1").click().run()
    assert "Remove the reasons to approve" in words(at)
    at.text_area(key="words-1").set_value("Half of it is enough.").run()
    at.button(key="reject-1").click().run()
    with reading() as session:
        row = session.exec(select(tables.Decision)).one()
    assert (row.reason_codes, row.feedback_type) == ("not-asked-for policy", "nl")
    told = Gate("desk", "full-validation", undo_s=0).ask("Refund order 12.", [("look[12]", "paid 45")], REFUND)
    assert told.look().feedback == "Not asked for. Policy. Half of it is enough."


@sweep(("terms", "off", "said"), [
    ("decisions: [reject]", {"approve", "edit"}, "offers reject, not approve."),
    ("decisions: [approve, reject]", {"edit"}, "offers approve and reject, not edit."),
    ("who: [Bob, admin]", {"approve", "reject", "edit"}, "accepts decisions by Bob, admin, not by Ada."),
    ("who: [researcher]", set(), None),
], kept=2)  # fmt: skip
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
