"""The overview of a run with 100,000 decisions, against the one pass over its decisions that any count of them takes.

`python tests/benchmarks/overview.py [--quick]`; the last line is the result as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlmodel import Session, col, func, select

from console import runs
from console.detection.oversight import burn_down
from console.review.overview import overview
from storage import tables
from storage.engine import reading
from tests.benchmarks.exporting import RUN, fill, seconds

GOALS = {"overview_vs_one_pass": ["<=", 8.0]}


def main() -> None:
    """Prints the figures and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 decisions")
    rows = 10_000 if parser.parse_args().quick else 100_000
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/console.db"
        fill(url, rows)
        with reading(url) as session:
            figures = {"decisions": rows, **measure(session)}
    print(
        f"overview of {rows:,} decisions: {figures['overview_ms']} ms, one pass over them {figures['one_pass_ms']} ms"
    )
    met = all(figures[name] <= goal for name, (_, goal) in GOALS.items())
    print(json.dumps({"benchmark": "overview", "figures": figures, "goals": GOALS, "met": met}))


def measure(session: Session, rounds: int = 7) -> dict[str, float]:
    """Medians of both, and the median of their ratios within a round."""
    run = runs.get(session, RUN)
    run.detector = "rules"
    ours, floor = partial(_ours, session, run), partial(_one_pass, session, run)
    ours(), floor()
    pairs = [(seconds(ours), seconds(floor)) for _ in range(rounds)]
    return {
        "overview_ms": round(1_000 * median(mine for mine, _ in pairs)),
        "one_pass_ms": round(1_000 * median(bare for _, bare in pairs)),
        "overview_vs_one_pass": round(median(mine / bare for mine, bare in pairs), 2),
    }


def _ours(session: Session, run: tables.Run) -> None:
    session.expire_all()
    overview(session, run, 0)
    burn_down(session, run)


def _one_pass(session: Session, run: tables.Run) -> None:
    item, decision = tables.Item, tables.Decision
    counted = select(item.trial, decision.decision, func.count()).join(decision, col(decision.item_id) == item.id)
    session.exec(counted.where(item.run_id == run.id).group_by(col(item.trial), col(decision.decision))).all()


if __name__ == "__main__":
    main()
