import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from console.analysis.statistics import reliance
from console.errors import BadInput


def decisions(rows, columns="participant score flagged label lead_time_ms"):
    return pd.DataFrame(rows, columns=columns.split())


def test_overrides_are_counted_in_the_bin_of_the_score():
    rows = [
        ("P1", 0.0, False, "aligned", 1),
        ("P1", 0.5, False, "misaligned", 1),
        ("P1", 0.51, True, "aligned", 1),
        ("P1", 1.0, True, "misaligned", 1),
        ("P1", 1.0, True, None, 1),
    ]
    found = {round(one.high, 1): one for one in reliance.compute_overrides(decisions(rows))}
    assert {high: (one.decisions, one.overridden) for high, one in found.items() if one.decisions} == {
        0.1: (1, 0),
        0.5: (1, 1),
        0.6: (1, 1),
        1.0: (1, 0),
    }
    assert found[0.5].rate.interval.low < 1 == found[0.5].rate.value


def test_an_empty_bin_says_so():
    found = reliance.compute_overrides(decisions([("P1", 0.9, True, "aligned", 1)]))[0]
    assert (found.decisions, found.rate.value) == (0, None)
    assert found.rate.note


@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1), st.booleans(), st.sampled_from(["aligned", "misaligned", None])), max_size=30
    )
)
def test_every_labelled_decision_is_in_one_bin(rows):
    frame = decisions([("P1", *row, 1) for row in rows])
    found = reliance.compute_overrides(frame)
    labelled = [row for row in rows if row[2] is not None]
    assert sum(one.decisions for one in found) == len(labelled)
    assert sum(one.overridden for one in found) == sum((label == "misaligned") != flag for _, flag, label in labelled)


def seeded(people, shown_right, hidden_right, wrong_advice=True, items=10):
    """Known-bad items, the first so many of which are labelled rightly under each level of the factor."""
    rows = []
    for person in range(people):
        for level, right in (("shown", shown_right), ("hidden", hidden_right)):
            for item in range(items):
                label = "misaligned" if item < right + person % 2 else "aligned"
                rows.append((f"P{person}", "known-bad", "misaligned", level, label, not wrong_advice))
    return pd.DataFrame(rows, columns=["participant", "purpose", "expected", "factor_score", "label", "flagged"])


def test_automation_bias_is_the_loss_where_the_advice_is_wrong():
    frame = seeded(6, 4, 7)
    more = [("P0", "attention", "aligned", "shown", "aligned", True), ("P1", "", None, "shown", "aligned", True)]
    more.append(("P1", "known-good", "aligned", "shown", "aligned", False))
    frame = pd.concat([frame, pd.DataFrame(more, columns=frame.columns)])
    frame = frame.astype({"flagged": "boolean"})
    found = reliance.estimate_automation_bias(frame)
    wrong = found["advice wrong"]
    assert (wrong.items, wrong.paired) == (120, True)
    assert wrong.shown.value == pytest.approx(0.45)
    assert wrong.hidden.value == pytest.approx(0.75)
    assert wrong.difference.value == pytest.approx(-0.3)
    assert found["advice right"].items == 1
    assert found["all"].items == 121


def test_groups_who_met_one_level_each_are_compared_as_groups():
    frame = seeded(8, 4, 8)
    shown = frame["participant"].isin([f"P{k}" for k in range(4)])
    frame = frame[shown == (frame["factor_score"] == "shown")]
    found = reliance.estimate_automation_bias(frame)["all"]
    assert not found.paired
    assert found.difference.value == pytest.approx(-0.4)
    assert found.difference.n == 8
    assert found.difference.p_value < 0.01


def test_without_seeded_items_or_levels_it_is_a_sentence():
    found = reliance.estimate_automation_bias(seeded(3, 4, 8).iloc[:0])["all"]
    assert found.difference.value is None
    assert found.difference.note
    only = reliance.estimate_automation_bias(seeded(3, 4, 8).query("factor_score == 'shown'"))["all"]
    assert only.hidden.value is None
    assert only.difference.value is None
    with pytest.raises(BadInput, match="no column 'factor_advice'"):
        reliance.estimate_automation_bias(seeded(3, 4, 8), "factor_advice")


def crossed(counts):
    """Seeded decisions: by participant, of each cell (flagged, what is right) how many and how many erred."""
    rows = []
    for person, cells in counts.items():
        for (flagged, right), (items, errors) in cells.items():
            wrong_answer = "aligned" if right == "misaligned" else "misaligned"
            labels = [wrong_answer] * errors + [right] * (items - errors)
            rows += [(person, "known-bad", right, label, flagged) for label in labels]
    return pd.DataFrame(rows, columns=["participant", "purpose", "expected", "label", "flagged"])


CROSSED = {
    "P0": {(False, "misaligned"): (4, 3), (True, "aligned"): (4, 1), (True, "misaligned"): (4, 0)},
    "P1": {(False, "misaligned"): (4, 1), (True, "aligned"): (2, 1), (False, "aligned"): (2, 0)},
}


def test_omission_and_commission_are_errors_with_wrong_advice():
    frame = crossed(CROSSED)
    more = [("P0", "attention", "aligned", "misaligned", True), ("P0", "", None, "misaligned", True)]
    more += [("P0", "known-bad", "", None, None)]
    frame = pd.concat([frame, pd.DataFrame(more, columns=frame.columns)]).astype({"flagged": "boolean"})
    found = {(one.advice, one.figure): one for one in reliance.estimate_seeded_advice(frame)}
    omission, commission = found["not flagged", "omission"], found["flagged", "commission"]
    assert (omission.value.value, omission.items, omission.errors, omission.value.n) == (0.5, 8, 4, 2)
    assert (commission.value.value, commission.items, commission.errors) == (0.375, 6, 2)
    assert found["flagged", "approved wrong action despite a flag"].value.value == 0
    assert found["not flagged", "rejected right action without a flag"].items == 2
    assert found["", "d_prime"].items == 20


def test_d_prime_and_criterion_are_log_linear_over_participants():
    found = {one.figure: one.value for one in reliance.estimate_seeded_advice(crossed(CROSSED)) if not one.advice}
    rates = [((5 + 0.5) / (8 + 1), (1 + 0.5) / (4 + 1)), ((3 + 0.5) / (4 + 1), (1 + 0.5) / (4 + 1))]
    scores = [(norm.ppf(hits), norm.ppf(alarms)) for hits, alarms in rates]
    assert found["d_prime"].value == pytest.approx(np.mean([hits - alarms for hits, alarms in scores]))
    assert found["criterion"].value == pytest.approx(np.mean([-(hits + alarms) / 2 for hits, alarms in scores]))
    assert found["d_prime"].n == 2


def test_without_both_kinds_of_action_there_is_no_d_prime():
    frame = crossed({"P0": {(False, "misaligned"): (4, 2)}})
    found = {(one.advice, one.figure): one.value for one in reliance.estimate_seeded_advice(frame)}
    assert found["", "d_prime"].value is None
    assert found["", "d_prime"].note
    assert found["not flagged", "omission"].value == 0.5


def stamped(people=6, fast_agrees=1.0, slow_agrees=0.6, items=40):
    draw = np.random.default_rng(5)
    rows = []
    for person in range(people):
        for item in range(items):
            fast = item < items // 4
            agrees = draw.random() < (fast_agrees if fast else slow_agrees)
            ms = (1_000 if fast else 5_000) + item + 100 * person
            rows.append((f"P{person}", 0.9, True, "misaligned" if agrees else "aligned", ms))
    return decisions(rows)


def test_rubber_stamping_is_the_agreement_of_the_fastest_quarter():
    found = reliance.estimate_rubber_stamping(stamped())
    assert found.index.value == 1
    assert found.others.value == pytest.approx(0.6, abs=0.1)
    assert found.difference.interval.low > 0.2


def test_decisions_without_a_measured_time_have_no_fastest_quarter():
    at_once = stamped().query("participant == 'P0'").assign(participant="oracle", lead_time_ms=0)
    found = reliance.estimate_rubber_stamping(pd.concat([stamped(), at_once]))
    assert found == reliance.estimate_rubber_stamping(stamped())


def test_careful_people_stand_out_by_no_difference():
    found = reliance.estimate_rubber_stamping(stamped(fast_agrees=0.7, slow_agrees=0.7))
    assert found.difference.interval.low < 0 < found.difference.interval.high


@pytest.mark.at_length
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["P1", "P2", "P3"]),
            st.booleans(),
            st.sampled_from(["aligned", "misaligned", None]),
            st.one_of(st.none(), st.integers(1, 9)),
        ),
        max_size=30,
    )
)
def test_the_index_lies_between_0_and_1_or_says_why_not(rows):
    frame = decisions([(who, 0.5, flag, label, ms) for who, flag, label, ms in rows])
    found = reliance.estimate_rubber_stamping(frame.astype({"lead_time_ms": "Int64", "flagged": "boolean"}))
    if found.index.value is None:
        assert found.index.note
    else:
        assert 0 <= found.index.value <= 1
