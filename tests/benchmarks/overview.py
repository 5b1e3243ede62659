"""The overview of a run with 100,000 decisions, against the one pass over its decisions that any count of them takes.

`python tests/benchmarks/overview.py [--quick]`; the last line is the result as JSON.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlmodel import Session, col, func, select

from console import runs
from console.detection.oversight import tabulate_burn_down
from console.review.overview import build_overview
from storage import tables
from storage.engine import reading
from tests.benchmarks.exporting import RUN, fill
from tests.benchmarks.measure import Figure, compare, report

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
    sys.exit(not report("overview", figures, GOALS))


def measure(session: Session, rounds: int = 15) -> dict[str, Figure]:
    """Return the median of the pairs' ratios."""
    run = runs.get(session, RUN)
    run.detector = "rules"
    ours, floor = partial(_ours, session, run), partial(_one_pass, session, run)
    pairs = compare(ours, floor, rounds)
    print(pairs.describe("overview"))
    return {"overview_vs_one_pass": pairs.computing()}


def _ours(session: Session, run: tables.Run) -> None:
    session.expire_all()
    build_overview(session, run, 0)
    tabulate_burn_down(session, run)


def _one_pass(session: Session, run: tables.Run) -> None:
    item, decision = tables.Item, tables.Decision
    counted = select(item.trial, decision.decision, func.count()).join(decision, col(decision.item_id) == item.id)
    session.exec(counted.where(item.run_id == run.id).group_by(col(item.trial), col(decision.decision))).all()


if __name__ == "__main__":
    main()
