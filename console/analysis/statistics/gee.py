"""GEE: the logistic model of answers that come in clusters, where one cluster is one participant.

It stands alone because mixed models and the words of feedback both rest on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from console.analysis.statistics.estimates import Floats, quiet

_SEPARATED = 15.0
_NO_LIMIT = "Log odds have no limit here: one of the columns tells successes from failures without exception."


@dataclass(frozen=True, eq=False)
class Logits:
    """Log odds and their standard errors, in the order of the columns; empty, with a note, where there is no fit."""

    values: Floats
    errors: Floats
    note: str = ""


def logits(answers: Floats, columns: Floats, clusters: NDArray[np.str_]) -> Logits:
    """Generalised estimating equations, exchangeable in a cluster, covariance of Mancl and DeRouen (2001).

    Time grows with the cube of a cluster's answers: 40 clusters of 600 take a second, of 2,500 twenty.
    """
    from statsmodels.genmod.cov_struct import Exchangeable  # slow to load, and few need it
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    try:
        with quiet():
            model = GEE(answers, columns, clusters, family=Binomial(), cov_struct=Exchangeable())
            fit = model.fit(cov_type="bias_reduced")
            values, errors = np.asarray(fit.params), np.asarray(fit.bse)
    except (LinAlgError, ValueError) as failed:
        return _no_fit(f"The estimating equations could not be solved ({failed}).")
    if not np.isfinite([values, errors]).all() or np.abs(values).max() > _SEPARATED:
        return _no_fit(_NO_LIMIT)
    if not fit.converged:
        return _no_fit("The estimating equations did not converge; read the linear estimate.")
    return Logits(values, errors)


def _no_fit(note: str) -> Logits:
    return Logits(np.array([]), np.array([]), note)
