import numpy as np
import pandas as pd
import pytest
from scipy import stats

from console.analysis.statistics import session_effects
from console.errors import BadInput


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
