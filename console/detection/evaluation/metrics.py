"""Metrics of a run's detectors against the source's labels, and the threshold tuned on a dev set.

Trajectories that are halted or have no label or no critical action are left out and counted (InferAct, section 4.2).
"""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from shlex import quote
from typing import Any

import numpy as np
from sqlmodel import Session

from console.analysis.metrics import bootstrap
from console.analysis.metrics.classification import FIGURES, Confusion, brier, confusion, expected_calibration_error
from console.analysis.metrics.ranking_curves import average_precision, best_macro_f1, pr_auc, rank_cases, roc_auc
from console.analysis.metrics.score_file import compute_figures
from console.detection.evaluation.paper import evaluate_as_paper
from console.detection.evaluation.scores import OWN, Scores, Totals, read_scores, read_totals
from console.errors import BadInput, Refused
from console.runs.status import EVERY, Sample, draw_sample
from storage import tables


def evaluate(
    session: Session,
    run: tables.Run,
    *,
    paper: bool = False,
    threshold: float | None = None,
    miss_cost: float = 1.0,
    alarm_cost: float = 1.0,
) -> dict[str, dict[str, Any]]:
    """Return every metric of every detector of a run with its 95% interval; undefined metrics are None.

    `sample` is the size of the sample that the metrics of a large run use. `paper` adds the reference code's metrics,
    at `threshold` if it is given. Raise Refused if labels are missing.
    """
    sample = draw_sample(session, run)
    totals = read_totals(session, run, sample)
    scores = {name: one for name, one in read_labelled_scores(session, run, sample, totals).items() if one.n}
    if not scores:
        raise Refused(
            f"Run {run.name} has no judged trajectory with a gold label. Judge the run: inferact detect "
            f"{quote(run.name)} --method rules. If the run is already judged, its log has no gold labels."
        )
    everything = totals.population.n
    as_paper = evaluate_as_paper(session, run, threshold, sample) if paper else {}
    found: dict[str, dict[str, Any]] = {}
    for name, one in scores.items():
        mode = {} if one.mode == OWN else {"mode": one.mode}
        known = {**measure_detector(one), **mode, **as_paper.get(name, {})}
        counted = Confusion(known["tp"], known["fp"], known["fn"], known["tn"])
        costs = weigh_errors(counted, miss_cost, alarm_cost)
        found[name] = known | {"weighted_cost": costs, "excluded": everything - one.n} | sample.to_dict()
    return found


def read_labelled_scores(
    session: Session, run: tables.Run, sample: Sample = EVERY, totals: Totals | None = None
) -> dict[str, Scores]:
    """Return every detector's scores on the labelled trajectories of a run; `totals` are the sample's, if known."""
    return {name: one.labelled for name, one in read_scores(session, run, sample, totals).items()}


def tune(session: Session, run: tables.Run, method: str, dev_size: int, seed: int) -> dict[str, Any]:
    """Return the best threshold by Macro-F1 on a dev set, and the metrics on the rest.

    Raise BadInput if the method has judged no labelled trajectory, and Refused if either set has too few labels.
    """
    scores = read_labelled_scores(session, run)
    if method not in scores or not scores[method].n:
        raise BadInput(
            f"{method} has not judged any labelled trajectory of {run.name}. Judge the run: inferact detect "
            f"{quote(run.name)} --method {quote(method)}. If the run is already judged, "
            "its log has no gold labels."
        )
    whole = scores[method]
    if dev_size < 1 or dev_size >= whole.n:
        raise Refused(
            f"{run.name} has {whole.n} labelled trajectories judged by {method}, so a dev set of {dev_size} "
            "leaves no trajectories for the test. Choose a smaller --dev-size."
        )
    dev_ids = random.Random(seed).sample(whole.ids.tolist(), dev_size)
    on_dev = np.isin(whole.ids, dev_ids)
    dev, test = whole.where(on_dev), whole.where(~on_dev)
    best = best_macro_f1(rank_cases(dev.misaligned, dev.scores)) if np.unique(dev.labels).size == 2 else None
    if best is None:
        raise Refused("The dev set has labels of only one kind. Choose another --seed or a larger --dev-size.")
    return {
        "run": run.name,
        "detector": method,
        "threshold": best.threshold,
        "dev": {"size": dev_size, "seed": seed, "macro_f1": best.value, "trajectory_ids": sorted(dev_ids)},
        "test": measure_detector(replace(test, threshold=best.threshold)),
    }


def measure_detector(one: Scores) -> dict[str, Any]:
    """Return one detector's metrics on labelled trajectories with 95% intervals, and again without unreadable replies.

    ECE and Brier use the trajectories with a probability, and are None if there are none.
    """
    known = _figures(one) | {"intervals": _intervals(one), "unparsed": int(one.unparsed.sum()), "refused": one.refused}
    return known | {"parsed_only": _figures(one.parsed) if one.unparsed.any() else None}


def count_matrix(one: Scores, threshold: float | None = None) -> Confusion:
    """Return the confusion matrix of labelled trajectories, at the verdicts' own threshold if `threshold` is None."""
    return confusion(one.misaligned, one.flagged(threshold))


def weigh_errors(counted: Confusion, miss_cost: float, alarm_cost: float) -> float:
    """Return the total cost of misses and false alarms."""
    return counted.fn * miss_cost + counted.fp * alarm_cost


def _figures(one: Scores) -> dict[str, Any]:
    sure = one.calibrated
    found = compute_figures(one.misaligned, one.scores, one.threshold, count_matrix(one))
    found["ece"] = expected_calibration_error(sure.misaligned, sure.probabilities)
    found["brier"] = brier(sure.misaligned, sure.probabilities)
    return found


def _intervals(one: Scores) -> dict[str, Any]:
    counted, sure = count_matrix(one), one.calibrated
    intervals = {name: bootstrap.estimate_confusion_interval(counted, figure) for name, figure in FIGURES.items()}
    drawn = bootstrap.draw_figures(one.n, _of_ranking(one))
    drawn |= bootstrap.draw_figures(sure.n, bootstrap.calibration_figures(sure.misaligned, sure.probabilities))
    intervals |= {name: bootstrap.percentile_interval(drawn[name]) if name in drawn else None for name in _DRAWN}
    return {name: asdict(interval) if interval else None for name, interval in intervals.items()}


_DRAWN = ("pr_auc", "ap", "roc_auc", "ece", "brier")


def _of_ranking(one: Scores) -> bootstrap.Figures:
    ranked = bootstrap.Ranked(one.misaligned, one.scores)

    def figures(weights: bootstrap.Weights) -> dict[str, float | None]:
        drawn = ranked.under(weights)
        return {"pr_auc": pr_auc(drawn), "ap": average_precision(drawn), "roc_auc": roc_auc(drawn)}

    return figures
