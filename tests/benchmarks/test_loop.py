"""The loop experiment's sums: means, intervals, differences and the verdict."""

import importlib.util
import sys
from pathlib import Path

import pandas as pd
import pytest

FILE = Path(__file__).with_name("loop.py")


@pytest.fixture(scope="module")
def loop():
    """The benchmark as a module."""
    spec = importlib.util.spec_from_file_location("loop_benchmark", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def measured(loop, successes):
    """Rows of two seeds; `successes` maps (arm, cap) to the share after the last trial."""
    return pd.DataFrame(
        {
            "environment": environment,
            "arm": arm,
            "cap": cap,
            "seed": seed,
            "trial": trial,
            "success": 0.3 if trial == 0 else share + (0.1 if seed else -0.1),
        }
        for environment in loop.ENVIRONMENTS
        for (arm, cap), share in successes.items()
        for seed in (0, 1)
        for trial in range(loop.TRIALS)
    )


ORDERED = {("none", None): 0.3, ("binary", 50): 0.5, ("nl", 50): 0.6, ("full", None): 0.8}


def test_the_arms_are_every_feedback_at_every_cap(loop):
    arms = loop.arms((10, 50))
    assert [(arm.name, arm.cap) for arm in arms] == [
        ("none", None),
        ("binary", 10),
        ("nl", 10),
        ("binary", 50),
        ("nl", 50),
        ("full", None),
    ]
    assert arms[-1].detector == "full-validation"


def test_the_expected_order_meets_the_goals(loop):
    found = loop.figures(loop.differences(measured(loop, ORDERED), (50,)))
    assert found["webshop_nl_over_binary_50"] == pytest.approx(10)
    assert found["alfworld_binary_over_none_50"] == pytest.approx(20)
    assert found["hotpotqa_full_over_best"] == pytest.approx(20)
    assert loop.verdict(found)["met"] is True


@pytest.mark.parametrize("arm", [("nl", 50), ("binary", 50), ("full", None)])
def test_any_break_of_the_order_fails_them(loop, arm):
    found = loop.figures(loop.differences(measured(loop, ORDERED | {arm: 0.2}), (50,)))
    assert loop.verdict(found)["met"] is False


def test_the_table_has_a_line_per_arm_with_an_interval(loop):
    summary = loop.summed(measured(loop, ORDERED))
    last = summary[(summary["arm"] == "nl") & (summary["trial"] == 3)].iloc[0]
    assert (last["success"], last["low"], last["high"]) == pytest.approx((0.6, 0.5, 0.7))
    lines = loop.table(summary).splitlines()
    assert len(lines) == 2 + 4 * len(loop.ENVIRONMENTS)
    assert "| webshop | nl | 50% | 30.0 (30-30) | 60.0 (50-70) |" in lines[4]


def test_differences_are_taken_seed_by_seed(loop):
    found = loop.differences(measured(loop, ORDERED), (50,))
    assert list(found["webshop_nl_over_binary_50"]) == pytest.approx([10, 10])
    assert "| webshop nl over binary 50 | 10.0 | 10.0 to 10.0 |" in loop.difference_table(found)
