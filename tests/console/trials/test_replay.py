"""A recorded log replayed: feedback on one trial reveals the next, and nothing else does."""

import pytest
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue
from console.errors import Refused
from console.review import decisions
from console.runs.status import run_status
from console.trials import replay
from storage import tables
from storage.queue import NoClaim


def answer_all(run_name, decide, reviewer="ada"):
    """Answers everything that waits; `decide` gets the task's id and gives the Answer."""
    answered = {}
    while True:
        with reading() as session:
            run = runs.get(session, run_name)
            claim = decisions.claim_next_item(review_queue(), session, run, reviewer, now_ms())
            if isinstance(claim, NoClaim):
                return answered
            record = session.get(tables.Trajectory, claim.trajectory_id)
            key = session.get(tables.Task, record.task_id).task_key
        answer = decide(key)
        decisions.submit(review_queue(), run, claim, reviewer, answer, now_ms())
        answered[key] = answer.decision


def outcomes(run_name):
    with reading() as session:
        run = runs.get(session, run_name)
        found = session.exec(
            select(tables.Task.task_key, tables.Trajectory.trial, tables.Trajectory.outcome)
            .join(tables.Task, tables.Task.id == tables.Trajectory.task_id)
            .where(tables.Trajectory.run_id == run.id)
        )
        return {(key, trial): outcome for key, trial, outcome in found}


def reject_or_send_words(key):
    if key == "kettle-3":
        return decisions.ReviewDecision("respond", "Go back to the search page.")
    return decisions.ReviewDecision("reject", "Keep to the price limit.")


def test_flagged_actions_are_held_whatever_the_log_says(two_trials):
    replay.start_replay("again", two_trials, "rules", undo_ms=0)
    assert outcomes("again") == {
        ("kettle-0", 0): "paused",
        ("kettle-1", 0): "paused",
        ("kettle-2", 0): "succeeded",
        ("kettle-3", 0): "halted",
    }


def test_feedback_reveals_the_recorded_next_trial_of_that_task_only(two_trials):
    replay.start_replay("again", two_trials, "rules", undo_ms=0)
    assert answer_all("again", reject_or_send_words) == {
        "kettle-0": "reject",
        "kettle-1": "reject",
        "kettle-3": "respond",
    }
    done = replay.advance("again")
    assert (done.delivered, done.rejected, done.revealed, done.nothing_recorded) == (3, 2, 2, 1)
    assert outcomes("again") | {} == {
        ("kettle-0", 0): "rejected",
        ("kettle-1", 0): "rejected",
        ("kettle-2", 0): "succeeded",
        ("kettle-3", 0): "halted",
        ("kettle-0", 1): "succeeded",
        ("kettle-1", 1): "paused",
    }
    again = replay.advance("again")
    assert (again.delivered, again.revealed, again.nothing_recorded) == (0, 0, 0)
    with reading() as session:
        run = runs.get(session, "again")
        task = session.exec(
            select(tables.Task.id).where(tables.Task.task_key == "kettle-0", tables.Task.run_id == run.id)
        ).one()
        history = replay.list_lineage(session, run, task)
    assert [(entry["trial"], entry["outcome"]) for entry in history] == [(0, "rejected"), (1, "succeeded")]
    assert history[0]["decisions"][0]["feedback_text"] == "Keep to the price limit."


def test_an_approved_action_gets_its_recorded_outcome(two_trials):
    replay.start_replay("again", two_trials, "rules", undo_ms=0)
    answer_all(
        "again",
        lambda key: (
            decisions.ReviewDecision("respond", "x") if key == "kettle-3" else decisions.ReviewDecision("approve")
        ),
    )
    done = replay.advance("again")
    assert (done.approved, done.rejected) == (2, 0)
    assert outcomes("again")["kettle-0", 0] == "failed"
    assert ("kettle-0", 1) not in outcomes("again")


OTHERS = {"ada": "click[Back to Search]", "bo": "click[< Prev]"}


def edit_to(action):
    return lambda key: (
        decisions.ReviewDecision("respond", "x") if key == "kettle-3" else decisions.ReviewDecision("edit", "", action)
    )


def test_an_action_that_its_reviewers_replaced_differently_does_not_run(two_trials):
    replay.start_replay("again", two_trials, "rules", undo_ms=0, reviews_per_item=2)
    for reviewer, action in OTHERS.items():
        answer_all("again", edit_to(action), reviewer)
    done = replay.advance("again")
    assert (done.approved, done.rejected) == (0, 2)
    assert outcomes("again")["kettle-1", 0] == "rejected"


def test_the_recorded_outcome_is_not_that_of_an_edited_action(two_trials):
    replay.start_replay("again", two_trials, "rules", undo_ms=0)
    answer_all("again", edit_to("click[Back to Search]"))
    done = replay.advance("again")
    assert (done.approved, done.rejected, done.revealed) == (0, 2, 2)
    assert outcomes("again")["kettle-0", 0] == "rejected"
    assert outcomes("again")["kettle-0", 1] == "succeeded"


def test_one_of_two_approvals_does_not_run_an_action(two_trials):
    replay.start_replay("again", two_trials, "rules", undo_ms=0, reviews_per_item=2)
    respond = decisions.ReviewDecision("respond", "x")
    answer_all("again", lambda key: respond if key == "kettle-3" else decisions.ReviewDecision("approve"), "ada")
    done = replay.advance("again")
    assert (done.approved, done.rejected) == (0, 0)
    answer_all(
        "again", lambda key: respond if key == "kettle-3" else decisions.ReviewDecision("edit", "", "click[x]"), "bo"
    )
    done = replay.advance("again")
    assert (done.approved, done.rejected) == (0, 2)


def test_a_decision_inside_its_undo_window_is_not_delivered(two_trials):
    replay.start_replay("again", two_trials, "rules", undo_ms=60_000)
    with reading() as session:
        run = runs.get(session, "again")
        claim = decisions.claim_next_item(review_queue(), session, run, "ada", now_ms())
    decisions.submit(review_queue(), run, claim, "ada", decisions.ReviewDecision("reject"), now_ms())
    done, soon = replay.advance("again"), now_ms()
    assert (done.delivered, done.undoable) == (0, 1)
    assert soon + 50_000 < done.due_ms <= soon + 60_000
    with reading() as session:
        decisions.claim_next_item(review_queue(), session, runs.get(session, "again"), "ada", now_ms())
    assert replay.advance("again").delivered == 1


def test_the_budget_holds_in_every_trial(two_trials):
    replay.start_replay("again", two_trials, "rules", budget_percent=50.0, undo_ms=0)
    answer_all("again", reject_or_send_words)
    replay.advance("again")
    with reading() as session:
        status = run_status(session, runs.get(session, "again"))
    assert [(row["trial"], row["budget"]["cap"]) for row in status["trials"]] == [(0, 2), (1, 2)]
    assert status["trials"][0]["budget"]["used"] == 2


def test_only_an_archive_can_be_replayed(two_trials):
    replay.start_replay("again", two_trials, "rules")
    with pytest.raises(Refused, match="not an archive"):
        replay.start_replay("third", "again", "rules")
    with pytest.raises(Refused, match="already exists"):
        replay.start_replay("again", two_trials, "rules")
    with pytest.raises(Refused, match="no next trial"):
        replay.advance(two_trials)
