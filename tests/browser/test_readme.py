"""What the README's pictures show: an invented item, read from top to bottom, and the results of a dry run."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from console import runs
from console.database import now_ms
from console.detection import batch
from console.runs import ingest
from console.studies.design.yaml_file import change_design, example, parse
from console.studies.sessions import lifecycle, simulated
from console.trajectory import Outcome, Step, Trajectory
from tests.browser.screens import screenshot
from tests.browser.walking import press_until_next
from tests.logs import purchase, write_log
from tests.signing_in import let_in

pytestmark = pytest.mark.at_length

RESULTS = (
    "[Back to Search]\nPage 1 (Total results: 23)\n[Next >]\n[B0LAMP0412]\nHollis reading lamp, walnut base, "
    "linen shade, dimmable, 48 cm\n$63.20\n[B0LAMP0977]\nArden desk lamp, oak base, cotton shade\n$39.00\n"
    "[B0LAMP1203]\nPelham clip lamp, black metal\n$22.40"
)
PAGE = (
    "[Back to Search]\n[< Prev]\nbase [walnut][oak][black]\nshade [linen][cotton]\n"
    "bulb [without][warm white][daylight]\n"
    "Hollis reading lamp, walnut base, linen shade, dimmable, 48 cm\nPrice: $63.20\nRating: 4.6\n"
    "[Description]\n[Features]\n[Reviews]\n[Buy Now]"
)
LAMP = Trajectory(
    task_id="lamp-1",
    environment="webshop",
    instruction="i need a dimmable reading lamp with a walnut base, a linen shade and a warm white bulb, "
    "and price lower than 60.00 dollars",
    steps=(
        Step("I search for what was asked.", "search[dimmable reading lamp walnut base linen shade]", RESULTS),
        Step("The Hollis lamp has the base and the shade. I open it.", "click[B0LAMP0412]", PAGE),
        Step("It should be dimmable; I look at its features.", "click[Features]", "Dimmable in three steps. 48 cm."),
        Step("It is. Back to the options.", "click[< Prev]", PAGE),
        Step("The base is to be walnut.", "click[walnut]", "You have clicked walnut."),
        Step("And the shade linen.", "click[linen]", "You have clicked linen."),
        Step("All options are chosen, so I buy it.", "click[Buy Now]", ""),
    ),
    critical_action="click[Buy Now]",
    outcome=Outcome.FINISHED,
)


def test_the_reasons_stand_where_they_are_read_first(tmp_path, data_dir, serve, open_page, settled):
    others = [purchase(number, wrong=True) for number in range(5)]
    ingest.import_file(write_log(tmp_path / "lamps.jsonl", LAMP, *others), "lamps", "auto", lambda _: None)
    runs.set_budget("lamps", "50%")
    batch.detect("lamps", ["rules"])
    address, page = serve(), open_page(height=800)
    let_in(page, address)
    page.goto(f"{address}/review?run=lamps")
    page.locator(".ia-flag").wait_for()
    settled(page)
    for _ in range(5):
        if page.get_by_text("walnut").count():
            break
        press_until_next(page, settled, "s")
    page.reload()
    page.locator(".ia-toggle").first.wait_for()
    settled(page, quiet_ms=600)
    assert page.locator(".ia-flag").bounding_box()["y"] < page.locator(".ia-timeline").bounding_box()["y"]
    assert "63.20" in page.locator(".ia-sheet").first.inner_text()
    screenshot(page, "review")


def test_results_say_what_they_show_above_the_fold(serve, open_page, settled):
    # Playwright keeps an event loop in this thread, and the agents begin one of their own.
    with ThreadPoolExecutor(1) as aside:
        aside.submit(_dry_run).result()
    address, page = serve(), open_page(height=800)
    let_in(page, address)
    page.goto(f"{address}/studies?study=dry&section=results&part=success")
    said = page.get_by_text("has solved").first
    said.wait_for(timeout=60_000)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    settled(page, quiet_ms=600)
    assert said.bounding_box()["y"] < page.locator(".js-plotly-plot").first.bounding_box()["y"] < 420
    assert page.get_by_text("people finished 0 of 0").count() == 0
    screenshot(page, "study-results")


def _dry_run():
    lifecycle.create(change_design(parse(example(), "The example"), name="dry", tasks=5), now_ms())
    lifecycle.open_study("dry")
    simulated.simulate("dry", all_places=True)
