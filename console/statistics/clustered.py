"""A logistic model of answers that come in clusters: one cluster is one participant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import statsmodels.api as sm
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from console.statistics.estimates import Floats, quiet

_SEPARATED = 15.0


@dataclass(frozen=True, eq=False)
class Logits:
    """Log odds and their standard errors, in the order of the columns; empty, with a note, where there is no fit."""

    values: Floats
    errors: Floats
    note: str = ""


def logits(answers: Floats, columns: Floats, clusters: NDArray[np.str_]) -> Logits:
    """Generalised estimating equations, exchangeable in a cluster, covariance of Mancl and DeRouen (2001)."""
    order = np.argsort(clusters, kind="stable")
    spread = sm.cov_struct.Exchangeable()
    model = (answers[order], columns[order], clusters[order])
    try:
        with quiet():
            fit = sm.GEE(*model, family=sm.families.Binomial(), cov_struct=spread).fit(cov_type="bias_reduced")
            values, errors = np.asarray(fit.params), np.asarray(fit.bse)
    except (LinAlgError, ValueError) as failed:
        return _none(f"The estimating equations could not be solved ({failed}).")
    if not np.isfinite([values, errors]).all() or np.abs(values).max() > _SEPARATED:
        return _none("Log odds have no limit here: one of the columns tells successes from failures without exception.")
    if not fit.converged:
        return _none("The estimating equations did not converge; read the linear estimate.")
    return Logits(values, errors)


def _none(note: str) -> Logits:
    return Logits(np.array([]), np.array([]), note)
