"""Order effects: what is put into the answers comes out, and what the orders cannot tell is said so."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols

from console.analysis.statistics.session_effects import compare_halves, estimate_carry_over, estimate_position_effect

ORDERS = ("abc", "bca", "cab", "cba", "acb", "bac")


def cells(later=0.0, after_b=0.0, noise=0.05, orders=ORDERS):
    """A row a participant and condition: people differ, conditions differ, and order changes what is stated."""
    draw = np.random.default_rng(5)
    rows = [
        {"participant": f"P{who}", "condition": name, "position": at, "before": order[at - 2] if at > 1 else None}
        for who, order in enumerate(orders)
        for at, name in enumerate(order, 1)
    ]
    frame = pd.DataFrame(rows)
    level = frame["condition"].map({"a": 0.2, "b": 0.4, "c": 0.5}) + frame["participant"].str[1:].astype(int) / 20
    change = later * frame["position"] + after_b * (frame["before"] == "b")
    return frame.assign(value=level + change + draw.normal(0, noise, len(frame)))


def test_the_effect_of_position_is_what_least_squares_gives():
    frame = cells(later=0.1)
    found, fit = (
        estimate_position_effect(frame, "value"),
        ols("value ~ C(condition) + C(participant) + position", frame).fit(),
    )
    low, high = fit.conf_int().loc["position"]
    told = [found.value, found.interval.low, found.interval.high, found.p_value]
    assert told == pytest.approx([fit.params["position"], low, high, fit.pvalues["position"]], abs=1e-9)
    assert found.interval.low < 0.1 < found.interval.high


def test_what_the_condition_before_leaves_is_found_and_nothing_else():
    found = estimate_carry_over(cells(after_b=0.3), "value")
    assert set(found) == {("b", "a"), ("c", "a")}
    assert found["b", "a"].interval.low > 0
    assert found["c", "a"].interval.low < 0 < found["c", "a"].interval.high


def test_what_the_orders_cannot_tell_is_not_estimated():
    same = estimate_position_effect(cells(orders=("abc", "abc", "abc")), "value")
    assert (same.value, "confounded with conditions" in same.note) == (None, True)
    between = estimate_position_effect(cells(orders=("a", "b", "c")), "value")
    assert "every participant has a single condition" in between.note
    assert estimate_carry_over(cells(orders=("ab", "ab")), "value") == {}


def test_the_later_half_is_set_against_the_earlier_one():
    frame = pd.DataFrame({"participant": "P1", "at": [4, 3, 2, 1], "value": [1.0, 1.0, 0.0, 1.0]})
    assert compare_halves(frame, "value", ("at",))["difference"].tolist() == [0.5]
