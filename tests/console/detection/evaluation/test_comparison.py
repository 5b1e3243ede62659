"""Detectors side by side on the trajectories that both have judged."""

import pytest

from console.analysis.metrics.classification import mcnemar
from console.detection.evaluation import comparison, metrics, scores
from console.trajectory import Label
from tests.verdicts import a_run, judge, of_run

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


@pytest.fixture
def found():
    a_run("r", [BAD, GOOD] * 30)
    judge("r", "good", [0.9, 0.1] * 29 + [0.2, 0.8])
    judge("r", "poor", [0.9, 0.8, 0.2, 0.1] * 14 + [None] * 4)
    return of_run("r", scores.read_scores)


def test_the_better_detector_is_told_from_the_worse(found):
    tested = comparison.compare_pair(found["good"], found["poor"])
    assert tested.n == 56
    assert (tested.test.only_first, tested.test.only_second) == (28, 0)
    assert tested.macro_f1.value == pytest.approx(0.5)
    assert tested.macro_f1.interval.low > 0.3
    assert tested.macro_f1.p_value < 0.01
    assert tested.ap.value == pytest.approx(1 - 5 / 6)


@pytest.mark.at_length
def test_the_other_way_round_it_is_the_opposite(found):
    there, back = (
        comparison.compare_pair(found["good"], found["poor"]),
        comparison.compare_pair(found["poor"], found["good"]),
    )
    assert back.macro_f1.value == pytest.approx(-there.macro_f1.value)
    assert back.macro_f1.interval.low == pytest.approx(-there.macro_f1.interval.high)
    ours, theirs = comparison.keep_common([found["good"], found["poor"]])
    assert there.test == mcnemar(ours.misaligned, ours.flagged(), theirs.flagged())


def test_nothing_is_claimed_where_a_class_is_missing_or_nothing_is_in_common():
    a_run("one", [BAD, BAD])
    judge("one", "a", [0.9, None])
    judge("one", "b", [0.9, 0.9])
    judge("one", "c", [None, 0.9])
    found = of_run("one", scores.read_scores)
    assert comparison.compare_pair(found["a"], found["b"]).macro_f1 == comparison.Gain(None, None, None)
    assert comparison.compare_pair(found["a"], found["c"]).n == 0


def test_overlap_counts_flags_on_what_both_have_judged(found):
    table = comparison.tabulate_overlap(found).set_index(["first", "second"])
    row = table.loc["good", "poor"]
    assert (row["both"], row["either"], row["misaligned"]) == (14, 42, 14)
    assert row["share"] == pytest.approx(14 / 42)
    assert table.loc["good", "good"]["share"] == 1


def test_overlap_of_nothing_flagged_is_missing():
    a_run("quiet", [BAD, GOOD])
    judge("quiet", "a", [0.1, 0.1])
    table = comparison.tabulate_overlap(of_run("quiet", scores.read_scores))
    assert table["share"].isna().all()


def test_models_that_one_method_mixes_are_read_from_its_names_and_verdicts():
    a_run("m", [BAD, GOOD])
    for name, model in (("inferact-prob", "small"), ("inferact-prob@big+small", "big+small"), ("direct@big", "big")):
        judge("m", name, [0.9, 0.1], model=model)
    judge("m", "rules", [0.9, 0.1])
    found = of_run("m", scores.read_scores)
    figures = {name: metrics.measure_detector(one) for name, one in found.items()}
    table = comparison.tabulate_mixes(found, figures, "macro_f1")
    assert table["method"].tolist() == ["inferact-prob"] * 2
    assert set(zip(table["inference"], table["verification"], strict=True)) == {("small", "small"), ("big", "small")}
    assert not {"rules", "direct@big"} & set(table["detector"])


def test_spending_adds_up_what_verdicts_took_and_leaves_the_unknown_missing():
    a_run("s", [BAD, GOOD])
    used = {"requests": 2, "prompt_tokens": 100, "completion_tokens": 4}
    judge("s", "direct", [0.9, 0.1], model="m", latency_ms=1500.0, cost_usd=0.5, **used)
    judge("s", "local", [0.9, 0.1], model="n", latency_ms=1.0, **used)
    judge("s", "rules", [0.9, 0.1], latency_ms=0.5)
    table = of_run("s", comparison.tabulate_spending).set_index("detector")
    assert table.loc["direct"].to_list() == [2, 4, 200, 8, 3.0, 1.0]
    assert table.loc["local", "requests"] == 4
    assert table["cost_usd"].isna().to_dict() == {"direct": False, "local": True, "rules": True}
    assert table.loc["rules"].isna().sum() == 4
