"""What open inboxes cost their server while nothing happens, and how soon each of them shows what comes.

`python tests/benchmarks/inboxes.py [--quick]`; the last line is the result as JSON. The tabs are websockets that speak
Streamlit's own protocol, each signed in as a reviewer of its own; the server is `inferact serve` in its own process.
An arrival is measured against what it must take: a look of the server, and all tabs drawn anew at once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.gate import Gate
from tests.at_home import at_home
from tests.benchmarks.measure import LOOP_S, Figure, median_of, processor_s, report, run_loop, spend
from tests.doors.streamlit_socket import Tab
from tests.serving import Server, serving
from tests.signing_in import cookie, signed_in

GOALS = {"idle_percent_of_a_core": ["<=", 3.0], "slowest_arrival_vs_reload": ["<=", 2.0]}
LOOK_S = 0.5
"""How often the server looks whether anything has changed."""
TABS, RUN = 20, "desk"


def main() -> None:
    """Prints the figures and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 s and 3 arrivals")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder, at_home(Path(folder) / "data") as data:
        gate = Gate(RUN, "full-validation", undo_s=0)
        ask(gate, 0)
        with serving(data) as server, ExitStack() as opened:
            tabs = [opened.enter_context(inbox(server, f"Reviewer {number}")) for number in range(TABS)]
            if not all("Refund order 0." in tab.open("inbox", run=RUN).words for tab in tabs):
                raise SystemExit("An inbox shows no item.")
            time.sleep(3)
            figures = {"tabs": TABS, "idle_percent_of_a_core": idle(server, 10 if quick else 30)}
            figures |= arrivals(gate, tabs, range(1, 4 if quick else 11))
            figures["reload_s"] = round(reload(tabs), 2)
            reached = figures["slowest_arrival_s"] / (LOOK_S + figures["reload_s"])
            figures["slowest_arrival_vs_reload"] = round(reached, 2)
            print(f"all tabs reload at once in {figures['reload_s']} s")
            print(f"an item shows in {figures['median_arrival_s']} s, at the slowest {figures['slowest_arrival_s']} s")
    sys.exit(not report("inboxes", figures, GOALS))


def ask(gate: Gate, order: int) -> None:
    """An agent asks about one more order."""
    gate.ask(f"Refund order {order}.", [], f'refund_order({{"order":{order}}})', task_id=f"ticket-{order}")


def inbox(server: Server, name: str) -> Tab:
    """That reviewer's tab on the Inbox."""
    shown = cookie(server.url, signed_in(name, "reviewer"))
    host = server.url.removeprefix("http://")
    return Tab(server.port, {"Host": host, "Origin": server.url, "Cookie": f"{shown['name']}={shown['value']}"})


def idle(server: Server, seconds: int) -> Figure:
    """Return per cent of one core that the server takes while nothing happens, on a core that runs the loop in 5 ms."""
    shares = []
    for _ in range(seconds // 2):
        started, before = time.monotonic(), processor_s(server.process.pid)
        time.sleep(2)
        taken = (processor_s(server.process.pid) - before) / (time.monotonic() - started)
        shares.append(100 * taken * LOOP_S / spend(run_loop).processor)
    return median_of(shares)


def arrivals(gate: Gate, tabs: list[Tab], orders: range) -> dict[str, float]:
    """Seconds from the moment that an item waits until a tab is sent it, over all tabs and items."""
    took: list[float] = []
    for order in orders:
        listening = [threading.Thread(target=heard, args=(tab, order, took)) for tab in tabs]
        for thread in listening:
            thread.start()
        time.sleep(0.37 * (order % 4))
        ASKED[order] = time.monotonic()
        ask(gate, order)
        for thread in listening:
            thread.join()
    if len(took) != len(tabs) * len(orders):
        raise SystemExit("Not every tab was sent every item.")
    return {"median_arrival_s": round(median(took), 2), "slowest_arrival_s": round(max(took), 2)}


def reload(tabs: list[Tab]) -> float:
    """Seconds until the last of all tabs, opened anew at once, is drawn; the median of five times."""
    took = []
    for _ in range(5):
        started = time.monotonic()
        opening = [threading.Thread(target=tab.open, args=("inbox",), kwargs={"run": RUN}) for tab in tabs]
        for thread in opening:
            thread.start()
        for thread in opening:
            thread.join()
        took.append(time.monotonic() - started)
    return median(took)


ASKED: dict[int, float] = {}


def heard(tab: Tab, order: int, took: list[float]) -> None:
    """Notes how long after it was asked about the order shows."""
    tab.wait_for(f"Refund order {order}.")
    took.append(time.monotonic() - ASKED[order])


if __name__ == "__main__":
    main()
