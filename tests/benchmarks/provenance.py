"""A sample of arguments with their sources, drawn from recorded runs, for a reader who judges each source.

Usage: python tests/benchmarks/provenance.py [--count 300] [--seed 1] FILE...
One block per argument: the call, the argument, its source, and where its value is in the user's words and in results.
"""

import argparse
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from console.environments import ENVIRONMENTS  # noqa: E402
from console.environments.evidence import Evidence  # noqa: E402
from console.environments.tool_use import TracedCall  # noqa: E402
from console.runs.importers import read_log  # noqa: E402
from console.runs.importers.records import Found  # noqa: E402
from console.trajectory.checkpoints import checkpoints  # noqa: E402
from console.trajectory.provenance import Argument  # noqa: E402
from console.trajectory.terms import lowered  # noqa: E402

_AROUND, _LONGEST = 70, 160
Case = tuple[str, Evidence, TracedCall, Argument]


def list_arguments(paths: list[Path]) -> Iterator[Case]:
    """Yield the arguments of the critical actions in the files."""
    for path in paths:
        for entry in read_log(path)[1]:
            if not isinstance(entry, Found):
                continue
            record = entry.trajectory
            patterns = ENVIRONMENTS[record.environment].critical
            for number, at in enumerate(checkpoints(record, patterns)):
                evidence = Evidence(at)
                for call in evidence.pending_calls:
                    for one in call.arguments:
                        yield f"{path.stem} task {record.task_id} checkpoint {number}", evidence, call, one


def find_places(value: str, text: str) -> str:
    """Return the first places of a value in a text, with the words around them."""
    wanted = lowered(value).strip("#\"' .")[:40]
    found = [match.start() for match in re.finditer(re.escape(wanted), text)][:2] if wanted else []
    return " | ".join(" ".join(text[max(0, at - _AROUND) : at + len(wanted) + _AROUND].split()) for at in found) or "-"


def print_case(number: int, case: Case) -> None:
    """Print one argument with its source and the places of its value."""
    where, evidence, call, one = case
    print(f"[{number}] {where}: {call.call.name}  {one.name} = {one.value[:_LONGEST]!r}\n    source: {one.origin}")
    print(f"    user: {find_places(one.value, evidence.user)}")
    shown = [(act.step, find_places(one.value, lowered(act.observation))) for act in evidence.acts if not act.talks]
    for step, places in [held for held in shown if held[1] != "-"][:2]:
        print(f"    step {step}: {places}")


def main() -> int:
    """Print the sample, drawn evenly over the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    drawn = random.Random(wanted.seed)
    each = -(-wanted.count // len(wanted.files))
    cases: list[Case] = []
    for path in wanted.files:
        found = list(list_arguments([path]))
        cases += drawn.sample(found, min(each, len(found)))
    for number, case in enumerate(cases[: wanted.count], start=1):
        print_case(number, case)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
