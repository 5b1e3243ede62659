"""AutoPlan: three calls an action, what is told in them, and the reflection on a batch."""

import asyncio

import pytest

from console.actors import autoplan
from console.actors.autoplan import Ablation, EndedTrial, ReviewersWords, read_plan, reflect, update_plan
from console.actors.move import ActorView
from console.llm import ModelUsage
from console.llm.errors import ModelRefused
from console.llm.prompts import fence
from console.trajectory import Step
from tests.console.actors.talking import Scripted, acting, run
from tests.fakes.endpoint import serving

PLAN = "1. search\n2. take"


def view(*steps, plan=PLAN, environment="alfworld", **more):
    return ActorView(environment, "put a mug in shelf.", "You see a shelf 1.", steps, plan=plan, **more)


def moved(script, seen):
    with serving(script) as endpoint:
        move = asyncio.run(acting(autoplan, endpoint).act(seen))
        return move, endpoint.asks


def script(**more):
    return Scripted(
        **{"thought": ["Step 1."], "wording": ["I go to the shelf"], "formalizer": ["go to shelf 1"], **more}
    )


def test_an_action_takes_a_thought_an_action_and_a_formalizer():
    model = script()
    move, asks = moved(model, view())
    assert model.asked == ["thought", "wording", "formalizer"]
    assert (move.thought, move.action) == ("Step 1.", "go to shelf 1")
    assert PLAN in asks[0].text
    assert "stay faithful to the plan" in asks[0].last
    assert "I go to the shelf" in asks[2].text
    assert move.extra["usage"]["requests"] == 3


def test_without_a_plan_nothing_is_said_of_one():
    _, asks = moved(script(), view(plan=""))
    assert "plan" not in asks[0].text


@pytest.mark.parametrize(("explores", "temperature", "top_p"), [(True, 1.0, 0.9), (False, 0.0, None)])
def test_replies_are_drawn_while_a_plan_is_learnt_and_greedy_at_the_test(explores, temperature, top_p):
    _, asks = moved(script(), view(explores=explores))
    assert {(ask.body["temperature"], ask.body.get("top_p")) for ask in asks} == {(temperature, top_p)}


def test_the_conversation_holds_its_own_wording_and_what_a_reviewer_made_of_it():
    own = Step("t1", "go to shelf 1", "You arrive.", {"autoplan": {"wording": "walk over"}})
    theirs = Step("t2", "open shelf 2", "You open.", {"autoplan": {"wording": "heat it"}, "instead_of": "heat it"})
    _, asks = moved(script(), view(own, theirs))
    said = [message["content"] for message in asks[0].messages if message["role"] == "assistant"]
    assert said == ["t1", "walk over", "t2", "open shelf 2"]
    assert "You open." in asks[0].last


def test_a_formalizer_that_says_nothing_is_asked_three_times_and_then_only_thinks():
    model = script(formalizer=[""])
    move, _ = moved(model, view())
    assert model.asked == ["thought", "wording", "formalizer", "formalizer", "formalizer"]
    assert move.action.startswith("think[")


SORRY = "I'm sorry, I can't help with that."


def test_an_unread_action_is_not_made_up_by_the_formalizer():
    model = script(wording=[""])
    move, _ = moved(model, view())
    assert "formalizer" not in model.asked
    assert move.action.startswith("think[")


def test_a_refused_thought_is_asked_for_again_and_leaves_the_conversation():
    model = script(thought=[SORRY, "Step 2."])
    move, asks = moved(model, view())
    assert (move.thought, model.asked[:2]) == ("Step 2.", ["thought", "thought"])
    assert SORRY not in asks[-2].text
    with pytest.raises(ModelRefused):
        moved(script(thought=[SORRY]), view())


def test_a_refusal_is_no_summary_flaw_or_revision():
    model = Scripted(sum_up=[SORRY], flaw=["It never looks."], revision=[SORRY, "Look first."])
    ended = EndedTrial("E1", view(Step("t", "look", "nothing")), False)
    with serving(model) as endpoint:
        learnt = run(lambda llm: reflect(llm, ended, Ablation(), ModelUsage()), endpoint)
    assert (learnt.summary, learnt.flaw, learnt.revision) == ("", "It never looks.", "Look first.")
    assert not [ask for ask in endpoint.asks if SORRY in ask.text]


@pytest.mark.parametrize(
    ("plan", "environment", "ablation", "asked"),
    [
        (PLAN, "alfworld", Ablation(), ["sum up", "flaw", "revision"]),
        ("", "alfworld", Ablation(), ["sum up", "flaw"]),
        ("", "hotpotqa", Ablation(), ["sum up"]),
        (PLAN, "hotpotqa", Ablation(), ["sum up", "flaw", "revision"]),
        (PLAN, "alfworld", Ablation(flaw=False), ["sum up", "revision"]),
        (PLAN, "alfworld", Ablation(revision=False), ["sum up", "flaw"]),
        (PLAN, "alfworld", Ablation(flaw=False, revision=False), ["sum up"]),
    ],
)
def test_reflection_asks_for_summary_flaw_and_revision(plan, environment, ablation, asked):
    model = Scripted(sum_up=["S"], flaw=["F"], revision=["R"])
    ended = EndedTrial(
        "E1", view(Step("t", "look", "nothing"), plan=plan, environment=environment), True, "42", "Tin Heron"
    )
    with serving(model) as endpoint:
        found = run(lambda llm: reflect(llm, ended, ablation, ModelUsage()), endpoint)
        told = endpoint.asks[0].text
    assert model.asked == asked
    assert (bool(found.flaw), bool(found.revision)) == ("flaw" in asked, "revision" in asked)
    assert ("Tin Heron" in told) is True
    assert "the task was done" in told
    assert "Observation: nothing" in told


def test_the_revision_is_asked_after_the_flaw_in_the_same_conversation():
    model = Scripted(sum_up=["S"], flaw=["the flaw that it saw"], revision=["R"])
    with serving(model) as endpoint:
        run(lambda llm: reflect(llm, EndedTrial("E1", view(), False), Ablation(), ModelUsage()), endpoint)
        assert "the flaw that it saw" in endpoint.asks[2].text
        assert endpoint.asks[2].messages[: len(endpoint.asks[1].messages)] == endpoint.asks[1].messages


def test_one_update_takes_the_whole_batch_with_what_reviewers_said():
    model = Scripted(
        sum_up=["S"], flaw=["F"], revision=["R"], update=["1. search <from E1>\n2. ask first <from E2, R7>"]
    )
    said = (ReviewersWords("R7", "too hot", "Instead of heat, do cool."),)
    usage = ModelUsage()

    async def both(llm):
        trials = [EndedTrial("E1", view(), True), EndedTrial("E2", view(), False, reviewers=said)]
        found = [await reflect(llm, one, Ablation(), usage) for one in trials]
        return await update_plan(llm, "alfworld", PLAN, found, usage)

    with serving(model) as endpoint:
        lines = run(both, endpoint)
        told = endpoint.asks[-1].text
    assert model.asked == ["sum up", "flaw", "revision"] * 2 + ["update"]
    assert [(line.text, line.marks) for line in lines] == [("1. search", ("E1",)), ("2. ask first", ("E2", "R7"))]
    assert f"[R7] A reviewer who looked at this trial named this flaw:\n{fence('too hot', 'flaw')}" in told
    assert f"[R7] What the reviewer wants instead:\n{fence('Instead of heat, do cool.', 'revision')}" in told
    assert usage.requests == 7


def test_what_the_ablation_leaves_out_is_left_out_of_reviewers_words_too():
    ended = EndedTrial(
        "E1", view(), False, reviewers=(ReviewersWords("R1", "flawed", "mend it"), ReviewersWords("R2", "x"))
    )
    with serving(Scripted(sum_up=["S"], revision=["R"])) as endpoint:
        found = run(lambda llm: reflect(llm, ended, Ablation(flaw=False), ModelUsage()), endpoint)
    assert found.reviewers == (ReviewersWords("R1", "", "mend it"),)


@pytest.mark.parametrize("reply", ["", "I'm sorry, I can't help with that.", "Here is the revised plan:", "{}"])
def test_a_reply_that_is_not_a_plan_is_asked_for_again_and_is_never_the_plan(reply):
    model = Scripted(update=[reply])
    with serving(model) as endpoint:
        assert run(lambda llm: update_plan(llm, "alfworld", PLAN, [], ModelUsage()), endpoint) is None
    assert model.asked == ["update"] * 3


def test_the_appliance_for_heating_is_for_the_plan_to_find_out():
    _, asks = moved(script(), view())
    assert "heat THING with PLACE" in asks[0].text
    assert [word for word in ("microwave", "fridge", "sinkbasin", "lamp") if word in asks[0].text] == []


def test_the_flaw_is_asked_for_by_the_rules_of_this_world():
    with serving(Scripted(sum_up=["S"], flaw=["F"], revision=["R"])) as endpoint:
        run(lambda llm: reflect(llm, EndedTrial("E1", view(), False), Ablation(), ModelUsage()), endpoint)
        assert "not like the real world" in endpoint.asks[1].last


def test_a_plan_is_read_without_fences_and_marks():
    assert [line.text for line in read_plan("```\n1. go <from E1>\n```")] == ["1. go"]
    assert read_plan(" ") is None
