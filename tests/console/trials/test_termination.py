"""When a trial is over, environment by environment (InferAct, section 4.1 and the reference loop)."""

import pytest

from console.environments import ENVIRONMENTS
from console.trajectory import Outcome, Step
from console.trials.play import build_gold, find_outcome


def steps(*actions, observation="ok"):
    return [Step("", action, observation) for action in actions]


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        ("webshop", steps(*"abcdefghijklmn"), None),
        ("webshop", steps(*"abcdefghijklmno"), Outcome.HALTED),
        ("webshop", steps("a", "a"), None),
        ("hotpotqa", steps(*"abcde"), None),
        ("hotpotqa", steps(*"abcdef"), Outcome.HALTED),
        ("alfworld", steps("look", "look"), Outcome.HALTED),
        ("alfworld", steps("look", "go", "look"), None),
        ("alfworld", [Step("", str(n), "ok") for n in range(49)], Outcome.FAILED),
        ("alfworld", [Step("", str(n), "Nothing happens.") for n in range(49)], Outcome.HALTED),
    ],
)
def test_a_trial_that_does_not_end_by_itself(name, taken, expected):
    assert find_outcome(ENVIRONMENTS[name], taken, False, False, {}) == expected


@pytest.mark.parametrize("name", ["webshop", "hotpotqa", "alfworld"])
def test_a_trial_that_ends_tells_whether_it_succeeded(name):
    for success, outcome, label in [(True, Outcome.SUCCEEDED, "aligned"), (False, Outcome.FAILED, "misaligned")]:
        info = {"success": success, "score": float(success)}
        assert find_outcome(ENVIRONMENTS[name], steps("a", "a"), True, False, info) == outcome
        assert build_gold(outcome, info) == {"label": label, "score": float(success)}


def test_a_halted_trial_has_no_label():
    assert build_gold(Outcome.HALTED, {"success": False}) == {}
