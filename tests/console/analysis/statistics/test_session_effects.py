"""Order effects: what is put into the answers comes out, and what the orders cannot tell is said so."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.formula.api import ols

from console.analysis.statistics import session_effects
from console.analysis.statistics.session_effects import compare_halves, estimate_carry_over, estimate_position_effect
from console.errors import BadInput

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


def session(people=5, items=40, seconds=20.0, faster=0.0, worse=0.0, seed=1):
    draw = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        own = draw.normal(0, 0.3)
        for place in range(1, items + 1):
            time = seconds * np.exp(own + faster * place / 10 + draw.normal(0, 0.2))
            right = draw.random() < 0.9 + worse * place / 10
            rows.append((f"P{person}", "c", int(time * 1_000), place, bool(right)))
    return pd.DataFrame(rows, columns=["participant", "condition", "lead_time_ms", "place_in_session", "correct"])


def test_the_geometric_mean_is_over_participants():
    frame = session(people=6)
    found = session_effects.compute_pace(frame)
    each = [stats.gmean(rows["lead_time_ms"] / 1_000) for _, rows in frame.groupby("participant")]
    assert found.geometric_mean_s.value == pytest.approx(stats.gmean(each))
    bounds = stats.ttest_1samp(np.log(each), 0).confidence_interval()
    assert (found.geometric_mean_s.interval.low, found.geometric_mean_s.interval.high) == pytest.approx(
        (np.exp(bounds.low), np.exp(bounds.high))
    )
    assert found.median_s == pytest.approx(float((frame["lead_time_ms"] / 1_000).median()))
    assert (found.decisions, found.participants, found.left_out) == (240, 6, 0)


def test_a_session_that_speeds_up_by_a_tenth_per_ten_items_is_found():
    found = session_effects.compute_pace(session(people=8, items=80, faster=np.log(0.9), worse=-0.05)).seconds_per_ten
    assert found.interval.low < -0.1 < found.interval.high
    assert found.interval.high < 0


def test_fatigue_shows_in_right_labels():
    found = session_effects.compute_pace(session(people=10, items=80, worse=-0.06)).correct_per_ten
    assert found.interval.low < -0.06 < found.interval.high
    assert found.p_value < 0.01


def test_columns_with_missing_cells_and_times_of_zero_are_counted_apart():
    frame = session().astype({"lead_time_ms": "Int64", "place_in_session": "Int64", "correct": "boolean"})
    frame.loc[0, ["lead_time_ms"]] = 0
    frame.loc[1, ["lead_time_ms", "place_in_session", "correct"]] = pd.NA
    found = session_effects.compute_pace(frame)
    assert (found.decisions, found.left_out) == (198, 2)
    assert found.seconds_per_ten.value == pytest.approx(
        session_effects.compute_pace(frame.iloc[2:]).seconds_per_ten.value
    )


def test_each_condition_has_its_pace():
    frame = pd.concat([session(seconds=10), session(seconds=30, seed=2).assign(condition="slow")])
    found = session_effects.compute_pace_by_condition(frame)
    assert list(found) == ["c", "slow"]
    assert found["slow"].geometric_mean_s.value > 2 * found["c"].geometric_mean_s.value


def test_nobody_and_one_participant_are_told_in_words():
    nobody = session_effects.compute_pace(session().iloc[:0])
    assert (nobody.median_s, nobody.geometric_mean_s.value) == (None, None)
    assert nobody.geometric_mean_s.note
    alone = session_effects.compute_pace(session(people=1))
    assert alone.seconds_per_ten.interval is None
    assert "One participant" in alone.seconds_per_ten.note
    with pytest.raises(BadInput, match="no column 'correct'"):
        session_effects.compute_pace(session().drop(columns="correct"))


def test_no_share_changes_by_more_than_one():
    two = pd.DataFrame(
        {"participant": ["a", "a", "b", "b"], "lead_time_ms": 1_000.0, "place_in_session": [1, 3, 1, 3],
         "correct": [0.0, 1.0, 0.0, 1.0]}
    )  # fmt: skip
    found = session_effects.compute_pace(two).correct_per_ten
    assert found.value is None
    assert "more than 1" in found.note
    some = session_effects.compute_pace(session(people=3, items=4, worse=-0.06)).correct_per_ten
    assert some.interval is None or (some.interval.low >= -1 and some.interval.high <= 1)


def test_with_equal_numbers_it_is_the_random_slope_model():
    draw = np.random.default_rng(4)
    rows = [
        (f"P{person}", place, own + (0.5 + tilt) * place + draw.normal(0, 0.5))
        for person, (own, tilt) in enumerate(draw.normal(0, [2, 0.3], (12, 2)))
        for place in range(8)
    ]
    frame = pd.DataFrame(rows, columns=["participant", "place", "value"])
    theirs = smf.mixedlm("value ~ place", frame, groups=frame["participant"], re_formula="~place").fit()
    found = session_effects.estimate_trend(frame, "place", "value")
    assert found.value == pytest.approx(theirs.fe_params["place"], abs=1e-3)
    assert found.interval.high - found.value == pytest.approx(2.20099 * theirs.bse_fe["place"], rel=0.02)


def test_a_participant_at_one_place_has_no_slope():
    frame = pd.DataFrame({"participant": ["a", "a", "b"], "place": [1, 2, 1], "value": [1, 3, 5]})
    found = session_effects.compute_slopes(frame, "place", "value")
    assert found.to_dict() == {"a": 2.0}
