"""Devil's Advocate branch by branch: the order of calls to the world and to the model, as worked out by hand."""

import asyncio
from dataclasses import asdict

import orjson
import pytest

from console.actors import introspective
from console.actors.introspective import read_alignment, read_plan, read_state, read_verdict
from console.actors.move import ActorView
from console.environments.environment import NOTE, REFUSED, Environment
from console.llm.errors import ModelRefused
from console.trajectory import Step
from tests.console.actors.talking import Scripted, acting
from tests.fakes.endpoint import serving

SITE = Environment("site", "Site", critical=("pay*",), not_executed=("Invalid",), back="go_back")
HOUSE = Environment("house", "House", critical=("pay*",), not_executed=("Invalid",))
TURN = ["align", "completed", "subtask", "action", "remedy", "remedy"]
FIRST = ["plan", "action", "remedy", "remedy"]


class Pages:
    """A site of pages that are named by the way to them; it notes every call."""

    def __init__(self):
        self.calls, self.path = [], []

    def step(self, action):
        self.calls.append(action)
        if action == "go_back":
            self.path.pop()
        elif action == "bad":
            return "Invalid action"
        else:
            self.path.append(action)
        return "page " + "/".join(self.path)


def play(script, *, actions, where=SITE, memory=()):
    """(the steps, the calls to the world, the last move) of so many moves of the Actor by that script."""
    world, steps = Pages(), []
    with serving(script) as endpoint:
        actor = acting(introspective, endpoint)
        for _ in range(actions):
            view = ActorView("site", "get the lamp", "page", tuple(steps), memory, 0, where, where.critical)
            move = asyncio.run(actor.act(view))
            if move.done is not None:
                break
            seen = "Noted." if NOTE in move.extra else world.step(move.action)
            extra = {**move.extra, REFUSED: True} if NOTE in move.extra else move.extra
            steps.append(Step(move.thought, move.action, seen, extra))
        assert endpoint.requests == len(script.asked)
    return steps, world.calls, move


def state(steps):
    return asdict(read_state(steps))


def test_first_attempts_that_succeed_take_four_calls_and_the_remedies_each():
    script = Scripted(action=["a1", "a2", "a3"], remedy=["r1", "r2"])
    steps, calls, _ = play(script, actions=3)
    assert calls == ["a1", "a2", "a3"]
    assert script.asked == FIRST + TURN + TURN
    assert len(TURN) == 4 + introspective.REMEDIES
    assert state(steps)["backtracks"] == state(steps)["revisions"] == 0


def test_an_action_that_went_wrong_is_gone_back_on_and_the_latest_remedy_tried():
    align = ["The action is to err.\nNO", "The action is to mend.\nYES"]
    script = Scripted(action=["a1", "a2"], remedy=["r1", "r2"], align=align, map=["r2x"])
    steps, calls, _ = play(script, actions=4)
    assert calls == ["a1", "go_back", "r2x", "a2"]
    assert script.asked == [*FIRST, "align", "map", *TURN]
    assert state(steps)["backtracks"] == 1
    assert "page" in next(text for kind, text in zip(script.asked, script.texts, strict=True) if kind == "map")


def test_a_remedy_of_an_earlier_page_is_gone_back_to_step_by_step():
    align = ["ok\nYES", "no\nNO", "no\nNO", "no\nNO", "ok\nYES"]
    replies = {"action": ["a1", "a2", "a3"], "remedy": ["r1", "r2", "s1", "s2"], "map": ["s2", "s1", "r2"]}
    script = Scripted(align=align, **replies)
    _, calls, _ = play(script, actions=9)
    assert calls == ["a1", "a2", "go_back", "s2", "go_back", "s1", "go_back", "go_back", "r2"]
    assert script.asked == [*FIRST, *TURN, "align", "map", "align", "map", "align", "map"]


def test_when_all_remedies_are_spent_the_plan_is_revised_from_where_things_stand():
    script = Scripted(action=["a1", "a2"], remedy=["r1", "r2"], align=["no\nNO"], map=["r2", "r1"])
    steps, calls, _ = play(script, actions=6)
    assert calls == ["a1", "go_back", "r2", "go_back", "r1", "a2"]
    assert script.asked == [*FIRST, "align", "map", "align", "map", "align", "completed", *FIRST]
    assert state(steps)["revisions"] == 1
    assert "did not lead to the end" in script.texts[-4]
    assert "page r1" in script.texts[-4]


def test_remedies_that_say_the_same_are_one():
    script = Scripted(action=["a1", "a2"], remedy=["a1", "r"], align=["no\nNO"])
    steps, *_ = play(script, actions=1)
    assert steps[0].extra["remedies"] == ["r"]


@pytest.mark.parametrize("verdict", ["YES", "NON-ESSENTIAL", "It is non-essential."])
def test_a_subtask_that_is_done_or_not_essential_is_followed_by_the_next(verdict):
    script = Scripted(action=["a1", "a2"], remedy=["r1", "r2"], subtask=[verdict])
    steps, *_ = play(script, actions=2)
    assert "Subtask 2 of 2: take it" in steps[1].thought
    assert "The subtask at hand: take it" in script.texts[-3]


def test_a_plan_that_is_used_up_without_the_task_being_done_is_revised():
    replies = {"plan": ["List\n1. only this", "List\n1. another"], "subtask": ["YES"]}
    script = Scripted(action=["a1", "a2"], remedy=["r1", "r2"], **replies)
    steps, calls, _ = play(script, actions=2)
    assert calls == ["a1", "a2"]
    assert script.asked == [*FIRST, "align", "completed", "subtask", *FIRST]
    assert "another" in steps[1].thought


def test_a_task_that_is_done_before_its_plan_ends_with_the_answer():
    script = Scripted(action=["a1"], remedy=["r1", "r2"], completed=["YES"], answer=["Answer: 42"])
    _, calls, move = play(script, actions=5)
    assert calls == ["a1"]
    assert move.done == "42"
    assert script.asked == [*FIRST, "align", "completed", "answer"]


def test_an_answer_is_given_by_the_action_that_the_environment_has_for_it():
    where = Environment("site", "Site", back="go_back", answering="Finish[{answer}]")
    script = Scripted(action=["a1"], remedy=["r1", "r2"], completed=["YES"], answer=["the {blue} one"])
    _, calls, _ = play(script, actions=2, where=where)
    assert calls == ["a1", "Finish[the {blue} one]"]


def test_a_critical_action_is_never_crossed_by_going_back():
    align = ["ok\nYES", "no\nNO"]
    script = Scripted(action=["a1", "pay", "a2"], remedy=["r1", "r2", "s1", "s2"], align=align)
    steps, calls, _ = play(script, actions=3)
    assert calls == ["a1", "pay", "a2"]
    assert script.asked == [*FIRST, *TURN, "align", "completed", *FIRST]
    assert [reason.partition(":")[2] for reason in state(steps)["refused"]] == [" pay was critical and has run"] * 4
    assert state(steps)["backtracks"] == 0


def test_where_nothing_can_be_gone_back_on_the_plan_is_revised_at_once():
    script = Scripted(action=["a1", "a2"], remedy=["r1", "r2"], align=["no\nNO"])
    steps, calls, _ = play(script, actions=2, where=HOUSE)
    assert calls == ["a1", "a2"]
    assert script.asked == [*FIRST, "align", "completed", *FIRST]
    assert "no action can be undone in House" in state(steps)["refused"][0]


def test_an_action_that_the_world_did_not_run_needs_no_going_back():
    script = Scripted(action=["bad"], remedy=["r1", "r2"], align=["no\nNO"])
    _, calls, _ = play(script, actions=2, where=HOUSE)
    assert calls == ["bad", "r2"]
    assert script.asked == [*FIRST, "align"]


def test_replies_that_cannot_be_read_are_asked_for_again_twice_and_never_taken_for_yes():
    script = Scripted(plan=["no idea"], action=["a1"], remedy=["r1", "r2"], align=["I cannot tell"], map=["r2"])
    steps, calls, _ = play(script, actions=3)
    assert calls == ["a1", "go_back", "r2"]
    assert script.asked == ["plan"] * 3 + ["action", "remedy", "remedy"] + ["align"] * 3 + ["map"]
    assert state(steps)["plan"] == ["get the lamp"]


def test_without_a_readable_action_it_thinks_and_the_world_stays_as_it_is():
    script = Scripted(action=[""])
    _, calls, _ = play(script, actions=1)
    assert calls[0].startswith("think[")
    assert script.asked == ["plan", "action", "action", "action"]


def test_an_empty_remedy_is_none():
    script = Scripted(action=["a1"], remedy=["", "r2"])
    steps, *_ = play(script, actions=1)
    assert steps[0].extra["remedies"] == ["r2"]


def test_a_note_is_a_step_that_leaves_the_world_as_it_is():
    script = Scripted(action=["note_down[the lamp costs 9]", "a1", "a2"], remedy=["r1", "r2"])
    steps, calls, _ = play(script, actions=3)
    assert [step.action for step in steps] == ["note_down[the lamp costs 9]", "a1", "a2"]
    assert calls == ["a1", "a2"]
    assert script.asked == ["plan", "action", "action", "remedy", "remedy", *TURN]
    assert "the lamp costs 9" in script.texts[2]
    assert "Noted." not in "".join(script.texts)
    assert state(steps)["notes"] == ["the lamp costs 9"]


def test_after_three_notes_in_a_row_a_fourth_is_no_action():
    script = Scripted(action=["note_down[again]"])
    steps, calls, _ = play(script, actions=4)
    assert [step.action for step in steps[:3]] == ["note_down[again]"] * 3
    assert steps[3].action.startswith("think[")
    assert calls == [steps[3].action]


def test_a_reviewer_sees_the_plan_when_it_is_new_and_before_a_critical_action():
    script = Scripted(action=["a1", "a2", "pay"], remedy=["r1", "r2"], subtask=["NO", "YES"])
    steps, *_ = play(script, actions=3)
    plan = "The plan:\n1. find it\n2. take it"
    assert [plan in step.thought for step in steps] == [True, False, True]
    assert steps[2].thought.startswith("Subtask 2 of 2: take it")


def test_the_next_trial_knows_the_plan_the_history_and_the_notes_of_the_last_one():
    script = Scripted(action=["note_down[it is on shelf 3]", "a1", "a2"], remedy=["r1", "r2"])
    steps, *_ = play(script, actions=3)
    kept = orjson.loads(orjson.dumps(introspective.carry(steps)))
    with serving(again := Scripted(action=["b1", "b2"], remedy=["r1", "r2"])) as endpoint:
        actor = acting(introspective, endpoint)
        view = ActorView("site", "get the lamp", "page", (), surroundings=SITE, earlier=kept)
        move = asyncio.run(actor.act(view))
        later = Step(move.thought, move.action, "page b1", move.extra)
        asyncio.run(actor.act(ActorView("site", "get the lamp", "page", (later,), surroundings=SITE, earlier=kept)))
    first, *others = again.texts
    for known in ("you had this plan:\n1. find it\n2. take it", "- The action is to look.", "- it is on shelf 3"):
        assert known in first
    assert not any("you had this plan" in text for text in others)
    assert "- it is on shelf 3" in others[-1]


def test_a_refusal_is_no_action_and_costs_three_requests():
    with serving("I'm sorry, but I can't help with that.") as endpoint:
        view = ActorView("site", "get the lamp", "page", (), surroundings=SITE)
        actor = acting(introspective, endpoint)
        with pytest.raises(ModelRefused, match="I'm sorry"):
            asyncio.run(actor.act(view))
        assert endpoint.requests == 3


def test_an_action_that_is_refused_after_the_plan_is_not_executed():
    script = Scripted(action=["I'm sorry, but I cannot assist with this request."])
    view = ActorView("site", "get the lamp", "page", (), surroundings=SITE)
    with serving(script) as endpoint:
        actor = acting(introspective, endpoint)
        with pytest.raises(ModelRefused):
            asyncio.run(actor.act(view))
    assert script.asked == ["plan", "action", "action", "action"]


def test_a_long_page_is_summarised_before_it_is_described():
    class Long(Pages):
        def step(self, action):
            return super().step(action) + "x" * 5_000

    script = Scripted(action=["a1", "a2"], remedy=["r1", "r2"], summary=["in short"])
    world = Long()
    with serving(script) as endpoint:
        actor = acting(introspective, endpoint)
        view = ActorView("site", "get the lamp", "page", (), surroundings=SITE)
        move = asyncio.run(actor.act(view))
        step = Step(move.thought, move.action, world.step(move.action), move.extra)
        asyncio.run(actor.act(ActorView("site", "get the lamp", "page", (step,), surroundings=SITE)))
    assert script.asked == [*FIRST, "summary", *TURN]
    assert "in short" in script.texts[5]
    assert "xxxx" not in script.texts[5]


def test_what_a_reviewer_chose_is_reflected_on_and_never_tried_again():
    script = Scripted(action=["pay one", "a2"], remedy=["r1", "r2"], align=["no\nNO"], map=["r1"])
    with serving(script) as endpoint:
        actor = acting(introspective, endpoint)
        view = ActorView("site", "get the lamp", "page", (), surroundings=SITE, critical=("pay*",))
        move = asyncio.run(actor.act(view))
        assert move.extra["remedies"] == ["r2", "r1"]
        chosen = Step(move.thought, "r2", "page r2", {**move.extra, "instead_of": move.action, "remedy": True})
        after = ActorView("site", "get the lamp", "page", (chosen,), surroundings=SITE, critical=("pay*",))
        back = asyncio.run(actor.act(after))
        gone = Step(back.thought, back.action, "page", back.extra)
        last = ActorView("site", "get the lamp", "page", (chosen, gone), surroundings=SITE, critical=("pay*",))
        assert asyncio.run(actor.act(last)).action == "r1"
    assert "The action that was taken: r2" in script.texts[4]


def test_going_back_that_does_nothing_is_given_up():
    script = Scripted(action=["a1", "a2"], remedy=["r1", "r2"], align=["no\nNO"])
    with serving(script) as endpoint:
        actor, steps = acting(introspective, endpoint), []
        for seen in ("page a1", "Invalid", "Invalid"):
            view = ActorView("site", "get the lamp", "page", tuple(steps), surroundings=SITE)
            move = asyncio.run(actor.act(view))
            steps.append(Step(move.thought, move.action, seen, move.extra))
    assert [step.action for step in steps] == ["a1", "go_back", "go_back"]
    assert "going back had no effect" in state(steps)["refused"][0]


@pytest.mark.at_length
def test_a_long_trial_is_stored_once_and_not_again_in_each_of_its_steps():
    said = [f"The action is to look at shelf {number}: {'dust ' * 400}\nYES" for number in range(30)]
    actions = [f"look {number}" for number in range(30)]
    script = Scripted(action=actions, remedy=["r1", "r2"], align=said)
    steps, *_ = play(script, actions=30)
    assert state(steps)["history"] == [" ".join(text.removesuffix("YES").split()) for text in said[:29]]
    own = sum(len(text) for text in said[:29]) + sum(len(s.thought + s.action + s.observation) for s in steps)
    assert len(orjson.dumps([asdict(step) for step in steps])) <= 1.5 * own


def test_the_lines_of_a_reviewers_words_stay_lines():
    script = Scripted(action=["a1"], remedy=["r1", "r2"])
    play(script, actions=1, memory=("first the lamp\nthen the cart", "ask"))
    assert "- first the lamp\n  then the cart\n- ask" in script.texts[0]


def test_memory_of_earlier_trials_is_in_every_plan():
    script = Scripted(action=["a1"], remedy=["r1", "r2"])
    play(script, actions=1, memory=("ask for the white one",))
    assert "- ask for the white one" in script.texts[0]


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("The action is to open it.\nYES", (True, "The action is to open it.")),
        ("The action is to open it. **No**.", (False, "The action is to open it.")),
        ("YES", (True, "The reply has no description.")),
        ("There is no way to say.", None),
    ],
)
def test_an_alignment_is_what_stands_at_the_end(reply, read):
    assert read_alignment(reply) == read


def test_lists_and_verdicts_are_read_tolerantly():
    assert read_plan("List\n1) **open it**\n 2. take it\nDone.") == ["open it", "take it"]
    assert read_plan("no list") is None
    assert [read_verdict(text) for text in ("Yes.", "NO", "non essential", "perhaps")] == [True, False, True, None]
