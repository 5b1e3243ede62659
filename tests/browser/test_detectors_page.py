"""The Detectors page in a real browser: seen in every size and theme, moved by its slider, downloaded from."""

import csv
import io
import random

import pytest

from console.analysis.metrics.classification import confusion, macro_f1
from console.trajectory import Label
from tests.browser.walking import fits
from tests.signing_in import cookie
from tests.verdicts import a_run, judge

pytestmark = pytest.mark.at_length

N = 300


@pytest.fixture(scope="module")
def served(furnished):
    """(address, key) of a console with a run of 300 judged by three detectors."""

    def fill():
        generator = random.Random(4)
        labels = [Label.MISALIGNED if generator.random() < 0.4 else Label.ALIGNED for _ in range(N)]
        shift = [0.25 if label == Label.MISALIGNED else 0.0 for label in labels]
        a_run("shop", labels, environment="webshop")
        judge("shop", "rules", [generator.random() * 0.75 + more for more in shift])
        judge("shop", "random", [generator.random() for _ in labels])
        likely = [generator.random() * 0.6 + more for more in shift]
        judge("shop", "token-prob", likely, probability=lambda score: score)

    return furnished(fill)


@pytest.fixture
def detectors_page(served, open_page, settled):
    """A function that opens the run's page in that size and theme."""
    address, token = served

    def show(**more):
        page = open_page(**more)
        page.context.add_cookies([cookie(address, token)])
        page.goto(f"{address}/detectors?run=shop")
        page.get_by_role("heading", name="Time and cost").wait_for()
        settled(page)
        return page

    return show


def test_the_page_fits_a_phone_and_a_laptop_in_light_and_dark(detectors_page):
    for width, theme in ((1280, "dark"), (390, "light")):
        page = detectors_page(width=width, height=900, theme=theme)
        page.get_by_role("table").get_by_text("rules").wait_for()
        page.locator(".js-plotly-plot").first.wait_for()
        fits(page)


def test_the_slider_moves_the_matrix_and_sends_no_other_figure(detectors_page, settled):
    page = detectors_page()
    sent = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: sent.append(len(data))))
    page.reload()
    page.get_by_role("heading", name="Time and cost").wait_for()
    page.locator(".js-plotly-plot").nth(7).wait_for()
    settled(page)
    before, whole = page.get_by_text("inspections;").inner_text(), sum(sent)
    sent.clear()
    slider = page.get_by_role("slider").first
    slider.focus()
    page.keyboard.press("PageUp")
    page.get_by_text("--threshold 0.6").wait_for()
    settled(page)
    assert page.get_by_text("inspections;").inner_text() != before
    assert sum(sent) < min(60_000, whole / 4)


def test_downloads_hold_the_page_s_figures_and_open_without_a_network(detectors_page, open_page):
    page = detectors_page()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="All scores (CSV)").click()
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text())))
    rules = [row for row in rows if row["detector"] == "rules"]
    assert len(rows) == 3 * N
    labels = [row["gold_label"] == "misaligned" for row in rules]
    again = macro_f1(confusion(labels, [float(row["score"]) > float(row["threshold"]) for row in rules]))
    assert page.get_by_role("row", name="rules").get_by_text(f"{again:.3f}", exact=False).first.is_visible()
    page.locator(".st-key-chart-pr-curve-download button").first.click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Chart (HTML)").click()
    alone = open_page()
    alone.set_content(waiting.value.path().read_text())
    alone.locator(".js-plotly-plot .main-svg").first.wait_for()
    assert alone.get_by_text("Precision and recall").is_visible()
