"""Two people go through a study by keyboard, in two browsers; nothing of one is ever on the other's page."""

import json

import orjson
import pytest
from sqlmodel import select

from console.database import reading, writing
from storage import tables
from tests.browser.screens import screenshot
from tests.browser.studying import (
    answer,
    come_in,
    is_over,
    item_id,
    opened_study,
    shown,
    take_a_step,
    title,
)
from tests.browser.walking import sign_in

CONDITIONS = [
    {"name": "arm-zebra", "levels": {"feedback": "nl", "score": "shown"}},
    {"name": "arm-heron", "levels": {"feedback": "binary", "score": "hidden"}},
]
CANARY = "gold-canary-4711"


def hide_a_canary():
    """Puts a word that nobody may see beside the gold of every task."""
    with writing() as session:
        for task in session.exec(select(tables.Task)):
            task.gold = orjson.dumps({**orjson.loads(task.gold), "note": CANARY}).decode()


def faults(html, own, others):
    """What stands in a page that must not."""
    secret = [CANARY, "arm-zebra", "arm-heron", f"pilot {own}", "known-good", "known-bad", "Your score", "misaligned"]
    return [word for word in (*secret, *others) if word in html.split("decision-bar")[0]]


def standing():
    with reading() as session:
        rows = session.exec(select(tables.Decision).where(tables.Decision.superseded.is_(False))).all()
        return [(row.item_id, row.reviewer, row.decision, row.feedback_text) for row in rows]


def test_two_people_take_part_from_the_link_to_the_code(serve, open_page, settled):
    study = opened_study(
        conditions=CONDITIONS,
        tasks=2,
        practice=1,
        checks={"known_bad": 1},
        budget="2",
        demographics=[{"key": "age", "question": "Age?", "choices": ["young", "old"], "required": True}],
    )
    address = serve()
    pages = {code: open_page() for code in ("P01", "P02")}
    words = {code: f"words of {code}, nobody else's" for code in pages}
    for page in pages.values():
        come_in(page, settled, address, study)
    seen, over = {code: [] for code in pages}, set()
    for _ in range(60):
        for code in pages.keys() - over:
            page = pages[code]
            stage = shown(page, settled)
            hide_a_canary()
            assert faults(page.content(), code, [words[other] for other in pages if other != code]) == []
            if stage not in seen[code]:
                screenshot(page, f"study-{code}-{len(seen[code]):02d}")
            seen[code].append(take_a_step(page, settled, words[code]))
            if is_over(stage):
                over.add(code)
        if len(over) == len(pages):
            break
    assert over == set(pages)
    for code, page in pages.items():
        assert seen[code][:4] == ["Before you take part", "A few questions", "How it works", "item"]
        assert {"Part 1 of 2", "Part 2 of 2", "Round 1 is done"} <= set(seen[code])
        assert len(page.locator("[data-testid=stCode]").inner_text().strip()) == 8
    answers = standing()
    assert {reviewer for _, reviewer, _, _ in answers} == set(pages)
    assert {text for _, reviewer, _, text in answers if reviewer == "P01"} <= {"", words["P01"]}
    with reading() as session:
        for budget in session.exec(select(tables.Budget)):
            assert budget.cap is None or budget.used <= budget.cap
        parts = session.exec(select(tables.Assignment)).all()
        assert [part.status for part in parts] == ["done"] * 4
        tasks = [json.loads(part.tasks) for part in parts]
    assert sorted(map(len, tasks)) == [2, 2, 2, 2]


def test_closing_the_tab_loses_nothing(serve, open_page, settled):
    study = opened_study(tasks=6, trials=1, factors={"feedback": ["nl"]})
    address = serve()
    page = open_page()
    come_in(page, settled, address, study)
    while shown(page, settled) != "item":
        take_a_step(page, settled)
    answer(page, settled, "the first one's words")
    held = item_id(page)
    page.get_by_role("textbox", name="Words to the agent").press_sequentially("half a sent")
    page.get_by_text("Draft saved").wait_for()
    before = standing()
    context = page.context
    page.close()
    again = open_page(f"{address}/participate", context=context)
    assert shown(again, settled) == "item"
    assert item_id(again) == held
    assert again.get_by_role("textbox", name="Words to the agent").input_value() == "half a sent"
    assert again.get_by_text("Item 2").is_visible()
    assert standing() == before
    again.get_by_role("button", name="Leave or withdraw").click()
    link = again.locator("[data-testid=stCode]").inner_text().strip()
    assert "me=" in link
    elsewhere = open_page(link)
    assert shown(elsewhere, settled) == "item"
    assert item_id(elsewhere) == held
    assert "me=" not in elsewhere.url
    assert elsewhere.get_by_role("textbox", name="Words to the agent").input_value() == "half a sent"


@pytest.mark.at_length
def test_turning_elsewhere_does_not_cut_the_agents_off(serve, open_page, settled):
    study = opened_study(tasks=12, trials=1)
    page = open_page()
    come_in(page, settled, serve(), study)
    while shown(page, settled) != "Now it begins":
        take_a_step(page, settled)
    page.wait_for_timeout(450)
    page.keyboard.press("Enter")
    page.locator("[data-testid=stProgress]").wait_for()
    page.get_by_role("button", name="Leave or withdraw").click()
    page.get_by_text("Leave for a while").wait_for()
    settled(page)
    page.wait_for_timeout(450)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="The user asked").wait_for()
    assert page.locator("[data-testid=stException]").count() == 0


def test_a_participant_has_no_other_page_and_may_withdraw_for_good(serve, open_page, settled):
    study = opened_study(tasks=3, trials=1)
    address = serve()
    page = open_page()
    come_in(page, settled, address, study)
    while shown(page, settled) != "item":
        take_a_step(page, settled)
    answer(page, settled, "to be forgotten")
    context = page.context
    for path in ("inbox", "review", "runs", "trajectories", "detectors", "studies", "export"):
        other = open_page(f"{address}/{path}", context=context)
        other.get_by_text("This page is not part of the study").wait_for()
        assert other.locator(".ia-sheet, [data-testid=stDataFrame], [data-testid=stDownloadButton]").count() == 0
        other.close()
    page.get_by_role("button", name="Leave or withdraw").click()
    page.get_by_text("Leave for a while").wait_for()
    settled(page)
    page.wait_for_timeout(450)
    page.get_by_role("button", name="Withdraw from the study").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Withdraw for good").click()
    page.get_by_text("You have withdrawn").wait_for()
    settled(page)
    assert standing() == []
    again = open_page(f"{address}/participate", context=context)
    again.get_by_role("heading", name="Take part in a study").wait_for()


@pytest.mark.at_length
def test_the_link_of_the_study_is_no_sign_in_and_takes_no_researchers_away(serve, open_page, settled):
    study = opened_study(tasks=3, trials=1)
    address = serve()
    page = open_page()
    sign_in(page, settled, address, name="Grace", role="researcher")
    own = open_page(f"{address}/participate?join={study.join_code}", context=page.context)
    come_in(own, settled, address, study)
    assert title(own) == "Before you take part"
    assert own.get_by_role("link", name="Runs").count() == 0
    page.goto(f"{address}/runs")
    page.get_by_role("heading", name="Runs").first.wait_for()
    page.get_by_text("Grace · sign out").wait_for()


@pytest.mark.at_length
def test_two_invitations_in_one_browser_are_one_place(serve, open_page, settled):
    study = opened_study(tasks=3, trials=1)
    address = serve()
    one = open_page(f"{address}/participate?join={study.join_code}")
    other = open_page(f"{address}/participate?join={study.join_code}", context=one.context)
    for page in (one, other):
        page.get_by_role("heading", name="You are invited to a study").wait_for()
    for page in (one, other):
        page.bring_to_front()
        page.keyboard.press("Enter")
        page.get_by_text("Before you take part").wait_for()
        assert "inferact" not in page.evaluate("document.cookie")
    with reading() as session:
        people = session.exec(select(tables.Participant)).all()
    assert sorted(person.stage for person in people) == ["consent", "free"]
