"""What came after each kind of feedback is counted apart, beside the same tasks where nobody decided."""

import pytest
from sqlmodel import select

from console import runs
from console.database import reading, writing
from console.review import feedback_counts
from console.review.feedback_counts import FeedbackKind
from console.trials import engine, start
from storage import tables
from tests.console.trials.worlds import players, sends_wrong_until_told

ANSWERS = {
    "1": {"decision": "reject", "feedback_text": "send 1"},
    "3": {"decision": "reject", "reason_codes": ("wrong-letter",)},
    "5": {"decision": "reject", "feedback_text": "colourless green ideas", "reason_codes": ("wrong-letter",)},
    "7": {"decision": "reject"},
    "9": {"decision": "edit", "edited_action": "send 9"},
}
PLAIN_TRIALS = {"1": 1, "3": 0, "5": 0, "7": 1, "9": 0}
"""The number of the first trial that solves each odd letter in a run where nobody decides; 0 if none does."""


@pytest.fixture
def decided(start_run, answer):
    """A function that plays both trials of the run with five wrong letters, each with another kind of feedback."""

    def play(**fields):
        cast = players(sends_wrong_until_told)
        start_run(cast, n=10, trials=2, blind=False, **fields)
        answer(lambda text, _: ANSWERS.get(text.split()[-1].rstrip("."), "approve"))
        engine.advance("run", actor_and_environments=cast)
        answer(lambda *_: "approve")
        engine.advance("run", actor_and_environments=cast)
        return cast

    return play


def tally(**asked):
    with reading() as session:
        return feedback_counts.tally_feedback(session, runs.get(session, "run"), "ann", unblinded=False, **asked)


@pytest.mark.at_length
def test_each_kind_is_counted_with_what_came_after_it(decided):
    decided()
    found = {count.kind: (count.attempts, count.solved, count.compared) for count in tally(compares=True).counts}
    # A message with a reason is a message; the plan that a plain rejection leaves sends a wrong letter again.
    assert found == {
        FeedbackKind.MESSAGE: (2, 1, 0),
        FeedbackKind.REASON: (1, 0, 0),
        FeedbackKind.REJECTION: (1, 0, 0),
        FeedbackKind.EDIT: (1, 1, 0),
    }
    assert tally().in_words == (
        "2 retries after a message: 1 solved. 1 retry after a reason only: 0 solved. "
        "1 retry after a plain rejection: 0 solved. 1 attempt continued after an edit: 1 solved."
    )
    assert "not what the feedback caused" in tally(compares=True).explanation


@pytest.mark.at_length
def test_the_same_tasks_in_a_run_that_nobody_decided_stand_beside(decided):
    """The oracle is the number that each letter of the other run is given: solved by trial 1, or not at all."""
    cast = decided()
    usual = {"detector_name": "full-validation", "trials": 2, "undo_ms": 0, "feedback_mode": "none"}
    start.start_run("plain", {"office": 10}, actor_and_environments=cast, **usual)
    engine.resume("plain", actor_and_environments=cast, concurrency=4)
    engine.advance("plain", actor_and_environments=cast)
    with writing() as session:
        plain = runs.get(session, "plain")
        for row in session.exec(select(tables.Trajectory).where(tables.Trajectory.run_id == plain.id)):
            task = session.get_one(tables.Task, row.task_id)
            number = task.task_key.removeprefix("letter-")
            if number in PLAIN_TRIALS:
                row.outcome = "succeeded" if row.trial and PLAIN_TRIALS[number] == row.trial else "failed"
                session.add(row)
    found = {count.kind: (count.compared_solved, count.compared) for count in tally(compares=True).counts}
    assert found == {
        FeedbackKind.MESSAGE: (1, 2),
        FeedbackKind.REASON: (0, 1),
        FeedbackKind.REJECTION: (1, 1),
        FeedbackKind.EDIT: (0, 1),
    }
    assert tally(compares=True).explanation.endswith("in: plain.")


def test_a_blind_run_hides_what_came_after(start_run, answer):
    cast = players(sends_wrong_until_told)
    start_run(cast, n=2, trials=3, blind=True)
    answer(lambda text, _: ANSWERS.get(text.split()[-1].rstrip("."), "approve"))
    engine.advance("run", actor_and_environments=cast)
    assert [(count.solved, count.row["solved"]) for count in tally(compares=True).counts] == [(None, "hidden")]
