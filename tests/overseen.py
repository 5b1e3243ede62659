"""Runs with invented verdicts whose flagged items somebody reviews, at stated times."""

from __future__ import annotations

from console import runs
from console.database import reading, review_queue, writing
from console.detection import batch
from console.review import decisions
from console.runs import run_options
from storage import tables
from storage.queue import Claim
from storage.tables import DecisionKind
from tests.logs import purchase
from tests.verdicts import trajectory_ids

MINUTE_MS = 60_000


def queue(name, detector, *, cap=None, options="{}"):
    """Gives the run's trajectories bodies and queues what the detector flags; returns the run."""
    with writing() as session:
        run = runs.get(session, name)
        run.detector, run.budget_cap, run.undo_ms, run.options = detector, cap, 0, options
        session.add(run)
        for place, id in enumerate(trajectory_ids(session, run)):
            body = purchase(place, wrong=session.get_one(tables.Trajectory, id).label == "misaligned").to_json()
            session.add(tables.TrajectoryBody(trajectory_id=id, body=body))
    with reading() as session:
        run = runs.get(session, name)
        session.expunge(run)
    batch.queue_flagged(run, run_options(run))
    return run


def decide(run, kinds, *, trial=0, reviewer="ada", from_ms=MINUTE_MS, apart_ms=MINUTE_MS):
    """Decides the next items of a trial, so far apart, with these kinds of decision."""
    for place in range(len(kinds)):
        at = from_ms + apart_ms * place
        claimed = review_queue().claim(
            run_id=run.id, trial=trial, reviewer=reviewer, now_ms=at, lease_ms=600_000, halted_free=True
        )
        assert isinstance(claimed, Claim), claimed
        words = "The colour is wrong." if kinds[place] == DecisionKind.REJECT else ""
        answer = decisions.ReviewDecision(kinds[place], words)
        decisions.submit(review_queue(), run, claimed, reviewer, answer, at + apart_ms // 2)


def settle(unit, label, *, run_id=None, study_id=None, revision=1):
    """Somebody settles the label of a checkpoint."""
    with writing() as session:
        session.add(
            tables.Adjudication(
                run_id=run_id,
                study_id=study_id,
                unit=unit,
                revision=revision,
                label=label,
                adjudicator="grace",
                at_ms=1,
            )
        )
