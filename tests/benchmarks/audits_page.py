"""The Audits tab of a run with 100,000 uninspected actions against the page floor and the same tab without draws.

Usage: python tests/benchmarks/audits_page.py [--quick]

The page floor is the shell of the console with one constant chart. Openings alternate, and end when the certificate,
the chart, or the form of audits is drawn.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from certificate_logs import fill  # noqa: E402
from page import QUIET, served  # noqa: E402

from console import runs  # noqa: E402
from console.database import database_url, writing  # noqa: E402
from console.settings import settings  # noqa: E402
from storage.tables import RunKind  # noqa: E402
from tests.benchmarks.measure import median_of, report  # noqa: E402
from tests.signing_in import cookie, signed_in  # noqa: E402

APPS = Path(__file__).parent / "apps"
SEEN = """
(found) => new Promise((done) => {
  const look = () => {
    if (document.querySelector(found)) done(performance.now())
    else if (performance.now() > 60000) done(null)
    else setTimeout(look, 10)
  }
  look()
})
"""
CHART, CERTIFICATE, FORM = ".js-plotly-plot .main-svg .trace", ".st-key-certificate", "[class*='st-key-audits-']"


def within(folder: Path) -> str:
    """Turns to the data directory; returns a session of its researcher."""
    os.environ["INFERACT_DATA_DIR"] = str(folder)
    settings.cache_clear()
    return signed_in("Bench")


def opened(page, address: str, found: str) -> float:
    """Milliseconds from asking for the address until the element is there; after a minute, what is there instead."""
    page.goto("about:blank")
    page.goto(address)
    took = page.evaluate(SEEN, found)
    if took is None:
        raise TimeoutError(f"{address} has no {found}, but: {page.inner_text('body')[:2_000]}")
    return float(took)


def measure(rows: int, rounds: int) -> dict[str, list[float]]:
    """The times of the three pages, in turn."""
    from playwright.sync_api import sync_playwright

    times: dict[str, list[float]] = {"large": [], "empty": [], "floor": []}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        tokens = within(folder / "floor"), within(folder / "ours")
        fill(database_url(), rows)
        with writing() as session:
            runs.create(session, "empty", RunKind.ARCHIVE, 1, detector="rules")
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        with (
            served(APPS / "floor_results_app.py", folder / "floor") as bare,
            served(ROOT / "streamlit_app.py", folder / "ours") as real,
        ):
            pages = []
            for address, token in ((bare, tokens[0]), (real, tokens[1])):
                page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
                page.context.add_cookies([cookie(address, token)])
                page.goto(address)
                page.get_by_role("heading", name="Inbox").wait_for(timeout=120_000)
                pages.append(page)
            for number in range(rounds + 1):
                took = {
                    "large": opened(pages[1], f"{real}/runs?run=large", CERTIFICATE),
                    "floor": opened(pages[0], f"{bare}/studies", CHART),
                    "empty": opened(pages[1], f"{real}/runs?run=empty", FORM),
                }
                for kind in took if number else ():
                    times[kind].append(took[kind])
        browser.close()
    return times


def main() -> None:
    """Prints the times and the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="10,000 actions and five rounds")
    quick = parser.parse_args().quick
    times = measure(*((10_000, 5) if quick else (100_000, 15)))
    figures = {f"{name}_p50_ms": round(statistics.median(found), 1) for name, found in times.items()}
    for name in ("floor", "empty"):
        figures[f"{name}_ratio"] = median_of(
            [ours / other for ours, other in zip(times["large"], times[name], strict=True)]
        )
    print(figures)
    sys.exit(not report("audits_page", figures, {"floor_ratio": ["<=", 1.5], "empty_ratio": ["<=", 1.5]}))


if __name__ == "__main__":
    main()
