"""The paper's figures as the package carries them, and its metrics computed by its code."""

from random import Random

import numpy as np
import pytest
from sklearn.metrics import auc, f1_score, precision_recall_curve
from sqlalchemy import insert

from console import runs
from console.database import writing
from console.detection.detectors import DETECTORS
from console.detection.evaluation import metrics, paper
from console.trajectory import Label
from storage import tables
from tests.sweeps import sweep
from tests.verdicts import a_run, judge, of_run, trajectory_ids


def test_every_environment_of_the_paper_has_all_methods_and_models():
    for environment in paper.ENVIRONMENTS:
        found = paper.read_printed_figures(environment)
        assert len([one for one in found if one.metric == "macro_f1"]) == 7 * 3
        assert len([one for one in found if one.metric == "ece"]) == 3 * 3
        assert {one.detector for one in found} == set(paper.METHODS)
        assert {one.metric for one in found} == {"macro_f1", "cost", "er", "pr_auc", "ece"}


def test_figures_stand_under_the_consoles_own_names():
    assert set(paper.METHODS) <= set(DETECTORS)
    value = next(
        one.value
        for one in paper.read_printed_figures("alfworld")
        if (one.model, one.detector, one.metric) == ("GPT3.5-Turbo", "inferact-prob", "macro_f1")
    )
    assert value == pytest.approx(0.779)


def test_an_environment_that_the_paper_does_not_have_has_no_figures():
    assert paper.read_printed_figures("tau-bench") == []


def test_the_user_study_has_every_method_with_people_s_and_a_model_s_feedback():
    found = {one.detector: one for one in paper.read_user_study()}
    assert set(found) == set(paper.METHODS)
    assert (found["inferact-verb"].people, found["inferact-verb"].sd, found["inferact-verb"].model) == (50.3, 1.2, 49.0)
    assert max(one.people for one in found.values()) == 50.3


BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


def evaluated(name, **more):
    return of_run(name, lambda session, run: metrics.evaluate(session, run, paper=True, **more))


def several(name, detector, lists, **more):
    """Verdicts of several checkpoints each."""
    with writing() as session:
        run = runs.get(session, name)
        rows = [
            {"run_id": run.id, "trajectory_id": id, "step": step, "kind": "action", "detector": detector,
             "score": score, "threshold": 0.5, "flagged": score > 0.5, "parameters": "{}", "created_ms": 1, **more}
            for id, scores in zip(trajectory_ids(session, run), lists, strict=True)
            for step, score in enumerate(scores)
        ]  # fmt: skip
        session.execute(insert(tables.Verdict), rows)


def by_the_book(truth, lists):
    """Macro-F1, threshold, PR-AUC and ECE as the reference code has them."""

    def alerts(at):
        return [any(score >= at for score in scores) for scores in lists]

    def curve(at):
        return [next((score for score in scores if score >= at), scores[-1]) for scores in lists]

    grid = [step / 100 for step in range(1, 100)]
    values = [f1_score(truth, alerts(at), average="macro", zero_division=0) for at in grid]
    best = values.index(max(values))
    drawn = curve(0.99)
    precision, recall, _ = precision_recall_curve(truth, drawn)
    label, score = np.array(truth, dtype=float), np.clip(drawn, 1e-12, 1 - 1e-12)
    bins = np.linspace(0, 1, 11)
    total, labels, scores = (np.histogram(score, bins, weights=weights)[0] for weights in (None, label, score))
    ece = sum(abs(scores - labels)[total > 0]) / len(truth)
    return values[best], grid[best], auc(recall, precision), ece


@sweep("seed", range(3), kept=1)
def test_a_detector_of_several_checkpoints_gets_the_references_figures(seed):
    draw = Random(seed)
    truth = [draw.random() < 0.4 for _ in range(40)]
    lists = [[round(draw.random() ** (0.6 if bad else 1.4), 2) for _ in range(draw.randint(1, 4))] for bad in truth]
    a_run("r", [BAD if bad else GOOD for bad in truth], environment="alfworld")
    several("r", "inferact-prob", lists)
    found = evaluated("r")["inferact-prob"]
    macro, threshold, area, ece = by_the_book(truth, lists)
    assert found["macro_f1"] == pytest.approx(macro)
    assert found["threshold"] == threshold
    assert found["pr_auc"] == pytest.approx(area)
    assert found["ece"] == pytest.approx(ece)
    assert found["threshold_from"] == "searched on these trajectories"


def test_a_threshold_that_was_set_stays_and_reaching_it_is_enough():
    a_run("r", [BAD, BAD, GOOD, GOOD])
    judge("r", "token-prob", [0.9, 0.7, 0.7, 0.1], threshold=0.7)
    found = evaluated("r")["token-prob"]
    assert (found["tp"], found["fp"], found["threshold"], found["threshold_from"]) == (2, 1, 0.7, "detection")
    assert evaluated("r", threshold=0.8)["token-prob"]["tp"] == 1


def test_token_methods_stop_at_the_first_checkpoint_answered_with_b():
    a_run("r", [BAD, GOOD])
    several("r", "token-prob", [[0.2, 0.6, 0.95], [0.1, 0.3]])
    assert evaluated("r", threshold=0.9)["token-prob"]["tp"] == 0
    several("r", "inferact-prob", [[0.2, 0.6, 0.95], [0.1, 0.3]])
    assert evaluated("r", threshold=0.9)["inferact-prob"]["tp"] == 1


def test_words_need_no_threshold_and_the_mode_of_verdicts_and_figures_is_told():
    a_run("r", [BAD, GOOD])
    judge("r", "direct", [1.0, 0.0], parameters='{"mode":"paper"}')
    found = evaluated("r")["direct"]
    assert (found["threshold_from"], found["mode"], found["verdicts"]) == ("words", "paper", "paper")
    ours = of_run("r", metrics.evaluate)["direct"]
    assert ours["mode"] == "paper"


def test_no_alerts_and_no_scores_give_what_the_papers_tables_print():
    a_run("r", [BAD] * 18 + [GOOD] * 87, environment="alfworld")
    judge("r", "inferact-prob", [0.0] * 105, threshold=0.62)
    found = evaluated("r")["inferact-prob"]
    assert round(found["macro_f1"], 3) == 0.453
    assert (found["er"], found["pr_auc"], found["cost"]) == (0.0, -1.0, 18)


def test_token_methods_stop_by_the_letter_not_by_its_probability():
    a_run("r", [BAD, GOOD])
    several("r", "token-prob", [[0.4, 0.95], [0.1, 0.3]], parameters='{"letter":"B"}')
    assert evaluated("r", threshold=0.9)["token-prob"]["tp"] == 0
    several("r", "token-entropy", [[0.9, 0.95], [0.1, 0.3]], parameters='{"letter":"A","misaligned_share":0.6}')
    assert evaluated("r", threshold=0.92)["token-entropy"]["tp"] == 1


def test_samples_that_could_not_be_parsed_count_as_wrong_either_way():
    a_run("r", [BAD, GOOD])
    judge("r", "self-consistency", [1.0, 1.0], parameters='{"mode":"paper","unread":true}')
    found = evaluated("r")["self-consistency"]
    assert (found["fn"], found["fp"], found["tp"], found["tn"]) == (1, 1, 0, 0)
