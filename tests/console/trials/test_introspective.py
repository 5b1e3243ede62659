"""The introspective Actor in live runs: the gate first, a chosen remedy next and once, nothing critical crossed."""

import pytest
from sqlmodel import select

from console import runs
from console.actors import Actor, Move, introspective
from console.database import now_ms, reading, review_queue
from console.environments import ENVIRONMENTS
from console.environments.environment import REFUSED
from console.errors import Refused
from console.llm.errors import ModelRefused
from console.review import decisions
from console.review.blinding import get_remedy, list_remedies
from console.review.feedback_counts import FeedbackKind, tally_feedback
from console.review.presentation import record_presentation
from console.trajectory import from_json
from console.trials import engine, start
from console.trials.start import ActorAndEnvironments
from storage import tables
from tests.console.actors.talking import Scripted, acting
from tests.console.trials.worlds import office
from tests.fakes.endpoint import serving

SHOP = {"webshop": ENVIRONMENTS["webshop"]}
TASK = ENVIRONMENTS["webshop"].tasks(0, 1)[0]
SEARCH, OPEN, BUY = f"search[{TASK.gold['name']}]", f"click[{TASK.gold['asin']}]", "click[Buy Now]"


@pytest.fixture
def shop():
    """A function that starts a run of one purchase by a script; it gives the cast, the counts and the record."""

    def begin(endpoint, **fields):
        cast = ActorAndEnvironments(acting(introspective, endpoint, caps={"any": 30}), SHOP)
        usual = {"detector_name": "full-validation", "undo_ms": 0, "feedback_mode": "nl", "trials": 2}
        start.start_run("run", {"webshop": 1}, actor_and_environments=cast, **usual | fields)
        engine.resume("run", actor_and_environments=cast)
        return cast

    return begin


def record(number=0):
    with reading() as session:
        row = session.exec(select(tables.Trajectory).where(tables.Trajectory.trial == number)).one()
        body = session.get_one(tables.TrajectoryBody, row.id).body
    return from_json(body)


def claimed():
    with reading() as session:
        run = runs.get(session, "run")
        session.expunge(run)
        return run, decisions.claim_next_item(review_queue(), session, run, "ann", now_ms())


def script(**more):
    return Scripted(
        action=[SEARCH, OPEN, BUY, BUY],
        remedy=["s1", "s2", "o1", "o2", "click[Features]", "click[Description]"],
        **more,
    )


def test_a_critical_action_waits_with_its_remedies_for_the_reviewer(shop):
    model = script(align=["ok\nYES"])
    with serving(model) as endpoint:
        shop(endpoint)
        assert endpoint.requests == 1 + 3 + 6 + 6
    _, claim = claimed()
    assert record().critical_action == BUY
    assert list_remedies(claim) == ("click[Description]", "click[Features]")
    assert get_remedy(claim, 2) == "click[Features]"
    with pytest.raises(Refused, match="offers 2"):
        get_remedy(claim, 3)


@pytest.mark.at_length
def test_a_chosen_remedy_is_what_runs_next_and_only_once(shop):
    with serving(script(align=["ok\nYES", "ok\nYES", "no\nNO"], map=["click[Features]"])) as endpoint:
        cast = shop(endpoint)
        run, claim = claimed()
        chosen = decisions.ReviewDecision("edit", edited_action=list_remedies(claim)[0])
        decisions.submit(review_queue(), run, claim, "ann", chosen, now_ms())
        engine.advance("run", actor_and_environments=cast)
        engine.advance("run", actor_and_environments=cast)
    actions = [step.action for step in record().steps]
    assert actions[:5] == [SEARCH, OPEN, "click[Description]", "go_back", "click[Features]"]
    assert actions.count("click[Description]") == 1
    taken = record().steps[2]
    assert (taken.extra["instead_of"], taken.extra["remedy"]) == (BUY, True)
    with reading() as session:
        tally = tally_feedback(session, runs.get(session, "run"), "ann", unblinded=True)
    assert [(one.kind, one.attempts) for one in tally.counts] == [(FeedbackKind.REMEDY, 1)]
    stamp = record_presentation(record()).steps[2].stamp
    assert stamp == "an agent's remedy, chosen in review instead of click[Buy Now]"


def test_an_approved_purchase_ends_the_trial(shop):
    with serving(script(align=["ok\nYES"])) as endpoint:
        cast = shop(endpoint)
        run, claim = claimed()
        decisions.submit(review_queue(), run, claim, "ann", decisions.ReviewDecision("approve"), now_ms())
        engine.advance("run", actor_and_environments=cast)
    assert [step.action for step in record().steps] == [SEARCH, OPEN, BUY]
    assert record().outcome in ("succeeded", "failed")


@pytest.mark.at_length
def test_a_trial_ends_after_thirty_actions(shop):
    model = Scripted(action=[f"search[{number}]" for number in range(40)], remedy=["", ""], align=["no\nNO"])
    with serving(model) as endpoint:
        shop(endpoint)
    assert len(record().steps) == 30
    assert record().outcome == "halted"


def test_a_task_that_the_actor_holds_for_done_has_failed_where_the_world_goes_on(shop):
    with serving(script(completed=["YES"], answer=["Answer: bought it"])) as endpoint:
        shop(endpoint)
    assert record().outcome == "failed"
    assert record().extra["answer"] == "bought it"
    assert record().extra["usage"]["requests"] == 3


@pytest.mark.parametrize(("first", "refused"), [("seal 0", True), ("note a", False)])
def test_the_engine_lets_no_actor_go_back_across_a_critical_action(data_dir, first, refused):
    moves = [first, "go_back", "send 0"]

    async def act(view):
        return Move("as told", moves[len(view.steps)])

    cast = ActorAndEnvironments(Actor("told", "Told", act, act), {"office": office(back="go_back")})
    start.start_run("run", {"office": 1}, actor_and_environments=cast, feedback_mode="none")
    engine.resume("run", actor_and_environments=cast)
    back = record().steps[1]
    assert (REFUSED in back.extra) is refused
    assert ("seal 0 was critical and has run" in back.observation) is refused
    assert record().outcome == "succeeded"


def test_a_refused_step_is_not_repeated_when_the_trial_is_taken_up_again(data_dir):
    moves = ["seal 0", "go_back", "send 0"]

    async def act(view):
        return Move("as told", moves[len(view.steps)])

    cast = ActorAndEnvironments(Actor("told", "Told", act, act), {"office": office(back="go_back")})
    fields = {"feedback_mode": "nl", "detector_name": "full-validation", "undo_ms": 0}
    start.start_run("run", {"office": 1}, actor_and_environments=cast, **fields)
    engine.resume("run", actor_and_environments=cast)
    for _ in range(2):
        run, claim = claimed()
        decisions.submit(review_queue(), run, claim, "ann", decisions.ReviewDecision("approve"), now_ms())
        engine.advance("run", actor_and_environments=cast)
    assert record().outcome == "succeeded"
    assert [step.observation.partition(":")[0] for step in record().steps][0::2] == ["1", "2"]


def test_a_note_never_reaches_the_world_and_the_trial_resumes_over_it(shop):
    model = Scripted(
        action=["note_down[white ones]", SEARCH, OPEN, BUY], remedy=["s1", "s2", "o1", "o2", ""], align=["ok\nYES"]
    )
    with serving(model) as endpoint:
        cast = shop(endpoint)
        run, claim = claimed()
        decisions.submit(review_queue(), run, claim, "ann", decisions.ReviewDecision("approve"), now_ms())
        engine.advance("run", actor_and_environments=cast)
    noted, *others = record().steps
    assert (noted.observation, [step.action for step in others]) == ("Noted.", [SEARCH, OPEN, BUY])
    assert record().outcome in ("succeeded", "failed")


def test_a_rejected_trial_is_known_to_the_next_one(shop):
    model = script(align=["ok\nYES"])
    with serving(model) as endpoint:
        cast = shop(endpoint)
        run, claim = claimed()
        assert record().extra["pending_thought"].endswith("The plan:\n1. find it\n2. take it")
        decisions.submit(review_queue(), run, claim, "ann", decisions.ReviewDecision("reject", "too dear"), now_ms())
        engine.advance("run", actor_and_environments=cast)
    plans = [text for kind, text in zip(model.asked, model.texts, strict=True) if kind == "plan"]
    assert ["you had this plan" in text for text in plans] == [False, True]
    assert "too dear" in plans[1]
    assert record(1).extra["earlier"]["plan"] == "1. find it\n2. take it"


def test_a_trial_whose_model_declines_halts_without_an_action(shop):
    with serving("I'm sorry, but I can't help with that.") as endpoint:
        shop(endpoint)
        assert endpoint.requests == 3
    ended = record()
    assert (ended.outcome, ended.steps) == ("halted", ())
    assert ended.extra["reason"] == "The model declined to answer: I'm sorry, but I can't help with that."


def test_a_trial_without_a_step_leaves_the_state_of_the_one_before_it(data_dir):
    known = []

    async def act(view):
        known.append(dict(view.earlier))
        if len(known) == 2:
            raise ModelRefused("I would rather not.")
        return Move("as told", "send 9")

    told = Actor("told", "Told", act, act, carry=lambda steps: {"plan": "send it"} if steps else {})
    cast = ActorAndEnvironments(told, {"office": office()})
    start.start_run("run", {"office": 1}, actor_and_environments=cast, feedback_mode="none", trials=3)
    for onward in (False, True, True):
        engine.advance("run", actor_and_environments=cast, onward=onward)
    assert known == [{}, {"plan": "send it"}, {"plan": "send it"}]
