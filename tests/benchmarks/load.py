"""Fifty reviewers on one console: how soon the next item shows, beside an import too, and for how much processor time.

`python tests/benchmarks/load.py [--quick] [--only one|two]`; the last line is the result as JSON. The reviewers' tabs
are websockets that speak Streamlit's own protocol; each thinks for 10 to 20 s between two decisions, the lone one for
about one. A sign-in storm opens all tabs at once and is stated apart. Then two consoles of one PostgreSQL database,
each limited to .4 of a core by a control group, are compared with one such console, with reviewers who press
as soon as a press counts.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.settings import settings
from tests import postgres
from tests.at_home import at_home
from tests.benchmarks.measure import processor_s, report
from tests.doors.streamlit_socket import Shown, Tab
from tests.logs import purchase, write_log
from tests.serving import Server, serving
from tests.signing_in import cookie, signed_in

REVIEWERS, RUN, SHARE, LEAST_S = 50, "bench", 0.4, 0.6
GROUPS = Path("/sys/fs/cgroup/cpu") if Path("/sys/fs/cgroup/cpu").is_dir() else Path("/sys/fs/cgroup")
GOALS = {
    "p95 of 50 / p95 of 1": ("<=", 3.0),
    "p95 beside the import / p95 of 50": ("<=", 3.0),
    "growth of memory over the soak": ("<=", 1.05),
    "two consoles / one, each .4 core": (">=", 1.6),
    "decisions that failed": ("<=", 0),
}


@dataclass
class Waits:
    """When each decision was sent and the seconds until its next item showed, over all reviewers."""

    took: list[tuple[float, float]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def between(self, start: float, end: float) -> list[float]:
        """Return the seconds of the decisions that were sent between these times."""
        return [seconds for at, seconds in self.took if start <= at < end]


def main() -> None:
    """Prints the figures and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a soak of one minute, 1,000 imported")
    parser.add_argument("--only", choices=("one", "two"), help="only the one console, or only the two")
    given = parser.parse_args()
    figures: dict[str, float] = {}
    if given.only != "two":
        with tempfile.TemporaryDirectory() as folder, at_home(Path(folder) / "data") as data:
            fill(data, 600 if given.quick else 4_000)
            with serving(data) as server:
                figures |= one_console(data, server, 60 if given.quick else 600, 1_000 if given.quick else 10_000)
    if given.only != "one":
        figures |= two_consoles(15 if given.quick else 40)
    sys.exit(not report("load", figures, {name: goal for name, goal in GOALS.items() if name in figures}))


def fill(data: Path, items: int) -> None:
    """A run of that many flagged items."""
    data.mkdir(exist_ok=True)
    log = data / "log.jsonl"
    write_log(log, *(purchase(number, wrong=number % 2 == 0) for number in range(items)))
    inferact("trajectory", "import", str(log), "--run", RUN)
    inferact("detect", RUN, "--method", "rules", "--threshold", "0")


def inferact(*command: str) -> None:
    """Runs that command."""
    subprocess.run([sys.executable, "-m", "console.cli", *command], check=True, capture_output=True)


def one_console(data: Path, server: Server, soak_s: int, imported: int) -> dict[str, float]:
    """The waits of one reviewer and of all, with an import beside them at the end, and the console's memory."""
    lone, waits = Waits(), Waits()
    log = data / "beside.jsonl"
    write_log(log, *(purchase(number, wrong=False) for number in range(imported)))
    with reviewing(server, ["Alone"], lone, (0.8, 1.2)):
        time.sleep(max(40, soak_s // 6))
    with ExitStack() as stack:
        started = time.monotonic()
        stack.enter_context(reviewing(server, [f"Reviewer {n}" for n in range(REVIEWERS)], waits, (10, 20)))
        figures = {"seconds until 50 tabs opened at once are drawn": round(time.monotonic() - started, 2)}
        time.sleep(20)
        start, spent, sizes = time.monotonic(), processor_s(server.process.pid), []
        while (now := time.monotonic()) < start + soak_s:
            sizes.append(resident_mb(server))
            time.sleep(2)
        spent = processor_s(server.process.pid) - spent
        inferact("trajectory", "import", str(log), "--run", "beside")
        end = time.monotonic()
    alone, steady, beside = (
        [seconds for _, seconds in lone.took[3:]],
        waits.between(start, now),
        waits.between(now, end),
    )
    for failure in (lone.failed + waits.failed)[:5]:
        print(failure)
    early, late = median(sizes[len(sizes) // 5 : 2 * len(sizes) // 5]), median(sizes[-len(sizes) // 5 :])
    figures |= {"decisions of 1": len(alone), "decisions of 50": len(steady), "decisions beside": len(beside)}
    figures |= {"seconds of the import": round(end - now, 1), "MB at the beginning": early, "MB at the end": late}
    for name, took in (("1", alone), ("50", steady), ("50 beside the import", beside)):
        figures |= {f"median of {name}, ms": round(1e3 * median(took)), f"p95 of {name}, ms": round(1e3 * p95(took))}
    return figures | {
        "decisions per second of processor": round(len(steady) / spent, 2),
        "p95 of 50 / p95 of 1": round(p95(steady) / p95(alone), 2),
        "p95 beside the import / p95 of 50": round(p95(beside) / p95(steady), 2),
        "growth of memory over the soak": round(late / early, 3),
        "decisions that failed": len(lone.failed) + len(waits.failed),
    }


def two_consoles(seconds: int) -> dict[str, float]:
    """Decisions per second with one and with two limited consoles of one database."""
    found: dict[int, float] = {}
    folder = postgres.make_folder()
    try:
        for consoles in (1, 2):
            with tempfile.TemporaryDirectory() as data, at_home(Path(data) / "data"), postgres.database() as url:
                os.environ["INFERACT_DATABASE_URL"] = url
                settings.cache_clear()
                fill(Path(data, "data"), 2_500)
                found[consoles] = limited(Path(data), url, consoles, seconds)
    finally:
        if folder is not None:
            postgres.stop(folder)
    print(f"decisions per second: {found[1]:.2f} of one console, {found[2]:.2f} of two")
    return {"two consoles / one, each .4 core": round(found[2] / found[1], 2)}


def limited(data: Path, url: str, consoles: int, seconds: int) -> float:
    """Decisions per second of so many consoles, each with so many reviewers that its share is used up."""
    waits = Waits()
    with ExitStack() as stack:
        for number in range(consoles):
            own = serving(data / f"console {number}", INFERACT_DATABASE_URL=url)
            server = stack.enter_context(own)
            names = [f"Reviewer {number} {place}" for place in range(20)]
            stack.enter_context(reviewing(server, names, waits, (LEAST_S, LEAST_S)))
            stack.enter_context(share_of_a_core(server.process.pid, f"inferact-{os.getpid()}-{number}"))
        time.sleep(5)
        start = time.monotonic()
        time.sleep(seconds)
        print(f"{consoles} limited: {waits.failed[:3]}")
        return len(waits.between(start, start + seconds)) / seconds


@contextmanager
def share_of_a_core(process: int, name: str) -> Iterator[None]:
    """Limits that process, for the length of a block, to its share of one core, of which it is sure; needs root."""
    group = GROUPS / name
    group.mkdir()
    try:
        period = 100_000
        if (quota := group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(period))
            quota.write_text(str(int(SHARE * period)))
            (group / "cpu.shares").write_text("65536")
        else:
            (group / "cpu.max").write_text(f"{int(SHARE * period)} {period}")
            (group / "cpu.weight").write_text("10000")
        (group / "cgroup.procs").write_text(str(process))
        yield
        (GROUPS / "cgroup.procs").write_text(str(process))
    finally:
        group.rmdir()


@contextmanager
def reviewing(server: Server, names: list[str], waits: Waits, thinks: tuple[float, float]) -> Iterator[None]:
    """Reviewers at work for the length of a block, which begins when all of their tabs are drawn."""
    over, drawn = threading.Event(), threading.Barrier(len(names) + 1)
    sessions = [cookie(server.url, signed_in(name, "reviewer")) for name in names]
    threads = [threading.Thread(target=review, args=(server, one, waits, thinks, over, drawn)) for one in sessions]
    for thread in threads:
        thread.start()
    drawn.wait(120)
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def review(server: Server, shown: dict, waits: Waits, thinks: tuple[float, float], over, drawn) -> None:
    """Thinks and approves, one item after the other, until told to stop."""
    host = server.url.removeprefix("http://")
    headers = {"Host": host, "Origin": server.url, "Cookie": f"{shown['name']}={shown['value']}"}
    with Tab(server.port, headers) as tab:
        page = tab.open("review", run=RUN)
        drawn.wait(120)
        # The first thought is shorter for some, so that they do not all decide at once.
        pause = random.uniform(1, max(2, thinks[1]))
        while not over.wait(pause):
            if (button := approval(page)) is None:
                waits.failed.append(f"no item: {page.words[:300]}")
                return
            tab.drop()
            began = time.monotonic()
            try:
                page = tab.press(button)
                while approval(page) in (button, None):
                    page = tab.read()
            except TimeoutError:
                waits.failed.append("no answer within 20 s")
                return
            waits.took.append((began, time.monotonic() - began))
            pause = random.uniform(*thinks)


def approval(page: Shown) -> str | None:
    """Return the id of the button that approves the item, or None without an item."""
    return next((id for key, id in page.buttons.items() if key.startswith("approve-")), None)


def p95(seconds: list[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(seconds, n=20, method="inclusive")[-1]


def resident_mb(server: Server) -> float:
    """Return the memory of the console in MB."""
    line = next(line for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines() if "VmRSS" in line)
    return int(line.split()[1]) / 1_024


if __name__ == "__main__":
    main()
