"""The files that a reader of the console's two main ways has to open, and how often a detection goes back to one.

`python tests/benchmarks/tracing.py [--files]`; the last line is the result as JSON, and `--files` lists the files.

- `files_of_a_log`: import of a small log, `detect --method rules`, claim, decide and `export decisions`, as commands.
- `files_of_a_check`: `Gate.check` of an action that the rules flag, a person's approval, and `Gate.done`.

A file of console/ or storage/ counts if one of its functions is called; code that runs when a module loads does not.

`returns_of_a_detection` looks at `detect --method rules` alone. A handover is a call from a function of one file to a
function of another, also through the standard library (a context manager, a thread); calls by other packages, such as
SQLAlchemy's events, are none. Each pair (from, to) counts once, in the order of its first call, so that loops and
repeated calls count once. A return is a handover to a file that an earlier handover has entered.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console import runs
from console.cli import run_command
from console.database import now_ms, reading, review_queue
from console.gate import Gate
from console.review import decisions
from console.settings import settings
from storage.queue import Claim
from tests.logs import purchase, write_log

GOALS = {
    "files_of_a_log": ["<=", 60],
    "files_of_a_check": ["<=", 40],
    "returns_of_a_detection": ["<=", 8],
}
ROOT = Path(__file__).resolve().parents[2]
OURS = tuple(f"{ROOT / room}{os.sep}" for room in ("console", "storage"))
STANDARD = tuple({str(Path(module.__file__).parent) + os.sep for module in (os, json)})
PACKAGES = f"{os.sep}site-packages{os.sep}"


@dataclass
class Trace:
    """The files whose functions were called, in order, and the pairs (from, to) of handovers, in order."""

    files: dict[str, None] = field(default_factory=dict)
    handovers: dict[tuple[str, str], None] = field(default_factory=dict)
    _loading: int = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Take one event of `sys.setprofile`."""
        if frame.f_code.co_name == "<module>":
            self._loading += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self._loading and frame.f_code.co_filename.startswith(OURS):
            name = frame.f_code.co_filename
            self.files.setdefault(name)
            caller = _caller(frame)
            if caller not in (None, name):
                self.handovers.setdefault((caller, name))

    @property
    def returns(self) -> list[tuple[str, str]]:
        """The handovers to a file that was entered before."""
        entered, found = {pair[0] for pair in list(self.handovers)[:1]}, []
        for pair in self.handovers:
            if pair[1] in entered:
                found.append(pair)
            entered.add(pair[1])
        return found


def _caller(frame: FrameType) -> str | None:
    """Return our file whose function made the call, directly or through the standard library; None for packages."""
    before = frame.f_back
    while before is not None:
        name = before.f_code.co_filename
        if name.startswith(OURS):
            return name
        if PACKAGES in name or not (name.startswith((*STANDARD, "<"))):
            return None
        before = before.f_back
    return None


def traced(work: Callable[[], object], trace: Trace) -> None:
    """Do the work, and note in the trace what it calls in every thread that it starts."""
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def command(*arguments: str) -> str:
    """Run a command in this process and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run_command(list(arguments))
    if code:
        raise SystemExit(f"inferact {' '.join(arguments)} ended with {code}")
    return printed.getvalue()


def log_traces(folder: Path) -> tuple[Trace, Trace]:
    """Return the trace of the whole way of a log, and that of its detection."""
    log = write_log(folder / "log.jsonl", *(purchase(number, wrong=number % 2 == 0) for number in range(6)))
    whole, detection = Trace(), Trace()
    traced(lambda: command("trajectory", "import", str(log), "--run", "shop"), whole)
    traced(lambda: command("detect", "shop", "--method", "rules"), detection)
    whole.files |= detection.files
    claimed: list[str] = []
    traced(lambda: claimed.append(command("review", "claim", "--run", "shop", "--reviewer", "ada", "--json")), whole)
    item = str(json.loads(claimed[0])["item"]["item_id"])
    decision = ("--reviewer", "ada", "--decision", "reject", "--feedback", "wrong size")
    traced(lambda: command("review", "decide", item, *decision), whole)
    traced(lambda: command("export", "decisions", "--run", "shop", "--out", str(folder / "decisions.csv")), whole)
    return whole, detection


def check_trace() -> Trace:
    """Return the trace of a check that waits for a person, who approves it, untraced, in a thread."""
    trace, stop = Trace(), threading.Event()
    reviewer = threading.Thread(target=_approve, args=("gate", stop))
    reviewer.start()

    def check() -> None:
        gate = Gate("gate", "rules", threshold=0.1, undo_s=0)
        decision = gate.check("Buy the kettle.", [("search[kettle]", "a kettle")], "click[Buy Now]")
        gate.done(decision, "bought")

    try:
        traced(check, trace)
    finally:
        stop.set()
        reviewer.join()
    return trace


def _approve(name: str, stop: threading.Event) -> None:
    """Approve the first item that is pending in the run."""
    while not stop.wait(0.1):
        with reading() as session:
            run = runs.find(session, name)
            claimed = decisions.claim_next_item(review_queue(), session, run, "ada", now_ms()) if run else None
        if run and isinstance(claimed, Claim):
            approval = decisions.ReviewDecision("approve")
            decisions.submit(review_queue(), run, claimed, "ada", approval, now_ms())
            return


def fresh(folder: str) -> None:
    """Let the console keep its data in that folder."""
    os.environ["INFERACT_DATA_DIR"] = folder
    settings.cache_clear()


def main(arguments: Sequence[str]) -> None:
    """Measure, print, end with one line of JSON."""
    with tempfile.TemporaryDirectory() as folder:
        fresh(f"{folder}/log")
        log, detection = log_traces(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        fresh(folder)
        check = check_trace()
    figures = {
        "files_of_a_log": len(log.files),
        "files_of_a_check": len(check.files),
        "returns_of_a_detection": len(detection.returns),
    }
    if "--files" in arguments:
        for title, trace in (("log", log), ("check", check)):
            print(title, *sorted(os.path.relpath(name, ROOT) for name in trace.files), sep="\n  ")
        for title, pairs in (("handovers of a detection", detection.handovers), ("returns", detection.returns)):
            print(title, *(" -> ".join(os.path.relpath(name, ROOT) for name in pair) for pair in pairs), sep="\n  ")
    for name, value in figures.items():
        print(f"{name:<24} {value:>4}  ({GOALS[name][0]} {GOALS[name][1]})")
    met = all(figures[name] <= goal for name, (_, goal) in GOALS.items())
    print(json.dumps({"benchmark": "tracing", "figures": figures, "goals": GOALS, "met": met}))


if __name__ == "__main__":
    main(sys.argv[1:])
