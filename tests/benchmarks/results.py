"""A study's results page with 100,000 decisions against a page with one constant chart, openings alternating.

Two of its parts: success, which rests on every trial, and the answers, which rest on every decision, too. Three kinds
of opening: the first of a server that has just started, one right after a new decision, and one more of what was opened
before.
Usage: python tests/benchmarks/results.py [--quick]
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from page import QUIET, served  # noqa: E402
from study_rows import decide_once_more, fill  # noqa: E402

from console.settings import settings  # noqa: E402
from tests.benchmarks.measure import median_of, report  # noqa: E402
from tests.signing_in import cookie, signed_in  # noqa: E402

APPS = Path(__file__).parent / "apps"
CHART = ".js-plotly-plot .main-svg .trace"
NOTING = f"""
new MutationObserver((_changes, watch) => {{
  if (!document.querySelector("{CHART}")) return
  window.seenAt = performance.now()
  watch.disconnect()
}}).observe(document, {{ subtree: true, childList: true }})
"""
SEEN = """
() => new Promise((done) => {
  const look = () => (window.seenAt ? done(window.seenAt) : setTimeout(look, 20))
  look()
})
"""
GOAL = 2.0
PARTS = {"success": "success", "answers": "contrasts"}
"""The parts of the page that are opened, and their names in its address."""
KINDS = {"cold": "first of a server", "decided": "after a decision", "again": "opened before"}

Times = dict[str, tuple[list[float], list[float]]]
"""Milliseconds of the results page and of the floor by kind of opening."""


def within(folder: Path) -> str:
    """Turns to the data directory; returns a session of its researcher."""
    os.environ["INFERACT_DATA_DIR"] = str(folder)
    settings.cache_clear()
    return signed_in("Bench")


def opened_inbox(browser, address: str, token: str):
    """A page in which the researcher has signed in."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.context.add_cookies([cookie(address, token)])
    page.add_init_script(NOTING)
    page.goto(address)
    page.get_by_role("heading", name="Inbox").wait_for()
    page.wait_for_timeout(500)
    return page


def opened(page, address: str) -> float:
    """Milliseconds from asking for the address to the chart's first line, by the browser's own clock.

    Playwright looks for an element at most twice a second once it has looked a few times in vain.
    """
    page.goto("about:blank")
    page.goto(address)
    return float(page.evaluate(SEEN))


@contextmanager
def both(browser, folder: Path, part: str) -> Iterator[tuple]:
    """Two servers that have just started: what opens that part of the results, and what opens the floor."""
    tokens = within(folder / "floor"), within(folder / "ours")
    with (
        served(APPS / "floor_results_app.py", folder / "floor") as empty,
        served(ROOT / "streamlit_app.py", folder / "ours") as real,
    ):
        plain, page = opened_inbox(browser, empty, tokens[0]), opened_inbox(browser, real, tokens[1])
        yield (
            lambda: opened(page, f"{real}/studies?study=big&section=results&part={part}"),
            lambda: opened(plain, f"{empty}/studies"),
        )
        for each in (page, plain):
            each.context.close()


def measure(part: str, decisions: int, rounds: int, starts: int) -> tuple[int, Times]:
    """How many decisions there are, and the times of every opening of that part."""
    from playwright.sync_api import sync_playwright

    times: Times = {kind: ([], []) for kind in KINDS}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        within(folder / "ours")
        written = fill(decisions)
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        for start in range(starts):
            with both(browser, folder, part) as pages:
                _add(times["cold"], pages)
                for number in range(rounds if start == starts - 1 else 0):
                    _add(times["again"], pages)
                    decide_once_more(number)
                    _add(times["decided"], pages)
        browser.close()
    return written, times


def _add(found: tuple[list[float], list[float]], pages: tuple) -> None:
    for times, opening in zip(found, pages, strict=True):
        times.append(opening())


def main() -> None:
    """Prints both pages' times and their ratio for each kind of opening."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    figures, goals = {}, {}
    for part, address in PARTS.items():
        written, times = measure(address, *((10_000, 5, 2) if quick else (100_000, 15, 5)))
        figures["decisions"] = float(written)
        for kind, (ours, floor) in times.items():
            found, name = (statistics.median(ours), statistics.median(floor)), f"{part}_{kind}"
            figures |= {f"{name}_p50_ms": round(found[0], 1), f"{name}_floor_p50_ms": round(found[1], 1)}
            figures[f"{name}_p50_ratio"] = median_of([mine / bare for mine, bare in zip(ours, floor, strict=True)])
            goals[f"{name}_p50_ratio"] = ["<=", GOAL]
            print(f"{f'{part}, {KINDS[kind]}':28} p50 {found[0]:7.0f} ms   floor {found[1]:7.0f} ms   n {len(ours)}")
    sys.exit(not report("results", figures, goals))


if __name__ == "__main__":
    main()
