"""The researcher's desk of studies in a real browser: from a design to settled labels, by mouse and by keys."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor

import pytest

from console.database import now_ms, reading
from console.studies.design.yaml_file import parse
from console.studies.results import adjudication
from console.studies.sessions import joining, lifecycle, simulated
from tests.browser.screens import screenshot
from tests.browser.walking import fits, ready
from tests.signing_in import let_in

# One simulated reviewer is always right, the other always wrong: they disagree on whatever both have seen.
DESIGN = """
name: desk
source: {actor: scripted, environment: webshop}
tasks: 2
trials: 1
seed: 2
factors: {score: [shown, hidden]}
participants:
  human: 1
  oracle: 1
  noisy: [{count: 1, false_accept: 1, false_reject: 1, seconds_per_item: 5}]
consent: {text: "Do you agree?"}
undo_seconds: 0
"""


@pytest.fixture
def desk(serve, open_page, settled):
    """A function that opens the Studies page as a researcher, in that size and theme."""
    address = serve()

    def show(query="", **more):
        page = open_page(**more)
        let_in(page, address, "Grace")
        page.goto(f"{address}/studies?{query}")
        page.locator("h1").wait_for()
        settled(page)
        return page

    return show


@pytest.mark.at_length
def test_from_a_design_to_settled_labels(desk, settled):
    page = desk()
    page.get_by_role("tab", name="YAML").click()
    field = page.get_by_label("or paste the YAML")
    field.fill(DESIGN)
    field.press("Control+Enter")
    settled(page)
    page.get_by_role("button", name="Load design").click()
    page.get_by_text("Loaded desk into the form.").wait_for()
    page.get_by_role("tab", name="Form").click()
    page.get_by_text("2 conditions, 3 participants").wait_for()
    settled(page)
    assert page.get_by_label("Name", exact=True).input_value() == "desk"
    page.get_by_role("button", name="Create study").click()
    page.get_by_text("Draft: people cannot join yet.").wait_for()
    page.get_by_role("button", name="Open study").click()
    page.get_by_text("Open: people can work, and join while a place is free.").wait_for()
    settled(page)
    page.get_by_role("button", name="Simulate").click()
    page.get_by_role("button", name="Run simulated participants").click()
    page.get_by_text("participants 2, conditions 4, decisions").wait_for(timeout=60_000)
    screenshot(page, "study-board")
    _results(page, settled)
    _settled_by_key(page, settled)


def _results(page, settled):
    choose(page, "Results")
    page.get_by_text("Inconclusive:").or_(page.get_by_text("Inconclusive.")).first.wait_for(timeout=60_000)
    choose(page, "Success")
    page.get_by_text("mean ± SD over 2").first.wait_for(timeout=60_000)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    page.get_by_role("region", name="Success").get_by_text("shown").first.wait_for()
    with page.expect_download() as waiting:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name="Table (CSV)").first.click()
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text())))
    assert {row["condition"] for row in rows} == {"shown", "hidden"}
    screenshot(page, "study-results")


def _settled_by_key(page, settled):
    choose(page, "Disagreements")
    page.get_by_text("The user asked").first.wait_for()
    settled(page)
    ready(page)
    page.keyboard.press("x")
    page.get_by_text("resolved as misaligned. Reviewers' labels: 1 aligned, 1 misaligned.").wait_for()
    with reading() as session:
        study = lifecycle.get(session, "desk")
        assert list(adjudication.settled_labels(session, adjudication.Of(study_id=study.id)).values()) == ["misaligned"]


def choose(page, section):
    """Opens a section by the keyboard alone."""
    page.get_by_role("radio", name=section).focus()
    page.keyboard.press("Enter")


@pytest.mark.at_length
def test_the_board_shows_who_comes_by_itself_and_every_section_fits(desk, settled):
    # Playwright keeps an event loop in this thread, and the agents begin one of their own.
    with ThreadPoolExecutor(1) as other:
        study = other.submit(lifecycle.create, parse(DESIGN, "The design"), now_ms()).result()
        lifecycle.open_study("desk")
        other.submit(simulated.simulate, "desk").result()
    page = desk("study=desk&section=board")
    page.get_by_text("0 of 1 person joined").wait_for()
    joining.join(study.join_code)
    page.get_by_text("1 of 1 person joined").wait_for()
    assert page.get_by_role("row", name="P01").get_by_text("reading the consent").is_visible()
    phone = desk("study=desk&section=board", width=390, height=844, theme="dark")
    for section in ("Design", "Results", "Disagreements", "Report", "Board"):
        phone.get_by_role("radio", name=section).click()
        phone.wait_for_timeout(300)
        settled(phone)
        fits(phone)
        assert not phone.get_by_test_id("stException").count()
        screenshot(phone, f"study-{section.lower()}-phone")
