"""Search in the text of a run of 100,000 trajectories: the Trajectories page with words against the page without any.

Usage: python tests/benchmarks/searching.py [--quick]
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

RATIO = 1.5
WORDS = ("word77", "refund_order word77", "thought", "needle", "refund*")
"""Rare, in two columns, everywhere, once, everywhere by its beginning."""


def fill(count: int) -> float:
    """An archive run of that many trajectories of ten steps; returns the seconds that inserting took."""
    from console import runs
    from console.database import now_ms, writing
    from console.runs.trajectory_rows import insert_rows, prepare
    from console.trajectory import Step, Trajectory

    took = 0.0
    with writing() as session:
        run = runs.archive(session, "bench", now_ms())
        for start in range(0, count, 1_000):
            batch = []
            for number in range(start, min(start + 1_000, count)):
                words = " ".join(f"word{(number * 31 + i * 7) % 4_999}" for i in range(40))
                steps = tuple(Step(f"thought {i}", f'look_up({{"item":"{number}-{i}"}})', words) for i in range(9))
                last = Step("needle" if number == 7 else "done", f'refund_order({{"id":{number}}})', "ok")
                batch.append(prepare(Trajectory(f"t-{number}", "generic", f"task {number}", (*steps, last)), []))
            began = time.perf_counter()
            insert_rows(session, run, batch, now_ms())
            took += time.perf_counter() - began
    return took


def index() -> float:
    """Seconds until every word can be found."""
    from console.runs.trajectory_rows import catch_up_index

    began = time.perf_counter()
    catch_up_index()
    return time.perf_counter() - began


def measure(rounds: int) -> dict[str, tuple[float, float]]:
    """By words, the least ms of (page with the words, page without any), runs alternating: a busy machine adds."""
    from streamlit.testing.v1 import AppTest

    from tests.signing_in import signed_in

    at = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=120)
    at.session_state["session"] = signed_in("Bench", "researcher")
    at.run()
    at.switch_page("console/web/pages/trajectories.py").run()
    found = {}
    for words in WORDS:
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for place, text in enumerate((words, "")):
                at.text_input(key="search").set_value(text)
                began = time.perf_counter()
                at.run()
                times[place].append((time.perf_counter() - began) * 1_000)
        found[words] = (min(times[0]), min(times[1]))
    return found


def main() -> int:
    """Prints a line for each search; 1 where one takes more than 1.5 times the page without words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5,000 trajectories")
    count = 5_000 if parser.parse_args().quick else 100_000
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INFERACT_DATA_DIR"] = folder
        print(f"{count:,} trajectories inserted in {fill(count):.1f} s, their words in {index():.1f} s", flush=True)
        worst = 0.0
        for words, (searched, floor) in measure(15).items():
            worst = max(worst, searched / floor)
            print(f"{words:20} {searched:7.1f} ms   without words {floor:7.1f} ms   {searched / floor:.2f} times")
    return 0 if worst <= RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
