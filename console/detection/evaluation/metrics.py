"""Metrics: how good a run's detectors are against the source's own labels, and the threshold that a dev set asks for.

Trajectories without a label, halted ones and those without a critical action are left out and counted (InferAct,
section 4.2).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, replace
from shlex import quote
from typing import Any

import numpy as np
from sqlmodel import Session

from console.analysis.metrics import bootstrap
from console.analysis.metrics.calibration import brier, expected_calibration_error
from console.analysis.metrics.classification import Confusion, confusion, cost, effective_reliability, macro_f1
from console.analysis.metrics.ranking_curves import average_precision, best_macro_f1, pr_auc, ranking, roc_auc
from console.analysis.metrics.score_file import figures
from console.detection.evaluation.paper_metrics import evaluate_as_paper
from console.detection.evaluation.scores import OWN, Scores, population, scores_of
from console.errors import BadInput, Refused
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
    """Every figure of every detector of a run with its 95% interval; undefined ones are None.

    With `paper` they are the reference code's own, at that threshold if one is given. Raises Refused without labels.
    """
    scores = {name: one for name, one in labelled(session, run).items() if one.n}
    if not scores:
        raise Refused(
            f"Run {run.name} has no judged trajectory with a gold label. Judge it: inferact detect {quote(run.name)} "
            "--method rules; where that is done, its log does not say which ones were right."
        )
    everything = population(session, run).n
    as_paper = evaluate_as_paper(session, run, threshold) if paper else {}
    found: dict[str, dict[str, Any]] = {}
    for name, one in scores.items():
        mode = {} if one.mode == OWN else {"mode": one.mode}
        known = {**measured(one), **mode, **as_paper.get(name, {})}
        counted = Confusion(known["tp"], known["fp"], known["fn"], known["tn"])
        costs = weighted(counted, miss_cost, alarm_cost)
        found[name] = known | {"weighted_cost": costs, "excluded": everything - one.n}
    return found


def labelled(session: Session, run: tables.Run) -> dict[str, Scores]:
    """Every detector's scores on the labelled trajectories of a run."""
    return {name: one.labelled for name, one in scores_of(session, run).items()}


def tune(session: Session, run: tables.Run, method: str, dev_size: int, seed: int) -> dict[str, Any]:
    """The threshold with the best Macro-F1 on a seeded dev set, and the figures on all other trajectories.

    Raises Refused where the run has too few labelled trajectories for both.
    """
    scores = labelled(session, run)
    if method not in scores or not scores[method].n:
        raise BadInput(
            f"{method} has not judged any labelled trajectory of {run.name}. "
            f"Judge it: inferact detect {quote(run.name)} --method {quote(method)}; "
            "where that is done, its log does not say which ones were right."
        )
    whole = scores[method]
    if dev_size < 1 or dev_size >= whole.n:
        raise Refused(
            f"{run.name} has {whole.n} labelled trajectories judged by {method}; a dev set of {dev_size} leaves "
            "nothing to test on. Choose a smaller --dev-size."
        )
    dev_ids = random.Random(seed).sample(whole.ids.tolist(), dev_size)
    on_dev = np.isin(whole.ids, dev_ids)
    dev, test = whole.where(on_dev), whole.where(~on_dev)
    best = best_macro_f1(ranking(dev.misaligned, dev.scores)) if np.unique(dev.labels).size == 2 else None
    if best is None:
        raise Refused("The dev set holds only one label; choose another --seed or a larger --dev-size.")
    return {
        "run": run.name,
        "detector": method,
        "threshold": best.threshold,
        "dev": {"size": dev_size, "seed": seed, "macro_f1": best.value, "trajectory_ids": sorted(dev_ids)},
        "test": measured(replace(test, threshold=best.threshold)),
    }


def measured(one: Scores) -> dict[str, Any]:
    """The figures of one detector's labelled trajectories with their 95% intervals, and those without unread replies.

    ECE and Brier are those of the trajectories with a probability, None where the detector tells none.
    """
    known = _figures(one) | {
        "intervals": _intervals(one),
        "unparsed": int(one.unparsed.sum()),
    }
    return known | {"parsed_only": _figures(one.parsed) if one.unparsed.any() else None}


def matrix(one: Scores, threshold: float | None = None) -> Confusion:
    """The confusion matrix of labelled trajectories, at the verdicts' own threshold if None."""
    return confusion(one.misaligned, one.flagged(threshold))


def weighted(counted: Confusion, miss_cost: float, alarm_cost: float) -> float:
    """What the misses and the false alarms cost together, at so much each."""
    return counted.fn * miss_cost + counted.fp * alarm_cost


def _figures(one: Scores) -> dict[str, Any]:
    with_probability, counted = one.calibrated, matrix(one)
    return figures(one.misaligned, one.scores, one.threshold) | {
        **asdict(counted),
        **{name: figure(counted) for name, figure in _OF_MATRIX.items()},
        "ece": expected_calibration_error(with_probability.misaligned, with_probability.probabilities),
        "brier": brier(with_probability.misaligned, with_probability.probabilities),
    }


_OF_MATRIX: dict[str, Callable[[Confusion], float]] = {
    "macro_f1": macro_f1,
    "cost": cost,
    "er": effective_reliability,
}


def _intervals(one: Scores) -> dict[str, Any]:
    counted, sure = matrix(one), one.calibrated
    intervals = {name: bootstrap.of_confusion(counted, figure) for name, figure in _OF_MATRIX.items()}
    drawn = bootstrap.drawn(one.n, _of_ranking(one))
    drawn |= bootstrap.drawn(sure.n, bootstrap.calibration_of(sure.misaligned, sure.probabilities))
    intervals |= {name: bootstrap.interval(drawn[name]) if name in drawn else None for name in _DRAWN}
    return {name: asdict(interval) if interval else None for name, interval in intervals.items()}


_DRAWN = ("pr_auc", "ap", "roc_auc", "ece", "brier")


def _of_ranking(one: Scores) -> bootstrap.Figures:
    ranked = bootstrap.Ranked(one.misaligned, one.scores)

    def figures(weights: bootstrap.Weights) -> dict[str, float | None]:
        drawn = ranked.under(weights)
        return {"pr_auc": pr_auc(drawn), "ap": average_precision(drawn), "roc_auc": roc_auc(drawn)}

    return figures
