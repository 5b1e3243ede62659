"""Which tools of agent benchmarks are proposed as critical: recall of those that change the world, and precision.

Usage: python tests/benchmarks/suggestions.py [--misses]
"""

import argparse
import re
import sys
from pathlib import Path

import orjson
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from console.runs.critical_suggestions import suggest  # noqa: E402

TABLE = Path(__file__).with_name("agent_tools.yaml")
RECALL, PRECISION = 0.9, 0.7
_TOOL = re.compile(r"([\w.-]+)\(([^)]*)\)")


def tools(text: str) -> dict[str, str]:
    """By name each tool of a table's cell as a call with empty arguments."""
    return {
        name: f"{name}({orjson.dumps(dict.fromkeys(filter(None, arguments.split(',')), '')).decode()})"
        for name, arguments in _TOOL.findall(text)
    }


def proposed(calls: dict[str, str]) -> set[str]:
    """The tools of which anything is proposed."""
    return {name for name, call in calls.items() if suggest([(call, 1)])}


def measure() -> dict[str, tuple[set[str], set[str], set[str]]]:
    """By benchmark (tools that change and are proposed, those that are missed, those proposed though they read)."""
    found = {}
    for benchmark, cells in yaml.safe_load(TABLE.read_text()).items():
        changes, reads = tools(cells["changes"]), tools(cells["reads"])
        right = proposed(changes)
        found[benchmark] = (right, changes.keys() - right, proposed(reads))
    return found


def rates(right: int, missed: int, wrong: int) -> tuple[float, float]:
    """(recall, precision)."""
    return right / (right + missed), right / (right + wrong)


def main() -> int:
    """Prints a line for each benchmark and one for all; 1 where the floors are not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="name the tools that are judged wrongly")
    wanted = parser.parse_args()
    found = measure()
    total = [0, 0, 0]
    for benchmark, sets in found.items():
        counts = [len(each) for each in sets]
        total = [sum(pair) for pair in zip(total, counts, strict=True)]
        recall, precision = rates(*counts)
        print(f"{benchmark[:44]:44} {sum(counts[:2]):4} change  recall {recall:.2f}  precision {precision:.2f}")
        if wanted.misses:
            print(f"    missed: {', '.join(sorted(sets[1])) or '-'}\n    wrong: {', '.join(sorted(sets[2])) or '-'}")
    recall, precision = rates(*total)
    print(f"{'all':44} {sum(total[:2]):4} change  recall {recall:.2f}  precision {precision:.2f}")
    return 0 if recall >= RECALL and precision >= PRECISION else 1


if __name__ == "__main__":
    sys.exit(main())
