"""The scripted learner of the planners' benchmark: what it reads moves it, and each control spoils what it reads."""

import pytest

from tests.benchmarks import planner_model as model
from tests.benchmarks.planners import sign_test

MICROWAVE, TOASTER = model.rule("microwave"), model.rule("toaster")
WAY = ["go to shelf 1", "take egg 1 from shelf 1", "go to microwave 1", "heat egg 1 with microwave 1", "go to sink 1"]


def conversation(*steps):
    """The conversation of a trial of these (action, observation)."""
    told = [{"role": "system", "content": ""}, {"role": "user", "content": "you see a microwave 1, and a toaster 1."}]
    for action, seen in steps:
        told += [{"role": "assistant", "content": "thought"}, {"role": "assistant", "content": action}]
        told.append({"role": "user", "content": f"Observation: {seen}"})
    return told


TRIAL = conversation(
    ("heat egg 1 with toaster 1", "Nothing happens."), ("heat egg 1 with microwave 1", "You heat the egg 1.")
)


def asked(learner, question):
    return learner._text([*TRIAL, {"role": "user", "content": question}])


def test_flaws_and_revisions_come_from_the_observations():
    learner = model.Learner(1)
    assert asked(learner, "Name the flaw of the plan") == TOASTER
    assert asked(learner, "How should the plan be revised, so that this flaw does not come back") == MICROWAVE


def test_reasons_are_read():
    reason = "Nothing happens. To heat something takes a microwave, not toaster 1."
    trial = conversation(
        ("heat egg 1 with toaster 1", reason), ("heat egg 1 with pan 1", f"{model.VAIN} You do not carry egg 1;")
    )
    said = [
        model.Learner(1)._text([*trial, {"role": "user", "content": question}])
        for question in ("Name the flaw of the plan", "How should the plan be revised")
    ]
    assert said == [TOASTER, MICROWAVE]


def test_without_observations_it_guesses_among_the_choices_of_the_trial():
    said = {asked(model.Learner(seed, "hidden"), "Name the flaw of the plan") for seed in range(20)}
    assert said == {TOASTER, MICROWAVE}


def update(*trials, plan=""):
    told = [
        f"[E{n}] The task: x\nResult: {r}\nFlaw: {f}\nRevision: {v}\n" for n, (r, f, v) in enumerate(trials, start=1)
    ]
    return f"The plan so far\n{plan}\nWhat came of it in 2 trials:\n\n" + "\n".join(told) + "Write the next plan"


def test_the_next_plan_comes_from_contrasts_of_outcomes():
    shown = update(("done", TOASTER, MICROWAVE), ("not done", TOASTER, model.OPEN))
    assert model.written(shown) == f"1. {MICROWAVE}"
    assert model.written(model.spoilt(shown, "inverted")) == f"1. {model.OPEN}"
    assert model.written(model.spoilt(shown, "swapped")) == f"1. {TOASTER}"


def test_one_failure_does_not_overturn_the_plan_and_two_do():
    blamed = ("not done", MICROWAVE, model.NOTHING)
    kept = update(blamed, ("done", "", MICROWAVE), plan=MICROWAVE)
    assert model.written(kept) == f"1. {MICROWAVE}"
    assert model.written(update(blamed, blamed, plan=MICROWAVE)) == f"1. {model.NOTHING}"


@pytest.mark.parametrize(("seen", "next_one"), [("Nothing happens.", "go to toaster 1"), ("You heat.", "go to sink 1")])
def test_a_second_appliance_is_tried_only_after_the_first_had_no_effect(seen, next_one):
    seen = ["a shelf", "You pick up the egg 1.", "a microwave", seen]
    assert model.next_action(WAY, (["microwave", "toaster"], True), seen) == next_one


def test_the_p_of_the_sign_test_is_exact():
    assert sign_test([1.0] * 8, [0.5] * 8) == 2 / 2**8
    assert sign_test([1.0, 0.0], [0.0, 1.0]) == 1.0
    assert sign_test([1.0], [1.0]) == 1.0
