"""What detection by models costs: requests, waves and faults, against a local endpoint that answers after 200 ms.

`python tests/benchmarks/detection.py [--quick]`; the last line is the result as JSON. The endpoint is a process of its
own. Times are medians of a few, with their intervals, as if a processor had always been free.
"""

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.detection import batch
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.verdicts import Detection
from console.runs import ingest
from console.settings import settings
from console.trajectory import Step, Trajectory
from tests.benchmarks.measure import Figure, median_of, report, spend
from tests.fakes.endpoint import serving
from tests.fakes.judges import MISHAPS, mishap_prone, rule

SEVEN = ("inferact-prob", "inferact-verb", "direct", "self-consistency", "token-prob", "token-entropy", "multi-step")
INFERACT = SEVEN[:2]
ROOT = Path(__file__).resolve().parents[2]
LATENCY_S, CONCURRENCY = 0.2, 16
ASKING = ModelOptions(model="gpt-4o-mini", concurrency=CONCURRENCY)
GOALS = {
    "requests_panel_of_seven": ["<=", 6],
    "requests_inferact": ["<=", 2],
    "requests_inferact_midway": ["<=", 3],
    "requests_table": ["<=", 2],
    "requests_table_per_further_checkpoint": ["<=", 1],
    "inferact_20_over_latency": ["<=", 4.5],
    "panel_20_over_latency": ["<=", 12.5],
    "time_over_waves": ["<=", 1.15],
    "requests_second_run": ["<=", 0],
    "requests_lost_by_a_kill": ["<=", CONCURRENCY],
    "faulty_without_verdict_or_error": ["<=", 0],
    "faulty_unparsed_but_not_flagged": ["<=", 0],
    "inferact_prompt_tokens_over_direct": ["<=", 1.8],
    "self_consistency_prompt_tokens_over_direct": ["<=", 1.05],
}


def main() -> None:
    """Measures, prints, ends with one line of JSON."""
    many = 250 if "--quick" in sys.argv[1:] else 1_000
    with tempfile.TemporaryDirectory() as folder, endpoint() as url:
        os.environ |= {"INFERACT_DATA_DIR": folder, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        settings.cache_clear()
        figures = counted(url) | timed(url) | at_length(url, many) | killed(url) | faulty()
    sys.exit(not report("detection", figures, GOALS))


def counted(url: str) -> dict[str, float]:
    """Requests and prompt tokens for one trajectory, and requests of a second run."""
    run, chore = imported("one", 1), imported("chore", 1, environment="alfworld")
    panel = [asked(url, lambda name=name: judge(run, name)) for name in SEVEN]
    shared = imported("shared", 1)
    requests = asked(url, lambda: judge(shared, *SEVEN))[0]
    again = asked(url, lambda: judge(shared, *SEVEN))[0]
    midway = asked(url, lambda: judge(chore, *INFERACT))[0]
    table = asked(url, lambda: judge(imported("table", 1), "requirements"))
    errands = imported("errands", 1, environment="alfworld")
    first, later = asked(url, lambda: judge(errands, "requirements"))
    checked = max(1, later.reports[0].judged)
    tokens = {name: found.reports[0].prompt_tokens for name, (_, found) in zip(SEVEN, panel, strict=True)}
    return {
        "requests_panel_of_seven": requests,
        "requests_inferact": panel[0][0] + panel[1][0],
        "requests_inferact_midway": midway,
        "requests_table": table[0],
        "requests_table_per_further_checkpoint": (first - 1) / checked,
        "requests_second_run": again,
        "prompt_tokens_direct": tokens["direct"],
        "prompt_tokens_inferact": tokens["inferact-prob"],
        "prompt_tokens_table": table[1].reports[0].prompt_tokens,
        "inferact_prompt_tokens_over_direct": tokens["inferact-prob"] / tokens["direct"],
        "self_consistency_prompt_tokens_over_direct": tokens["self-consistency"] / tokens["direct"],
    }


def timed(url: str) -> dict[str, Figure]:
    """Return the time for 20 trajectories in units of the endpoint's own latency."""
    found: dict[str, list[float]] = {"inferact_20_over_latency": [], "panel_20_over_latency": []}
    for number in range(7):
        for name, methods in zip(found, (INFERACT, SEVEN), strict=True):
            found[name].append(judged_s(url, imported(f"{name}-{number}", 20), methods)[0] / LATENCY_S)
    return {name: median_of(values) for name, values in found.items()}


def at_length(url: str, many: int) -> dict[str, Figure | float]:
    """Return the time for many trajectories over that of the endpoint's own waves, in several parts."""
    ratios, total = [], 0
    for part in range(7):
        seconds, requests = judged_s(url, imported(f"many-{part}", many // 5), INFERACT)
        ratios.append(seconds / waves_s(requests))
        total += requests
    return {"trajectories": 7 * (many // 5), "requests_many": total, "time_over_waves": median_of(ratios)}


def judged_s(url: str, run: str, methods: tuple[str, ...]) -> tuple[float, int]:
    """Return the seconds of a detection as if a processor had always been free, and its requests."""
    reset(url)
    spent = spend(partial(judge, run, *methods))
    requests = requests_at(url)
    return spent.undisturbed(waves_s(requests)), requests


def waves_s(requests: int) -> float:
    """Return the seconds that the endpoint itself takes for so many requests."""
    return math.ceil(requests / CONCURRENCY) * LATENCY_S


def killed(url: str) -> dict[str, float]:
    """What a kill half-way costs: requests beyond those of an undisturbed run."""
    run, wanted = imported("killed", 60), 120
    command = [sys.executable, "-m", "console.cli", "detect", run, "--method", ",".join(INFERACT)]
    options = ["--model", "gpt-4o-mini", "--concurrency", str(CONCURRENCY)]
    reset(url)
    working = subprocess.Popen(
        [*command, *options], env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL
    )
    while requests_at(url) < wanted / 2 and working.poll() is None:
        time.sleep(0.01)
    working.send_signal(signal.SIGKILL)
    working.wait()
    judge(run, *INFERACT)
    return {"requests_lost_by_a_kill": requests_at(url) - wanted}


def faulty() -> dict[str, float]:
    """How 60 trajectories end when 30% of the answers are spoilt."""
    kinds = [kind for kind in MISHAPS if kind != "timeout"]
    run, outside = imported("faulty", 60), os.environ["OPENAI_BASE_URL"]
    with serving(mishap_prone(rule, share=0.3, seed=1, kinds=kinds)) as served:
        os.environ["OPENAI_BASE_URL"] = served.url
        reports = judge(run, *SEVEN).reports
    os.environ["OPENAI_BASE_URL"] = outside
    total = Counter({name: sum(getattr(one, name) for one in reports) for name in ("judged", "errors", "unparsed")})
    lost = sum(one.checkpoints - one.judged - one.errors for one in reports)
    silent = sum(max(0, one.unparsed - one.flagged) for one in reports)
    return {f"faulty_{name}": count for name, count in total.items()} | {
        "faulty_without_verdict_or_error": lost,
        "faulty_unparsed_but_not_flagged": silent,
    }


def judge(run: str, *methods: str) -> Detection:
    """The detection of a run."""
    return batch.run_detection(run, methods, asking=ASKING)


def imported(name: str, count: int, environment: str = "webshop") -> str:
    """A new run of so many trajectories, none of which was seen before."""
    path = Path(os.environ["INFERACT_DATA_DIR"]) / f"{name}.jsonl"
    record = {"webshop": order, "alfworld": chore}[environment]
    path.write_text("".join(record(name, number).to_json() + "\n" for number in range(count)))
    ingest.import_file(path, name, "auto", lambda _done: None)
    return name


def order(name: str, number: int) -> Trajectory:
    """An order with thoughts, two pages and a choice."""
    product = f"lamp {name} {number}"
    results = "\n".join(f"[B{row:09}]\nDesk lamp with a {row} cm foot, warm light\n${row}.99" for row in range(10))
    page = f"color [white][black]\n{product}, desk lamp with a linen shade\nPrice: $24.99\n[Description]\n[Buy Now]"
    steps = (
        Step(f"The user wants {product}, so I search for it in those words.", f"search[{product}]", results),
        Step("The first result seems to be what the user described, and its price is low.", "click[B000000001]", page),
        Step("White was asked for, so I choose it before I buy.", "click[white]", "You have clicked white."),
        Step("Everything is chosen and the price is right.", "click[Buy Now]", ""),
    )
    request = f"i want {product} in white, and price lower than 30.00 dollars"
    return Trajectory(f"t{number}", "webshop", request, steps)


def chore(name: str, number: int) -> Trajectory:
    """A chore that goes on after its critical action."""
    steps = (
        Step("", "take mug 1 from desk 1", f"You pick up the mug {number} {name}."),
        Step("", "clean mug 1 with sinkbasin 1", "You clean the mug 1."),
    )
    waiting = "clean mug 1 with sinkbasin 1"
    return Trajectory(f"t{number}", "alfworld", "put a hot mug in the fridge.", steps[:1], critical_action=waiting)


def asked(url: str, work) -> tuple[int, object]:
    """(requests that the work made, what it returned)."""
    reset(url)
    found = work()
    return requests_at(url), found


def reset(url: str) -> None:
    """Sets the endpoint's counters to nought."""
    urlopen(url.removesuffix("/v1") + "/reset").close()


def requests_at(url: str) -> int:
    """The requests that the endpoint has had since."""
    with urlopen(url.removesuffix("/v1") + "/counts") as response:
        return int(json.load(response)["requests"])


@contextmanager
def endpoint() -> Iterator[str]:
    """The address of the endpoint, in a process of its own."""
    command = [sys.executable, "-m", "tests.fakes.endpoint", "--latency", str(LATENCY_S)]
    served = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield served.stdout.readline().strip()
    finally:
        served.terminate()
        served.wait()


if __name__ == "__main__":
    main()
