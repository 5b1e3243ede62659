"""Probabilities learnt from reviewers' labels: never from gold, never from too few, beside the detector's verdicts."""

import pytest
from sqlmodel import col, select

from console import runs
from console.database import reading, review_queue, writing
from console.detection import fitting
from console.detection.evaluation import metrics, scores
from console.errors import BadInput, Refused, Unknown
from console.review import decisions
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.trajectory import Label, Outcome, Step, Trajectory
from storage import tables
from storage.queue import NewItem
from tests.sweeps import sweep
from tests.verdicts import a_run, judge, trajectory_ids

SCORES = [(((place * 7) % 40) + 0.5) / 80 for place in range(40)]
"""All below a half, so that they are no probabilities."""


def decide(name, labels):
    """Queues every trajectory of the run and answers with the given label; None leaves it waiting."""
    with writing() as session:
        run = runs.get(session, name)
        run.undo_ms = 0
        session.add(run)
        session.flush()
        session.expunge(run)
        ids = trajectory_ids(session, run)
        for id in ids:
            body = Trajectory(
                "t", "webshop", "a kettle", (Step("", "click[Buy Now]", ""),) * 4, 0, "click[Buy Now]", Outcome.FAILED
            )
            session.merge(tables.TrajectoryBody(trajectory_id=id, body=body.to_json()))
    queue = review_queue()
    queue.open_budgets(run.id, [0], None)
    chosen = [(id, label) for id, label in zip(ids, labels, strict=True) if label is not None]
    queue.put([NewItem(run.id, 0, id, 3, "action", 0.5, 1, None, 1) for id, _ in chosen])
    answers = dict(chosen)
    for _ in chosen:
        with reading() as session:
            claim = decisions.claim_next_item(queue, session, run, "Ada", 1_000)
        kind = "reject" if answers[claim.trajectory_id] == Label.MISALIGNED else "approve"
        decisions.submit(
            queue, run, claim, "Ada", decisions.ReviewDecision(kind, "no" if kind == "reject" else ""), 2_000
        )


@pytest.fixture
def reviewed():
    """A run of 40 whose reviewers call a score above 0.3 misaligned but for every fifth; its gold is the opposite."""
    said = [
        Label.MISALIGNED if (score > 0.3) != (place % 5 == 0) else Label.ALIGNED for place, score in enumerate(SCORES)
    ]
    a_run("r", [Label.ALIGNED if label == Label.MISALIGNED else Label.MISALIGNED for label in said])
    judge("r", "rules", SCORES)
    decide("r", said)
    return "r"


def recalibrated(name, detector="rules", method="platt"):
    with writing() as session:
        return fitting.recalibrate(session, runs.get(session, name), detector, method, 5_000)


def verdicts(name, detector):
    with reading() as session:
        run = runs.get(session, name)
        statement = select(tables.Verdict).where(tables.Verdict.run_id == run.id, tables.Verdict.detector == detector)
        found = session.exec(statement.order_by(col(tables.Verdict.trajectory_id))).all()
        session.expunge_all()
        return found


@sweep("method", ["platt", "isotonic"], kept=1)
def test_a_new_detector_says_what_reviewers_would_and_the_old_one_stays(reviewed, method):
    before = [one.model_dump() for one in verdicts(reviewed, "rules")]
    report = recalibrated(reviewed, method=method)
    assert (report.detector, report.verdicts, report.labels) == (f"rules+{method}", 40, 40)
    assert report.misaligned == 18
    assert report.brier < report.brier_before
    found = verdicts(reviewed, f"rules+{method}")
    assert len(found) == 40
    assert all(one.score == one.probability and one.flagged == (one.score > 0.5) for one in found)
    low = [one.score for one, bare in zip(found, SCORES, strict=True) if bare < 0.15]
    high = [one.score for one, bare in zip(found, SCORES, strict=True) if bare > 0.4]
    assert max(low) < min(high)
    assert f'"method":"{method}"' in found[0].parameters
    assert [one.model_dump() for one in verdicts(reviewed, "rules")] == before


def test_gold_labels_are_not_looked_at(reviewed):
    recalibrated(reviewed)
    with reading() as session:
        run = runs.get(session, reviewed)
        figures = metrics.evaluate(session, run)
    assert figures["rules+platt"]["roc_auc"] < 0.5
    assert figures["rules+platt"]["brier"] > 0.25


@pytest.mark.at_length
def test_again_takes_the_place_of_what_was_there(reviewed):
    recalibrated(reviewed)
    first = [one.id for one in verdicts(reviewed, "rules+platt")]
    recalibrated(reviewed)
    assert [one.id for one in verdicts(reviewed, "rules+platt")] == first
    with reading() as session:
        told = audit_trail.list_entries(session, AuditFilter(kind="detector recalibrated"))
    assert ["recalibrated rules+platt on “r”" in audit_trail.entry_sentence(one) for one in told] == [True, True]


@pytest.mark.at_length
def test_replies_that_could_not_be_read_stay_flagged_and_teach_nothing(reviewed):
    judge(reviewed, "direct", SCORES, parameters=lambda score: '{"unparsed":true}' if score > 0.49 else "{}")
    report = recalibrated(reviewed, "direct")
    assert (report.verdicts, report.labels) == (40, 39)
    with reading() as session:
        found = scores.read_scores(session, runs.get(session, reviewed))["direct+platt"]
    unread = found.where(found.unparsed)
    assert unread.n == 1
    assert unread.flagged().all()
    assert unread.calibrated.n == 0


@sweep("bad", [0, 9, 31], kept=1)
def test_too_few_labels_of_either_kind_are_refused_in_one_sentence(bad):
    a_run("few", [None] * 40)
    judge("few", "rules", SCORES)
    decide("few", [Label.MISALIGNED] * bad + [Label.ALIGNED] * (40 - bad))
    with pytest.raises(Refused, match=rf"found {bad} misaligned and {40 - bad} aligned.*at least 10 of each"):
        recalibrated("few")
    assert not verdicts("few", "rules+platt")


def test_what_cannot_be_recalibrated_is_named(reviewed):
    with pytest.raises(Unknown, match="recalibration"):
        recalibrated(reviewed, method="magic")
    with pytest.raises(BadInput, match="has no verdicts"):
        recalibrated(reviewed, detector="direct")
    recalibrated(reviewed)
    with pytest.raises(BadInput, match="is a recalibrated detector"):
        recalibrated(reviewed, detector="rules+platt")
