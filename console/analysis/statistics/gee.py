"""A logistic model of answers that come in clusters: one cluster is one participant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from console.analysis.statistics.estimates import Floats, quiet

_SEPARATED = 15.0


@dataclass(frozen=True, eq=False)
class Logits:
    """Log odds and their standard errors, in the order of the columns; empty, with a note, where there is no fit."""

    values: Floats
    errors: Floats
    note: str = ""


def logits(answers: Floats, columns: Floats, clusters: NDArray[np.str_]) -> Logits:
    """Generalised estimating equations, exchangeable in a cluster, covariance of Mancl and DeRouen (2001)."""
    from statsmodels.genmod.cov_struct import (
        Exchangeable,
    )  # slow to load, and few need it
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    order = np.argsort(clusters, kind="stable")
    model = (answers[order], columns[order], clusters[order])
    try:
        with quiet():
            fit = GEE(*model, family=Binomial(), cov_struct=Exchangeable()).fit()
            values, errors = np.asarray(fit.params), np.sqrt(np.diag(_bias_reduced(fit, *model)))
    except (LinAlgError, ValueError) as failed:
        return _none(f"The estimating equations could not be solved ({failed}).")
    if not np.isfinite([values, errors]).all() or np.abs(values).max() > _SEPARATED:
        return _none("Log odds have no limit here: one of the columns tells successes from failures without exception.")
    if not fit.converged:
        return _none("The estimating equations did not converge; read the linear estimate.")
    return Logits(values, errors)


def _bias_reduced(fit: Any, answers: Floats, columns: Floats, clusters: NDArray[np.str_]) -> Floats:
    """The covariance by a system of as many equations as columns for each cluster, where the library solves one of as
    many as it has answers: with H = D M D'W, D'W (I - H)^-1 r is (I - D'W D M)^-1 D'W r.
    """
    naive, identity = np.asarray(fit.cov_naive), np.eye(columns.shape[1])
    told = np.asarray(fit.fittedvalues, dtype=np.float64), float(fit.cov_struct.dep_params)
    scores = [np.linalg.solve(identity - b @ naive, u) for b, u in _sums(answers, columns, clusters, *told)]
    found: Floats = naive @ sum(np.outer(score, score) for score in scores) @ naive
    return found


def _sums(
    answers: Floats, columns: Floats, clusters: NDArray[np.str_], rates: Floats, alike: float
) -> Iterator[tuple[Floats, Floats]]:
    """D'W D and D'W r of each cluster; W is the inverse of a covariance with one correlation throughout."""
    spreads = np.sqrt(rates * (1 - rates))
    slopes, residuals = columns * spreads[:, None], (answers - rates) / spreads
    for rows in np.split(np.arange(len(clusters)), np.flatnonzero(clusters[1:] != clusters[:-1]) + 1):
        x, r = slopes[rows], residuals[rows]
        shared = alike / (1 + alike * (len(rows) - 1))
        bread = (x.T @ x - shared * np.outer(x.sum(axis=0), x.sum(axis=0))) / (1 - alike)
        yield bread, (x.T @ r - shared * x.sum(axis=0) * r.sum()) / (1 - alike)


def _none(note: str) -> Logits:
    return Logits(np.array([]), np.array([]), note)
