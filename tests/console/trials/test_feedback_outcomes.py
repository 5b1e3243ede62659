"""What came of a reviewer's words: in an open run at once, in a blind one once it has closed."""

import pytest
from sqlmodel import select

from console import runs
from console.database import reading, writing
from console.review import feedback_counts, feedback_outcomes
from console.trials import engine
from storage import tables
from tests.console.trials.worlds import players, sends_wrong_until_told
from tests.sweeps import sweep


@pytest.fixture
def told(start_run, answer):
    """A function from whether the run is blind to what its reviewer is told, once each trial has been answered."""
    cast = players(sends_wrong_until_told)

    def begin(blind):
        start_run(cast, n=2, blind=blind, trials=2)
        answer(
            lambda instruction, _: (
                "approve"
                if "0" in instruction
                else {"decision": "reject", "feedback_text": "send 1", "reason_codes": ("wrong-letter",)}
            )
        )
        return tell()

    def tell():
        with reading() as session:
            run = runs.get(session, "run")
            tally = feedback_counts.tally_feedback(session, run, "ann", unblinded=False)
            found = feedback_outcomes.list_feedback_outcomes(session, run, "ann", unblinded=False, limit=10)
            return tally and tally.in_words, {one.trial: one for one in found if one.words}

    begin.tell = tell
    begin.on = lambda: engine.advance("run", actor_and_environments=cast)
    return begin


def test_an_open_run_tells_what_changed_and_how_it_ended(told, answer):
    assert told(blind=False)[0] is None
    assert told.tell()[1][0].state == "Not received by the agent yet."
    told.on()
    said, found = told.tell()
    assert said == "1 retry after a message: 0 solved, 1 not ended."
    assert (found[0].words, found[0].ending) == ("Wrong letter. send 1", "is pending a review")
    assert (found[0].before[-1], found[0].after[-1]) == ("send wrong", "send 1")
    answer(lambda *_: "approve")
    assert told.tell()[1][0].ending == "has not ended"
    told.on()
    said, found = told.tell()
    assert said == "1 retry after a message: 1 solved."
    assert found[0].is_solved


@pytest.mark.parametrize(("needed", "said"), [(1, "starts no retry."), (2, "Not received by the agent yet")])
def test_an_approval_says_nothing_of_the_end_while_another_review_may_reject(told, needed, said):
    told(blind=False)
    with writing() as session:
        for item in session.exec(select(tables.Item)):
            item.reviews_required = needed
    with reading() as session:
        run = runs.get(session, "run")
        found = feedback_outcomes.list_feedback_outcomes(session, run, "ann", unblinded=False, limit=10)
    (approved,) = [one.state for one in found if one.decision.decision == "approve"]
    assert said in approved


@pytest.mark.at_length
def test_a_blind_run_tells_it_once_it_has_closed(told, answer):
    told(blind=True)
    told.on()
    said, found = told.tell()
    assert said == "1 retry after a message. This run is blind: you can see the outcomes when the run has closed."
    assert found[0].after is None
    assert found[0].ending == ""
    assert "blind" in found[0].state
    answer(lambda *_: "approve")
    told.on()
    assert told.tell()[0] == "1 retry after a message: 1 solved."


def test_answers_that_no_agent_has_learnt_from_ask_for_another_round(told):
    told(blind=False)
    with reading() as session:
        assert feedback_outcomes.has_unused_feedback(session, runs.get(session, "run"))
    told.on()
    with reading() as session:
        assert not feedback_outcomes.has_unused_feedback(session, runs.get(session, "run"))


@sweep(("kind", "said"), [("archive", "No agent reads"), ("replay", "recorded before"), ("gate", "")], kept=1)
def test_nothing_is_credited_to_words_that_no_retry_read(told, kind, said):
    told(blind=False)
    told.on()
    with writing() as session:
        run = runs.get(session, "run")
        run.kind = kind
        session.add(run)
    (one,) = told.tell()[1].values()
    assert one.after is None
    assert said in one.state


@pytest.mark.parametrize(("blind", "more"), [(False, " and solved the task."), (True, ".")])
def test_after_an_edit_the_agent_went_on_instead_of_trying_again(start_run, answer, blind, more):
    cast = players(sends_wrong_until_told)
    start_run(cast, n=2, blind=blind, trials=2)
    answer(lambda text, _: {"decision": "edit", "edited_action": "send 1"} if "1" in text else "reject")
    engine.advance("run", actor_and_environments=cast)
    with reading() as session:
        found = feedback_outcomes.list_feedback_outcomes(
            session, runs.get(session, "run"), "ann", unblinded=False, limit=10
        )
    (edited,) = [one for one in found if one.decision.decision == "edit"]
    assert (edited.action, edited.state) == ("send wrong", f"The agent continued with your action{more}")
