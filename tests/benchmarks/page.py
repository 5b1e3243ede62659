"""Submit to next item visible, in one browser: the Review page against the page floor, clicks alternating.

Usage: python tests/benchmarks/page.py [--quick] [--arriving 50]

With --arriving so many items a minute come into the queue of the Review page while it is measured, by another process.
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from sqlmodel import col, select  # noqa: E402

from console.database import reading  # noqa: E402
from console.trajectory import Outcome, Step, Trajectory  # noqa: E402
from storage import tables  # noqa: E402
from storage.queue import NewItem, Queue  # noqa: E402
from tests.at_home import at_home  # noqa: E402
from tests.benchmarks.measure import median_of, ratio_of_quantiles, report  # noqa: E402
from tests.logs import write_log  # noqa: E402
from tests.signing_in import let_in  # noqa: E402

STEPS, CHARACTERS = 30, 600
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
# The next item is there when its button, its sheet and its first steps are.
CLICK = """
() => new Promise((done) => {
  const button = document.querySelector("[class*='st-key-approve-']")
  const item = (element) => /st-key-approve-(\\d+)/.exec(element.className)[1]
  const steps = () => document.querySelector(".ia-step")?.textContent ?? page_of()
  const page_of = () => document.querySelector(".ia-sheet").textContent
  const before = item(button), sheet = page_of(), first = steps()
  const started = performance.now()
  const watch = new MutationObserver(() => {
    const now = document.querySelector("[class*='st-key-approve-']")
    const page = document.querySelector(".ia-sheet")
    if (now && page && item(now) !== before && page_of() !== sheet && steps() !== first) {
      watch.disconnect()
      done(performance.now() - started)
    }
  })
  watch.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true })
  button.querySelector("button").click()
})
"""


def long_record(number: int) -> Trajectory:
    """A trajectory of 30 steps of 600 characters, each like no other."""
    words = " ".join(f"word{number * 31 + i * 7 % 997}" for i in range(80))[:CHARACTERS]
    steps = tuple(Step(f"thought {i}", f"click[item {number}-{i}]", f"{i} {words}") for i in range(STEPS - 1))
    return Trajectory(
        task_id=f"task-{number}",
        environment="webshop",
        instruction=f"i want the red kettle number {number}, 2 litres, and price lower than 30.00 dollars",
        steps=(*steps, Step("done", "click[Buy Now]", "")),
        critical_action="click[Buy Now]",
        outcome=Outcome.FINISHED,
    )


def fill(data_dir: Path, items: int, later: int = 0) -> None:
    """A run of that many flagged items in a data directory of its own, and of more trajectories that are no items."""
    numbers = range(items + later)
    first, rest = (data_dir / name for name in ("log.jsonl", "later.jsonl"))
    write_log(first, *(long_record(number) for number in numbers[:items]))
    write_log(rest, *(long_record(number) for number in numbers[items:]))
    judged = ["detect", "bench", "--method", "rules", "--threshold", "0"]
    inferact(data_dir, "trajectory", "import", str(first), "--run", "bench")
    inferact(data_dir, *judged)
    if later:
        inferact(data_dir, "trajectory", "import", str(rest), "--run", "bench")


def inferact(data_dir: Path, *command: str) -> None:
    """Runs that command on that data directory."""
    environment = {**os.environ, "INFERACT_DATA_DIR": str(data_dir)}
    subprocess.run(
        [sys.executable, "-m", "console.cli", *command], cwd=ROOT, env=environment, check=True, capture_output=True
    )


@contextmanager
def arriving(data_dir: Path, a_minute: int):
    """Puts so many items a minute into the queue, each a trajectory that was not one yet."""
    script = [sys.executable, __file__, "--put", f"sqlite:///{data_dir / 'console.db'}", "--arriving", str(a_minute)]
    coming = subprocess.Popen(script, cwd=ROOT) if a_minute else None
    try:
        yield
    finally:
        if coming:
            coming.terminate()
            coming.wait(timeout=10)


def put(url: str, a_minute: int) -> None:
    """Puts one item after the other until it is ended; like those that are there, but the least urgent."""
    item, record = tables.Item, tables.Trajectory
    with reading(url) as session:
        like = session.exec(select(item).limit(1)).one()
        queued = select(item.trajectory_id)
        left = session.exec(select(record.id).where(col(record.id).not_in(queued)).order_by(col(record.id))).all()
    for trajectory in left:
        time.sleep(60 / a_minute)
        Queue(url).put(
            [NewItem(like.run_id, 0, trajectory, like.step, like.kind, 0.0, 1, None, time.time_ns() // 10**6)]
        )


@contextmanager
def served(script: Path, data_dir: Path):
    """The address of a server of that script, as `inferact serve` serves the console."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "INFERACT_DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(Path(__file__).parent / "apps" / "serving.py"), str(script), str(port)]
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=10)


def open_review(browser, address: str, data_dir: Path):
    """A page that shows the first item."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    with at_home(data_dir):
        let_in(page, address, "Bench", "reviewer")
    page.goto(address)
    page.get_by_role("heading", name="Inbox").wait_for()
    page.wait_for_timeout(500)
    page.goto(f"{address}/review")
    page.locator("[class*='st-key-approve-']").wait_for()
    page.wait_for_timeout(1_000)
    return page


def measure(clicks: int, a_minute: int = 0) -> tuple[list[float], list[float]]:
    """(ms of the Review page, ms of the floor), one click each in turn."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        ours, floor = Path(folder) / "ours", Path(folder) / "floor"
        for data_dir in (ours, floor):
            data_dir.mkdir()
            fill(data_dir, clicks + 10, 4 * clicks if a_minute and data_dir is ours else 0)
        apps = Path(__file__).parent / "apps"
        with (
            served(ROOT / "streamlit_app.py", ours) as real,
            served(apps / "floor_app.py", floor) as empty,
            sync_playwright() as playwright,
        ):
            path = shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=path, args=QUIET)
            pages = [open_review(browser, real, ours), open_review(browser, empty, floor)]
            times: tuple[list[float], list[float]] = ([], [])
            with arriving(ours, a_minute):
                for number in range(clicks):
                    sides = list(zip(pages, times, strict=True))
                    for page, found in sides if number % 2 else sides[::-1]:
                        page.bring_to_front()
                        page.wait_for_timeout(500)
                        took = page.evaluate(CLICK)
                        if number >= 3:
                            found.append(took)
            browser.close()
    return times


def main() -> None:
    """Prints the two distributions and their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--arriving", type=int, default=0, help="items a minute that come while it is measured")
    parser.add_argument("--put", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.put:
        put(chosen.put, chosen.arriving)
        return
    ours, floor = measure(23 if chosen.quick else 153, chosen.arriving)
    figures = {"arriving_a_minute": chosen.arriving}
    for name, times in (("review", ours), ("floor", floor)):
        ranked = statistics.quantiles(times, n=20)
        figures[f"{name}_p50_ms"], figures[f"{name}_p95_ms"] = round(statistics.median(times), 1), round(ranked[18], 1)
        print(f"{name:8} p50 {figures[f'{name}_p50_ms']:7} ms   p95 {figures[f'{name}_p95_ms']:7} ms   n {len(times)}")
    figures["p50_ratio"] = median_of([mine / bare for mine, bare in zip(ours, floor, strict=True)])
    figures["p95_ratio"] = ratio_of_quantiles(ours, floor, 0.95)
    sys.exit(not report("page", figures, {"p50_ratio": ["<=", 1.4], "p95_ratio": ["<=", 1.3]}))


if __name__ == "__main__":
    main()
