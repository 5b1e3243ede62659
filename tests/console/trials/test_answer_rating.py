"""Rating of answers: three people on the same queue, the majority, how far they agree, and nobody's gold in the way."""

import pytest

from console import runs
from console.actors import Actor, Move
from console.database import now_ms, reading, review_queue
from console.environments import ENVIRONMENTS
from console.errors import BadInput, Refused
from console.review import blinding, decisions
from console.trajectory import Outcome, Step, Trajectory
from console.trials import answer_rating, engine, start
from console.trials.start import ActorAndEnvironments

GOLD = [task.gold["answer"] for task in ENVIRONMENTS["hotpotqa"].tasks(0, 3)]


@pytest.fixture
def rating(data_dir):
    """The rating of three answers: a right one, one in other words, and a wrong one."""
    said = iter([GOLD[0], f"The answer is {GOLD[1]}", "Nobody knows"])

    async def act(view):
        return Move("I know.", f"Finish[{next(said)}]")

    cast = ActorAndEnvironments(Actor("stub", "Stub", act, act))
    start.start_run("wiki", {"hotpotqa": 3}, actor_and_environments=cast, feedback_mode="none")
    engine.resume("wiki", actor_and_environments=cast, concurrency=1)
    assert answer_rating.start_rating("rated", "wiki") == 3
    return "rated"


def judge(who, *labels):
    """Answers of one annotator in the order of the queue: a label and perhaps a comment each."""
    for label in labels:
        with reading() as session:
            run = runs.get(session, "rated")
            claim = decisions.claim_next_item(review_queue(), session, run, who, now_ms())
        words = label.partition(": ")[2]
        answer = decisions.ReviewDecision("approve" if label.startswith("yes") else "reject", words)
        decisions.submit(review_queue(), run, claim, who, answer, now_ms())


def ratings():
    with reading() as session:
        return answer_rating.get_ratings(session, runs.get(session, "rated"))


def test_each_answer_waits_for_three_people_and_their_majority_counts(rating):
    judge("ann", "yes", "yes: in other words", "no")
    judge("bob", "yes", "no: too long", "no")
    assert [one.majority for one in ratings().answers] == ["aligned", None, "misaligned"]
    judge("cem", "yes", "yes", "no")
    found = ratings()
    assert [one.majority for one in found.answers] == ["aligned", "aligned", "misaligned"]
    assert [(one.correct, one.incorrect) for one in found.answers] == [(3, 0), (2, 1), (0, 3)]
    assert found.answers[1].comments == ("in other words", "too long")
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.agreement["percent"].value == pytest.approx((3 + 1 + 3) / 9)


def test_a_fourth_person_finds_nothing_to_judge(rating):
    for who in ("ann", "bob", "cem"):
        judge(who, "yes", "yes", "yes")
    with reading() as session:
        run = runs.get(session, "rated")
        nothing = decisions.claim_next_item(review_queue(), session, run, "dora", now_ms())
    assert not hasattr(nothing, "item_id")


def test_an_annotator_sees_question_answer_and_what_the_data_say(rating):
    with reading() as session:
        run = runs.get(session, "rated")
        claim = decisions.claim_next_item(review_queue(), session, run, "ann", now_ms())
    with reading() as session:
        view = blinding.build_review_view(session, review_queue(), run, claim, "ann", unblinded=False)
    assert view.presentation.action == GOLD[0]
    assert view.presentation.brief == (("answer", GOLD[0]),)
    assert view.presentation.flag is None


def test_before_anybody_has_judged_nothing_is_known(rating):
    found = ratings()
    assert found.accuracy is None
    assert all(one.value is None for one in found.agreement.values())


def test_what_cannot_be_rated_is_refused(rating):
    with pytest.raises(Refused, match="is not a rating"), reading() as session:
        answer_rating.get_ratings(session, runs.get(session, "wiki"))
    with pytest.raises(BadInput, match="at least one"):
        answer_rating.start_rating("more", "wiki", 0)
    with pytest.raises(Refused, match="already exists"):
        answer_rating.start_rating("rated", "wiki")


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        (Trajectory("t", "hotpotqa", "q", (Step(action="Finish[ 42 ]"),)), "42"),
        (Trajectory("t", "hotpotqa", "q", (Step(action="Search[42]"),)), None),
        (Trajectory("t", "hotpotqa", "q", (Step(action="Finish[]"),)), None),
        (Trajectory("t", "hotpotqa", "q"), None),
        (Trajectory("t", "webshop", "q", (Step(action="click[x]"),)), None),
        (Trajectory("t", "webshop", "q", (Step(action="click[x]"),), extra={"answer": " done "}), "done"),
    ],
)
def test_the_answer_is_what_the_trial_ended_with(record, answer):
    assert answer_rating.final_answer(record) == answer


def test_a_run_without_answers_has_nothing_to_rate(data_dir):
    async def act(view):
        return Move("", "look")

    cast = ActorAndEnvironments(Actor("stub", "Stub", act, act))
    start.start_run("house", {"alfworld": 1}, actor_and_environments=cast, feedback_mode="none")
    engine.resume("house", actor_and_environments=cast)
    with pytest.raises(Refused, match="answers to rate"):
        answer_rating.start_rating("rated", "house")
    assert Outcome.HALTED
