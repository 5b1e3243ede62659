"""What a decision comes to is said as it is in each kind of run."""

import pytest

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.gate import Gate
from console.review import blinding, decisions
from console.review.resolution import _describe_halted, describe_consequence
from console.runs import ingest
from console.trials import replay
from storage import tables
from tests.logs import purchase, write_log


@pytest.fixture
def archive(tmp_path, data_dir):
    ingest.import_file(write_log(tmp_path / "log.jsonl", purchase(0, wrong=True)), "log", "auto", lambda _: None)
    batch.detect("log", ["rules"])


def answered(name, decision, **more):
    """(the presentation of the next item, what the answer to it comes to)"""
    with reading() as session:
        run = runs.get(session, name)
        claim = decisions.claim_next_item(review_queue(), session, run, "Ada", now_ms())
        shown = blinding.build_review_view(session, review_queue(), run, claim, "Ada", unblinded=False).presentation
    row = decisions.submit(review_queue(), run, claim, "Ada", decisions.ReviewDecision(decision, **more), now_ms())
    with reading() as session:
        return shown, describe_consequence(session, run, session.get_one(tables.Decision, row.id))


@pytest.mark.parametrize(("decision", "said"), [("approve", "Marked as correct."), ("reject", "Marked as incorrect.")])
def test_an_archive_is_judged_and_never_says_that_its_action_waits(archive, decision, said):
    shown, came = answered("log", decision)
    assert (shown.heading, shown.stamp, came) == ("The critical action", "from a log", said)
    assert {step.stamp for step in shown.steps} == {"", "from a log"}


@pytest.mark.parametrize(("decision", "said"), [("approve", "counts"), ("reject", "does not count")])
def test_a_replay_says_that_what_was_recorded_counts_or_not(archive, decision, said):
    replay.start_replay("again", "log", "rules")
    shown, came = answered("again", decision)
    assert (shown.heading, shown.stamp) == ("The agent is about to", "held in this replay")
    assert said in came
    assert "can take" not in came


def test_only_where_an_agent_waits_may_an_action_run(data_dir):
    for number, (decision, said) in enumerate(
        (("approve", "Approved. The agent can take the action."), ("reject", "does not run"))
    ):
        Gate(f"desk{number}", "full-validation", undo_s=0).ask("Refund.", [], "refund(5)")
        shown, came = answered(f"desk{number}", decision)
        assert shown.stamp == "not run yet"
        assert said in came


def test_an_approval_among_several_or_after_the_deadline_promises_nothing(data_dir):
    Gate("two", "full-validation", undo_s=0, reviews_per_item=2).ask("Refund.", [], "refund(5)")
    assert "if every other reviewer" in answered("two", "approve")[1]
    Gate("late", "full-validation", undo_s=0).ask("Refund.", [], "refund(5)")
    with reading() as session:
        run = runs.get(session, "late")
        claim = decisions.claim_next_item(review_queue(), session, run, "Ada", now_ms())
    with writing() as session:
        session.exec(tables.Ask.__table__.update().values(deadline_ms=now_ms() - 1))
    assert claim.item_id
    assert "after the agent's deadline" in answered("late", "approve")[1]


@pytest.mark.parametrize("trials", [1, 2])
def test_without_feedback_no_agent_tries_again_with_feedback(trials):
    for mode, has_feedback in (("nl", True), ("binary", False)):
        run = tables.Run(name="part", kind="live", study_id=1, trials=trials, feedback_mode=mode)
        assert ("feedback" in _describe_halted(run, tables.Item(trial=0))) is has_feedback
    assert decisions.name_decision("respond") == "feedback only"
    assert decisions.name_decision("reject") == "rejected"
