"""The scripted Actor as a whole: pure, fallible within bounds, and better for what it is told."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.actors import ACTORS, ActorView, Reflection
from console.environments import ENVIRONMENTS
from console.errors import Unknown
from console.trajectory import Step
from tests.sweeps import sweep

NAMES = ("webshop", "hotpotqa", "alfworld")
SCRIPTED = ACTORS["scripted"]


def act(view):
    return asyncio.run(SCRIPTED.act(view))


@sweep("name", NAMES, kept=1)
def test_untold_it_succeeds_at_a_third_to_two_thirds_of_the_tasks(name, success):
    assert 0.3 <= success(name, range(4)) <= 0.65


@pytest.mark.parametrize("name", NAMES)
def test_some_trials_halt_and_not_most(name, untold):
    outcomes = [trial.outcome for seed in range(4) for trial in untold(name, seed, 40)]
    assert 0.02 <= outcomes.count("halted") / len(outcomes) <= 0.4
    assert outcomes.count("failed") > 0


@sweep("name", NAMES, kept=1)
def test_a_bare_refusal_helps_and_words_help_more(name, success, reflected):
    words = {
        "webshop": "Please mind what it costs, select every option that I named, and read the features first.",
        "hotpotqa": "Your page was a namesake or you stopped reading too soon. Follow the link and read further down.",
        "alfworld": "Search on, open doors, take the right thing; clean, heat or chill it. Bring two if asked.",
    }
    seeds = range(3)
    untold = success(name, seeds)
    refused = success(name, seeds, reflected)
    told = success(name, seeds, lambda trial: words[name])
    assert untold < refused < told


@pytest.mark.parametrize("name", NAMES)
def test_the_same_view_gives_the_same_move_at_every_step(name, play):
    for task in ENVIRONMENTS[name].tasks(5, 12):
        first, again = (
            play(task, ("read further", "too expensive"), 3),
            play(task, ("read further", "too expensive"), 3),
        )
        assert first.actions == again.actions
        assert [step.thought for step in first.steps] == [step.thought for step in again.steps]


@pytest.mark.parametrize("name", NAMES)
def test_a_trial_can_be_taken_up_at_any_step(name, play):
    task = ENVIRONMENTS[name].tasks(1, 3)[2]
    trial = play(task, seed=1)
    for done in reversed(range(len(trial.steps))):
        view = ActorView(name, task.instruction, trial.opening, tuple(trial.steps[:done]), (), 1)
        assert act(view).action == trial.actions[done]


@pytest.mark.parametrize("name", NAMES)
def test_without_memory_trying_again_changes_nothing(name, play):
    for task in ENVIRONMENTS[name].tasks(2, 8):
        assert play(task, seed=1).actions == play(task, seed=2).actions


@sweep("name", NAMES, kept=1)
@settings(max_examples=60, deadline=None)
@given(
    memory=st.lists(st.text(max_size=400), max_size=3),
    instruction=st.text(max_size=200),
    opening=st.text(max_size=200),
    steps=st.lists(st.tuples(st.text(max_size=40), st.text(max_size=200)), max_size=6),
)
def test_no_text_stops_it(name, memory, instruction, opening, steps):
    done = tuple(Step("", action, observation) for action, observation in steps)
    made = act(ActorView(name, instruction, opening, done, tuple(memory)))
    assert made.action
    plan = asyncio.run(SCRIPTED.reflect(Reflection(name, instruction, done, "", tuple(memory))))
    assert plan


@sweep("name", NAMES, kept=1)
@settings(max_examples=25, deadline=None)
@given(words=st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_odd_words_in_its_memory_never_stop_a_trial(name, words, play):
    task = ENVIRONMENTS[name].tasks(0, 1)[0]
    hostile = (words, "((((?:\\b[[[ $(rm -rf) {{x}} " + "not " * 400, "B0" * 600)
    assert play(task, hostile).outcome in ("succeeded", "failed", "halted")


@pytest.mark.parametrize("name", NAMES)
def test_only_the_last_three_entries_count(name, play):
    words = "Read everything further down, mind the price, every option, open doors, search on, the right one, both."
    idle = ("Hm.",) * 3
    for task in ENVIRONMENTS[name].tasks(0, 12):
        assert play(task, (words, *idle)).actions == play(task, idle).actions


@pytest.mark.parametrize("name", NAMES)
def test_words_beyond_all_reason_are_not_read(name, play):
    for task in ENVIRONMENTS[name].tasks(0, 6):
        endless = "x" * 5_000 + " too expensive, choose every option, read further, open the doors"
        assert play(task, (endless,)).actions == play(task, ("x",)).actions


def test_an_environment_without_a_policy_is_named():
    with pytest.raises(Unknown, match="webshop"):
        act(ActorView("chess", "win", "", ()))
