import numpy as np
import pandas as pd
import pytest
from scipy import stats

from console.analysis.statistics import reviewer_agreement
from console.errors import BadInput


def decisions(units=40):
    draw = np.random.default_rng(8)
    truth = draw.random(units) < 0.5
    rows = []
    for kind, count, right_share, seconds in (("human", 4, 0.85, 20), ("rule", 3, 0.7, 2)):
        for person in range(count):
            for unit in range(units):
                right = draw.random() < right_share
                label = "misaligned" if truth[unit] == right else "aligned"
                ms = int(1_000 * seconds * np.exp(draw.normal(0.1 * person, 0.3)))
                rows.append((kind, f"{kind[0]}{person}", f"u{unit}", label, right, ms))
    return pd.DataFrame(rows, columns=["annotator_kind", "participant", "unit", "label", "correct", "lead_time_ms"])


def test_each_kind_has_its_accuracy_pace_and_agreement():
    frame = decisions()
    human, rule = reviewer_agreement.compare_kinds(frame)
    ours = frame[frame["annotator_kind"] == "human"]
    assert (human.kind, human.participants, human.decisions) == ("human", 4, 160)
    assert human.accuracy.value == pytest.approx(ours.groupby("participant")["correct"].mean().mean())
    assert 15 < human.seconds.value < 30
    assert human.alpha.value == reviewer_agreement.alpha(ours.rename(columns={"participant": "rater"})).value
    assert rule.accuracy.value < human.accuracy.value


def test_humans_and_others_are_two_groups():
    frame = decisions()
    found = reviewer_agreement.compare_humans_and_others(frame)
    accuracy = frame.groupby(["annotator_kind", "participant"])["correct"].mean()
    theirs = stats.ttest_ind(accuracy["human"], accuracy["rule"], equal_var=False)
    assert found.accuracy.p_value == pytest.approx(theirs.pvalue)
    assert found.seconds.value == pytest.approx(10, rel=0.3)
    assert found.seconds.interval.low > 1


def test_agreement_across_kinds_counts_every_pair_of_a_human_and_another():
    frame = decisions(units=12)
    equal = pairs = 0
    for _, rows in frame.groupby("unit"):
        sides = [rows.loc[rows["annotator_kind"] == kind, "label"] for kind in ("human", "rule")]
        equal += sum(one == other for one in sides[0] for other in sides[1])
        pairs += len(sides[0]) * len(sides[1])
    found = reviewer_agreement.compare_humans_and_others(frame).agreement
    assert found.value == pytest.approx(equal / pairs)
    assert found.interval.low < found.value < found.interval.high
    assert found.n == 12


def test_missing_labels_units_and_truths_do_not_count():
    frame = decisions().astype({"correct": "boolean", "lead_time_ms": "Int64"})
    more = frame.iloc[[0, 1]].assign(unit=None, label=None, correct=pd.NA, lead_time_ms=pd.NA)
    first, second = (reviewer_agreement.compare_kinds(one)[0] for one in (frame, pd.concat([frame, more])))
    assert first.accuracy == second.accuracy
    assert first.seconds == second.seconds
    assert first.alpha == second.alpha


def test_a_study_of_people_only_says_that_there_is_nobody_to_compare_with():
    frame = decisions()
    found = reviewer_agreement.compare_humans_and_others(frame[frame["annotator_kind"] == "human"])
    assert (found.accuracy.value, found.seconds.value, found.agreement.value) == (None, None, None)
    assert "No unit has labels from both" in found.agreement.note
    assert reviewer_agreement.compare_kinds(frame.iloc[:0]) == ()
    with pytest.raises(BadInput, match="no column 'correct'"):
        reviewer_agreement.compare_kinds(frame.drop(columns="correct"))
