"""The Actors that the papers compare with: what they leave out, and only that."""

import asyncio
from functools import partial
from types import SimpleNamespace

import pytest

from console.actors import ACTORS, introspective, react
from console.actors.introspective import read_state
from console.actors.move import ActorView
from console.environments.environment import Environment
from console.trajectory import Step
from tests.console.actors.talking import Scripted, acting
from tests.fakes.endpoint import serving

SITE = Environment("site", "Site", critical=("pay*",), back="go_back")
PLAN_ACT = SimpleNamespace(act=partial(introspective.act, doubts=False), reflect=react.reflect, __name__="plan-act")


@pytest.mark.parametrize("environment", ["webshop", "hotpotqa", "alfworld"])
def test_react_without_examples_has_the_same_chat_but_the_examples(environment):
    view = ActorView(environment, "a task", "a start", (), task_type="pick_and_place_simple")
    shown, bare = (react.build_chat(view, has_examples=has) for has in (True, False))
    assert shown[1:] == bare[1:]
    assert "Observation:" in shown[0]["content"]
    assert "Observation:" not in bare[0]["content"]
    assert len(shown[0]["content"]) > len(bare[0]["content"]) + 500


def test_react_without_examples_has_to_find_out_which_appliance_does_what():
    system = react.build_chat(ActorView("alfworld", "a task", "a start", ()), has_examples=False)[0]["content"]
    assert "heat THING with PLACE\n" in system
    assert [word for word in ("microwave", "fridge", "sinkbasin", "lamp") if word in system] == []


def test_plan_act_asks_for_no_remedies_and_never_goes_back():
    script = Scripted(action=["a1", "a2", "a3"], align=["no\nNO"], subtask=["NO"])
    steps = []
    with serving(script) as endpoint:
        actor = acting(PLAN_ACT, endpoint)
        for _ in range(3):
            view = ActorView("site", "get the lamp", "page", tuple(steps), (), 0, SITE, SITE.critical)
            move = asyncio.run(actor.act(view))
            steps.append(Step(move.thought, move.action, f"page {len(steps)}", move.extra))
    turn = ["align", "completed", "subtask", "action"]
    assert [step.action for step in steps] == ["a1", "a2", "a3"]
    assert script.asked == ["plan", "action", *turn, *turn]
    assert read_state(tuple(steps)).backtracks == 0
    assert all(step.extra["remedies"] == [] for step in steps)


def test_the_baselines_are_registered_and_ask_a_model():
    assert ACTORS["plan-act"].step_caps == ACTORS["introspective"].step_caps
    assert ACTORS["react-0-shot"].title == "ReAct without examples"
