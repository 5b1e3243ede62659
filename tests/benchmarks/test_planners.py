"""The offline model of the planners' benchmark: nothing but the plan's text and the trial's moves its hand."""

from random import Random

import pytest

from tests.benchmarks import planner_model as model

HINT, OPPOSITE = model.ERRORS["open"][1:]


@pytest.mark.parametrize("word", ["batch", "flaw", "revision", "iteration"])
def test_its_table_of_errors_knows_nothing_of_how_plans_are_learnt(word):
    assert word not in repr((model.ERRORS, model.SLIP, model.MISLED, model.SPEAKS, model.RIGHT)).lower()


def test_an_action_goes_wrong_by_what_the_plan_says():
    chances = [model.chance("open", plan) for plan in (HINT, "", OPPOSITE, HINT + OPPOSITE)]
    assert chances == [model.SLIP, model.ERRORS["open"][0], model.MISLED, model.MISLED]
    assert model.chance("go", "") == 0.0


def test_a_plan_is_what_was_said_more_often_else_what_it_said_before():
    before = f"The plan so far\n1. {OPPOSITE}\nWhat came of it in 2 trials:\n"
    assert model.written(f"{before}{HINT} {HINT} {OPPOSITE}") == f"1. {HINT}"
    assert model.written(f"{before}{HINT} {OPPOSITE}") == f"1. {OPPOSITE}"
    assert model.written("What came of it in 2 trials:\n") == model.NOTHING


def test_whatever_it_is_asked_of_a_trial_it_answers_by_the_same_rule():
    trial = [{"role": "assistant", "content": "open fridge 1"}]
    for question in ("Sum up.", "Name the flaw.", "Revise."):
        asked = [*trial, {"role": "user", "content": question}]
        assert model.remark(asked, Random(3)) == model.remark(trial, Random(3))
