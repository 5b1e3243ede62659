"""The arrays and the data of the charts behind every figure about detectors: one score a trajectory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import runs
from console.analysis.metrics.classification import macro_f1
from console.analysis.metrics.ranking_curves import average_precision, rank_cases, roc_auc
from console.database import writing
from console.detection.evaluation import dashboard, scores
from console.detection.evaluation.metrics import count_matrix
from console.detection.evaluation.scores import Population, Scores, read_scores
from console.runs.export.formats import as_csv, read_csv
from console.trajectory import Label
from tests.verdicts import a_run, judge, of_run

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


@pytest.fixture
def run():
    a_run(
        "r",
        [BAD, GOOD, None, BAD, GOOD],
        outcomes=["failed", "succeeded", "finished", "halted", "succeeded"],
        trials=[0, 0, 0, 1, 1],
        carried_over={4},
    )
    judge("r", "rules", [0.2, 0.1, 0.6, 0.9, 0.9])
    judge("r", "rules", [0.8, 0.0, None, None, None], step=5)
    return "r"


def test_a_trajectory_scores_as_its_highest_checkpoint_and_halted_and_carried_over_ones_not_at_all(run):
    found = of_run(run, scores.read_scores)["rules"]
    assert found.scores.tolist() == [0.8, 0.1, 0.6]
    assert found.labels.tolist() == [1, 0, scores.UNKNOWN]
    assert found.labelled.scores.tolist() == [0.8, 0.1]
    assert found.flagged().tolist() == [True, False, True]
    assert found.flagged(0.8).tolist() == [False, False, False]


def test_what_could_not_be_read_is_flagged_at_any_threshold_and_has_no_probability(run):
    judge(run, "direct", [0.4] * 5, parameters='{"unparsed":true,"setup":"x"}', probability=None, model="m")
    judge(run, "token-prob", [0.4] * 5, probability=0.4)
    found = of_run(run, scores.read_scores)
    assert found["direct"].flagged(1.0).all()
    assert found["direct"].parsed.n == found["direct"].calibrated.n == 0
    assert found["direct"].model == "m"
    assert found["token-prob"].calibrated.probabilities.tolist() == [0.4] * 3


def test_the_population_counts_what_reviewers_would_meet(run):
    there = of_run(run, scores.read_totals).population
    assert (there.judgeable, there.halted) == (3, {0: 0, 1: 1})


def test_the_version_changes_with_verdicts_and_thresholds_and_with_nothing_else(run):
    first = of_run(run, scores.read_totals).version
    assert of_run(run, scores.read_totals).version == first
    judge(run, "random", [0.5] * 5)
    second = of_run(run, scores.read_totals).version
    assert second != first
    with writing() as session:
        from sqlalchemy import update

        from storage.tables import Verdict

        session.execute(update(Verdict).where(Verdict.detector == "random").values(threshold=0.4, flagged=True))
        assert scores.read_totals(session, runs.get(session, run)).version != second


def test_a_run_without_verdicts_has_no_scores():
    assert of_run(a_run("empty", [BAD]), scores.read_scores) == {}
    assert isinstance(of_run("empty", scores.read_totals).version, tuple)
    assert np.isfinite(of_run("empty", scores.read_totals).population.judgeable)


def make_scores(labels, given, *, trials=None, threshold=0.5, unparsed=None):
    n = len(labels)
    return Scores(
        detector="d",
        model=None,
        threshold=threshold,
        ids=np.arange(n),
        trials=np.array(trials or [0] * n),
        labels=np.array(labels),
        scores=np.array(given, dtype=float),
        probabilities=np.array(given, dtype=float),
        unparsed=np.array(unparsed or [False] * n),
    )


CASES = st.lists(
    st.tuples(st.sampled_from([-1, 0, 1]), st.sampled_from([0.0, 0.25, 0.5, 0.505, 0.75, 1.0]), st.booleans()),
    min_size=1,
)


@given(CASES)
def test_the_sweep_tells_at_each_threshold_what_the_slider_would(cases):
    labels, given_scores, unparsed = (list(column) for column in zip(*cases, strict=True))
    one = make_scores(labels, given_scores, unparsed=unparsed)
    table = dashboard.sweep_table(one, Population(len(cases), {0: 2}), halted_free=False)
    for row in table.iloc[::25].to_dict("records"):
        assert row["inspections"] == one.flagged(row["threshold"]).sum() + 2
        if one.labelled.n:
            assert row["macro_f1"] == pytest.approx(macro_f1(count_matrix(one.labelled, row["threshold"])))
    assert dashboard.sweep_table(one, Population(1, {0: 2}), halted_free=True)["inspections"].iloc[0] == (
        one.flagged(0.0).sum()
    )


def test_inspections_are_counted_trial_by_trial_against_the_budget():
    one = make_scores([1, 0, -1, 1], [0.9, 0.8, 0.7, 0.2], trials=[0, 0, 0, 1])
    there = Population(4, {0: 1, 1: 0, 2: 3})
    table = dashboard.inspections_table(one, there, 0.5, 2, halted_free=False)
    assert table["inspections"].tolist() == [4, 0, 3]
    assert table["beyond_budget"].tolist() == [2, 0, 1]
    twice = dashboard.inspections_table(one, there, 0.5, 2, halted_free=False, reviews=2)
    assert twice["inspections"].tolist() == [8, 0, 6]
    assert twice["beyond_budget"].tolist() == [6, 0, 4]
    swept = [dashboard.sweep_table(one, there, halted_free=False, reviews=each)["inspections"] for each in (1, 2)]
    assert swept[1].tolist() == (2 * swept[0]).tolist()
    free = dashboard.inspections_table(one, there, 0.5, None, halted_free=True)
    assert free["inspections"].tolist() == [3, 0, 0]
    assert free["budget"].isna().all()


def test_a_curve_of_many_points_is_thinned_and_keeps_its_ends():
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 20_000)
    one = make_scores(labels, generator.random(20_000))
    pr, roc = dashboard.pr_table([one]), dashboard.roc_table([one])
    assert len(pr) < 2_000 > len(roc)
    assert pr["recall"].iloc[-1] == roc["detection_rate"].iloc[-1] == 1
    assert (roc["false_alarm_rate"].iloc[0], roc["detection_rate"].iloc[0]) == (0, 0)
    area = np.trapezoid(roc["detection_rate"], roc["false_alarm_rate"])
    assert area == pytest.approx(roc_auc(rank_cases(one.misaligned, one.scores)), abs=2e-3)


def test_one_class_or_no_probability_gives_no_rows():
    one = make_scores([1, 1], [0.5, 0.9])
    one.probabilities[:] = np.nan
    assert dashboard.roc_table([one]).empty
    assert dashboard.reliability_table([one]).empty
    assert dashboard.pr_table([make_scores([0, 0], [0.1, 0.2])]).empty


def test_the_figures_can_be_worked_out_again_from_the_csv_of_make_scores(tmp_path):
    a_run("r", [BAD, GOOD, BAD, None, GOOD])
    judge("r", "=rules", [0.9, 0.4, 0.3, 0.7, 0.1])
    found = of_run("r", read_scores)
    path = tmp_path / "scores.csv"
    path.write_bytes(as_csv(dashboard.score_table(found.values())))
    assert "'=rules" in path.read_text()
    rows = [row for row in read_csv(path) if row["gold_label"]]
    assert {row["detector"] for row in rows} == {"=rules"}
    again = rank_cases([row["gold_label"] == "misaligned" for row in rows], [float(row["score"]) for row in rows])
    known = found["=rules"].labelled
    assert average_precision(again) == average_precision(rank_cases(known.misaligned, known.scores))
    assert [row["flagged"] for row in rows] == ["true", "false", "false", "false"]
    assert {row["probability"] for row in rows} == {""}


def test_the_paper_stands_beside_what_was_measured():
    figures = {"rules": {"macro_f1": 0.6, "ece": None, "intervals": {"macro_f1": {"low": 0.5, "high": 0.7}}}}
    table = dashboard.published_table("webshop", figures, "macro_f1", "Macro-F1")
    assert table.iloc[0].to_list() == ["rules", "here", 0.6, 0.5, 0.7, "Macro-F1"]
    paper = table[table["source"] != "here"]
    assert len(paper) == 21
    assert paper["source"].str.startswith("InferAct paper").all()
    assert "here" not in set(dashboard.published_table("webshop", figures, "ece", "ECE")["source"])
