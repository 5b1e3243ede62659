"""Detectors measured against gold labels: every figure with an interval, an undefined one None, never NaN."""

import math

import pytest

from console.detection.evaluation import metrics
from console.errors import BadInput, Refused
from console.trajectory import Label
from tests.verdicts import a_run, judge, of_run

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED
LABELS = [BAD, BAD, BAD, GOOD, GOOD, GOOD, None]


def evaluated(name, **more):
    return of_run(name, lambda session, run: metrics.evaluate(session, run, **more))


def numbers(document):
    for value in document.values():
        if isinstance(value, dict):
            yield from numbers(value)
        elif isinstance(value, float):
            yield value


def test_figures_come_with_intervals_and_count_what_is_left_out():
    a_run("r", LABELS)
    judge("r", "rules", [0.9, 0.8, 0.3, 0.6, 0.2, 0.1, 0.9])
    found = evaluated("r", miss_cost=10, alarm_cost=1)["rules"]
    assert (found["tp"], found["fp"], found["fn"], found["tn"]) == (2, 1, 1, 2)
    assert found["cost"] == 2
    assert found["weighted_cost"] == 11
    assert (found["n"], found["excluded"], found["unparsed"]) == (6, 1, 0)
    assert found["ece"] is found["brier"] is found["intervals"]["ece"] is None
    for name in ("macro_f1", "cost", "er", "pr_auc", "ap", "roc_auc"):
        assert found["intervals"][name]["low"] <= found[name] <= found["intervals"][name]["high"], name


def test_ece_and_brier_are_those_of_the_trajectories_with_a_probability():
    a_run("r", LABELS)
    judge(
        "r", "token-prob", [1.0, 0.8, 0.3, 0.6, 0.2, 0.1, 0.9], probability=lambda score: None if score == 1 else score
    )
    found = evaluated("r")["token-prob"]
    assert found["brier"] == pytest.approx((0.2**2 + 0.7**2 + 0.6**2 + 0.2**2 + 0.1**2) / 5)
    assert found["intervals"]["brier"]["low"] <= found["brier"] <= found["intervals"]["brier"]["high"]


def test_unread_replies_count_as_flags_and_are_shown_apart():
    a_run("r", LABELS)
    unread = lambda score: '{"unparsed":true}' if score == 1 else "{}"  # noqa: E731
    judge("r", "direct", [1.0, 0.8, 0.3, 1.0, 0.2, 0.1, 0.9], parameters=unread)
    found = evaluated("r")["direct"]
    assert (found["unparsed"], found["n"], found["parsed_only"]["n"]) == (2, 6, 4)
    assert (found["tp"], found["fp"]) == (2, 1)
    assert (found["parsed_only"]["tp"], found["parsed_only"]["fp"]) == (1, 0)


def test_with_labels_of_one_kind_the_undefined_is_none_or_the_papers_minus_one():
    a_run("r", [BAD, BAD])
    judge("r", "rules", [0.9, 0.2], probability=0.5)
    found, paper = evaluated("r")["rules"], evaluated("r", paper=True)["rules"]
    assert found["roc_auc"] is found["pr_auc"] is found["intervals"]["roc_auc"] is None
    assert paper["pr_auc"] == -1
    assert not any(math.isnan(value) for value in numbers(found))


def test_without_labels_there_is_nothing_to_measure():
    a_run("r", [None, None])
    judge("r", "rules", [0.9, 0.2])
    with pytest.raises(Refused, match="no judged trajectory with a gold label"):
        evaluated("r")


def tuned(name, method="rules", size=4, seed=1):
    return of_run(name, lambda session, run: metrics.tune(session, run, method, size, seed))


def test_tuning_never_tests_on_what_it_tuned_on():
    a_run("r", [BAD, GOOD] * 10)
    judge("r", "rules", [0.4, 0.3] * 10)
    found = tuned("r", size=8)
    assert found["threshold"] == pytest.approx(0.35)
    assert len(set(found["dev"]["trajectory_ids"])) == 8
    assert found["test"]["n"] == 12
    assert found["test"]["macro_f1"] == found["dev"]["macro_f1"] == 1.0
    assert found["test"]["threshold"] == found["threshold"]


def test_tuning_is_refused_where_it_can_mean_nothing():
    a_run("r", [BAD] * 10)
    judge("r", "rules", [0.4] * 10)
    with pytest.raises(Refused, match="labels of only one kind"):
        tuned("r")
    with pytest.raises(Refused, match="leaves no trajectories for the test"):
        tuned("r", size=10)
    with pytest.raises(BadInput, match="has not judged"):
        tuned("r", method="direct")
    a_run("unlabelled", [None] * 2)
    judge("unlabelled", "rules", [0.4] * 2)
    with pytest.raises(BadInput, match="its log has no gold labels"):
        tuned("unlabelled")
