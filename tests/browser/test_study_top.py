"""Every stage of a participant opens at its top, also after a long page that was scrolled down."""

import re

import pytest

from console.studies.sessions import lifecycle
from tests.browser.screens import screenshot
from tests.browser.studying import come_in, is_over, link_of, opened_study, shown, take_a_step, title
from tests.browser.walking import fits, in_focus, until
from tests.fakes.recruiting import COMPLETED, RETURNED, SCREENED_OUT, recruiting

WIDTHS = pytest.mark.parametrize("width", [390, 1280])
DEMOGRAPHICS = [{"key": f"q{number}", "question": f"Question {number}?", "kind": "text"} for number in range(9)]
_DEPTH = "document.querySelector('[data-testid=stMain]').scrollTop + window.scrollY"
_DOWN = "document.querySelector('[data-testid=stMain]').scrollTo(0, 100000)"
LONG = "Read what the customer asked for before you decide. " * 40
QUIZ = {
    "tries": 2,
    "questions": [
        {
            "key": "rejects",
            "question": "What happens to a rejected action?",
            "choices": ["It runs.", "It does not run."],
            "right": "It does not run.",
        }
    ],
}
AGE = {"key": "age", "question": "How old are you?", "choices": ["18 or older", "younger"], "required": True}


@pytest.mark.at_length
@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.at_length)])
def test_how_it_works_opens_at_its_top_after_a_long_page(serve, open_page, settled, width):
    study = opened_study(tasks=1, trials=1, demographics=DEMOGRAPHICS, instructions=LONG)
    page = open_page(width=width, height=600)
    come_in(page, settled, serve(), study)
    take_a_step(page, settled)
    assert title(page) == "A few questions"
    # The page is long enough to be scrolled once all of its questions are drawn.
    until(page, f"() => {{ {_DOWN}; return {_DEPTH} > 0 }}")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="How it works").wait_for()
    assert_top(page, settled, f"study-top-{width}")


def assert_top(page, settled, name):
    """The stage that the page shows stands at its top and fits the window."""
    settled(page)
    page.wait_for_timeout(500)
    assert page.evaluate(_DEPTH) == 0, name
    fits(page)
    screenshot(page, name)


def recruited(platform, **more):
    """A study with every kind of stage, whose people come from Prolific."""
    fields = {
        "factors": {"score": ["shown", "hidden"]},
        "tasks": 2,
        "practice": 1,
        "instructions": LONG,
        "demographics": [AGE | {"screens_out": ["younger"]}],
        "quiz": QUIZ,
        "questionnaires": {"before": ["trust"], "between": ["nasa-tlx"]},
        "confidence": 5,
        "break_minutes": 1,
        "consent": {"text": f"## What we keep\n\n- **decisions**\n- times\n\n{LONG}", "withdrawal": "remove"},
        "debriefing": {"question": "What did you go by?", "text": LONG},
        "recruiting": {
            "platform": "prolific",
            "completion_url": platform.prolific_url(COMPLETED),
            "screen_out_url": platform.prolific_url(SCREENED_OUT),
            "screen_out_code": SCREENED_OUT,
            "return_url": platform.prolific_url(RETURNED),
            "hosts": ["127.0.0.1"],
        },
    }  # fmt: skip
    return opened_study(**(fields | more))


def step(page, settled):
    """One step from the bottom of the page; returns what the stage was."""
    page.evaluate(_DOWN)
    if title(page) != "A short quiz":
        return take_a_step(page, settled, "Look again.")
    page.get_by_text("It does not run.").click()
    page.evaluate(_DOWN)
    page.get_by_role("button", name="Continue").click()
    page.get_by_text("A short quiz").wait_for(state="detached")
    return "A short quiz"


@pytest.mark.at_length
@WIDTHS
def test_every_stage_to_the_end_opens_at_its_top(serve, open_page, settled, width):
    with recruiting() as platform:
        address, study = serve(), recruited(platform)
        page = open_page(platform.from_prolific(link_of(address, study), "5f1a"), width=width, height=600)
        page.get_by_role("heading", name="You are invited to a study").wait_for()
        screenshot(page, f"way-{width}-00-landing")
        fits(page)
        in_focus(page).keyboard.press("Enter")
        seen = []
        while not seen or not is_over(seen[-1]):
            stage = shown(page, settled)
            assert_top(page, settled, f"way-{width}-{len(seen) + 1:02d}-{re.sub('[^a-z0-9]+', '-', stage.lower())}")
            seen.append(step(page, settled))
    assert {"Before you take part", "A few questions", "How it works", "A short quiz", "Time for a break"} <= set(seen)


ENDS = {
    "screened out": ({"demographics": [AGE | {"screens_out": ["18 or older"]}]}, "You cannot take part"),
    "quota full": ({"demographics": [AGE | {"quotas": {"18 or older": 0}}]}, "You cannot take part"),
    "quiz failed": ({"quiz": QUIZ | {"tries": 1}}, "You cannot take part"),
    "declined": ({}, "You are not taking part"),
    "left": ({}, "Take a break"),
    "withdrawn": ({}, "You have withdrawn"),
    "paused": ({}, "The study is paused"),
    "closed": ({}, "The study is over"),
}


@pytest.mark.at_length
@WIDTHS
@pytest.mark.parametrize("end", ENDS)
def test_every_other_end_opens_at_its_top(serve, open_page, settled, width, end):
    more, last = ENDS[end]
    with recruiting() as platform:
        address, study = serve(), recruited(platform, **more)
        page = open_page(width=width, height=600)
        come_in(page, settled, address, study, platform.from_prolific(link_of(address, study), "5f1a"))
        leave(page, settled, end)
        page.get_by_role("heading", name=last).wait_for()
        assert_top(page, settled, f"end-{width}-{end.replace(' ', '-')}")
        if end in ("left", "paused", "closed"):
            return
        page.get_by_role("link", name="Return to Prolific").click()
        page.get_by_role("heading", name="Submission recorded").wait_for()
        assert platform.prolific == [SCREENED_OUT if last == "You cannot take part" else RETURNED]


def leave(page, settled, end):
    """Go on from the consent page until nothing more follows."""
    page.evaluate(_DOWN)
    if end in ("paused", "closed"):
        {"paused": lifecycle.pause, "closed": lifecycle.close}[end]("pilot")
        page.get_by_role("button", name="I agree").click()
    elif end == "declined":
        page.get_by_role("button", name="I do not agree").click()
    elif end in ("left", "withdrawn"):
        page.get_by_role("button", name="Pause or withdraw").click()
        if end == "withdrawn":
            page.evaluate(_DOWN)
            page.get_by_role("button", name="Withdraw from study").click()
            page.get_by_role("button", name="Confirm withdrawal").click()
    else:
        while title(page) not in ("You cannot take part", "A short quiz"):
            step(page, settled)
        if title(page) == "A short quiz":
            page.get_by_text("It runs.").click()
            page.get_by_role("button", name="Continue").click()
