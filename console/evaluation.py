"""How good a run's detectors are against the source's own labels, and the threshold that a dev set asks for.

A trajectory's score is the maximum over its checkpoints (so a curve needs no threshold); halted, unlabelled and
carried-over trajectories are left out, and so are those without a critical action (InferAct, section 4.2).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy import func
from sqlalchemy import select as sa_select
from sqlmodel import Session, col

from console.errors import BadInput, Refused
from console.metrics import bootstrap
from console.metrics.calibration import brier, expected_calibration_error
from console.metrics.classification import Confusion, confusion, cost, effective_reliability, macro_f1
from console.metrics.curves import average_precision, best_macro_f1, pr_auc, ranking, roc_auc
from console.metrics.scores import figures
from console.trajectory import Label, Outcome
from storage import tables


@dataclass(slots=True)
class Cases:
    """The labelled trajectories of one detector, in the order of their ids; true is misaligned."""

    threshold: float
    ids: list[int] = field(default_factory=list)
    labels: list[bool] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    probabilities: list[float | None] = field(default_factory=list)

    def only(self, wanted: set[int]) -> Cases:
        """Those of the given trajectories."""
        kept = [place for place, id in enumerate(self.ids) if id in wanted]
        return Cases(
            self.threshold,
            [self.ids[place] for place in kept],
            [self.labels[place] for place in kept],
            [self.scores[place] for place in kept],
            [self.probabilities[place] for place in kept],
        )


def cases(session: Session, run: tables.Run) -> dict[str, Cases]:
    """The labelled trajectories of a run with their scores, detector by detector."""
    verdict, record = tables.Verdict, tables.Trajectory
    statement = (
        sa_select(
            col(verdict.detector),
            col(record.id),
            col(record.label),
            func.max(col(verdict.score)),
            func.max(col(verdict.probability)),
            func.max(col(verdict.threshold)),
        )
        .join(record, col(record.id) == col(verdict.trajectory_id))
        .where(col(verdict.run_id) == run.id, col(record.label).is_not(None), col(record.carried_over).is_(False))
        .where(col(record.recorded_outcome) != Outcome.HALTED)
        .group_by(col(verdict.detector), col(record.id), col(record.label))
        .order_by(col(verdict.detector), col(record.id))
    )
    found: dict[str, Cases] = {}
    for name, id, label, score, probability, threshold in session.execute(statement):
        one = found.setdefault(name, Cases(threshold))
        one.ids.append(id)
        one.labels.append(label == Label.MISALIGNED)
        one.scores.append(score)
        one.probabilities.append(probability)
    return found


def evaluate(session: Session, run: tables.Run, *, paper: bool = False) -> dict[str, dict[str, Any]]:
    """Every figure of every detector of a run with its 95% interval; undefined ones are None (-1 with `paper`)."""
    found = cases(session, run)
    if not found:
        raise Refused(
            f"Run {run.name} has no judged trajectory with a gold label; "
            f"judge it first: inferact detect {run.name} --method rules"
        )
    return {
        name: {**_figures(one, paper=paper), "excluded": _excluded(session, run, one)} for name, one in found.items()
    }


def tune(session: Session, run: tables.Run, method: str, dev_size: int, seed: int) -> dict[str, Any]:
    """The threshold with the best Macro-F1 on a seeded dev set, and the figures on all other trajectories.

    Raises Refused where the run has too few labelled trajectories for both.
    """
    found = cases(session, run)
    if method not in found:
        raise BadInput(f"{method} has not judged any labelled trajectory of {run.name}; run inferact detect first.")
    whole = found[method]
    if dev_size < 1 or dev_size >= len(whole.ids):
        raise Refused(
            f"{run.name} has {len(whole.ids)} labelled trajectories judged by {method}; a dev set of {dev_size} leaves "
            "nothing to test on. Choose a smaller --dev-size."
        )
    dev_ids = set(random.Random(seed).sample(whole.ids, dev_size))
    dev, test = whole.only(dev_ids), whole.only(set(whole.ids) - dev_ids)
    best = best_macro_f1(ranking(dev.labels, dev.scores))
    if best is None:
        raise Refused("The dev set holds only one label; choose another --seed or a larger --dev-size.")
    test.threshold = best.threshold
    return {
        "run": run.name,
        "detector": method,
        "threshold": best.threshold,
        "dev": {"size": dev_size, "seed": seed, "macro_f1": best.value, "trajectory_ids": sorted(dev_ids)},
        "test": _figures(test),
    }


def _figures(one: Cases, *, paper: bool = False) -> dict[str, Any]:
    known = figures(one.labels, one.scores, one.threshold, paper=paper)
    calibrated = [value for value in one.probabilities if value is not None]
    if len(calibrated) == len(one.labels):
        known["ece"] = expected_calibration_error(one.labels, calibrated)
        known["brier"] = brier(one.labels, calibrated)
    else:
        known["ece"] = known["brier"] = None
    return {**known, "intervals": _intervals(one, paper=paper)}


def _intervals(one: Cases, *, paper: bool) -> dict[str, Any]:
    matrix = confusion(one.labels, np.asarray(one.scores) > one.threshold)
    of_matrix: dict[str, Callable[[Confusion], float]] = {
        "macro_f1": macro_f1,
        "cost": cost,
        "er": effective_reliability,
    }
    of_ranks: dict[str, Callable[..., float | None]] = {
        "pr_auc": partial(pr_auc, paper=paper),
        "ap": average_precision,
        "roc_auc": roc_auc,
    }
    found = {name: bootstrap.of_confusion(matrix, figure) for name, figure in of_matrix.items()}
    for name, figure in of_ranks.items():
        found[name] = bootstrap.of_scores(one.labels, one.scores, _of_ranking(figure), resamples=500)
    return {name: asdict(interval) if interval else None for name, interval in found.items()}


def _of_ranking(figure: Callable[..., float | None]) -> Callable[..., float | None]:
    return lambda labels, scores: figure(ranking(labels, scores))


def _excluded(session: Session, run: tables.Run, one: Cases) -> int:
    record = tables.Trajectory
    statement = (
        sa_select(func.count())
        .select_from(record)
        .where(col(record.run_id) == run.id, col(record.carried_over).is_(False))
    )
    return int(session.execute(statement).scalar_one()) - len(one.ids)
