"""People go through a study by keyboard, each in a browser; nothing of one is ever on the other's page."""

import orjson
import pytest
from playwright.sync_api import expect
from sqlmodel import select

from console.database import reading, writing
from console.studies import results
from console.studies.results.participants import payments
from storage import tables
from tests.browser.screens import screenshot
from tests.browser.studying import (
    answer,
    come_in,
    is_over,
    item_id,
    link_of,
    opened_study,
    shown,
    take_a_step,
    title,
)
from tests.browser.walking import in_focus, ready, sign_in
from tests.fakes.recruiting import COMPLETED, recruiting

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


OWN = {
    "name": "own",
    "title": "About you",
    "scale": {"low": 1, "high": 5},
    "items": [{"key": "calm", "question": "I am calm."}, {"key": "reads", "question": "Choose 1.", "expected": "1"}],
    "score": {"of": "mean", "plus": 1},
}


def recruited(platform):
    """A study whose people come from Prolific, with all that can be asked of them."""
    return opened_study(
        conditions=CONDITIONS,
        tasks=1,
        practice=1,
        checks={"known_bad": 1},
        budget="2",
        participants={"human": 3},
        demographics=[{"key": "age", "question": "Age?", "choices": ["young", "old"], "required": True}],
        instruments=[OWN],
        questionnaires={"before": ["own"], "between": ["nasa-tlx"]},
        confidence=5,
        interaction_trace=True,
        consent={"text": "## What we keep\n\n- **decisions**\n- times", "version": "1.2", "withdrawal": "remove"},
        debriefing={"question": "What did you go by?", "text": "Some items had a **known** answer."},
        exclusions={"failed_attention": 0},
        recruiting={
            "platform": "prolific",
            "completion_url": platform.prolific_url(COMPLETED),
            "hosts": ["127.0.0.1"],
            "bonus": {"per_right": "0.05"},
        },
    )


@pytest.mark.at_length
def test_people_take_part_from_their_platform_and_back_to_it(serve, open_page, settled):
    with recruiting() as platform:
        study, address = recruited(platform), serve()
        link, pids = link_of(address, study), {"P01": "5f1aaaa", "P02": "5f2bbbb"}
        pages = {code: open_page() for code in pids}
        words = {code: f"words of {code}, nobody else's" for code in pages}
        for code, page in pages.items():
            come_in(page, settled, address, study, platform.from_prolific(link, pids[code]))
            assert pids[code] not in page.url
        refuse_a_second_place(open_page, platform.from_prolific(link, pids["P01"]))
        seen = walk_through(pages, settled, words)
        for code, page in pages.items():
            first = ["Before you take part", "A few questions", "About you", "How it works", "item"]
            assert seen[code][:5] == first
            assert {"Part 1 of 2", "Part 2 of 2", "Round 1 is done", "How sure are you?"} <= set(seen[code])
            assert seen[code].count("Your workload") == 2
            assert len(page.locator("[data-testid=stCode]").inner_text().strip()) == 8
            assert page.locator(".ia-formatted strong").inner_text() == "known"
            page.get_by_role("link", name="Return to Prolific").press("Enter")
            page.get_by_role("heading", name="Submission recorded").wait_for()
        assert (platform.prolific, platform.refused) == ([COMPLETED] * 2, [])
    answers = standing()
    assert {reviewer for _, reviewer, _, _ in answers} == set(pages)
    assert {text for _, reviewer, _, text in answers if reviewer == "P01"} <= {"", words["P01"]}
    with reading() as session:
        for budget in session.exec(select(tables.Budget)):
            assert budget.cap is None or budget.used <= budget.cap
        parts = session.exec(select(tables.Assignment)).all()
        assert sorted(part.status for part in parts) == ["done"] * 4 + ["waiting"] * 2
        frames = results.frames(session, study.id)
        paid = payments(session, study, pids.values()).set_index("outside_id")
    assert len(frames["page_times"]) == len(frames["page_times"]["confidence"].dropna()) > 2
    assert {"key", "away"} >= set(frames["trace"]["kind"]) - {"scrolled", "opened", "closed", "idle"} >= {"key"}
    left_out = frames["exclusions"].set_index("participant")["excluded"]
    assert left_out.to_dict() == {"P01": False, "P02": True}
    assert paid.loc[pids["P02"], ["state", "excluded_by"]].tolist() == ["finished", "failed_attention"]
    assert paid.loc[pids["P01"], "state"] == "finished"


def refuse_a_second_place(open_page, link):
    """The same id in another browser gets one clear sentence and no place."""
    page = open_page(link)
    in_focus(page).keyboard.press("Enter")
    page.get_by_text("You already have a place in this study. Continue in the browser that you used before.").wait_for()
    page.close()


def walk_through(pages, settled, words):
    """Takes everybody on in turns until they are done; P02 fails the check. Returns the stages of each."""
    seen, over = {code: [] for code in pages}, set()
    for _ in range(60):
        for code in pages.keys() - over:
            page = pages[code]
            stage = shown(page, settled)
            hide_a_canary()
            assert faults(page.content(), code, [words[other] for other in pages if other != code]) == []
            if stage not in seen[code]:
                screenshot(page, f"study-{code}-{len(seen[code]):02d}")
            points = 2 if code == "P02" else 1
            seen[code].append(take_a_step(page, settled, words[code], points=points))
            if is_over(stage):
                over.add(code)
        if len(over) == len(pages):
            break
    assert over == set(pages)
    return seen


def test_a_participant_goes_from_the_link_to_a_code(serve, open_page, settled):
    study = opened_study(tasks=1, trials=1, participants={"human": 1}, factors={"feedback": ["nl"]})
    page, seen = open_page(), []
    come_in(page, settled, serve(), study)
    while not seen or not is_over(seen[-1]):
        seen.append(take_a_step(page, settled, "Another one."))
    assert seen[0] == "Before you take part"
    assert "item" in seen
    assert len(page.locator("[data-testid=stCode]").inner_text().strip()) == 8
    assert {reviewer for _item, reviewer, _decision, _text in standing()} == {"P01"}


def look_away(page, ms):
    """The window loses the focus for so long."""
    page.evaluate("window.dispatchEvent(new Event('blur'))")
    page.wait_for_timeout(ms)
    page.evaluate("window.dispatchEvent(new Event('focus'))")


@pytest.mark.at_length
def test_closing_the_tab_loses_nothing(serve, open_page, settled):
    study = opened_study(tasks=6, trials=1, factors={"feedback": ["nl"]})
    address = serve()
    page = open_page()
    come_in(page, settled, address, study)
    while shown(page, settled) != "item":
        take_a_step(page, settled)
    look_away(page, 300)
    answer(page, settled, "the first one's words")
    held = item_id(page)
    page.get_by_role("textbox", name="Feedback to the agent").press_sequentially("half a sent")
    page.get_by_text("Draft saved").wait_for()
    before = standing()
    with reading() as session:
        (away,) = session.exec(select(tables.PageEvent)).all()
        (answered,) = session.exec(select(tables.Decision.item_id)).all()
    assert (away.kind, away.item_id) == ("away", answered)
    assert 300 <= away.lasted_ms < 10_000
    context = page.context
    page.close()
    again = open_page(f"{address}/participate", context=context)
    assert shown(again, settled) == "item"
    assert item_id(again) == held
    expect(again.get_by_role("textbox", name="Feedback to the agent")).to_have_value("half a sent")
    assert again.get_by_text("Item 2").is_visible()
    assert standing() == before
    again.get_by_role("button", name="Pause or withdraw").click()
    link = again.locator("[data-testid=stCode]").inner_text().strip()
    assert "me=" in link
    elsewhere = open_page(link)
    assert shown(elsewhere, settled) == "item"
    assert item_id(elsewhere) == held
    assert "me=" not in elsewhere.url
    expect(elsewhere.get_by_role("textbox", name="Feedback to the agent")).to_have_value("half a sent")


@pytest.mark.at_length
def test_turning_elsewhere_does_not_cut_the_agents_off(serve, open_page, settled):
    study = opened_study(tasks=12, trials=1)
    page = open_page()
    come_in(page, settled, serve(), study)
    while shown(page, settled) != "Start of the study":
        take_a_step(page, settled)
    ready(page)
    page.keyboard.press("Enter")
    page.locator("[data-testid=stProgress]").wait_for()
    page.get_by_role("button", name="Pause or withdraw").click()
    page.get_by_text("Take a break").wait_for()
    settled(page)
    ready(page)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="The user asked").wait_for()
    assert page.locator("[data-testid=stException]").count() == 0


@pytest.mark.at_length
def test_a_participant_has_no_other_page_and_may_withdraw_for_good(serve, open_page, settled):
    study = opened_study(
        tasks=3,
        trials=1,
        consent={"text": "## What we keep\n\n- **decisions**\n- times", "version": "1.2", "withdrawal": "remove"},
    )
    address = serve()
    page = open_page()
    come_in(page, settled, address, study)
    while shown(page, settled) != "item":
        take_a_step(page, settled)
    answer(page, settled, "to be forgotten")
    consent = open_page(f"{address}/my-consent", context=page.context)
    assert consent.locator("h2").inner_text() == "What we keep"
    assert "1.2 (" in consent.locator("dl").inner_text()
    assert "UTC" in consent.locator("dl").inner_text()
    screenshot(consent, "study-consent-copy")
    context = page.context
    for path in ("inbox", "review", "runs", "trajectories", "detectors", "studies", "export"):
        other = open_page(f"{address}/{path}", context=context)
        other.get_by_text("This page is not part of the study").wait_for()
        assert other.locator(".ia-sheet, [data-testid=stDataFrame], [data-testid=stDownloadButton]").count() == 0
        other.close()
    page.get_by_role("button", name="Pause or withdraw").click()
    page.get_by_text("Take a break").wait_for()
    settled(page)
    ready(page)
    page.get_by_role("button", name="Withdraw from study").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Confirm withdrawal").click()
    page.get_by_text("You have withdrawn").wait_for()
    settled(page)
    assert standing() == []
    with reading() as session:
        left = session.exec(select(tables.Participant).order_by(tables.Participant.code)).all()
    assert [(place.code, place.stage, place.secret) for place in left] == [("P02", "free", None), ("P03", "free", None)]
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
    page.get_by_text("Grace · Sign out").wait_for()


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
        in_focus(page).keyboard.press("Enter")
        page.get_by_text("Before you take part").wait_for()
        assert "inferact" not in page.evaluate("document.cookie")
    with reading() as session:
        people = session.exec(select(tables.Participant)).all()
    assert sorted(person.stage for person in people) == ["consent", "free"]
