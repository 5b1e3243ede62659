"""The report of a study opened as a file: its charts are drawn as the reader reaches them, and all of them on paper."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from console.database import reading
from console.studies import results
from console.studies.design.yaml_file import parse
from console.studies.report import ReportStamp, html
from console.studies.sessions import lifecycle, simulated
from tests.browser.test_study_desk import DESIGN

pytestmark = pytest.mark.at_length


@pytest.fixture
def path(tmp_path):
    """The report of a study with simulated reviewers alone."""
    # Playwright keeps an event loop in this thread, and the agents begin one of their own.
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(_written, tmp_path / "report.html").result()


def _written(path):
    lifecycle.create(parse(DESIGN, "the design"), 0)
    lifecycle.open_study("desk")
    simulated.simulate("desk")
    with reading() as session:
        study = lifecycle.get(session, "desk")
        design, frames = lifecycle.design_of(study), results.frames(session, study.id or 0)
    path.write_text(html(design, frames, ReportStamp(0, "state")), "utf-8")
    return path


def test_charts_are_drawn_when_they_are_reached_and_before_the_page_is_printed(chromium, path):
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(path.as_uri())
    charts, drawn = page.locator(".plot"), page.locator(".plot:has(.main-svg)")
    expect(charts.first.locator(".main-svg").first).to_be_attached(timeout=60_000)
    assert drawn.count() < charts.count()
    charts.last.scroll_into_view_if_needed()
    expect(charts.last.locator(".main-svg").first).to_be_attached(timeout=60_000)
    page.pdf()
    expect(drawn).to_have_count(charts.count(), timeout=60_000)
    page.close()
