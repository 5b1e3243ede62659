"""The arrays behind every figure about detectors: one score a trajectory, the right ones left out."""

import numpy as np
import pytest

from console import runs
from console.database import writing
from console.detection.evaluation import scores
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
    there = of_run(run, scores.count_population)
    assert (there.judgeable, there.halted) == (3, {0: 0, 1: 1})


def test_the_version_changes_with_verdicts_and_thresholds_and_with_nothing_else(run):
    first = of_run(run, scores.scores_version)
    assert of_run(run, scores.scores_version) == first
    judge(run, "random", [0.5] * 5)
    second = of_run(run, scores.scores_version)
    assert second != first
    with writing() as session:
        from sqlalchemy import update

        from storage.tables import Verdict

        session.execute(update(Verdict).where(Verdict.detector == "random").values(threshold=0.4, flagged=True))
        assert scores.scores_version(session, runs.get(session, run)) != second


def test_a_run_without_verdicts_has_no_scores():
    assert of_run(a_run("empty", [BAD]), scores.read_scores) == {}
    assert isinstance(of_run("empty", scores.scores_version), tuple)
    assert np.isfinite(of_run("empty", scores.count_population).judgeable)
