"""What stands in a run's pool: the queue's own checkpoints, the truth about them, what became of them."""

import pytest
from sqlmodel import select

from console.database import writing
from console.detection import oversight
from console.errors import BadInput
from console.review.simulated import simulate
from console.trajectory import Label
from console.trials import engine, start
from storage import tables
from tests.overseen import decide, queue, settle
from tests.verdicts import a_run, judge, of_run

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


def labels_of(there, detector="rules"):
    return there.rows[there.rows["detector"] == detector]["label"].tolist()


def version_of(name):
    return of_run(name, oversight.pool_version)


def test_a_trajectory_stands_at_its_first_flagged_checkpoint(pool_of):
    a_run("long", [BAD, GOOD])
    judge("long", "rules", [0.3, 0.1], step=1)
    judge("long", "rules", [0.6, 0.2], step=2)
    judge("long", "rules", [0.9, 0.4], step=3)
    rows = pool_of("long").rows
    assert rows[["step", "score", "flagged"]].values.tolist() == [[2, 0.6, True], [1, 0.1, False]]


def test_halted_and_carried_over_trajectories_are_left_out(pool_of):
    a_run("mixed", [BAD, None, GOOD], outcomes=["failed", "halted", "succeeded"], carried_over=[2])
    judge("mixed", "rules", [0.9, 0.9, 0.9])
    assert labels_of(pool_of("mixed")) == [BAD]


def test_settled_labels_stand_in_for_gold_where_asked_for(queued, pool_of):
    settle("t1/3/action", "misaligned", run_id=queued.id)
    settle("t1/3/action", "aligned", run_id=queued.id, revision=2)
    settle("t3/3/action", "misaligned", run_id=queued.id)
    assert labels_of(pool_of("shop"))[:4] == [BAD, GOOD, BAD, GOOD]
    assert labels_of(pool_of("shop", labels="adjudicated"))[:4] == [BAD, GOOD, BAD, BAD]
    with pytest.raises(BadInput, match="gold or adjudicated"):
        pool_of("shop", labels="mine")


def test_a_later_trial_has_settled_labels_of_its_own(pool_of):
    a_run("two", [BAD, GOOD], trials=[0, 1])
    judge("two", "rules", [0.9, 0.9])
    run = queue("two", "rules")
    settle("t1/3/action", "misaligned", run_id=run.id)
    assert labels_of(pool_of("two", labels="adjudicated")) == [BAD, GOOD]
    settle("t1/3/action/trial 1", "misaligned", run_id=run.id)
    assert labels_of(pool_of("two", labels="adjudicated")) == [BAD, BAD]


def test_what_was_taken_back_was_not_inspected(queued, pool_of):
    decide(queued, ["reject", "approve"])
    with writing() as session:
        last = session.exec(select(tables.Decision).order_by(tables.Decision.id.desc())).first()
        last.superseded = True
        session.add(last)
    rows = pool_of("shop").rows
    own = rows[rows["detector"] == "rules"]
    assert own["inspected_ms"].notna().tolist() == [True] + [False] * 5 + [False] * 2
    assert own["reported"].sum() == 1


def test_an_audit_of_a_trajectory_decides_no_flagged_item_of_it(queued, pool_of):
    judge("shop", "rules", [0.3] + [None] * 7, step=1)
    decide(queued, ["reject"])
    with writing() as session:
        audited = session.exec(select(tables.Item).join(tables.Decision)).one()
        unflagged = session.exec(select(tables.Verdict).where(tables.Verdict.step == 1)).one()
        audited.step, audited.verdict_id = 1, unflagged.id
    there = pool_of("shop")
    own = there.rows[there.rows["detector"] == "rules"].iloc[0]
    assert own["flagged"]
    assert not own["reported"]
    assert own[["inspected_ms"]].isna().all()
    burnt = of_run("shop", lambda session, run: oversight.tabulate_burn_down(session, run, there))
    assert burnt["caught"].iloc[-1] == 1


def test_stated_costs_rank_what_is_dear_first(pool_of):
    a_run("dear", [BAD, BAD])
    judge("dear", "rules", [0.9, 0.6])
    queue("dear", "rules", options='{"costs": {"click[Buy Now]": 3}}')
    assert pool_of("dear").rows["expected_cost"].tolist() == pytest.approx([2.7, 1.8])
    assert pool_of("dear").rows["priority"].tolist() == pytest.approx([2.7, 1.8])


def test_the_version_changes_with_every_decision_label_and_cost(queued, pool_of):
    seen = [version_of("shop")]
    decide(queued, ["reject"])
    seen.append(version_of("shop"))
    settle("t1/3/action", "misaligned", run_id=queued.id)
    seen.append(version_of("shop"))
    assert len(set(seen)) == 3
    assert version_of("shop") == seen[-1]


@pytest.mark.at_length
def test_in_a_live_run_rejected_actions_have_the_label_of_what_they_would_have_done(pool_of):
    start.start_run("live", {"webshop": 12}, seed=3, detector_name="full-validation", trials=2, undo_ms=0)
    engine.resume("live")
    before = labels_of(pool_of("live"), "full-validation")
    tally = simulate.simulate("live")
    for _ in range(2):
        engine.advance("live")
        simulate.simulate("live")
    engine.advance("live")
    there = pool_of("live")
    first = there.rows[there.rows["trial"] == 0]
    assert first["label"].tolist() == before
    assert (first["label"] == BAD).sum() == tally.rejected > 0
    assert (first["label"] == GOOD).sum() == tally.approved > 0
    assert first["reported"].equals(first["label"] == BAD)
    assert 0 < first["corrected"].sum() <= tally.rejected
