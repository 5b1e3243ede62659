"""The desk by keyboard: reasons, words, an edit by argument, a newcomer's way in, a hundred items."""

import csv
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlmodel import select

from console.actors import Actor, Move
from console.cli import run_command
from console.database import reading
from console.detection import batch
from console.gate import Gate
from console.runs import ingest
from console.trials import engine, start
from console.trials.start import ActorAndEnvironments
from storage.tables import Decision
from tests.browser.walking import in_focus, press_until_next, ready, shown_item, standing_answers, until
from tests.console.trials.worlds import office
from tests.logs import purchase, stuck, write_log
from tests.signing_in import invitation, let_in

WORDS = "Feedback"
FOCUS = "document.activeElement.closest('[data-item]')?.dataset.item"


def letters(count, **fields):
    """A run of so many letters that wait to be sent; played apart, since playwright holds this thread's event loop."""

    async def act(view):
        return Move("I send it.", "send 1", {"remedies": ["send 2", "send 3"]})

    cast = ActorAndEnvironments(Actor("stub", "Stub", act, act), {"office": office()})
    start.start_run(
        "letters", {"office": count}, actor_and_environments=cast, detector_name="full-validation", **fields
    )
    with ThreadPoolExecutor(1) as pool:
        pool.submit(engine.resume, "letters", actor_and_environments=cast).result()


def reasons():
    with reading() as session:
        return [row.reason_codes for row in session.exec(select(Decision).order_by(Decision.id))]


@pytest.mark.at_length
def test_a_reason_and_the_rejection_are_two_keys_and_the_focus_is_on_the_next_item(desk, settled):
    desk.keyboard.press("2")
    desk.get_by_text("Draft saved").wait_for()
    desk.reload()
    ready(desk, shown_item(desk))
    settled(desk)
    press_until_next(desk, settled, "x")
    until(desk, f"(id) => {FOCUS} === id", str(shown_item(desk)))
    desk.locator(".said", has_text="Next item. i want a").wait_for(state="attached")
    ready(desk, shown_item(desk))
    desk.keyboard.press("1")
    desk.keyboard.press("4")
    press_until_next(desk, settled, "x")
    assert reasons() == ["wrong-option", "wrong-item over-the-price-limit"]


@pytest.mark.at_length
def test_ctrl_enter_rejects_with_words_alone_and_says_so_on_its_button(desk, settled):
    first = shown_item(desk)
    says = f"getComputedStyle(document.querySelector('.st-key-reject-{first} code'), '::after').content"
    desk.keyboard.press("Control+Enter")
    settled(desk, quiet_ms=300)
    assert shown_item(desk) == first
    assert "Ctrl+Enter" not in desk.evaluate(says)
    desk.keyboard.press("w")
    desk.keyboard.type("Looks dear to me")
    until(desk, f"() => {says}.includes('Ctrl+Enter')")
    assert not desk.get_by_text("to apply").is_visible()
    press_until_next(desk, settled, "Control+Enter")
    assert standing_answers() == [(first, "reject", "Looks dear to me", False)]
    until(desk, "() => !document.body.dataset.iaWords")


@pytest.mark.at_length
def test_one_escape_closes_the_menu_and_the_keys_act_again(desk, settled):
    first = shown_item(desk)
    desk.get_by_role("button", name="More").click()
    desk.get_by_role("button", name="Escalate").wait_for()
    desk.keyboard.press("Escape")
    desk.get_by_role("button", name="Escalate").wait_for(state="detached", timeout=3_000)
    ready(desk, first)
    press_until_next(desk, settled, "s")


@pytest.mark.at_length
def test_an_edit_is_typed_compared_and_sent_by_keyboard(data_dir, serve, open_page, settled):
    call = {"name": "refund_order", "arguments": {"amount": 45, "order": 12}}
    Gate("desk", "full-validation", undo_s=0).ask("Refund half of order 12.", [], call)
    page, address = open_page(), serve()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/review?run=desk")
    item = shown_item(page)
    settled(page)
    ready(page, item)
    page.keyboard.press("e")
    until(page, f"() => document.activeElement.closest('.st-key-field-{item}-0') !== null")
    send = page.locator(f".st-key-submit-{item} button")
    until(page, f"() => document.querySelector('.st-key-submit-{item} button').ariaDisabled === 'true'")
    page.get_by_text("The edit has no change yet").wait_for()
    page.keyboard.press("Control+Enter")
    send.click(force=True)
    assert standing_answers() == []
    # The edit stands in the page below the action, so the bar covers neither.
    form, action = page.locator(".st-key-edit-form").bounding_box(), page.locator(".ia-about").bounding_box()
    assert form["y"] >= action["y"] + action["height"]
    page.locator(f".st-key-field-{item}-0 input").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("22.5")
    until(page, f"() => document.querySelector('.st-key-submit-{item} button').ariaDisabled !== 'true'")
    page.get_by_text("Draft saved").wait_for()
    page.reload()
    until(page, f"() => document.querySelector('.st-key-field-{item}-0 input')?.value === '22.5'")
    page.locator(".ia-change ins").wait_for()
    assert page.locator(".ia-change").inner_text().split() == ["amount", "4522.5"]
    settled(page)
    ready(page, item)
    keys = "[...document.querySelectorAll('.st-key-decision-bar button code')]"
    same = "getComputedStyle(key).color === getComputedStyle(key.closest('button')).color"
    assert page.evaluate(f"{keys}.length && {keys}.every(key => {same})")
    page.keyboard.press("Control+Enter")
    page.get_by_text("The agent can take your action instead").wait_for()
    with reading() as session:
        assert session.exec(select(Decision.edited_action)).all() == ['refund_order({"amount":22.5,"order":12})']


# Both keys in one moment of the page, so that no answer of the server can come between them.
_SEND_AND_SKIP = """item => {
    const pressed = [], note = name => document.querySelector(`.st-key-${name}-${item} button`)
        .addEventListener("click", () => pressed.push(name), {once: true})
    ;["submit", "skip"].forEach(note)
    const key = (of, more) => document.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", {bubbles: true, composed: true, cancelable: true, ...of, ...more}))
    key({key: "Enter", code: "Enter"}, {ctrlKey: true})
    key({key: "s", code: "KeyS"})
    return pressed
}"""


@pytest.mark.at_length
def test_a_refused_edit_returns_to_its_field_and_no_key_acts_meanwhile(data_dir, serve, open_page, settled):
    call = {"name": "refund_order", "arguments": {"amount": 45, "order": 12}}
    Gate("desk", "full-validation", undo_s=0).ask("Refund half of order 12.", [], call)
    page, address = open_page(), serve()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/review?run=desk")
    item = shown_item(page)
    settled(page)
    ready(page, item)
    page.keyboard.press("e")
    in_field = f"() => document.activeElement.closest('.st-key-field-{item}-0') !== null"
    until(page, in_field)
    page.keyboard.press("Control+a")
    page.keyboard.type("abc")
    until(page, f"() => document.querySelector('.st-key-submit-{item} button').ariaDisabled !== 'true'")
    assert page.evaluate(_SEND_AND_SKIP, item) == ["submit"]
    page.locator(".ia-problem").first.wait_for()
    until(page, in_field)
    page.keyboard.press("s")
    settled(page, quiet_ms=300)
    assert shown_item(page) == item
    assert standing_answers() == []


@pytest.mark.at_length
def test_a_digit_after_e_sends_a_remedy_and_f_goes_to_the_field(data_dir, serve, open_page, settled):
    letters(2)
    page, address = open_page(), serve()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/review?run=letters")
    first = _edit(page, settled)
    assert page.evaluate("document.activeElement.matches('textarea, input')") is False
    page.keyboard.press("2")
    page.wait_for_selector(f".st-key-skip-{first}", state="detached")
    with reading() as session:
        assert session.exec(select(Decision.edited_action)).all() == ["send 3"]
    second = _edit(page, settled)
    page.keyboard.press("f")
    until(
        page,
        f"() => document.activeElement.closest('[class*=st-key-instead-{second}], [class*=st-key-field-{second}]')",
    )
    assert page.evaluate("document.activeElement.value") == "send 1"


def _edit(page, settled):
    """Opens the edit of the shown item by key, with the alternatives that the agent proposed."""
    item = shown_item(page)
    settled(page)
    ready(page, item)
    page.keyboard.press("e")
    page.locator(".st-key-remedies button").first.wait_for()
    settled(page, quiet_ms=300)
    return item


def test_from_the_link_to_the_first_decision_it_takes_three_keys(filled, serve, open_page, settled):
    filled(budget="9")
    page, address = open_page(), serve()
    page.goto(f"{address}/invite/{invitation()}")
    in_focus(page).keyboard.type("Nele")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="One worked example, then your first item").wait_for()
    ready(page, "welcome")
    page.keyboard.press("Enter")
    item = shown_item(page)
    press_until_next(page, settled, "a")
    assert standing_answers() == [(item, "approve", "", False)]


@pytest.mark.at_length
def test_a_hundred_mixed_items_are_cleared_in_five_minutes_without_a_mistake(
    tmp_path, data_dir, serve, open_page, settled
):
    runs = [f"mixed-{number}" for number in range(4)]
    for number, run in enumerate(runs):
        mixed = [stuck(n) if n % 5 == 4 else purchase(n, wrong=n % 2 == 0) for n in range(number, 100, len(runs))]
        ingest.import_file(write_log(tmp_path / f"{run}.jsonl", *mixed), run, "auto", lambda _: None)
        batch.detect(run, ["full-validation"])
    page, address = open_page(), serve()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/review")
    shown_item(page)
    began, done = time.monotonic(), []
    while len(done) < 100:
        done.append(_answer(page, is_first=not done))
    took = time.monotonic() - began
    print(f"100 mixed items of four runs in {took:.0f} s")
    assert took < 300
    rows = []
    for run in runs:
        out = tmp_path / f"{run}.csv"
        assert run_command(["export", "decisions", "--run", run, "--out", str(out)]) == 0
        with out.open(newline="") as file:
            of_run = list(csv.DictReader(file))
        assert len(of_run) == 25
        rows += of_run
    stored = [(int(row["item_id"]), row["decision"], row["feedback_text"], row["reason_codes"]) for row in rows]
    assert sorted(stored) == sorted(done)
    wrong = [row for row in rows if row["label"] and row["label"] != row["gold_label"]]
    assert wrong == []


def _answer(page, *, is_first):
    """Answers the item as a person would who reads it, by keyboard; returns what the CSV is to hold."""
    item = shown_item(page)
    page.locator(f"[data-item='{item}'] .ia-steps").wait_for()
    if not is_first:
        until(page, f"(id) => {FOCUS} === id", str(item))
    text = page.locator(f"[data-item='{item}']").inner_text()
    ready(page, item)
    wanted = re.search(r"i want an? (\w+) kettle", text)
    if "the agent halted" in text.lower():
        page.keyboard.press("w")
        until(page, "() => document.activeElement.matches('textarea')")
        page.keyboard.type("Search for the kettle by name.")
        keys, given = ["Control+Enter"], ("respond", "Search for the kettle by name.", "")
    elif wanted and f"click[{wanted[1]}]" not in text:
        keys, given = ["2", "4", "x"], ("reject", "", "wrong-option over-the-price-limit")
    else:
        keys, given = ["a"], ("approve", "", "")
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_selector(f".st-key-skip-{item}", state="detached")
    return item, *given


@pytest.mark.at_length
def test_on_a_phone_a_remedy_is_read_on_its_button(data_dir, serve, open_page, settled):
    letters(1)
    page, address = open_page(width=390, height=844), serve()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/review?run=letters")
    shown_item(page)
    settled(page)
    page.get_by_role("button", name="Edit").click()
    settled(page)
    page.locator(".st-key-remedies button").first.wait_for()
    assert [text.strip() for text in page.locator(".st-key-remedies button").all_inner_texts()] == ["send 2", "send 3"]


@pytest.mark.at_length
def test_without_words_to_send_ctrl_enter_decides_nothing(data_dir, serve, open_page, settled):
    letters(2, feedback_mode="binary")
    page, address = open_page(), serve()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/review?run=letters")
    first = shown_item(page)
    settled(page)
    ready(page, first)
    page.keyboard.press("Control+Enter")
    settled(page, quiet_ms=500)
    assert (shown_item(page), reasons()) == (first, [])
    press_until_next(page, settled, "x")
    assert reasons() == [""]
