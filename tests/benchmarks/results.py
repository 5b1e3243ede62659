"""A study's results page with 100,000 decisions against a page with one constant chart, openings alternating.

Usage: python tests/benchmarks/results.py [--quick]
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from page import QUIET, served  # noqa: E402
from study_rows import fill  # noqa: E402

from console.settings import settings  # noqa: E402
from console.sign_in import researcher_key  # noqa: E402

CHART = ".js-plotly-plot .main-svg .trace"
GOAL = 2.0


def prepare(folder: Path, decisions: int) -> tuple[str, int]:
    """Fills the study in that data directory; returns the researcher's key and how many decisions there are."""
    os.environ["INFERACT_DATA_DIR"] = str(folder)
    settings.cache_clear()
    return researcher_key(), fill(decisions) if decisions else 0


def signed_in(browser, address: str, key: str):
    """A page in which the researcher has signed in."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.goto(f"{address}/?key={key}")
    page.get_by_label("Your name").fill("Bench")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("heading", name="Inbox").wait_for()
    page.wait_for_timeout(500)
    return page


def opened(page, address: str) -> float:
    """Milliseconds from asking for the address to the chart's first line."""
    page.goto("about:blank")
    started = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(CHART, state="attached", timeout=120_000)
    return (time.perf_counter() - started) * 1_000


def measure(decisions: int, rounds: int) -> tuple[int, float, list[float], list[float]]:
    """(decisions, ms of the very first opening, ms of each further one, ms of the floor)."""
    from playwright.sync_api import sync_playwright

    apps = Path(__file__).parent / "apps"
    with tempfile.TemporaryDirectory() as folder:
        ours, floor = Path(folder) / "ours", Path(folder) / "floor"
        floor_key, _ = prepare(floor, 0)
        key, written = prepare(ours, decisions)
        with (
            served(ROOT / "streamlit_app.py", ours) as real,
            served(apps / "floor_results_app.py", floor) as empty,
            sync_playwright() as playwright,
        ):
            path = shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=path, args=QUIET)
            page, plain = signed_in(browser, real, key), signed_in(browser, empty, floor_key)
            asked, constant = f"{real}/studies?study=big&section=results", f"{empty}/studies"
            opened(plain, constant)
            first = opened(page, asked)
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(rounds):
                times[0].append(opened(page, asked))
                times[1].append(opened(plain, constant))
            browser.close()
    return written, first, *times


def main() -> None:
    """Prints both pages' times and their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    decisions, rounds = (10_000, 5) if quick else (100_000, 15)
    written, first, ours, floor = measure(decisions, rounds)
    figures = {
        "decisions": written,
        "first_ms": round(first, 1),
        "results_p50_ms": round(statistics.median(ours), 1),
        "floor_p50_ms": round(statistics.median(floor), 1),
        "p50_ratio": round(statistics.median(ours) / statistics.median(floor), 3),
        "first_ratio": round(first / statistics.median(floor), 3),
    }
    for name in ("results", "floor"):
        print(f"{name:8} p50 {figures[f'{name}_p50_ms']:7} ms   n {rounds}")
    print(f"first opening, nothing cached: {first:.0f} ms with {written:,} decisions")
    goals = {"p50_ratio": ["<=", GOAL]}
    print(json.dumps({"benchmark": "results", "figures": figures, "goals": goals, "met": figures["p50_ratio"] <= GOAL}))


if __name__ == "__main__":
    main()
