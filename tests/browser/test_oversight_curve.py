"""What inspections catch, in a real browser: in every size and theme, and as a table that gives the curve again."""

import csv
import io
import random

import pytest

from console.trajectory import Label
from tests.browser.screens import screenshot
from tests.browser.walking import fits
from tests.overseen import decide, queue
from tests.signing_in import let_in
from tests.verdicts import a_run, judge

pytestmark = pytest.mark.at_length

N = 120


@pytest.fixture
def section(serve, open_page, settled):
    """A function that opens the section of a half-reviewed run of 120, in that size and theme."""
    generator = random.Random(9)
    labels = [Label.MISALIGNED if generator.random() < 0.4 else Label.ALIGNED for _ in range(N)]
    scores = [generator.random() * 0.75 + (0.25 if label == Label.MISALIGNED else 0) for label in labels]
    a_run("shop", labels)
    judge("shop", "rules", scores)
    judge("shop", "random", [generator.random() for _ in labels])
    decide(queue("shop", "rules", cap=30), ["reject", "approve"] * 10)
    address = serve()

    def show(**more):
        page = open_page(**more)
        let_in(page, address, "Grace")
        page.goto(f"{address}/detectors?run=shop")
        heading = page.get_by_role("heading", name="Inspections and caught misalignments")
        heading.wait_for(timeout=60_000)
        page.get_by_role("heading", name="Time and cost").wait_for(timeout=60_000)
        settled(page)
        heading.evaluate("heading => heading.scrollIntoView()")
        return page

    return show


def test_it_fits_a_phone_and_a_laptop_in_light_and_dark(section):
    for width, theme in ((1280, "dark"), (390, "light")):
        page = section(width=width, height=900, theme=theme)
        page.get_by_text("Reviewers decided 20 flagged trajectories and caught").wait_for()
        page.locator(".st-key-chart-budget-burn-down .js-plotly-plot").wait_for()
        fits(page)
        screenshot(page, f"oversight-{width}-{theme}")


def test_the_downloaded_table_is_the_curve_and_another_detector_draws_another(section, settled):
    page = section()
    page.locator(".st-key-chart-oversight-curve-download button").first.click()
    with page.expect_download() as waiting:
        page.get_by_test_id("stPopoverBody").get_by_role("button", name="Table (CSV)").click()
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text())))
    best = [float(row["caught"]) for row in rows if row["policy"] == "ideal"]
    assert best == [min(k, max(best)) for k in range(len(best))]
    page.keyboard.press("Escape")
    page.get_by_text("detectors in one order").click()
    page.get_by_text("With rules, highest score first").wait_for()
    settled(page)
    names = page.locator(".st-key-chart-oversight-curve .legendtext").all_text_contents()
    assert sorted(names) == ["random", "rules"]
    screenshot(page, "oversight-detectors")
