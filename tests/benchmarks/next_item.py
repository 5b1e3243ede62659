"""The most urgent item over ten runs of 10,000 items each, against the next item of one of these runs.

`python tests/benchmarks/next_item.py [--quick]`; the last line is the result as JSON. Half of the runs name their
reviewers. Both sides open a session, find what to claim from, and claim the same item, which is released afterwards;
over all runs this includes listing the runs that the reviewer may review.
"""

import argparse
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlalchemy import insert
from sqlmodel import select

from console.auth import people
from console.auth.people import Role, name_key
from console.database import now_ms, reading, review_queue, writing
from console.review import access, decisions
from storage import tables
from storage.queue import Claim, NewItem
from tests.benchmarks.measure import Comparison, Figure, Work, compare_prepared, ratio_of_quantiles, report

RUNS, TRIALS, TRAJECTORIES, BODY = 10, 4, 500, "x" * 8_000
REVIEWER, FIRST_RUN = "Ada", 1
"""All runs have the same priorities, so the first item over all runs is the first one of the first run."""
GOALS = {"over all runs / one run, processor time": ("<=", 1.3), "p95 over all runs / p95 one run": ("<=", 1.3)}


def main() -> int:
    """Print the times, both ratios and whether the goals are met; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 items and 30 pairs instead of 100,000 and 200")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INFERACT_DATA_DIR"] = folder
        fill(1_000 if quick else 10_000)
        return 0 if run(30 if quick else 200) else 1


def fill(items: int) -> None:
    """Store the runs with that many waiting items each, spread over their trials, and the reviewer."""
    with writing() as session:
        people.add_person(session, REVIEWER, [Role.REVIEWER], now_ms())
    for run_id in range(1, RUNS + 1):
        with writing() as session:
            _store_run(session, run_id)
        queue = review_queue()
        for trial in range(TRIALS):
            queue.open_budget(run_id=run_id, trial=trial, cap=None)
        queue.put([_item(run_id, number) for number in range(items)])


def run(pairs: int) -> bool:
    """Compare both claims and return whether no goal is missed."""
    found = compare_claims(pairs)
    print(found.describe("next item"))
    return report("next_item", summarise(found), GOALS)


def compare_claims(pairs: int) -> Comparison:
    """Claim over all runs and in one run in turns; every claim is released before the next one is measured."""

    def prepare(claim: Work) -> Work:
        _release()
        return claim

    return compare_prepared(partial(prepare, _claim), partial(prepare, partial(_claim, FIRST_RUN)), pairs, warm_up=5)


def summarise(found: Comparison) -> dict[str, Figure | float]:
    """Return the ratio of processor times and that of the 95th percentiles, by processor time as well."""
    ours, floor = ([spent.processor for spent in side] for side in (found.ours, found.floor))
    return dict(zip(GOALS, (found.computing(), ratio_of_quantiles(ours, floor, 0.95)), strict=True))


def _claim(run_id: int | None = None) -> None:
    with reading() as session:
        if run_id is None:
            every = access.list_reviewable_runs(session, REVIEWER)
            found = decisions.claim_most_urgent(review_queue(), session, every, REVIEWER, now_ms(), settles=False)
        else:
            one = session.get_one(tables.Run, run_id)
            found = decisions.claim_next_item(review_queue(), session, one, REVIEWER, now_ms(), settles=False)
    if not isinstance(found, Claim) or found.run_id != FIRST_RUN:
        raise ValueError(f"Run {FIRST_RUN} has the first item, but the claim returned {found}.")


def _release() -> None:
    with reading() as session:
        slot = tables.Slot
        held = session.exec(select(slot).where(slot.reviewer == REVIEWER, slot.status == "claimed")).all()
    for one in held:
        review_queue().release(item_id=one.item_id, reviewer=REVIEWER, token=one.token, now_ms=now_ms())


def _store_run(session, run_id: int) -> None:
    name = f"run {run_id}"
    session.add(tables.Run(id=run_id, name=name, kind="live", environment="webshop", created_ms=1))
    session.flush()
    task = {"task_key": "t", "environment": "webshop", "instruction": "i", "instruction_digest": "d"}
    session.add(tables.Task(id=run_id, run_id=run_id, **task))
    if run_id % 2:
        session.add(tables.RunAccess(run_id=run_id, entry=REVIEWER, entry_key=name_key(REVIEWER)))
    session.flush()
    common = {"run_id": run_id, "task_id": run_id, "environment": "webshop", "n_steps": 9, "n_critical": 1}
    rest = {"outcome": "paused", "recorded_outcome": "failed", "carried_over": False, "source": "{}", "created_ms": 1}
    ids = [run_id * TRAJECTORIES + number for number in range(TRAJECTORIES)]
    rows = [{"id": i, "digest": str(i), "trial": i % TRIALS, **common, **rest} for i in ids]
    session.execute(insert(tables.Trajectory), rows)
    session.execute(insert(tables.TrajectoryBody), [{"trajectory_id": i, "body": BODY} for i in ids])


def _item(run_id: int, number: int) -> NewItem:
    step, place = divmod(number, TRAJECTORIES)
    trajectory = run_id * TRAJECTORIES + place
    return NewItem(run_id, trajectory % TRIALS, trajectory, step, "action", (number * 7919) % 1009 / 1009, 1, None, 1)


if __name__ == "__main__":
    sys.exit(main())
