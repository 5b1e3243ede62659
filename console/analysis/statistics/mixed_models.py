"""Mixed models: conditions with random participants, linear over cell means and logistic over single answers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from console.analysis.statistics.estimates import (
    Estimate,
    Floats,
    estimate_by_t,
    require_columns,
    suppress_warnings,
    undefined_estimate,
)
from console.errors import BadInput

_LEAST_DF = 3


@dataclass(frozen=True, eq=False)
class CellMeans:
    """Cell means with participants and fixed columns: a constant, the conditions after the first, and the task sets.

    The constant is the mean of the reference condition, averaged over task sets. `df` are the degrees of freedom of the
    stratum in which conditions are compared.
    """

    values: Floats
    who: NDArray[np.str_]
    fixed: Floats
    conditions: tuple[str, ...]
    within: bool
    df: int

    @property
    def participants(self) -> int:
        """The number of participants."""
        return len(np.unique(self.who))


def cell_means(frame: pd.DataFrame, value: str, reference: str | None = None) -> CellMeans:
    """Compute the cell means; raise BadInput if a column, the reference or a second condition is missing."""
    require_columns(frame, "participant", "condition", value)
    rows = frame.dropna(subset=["participant", "condition", value]).astype({"participant": str, "condition": str})
    names = _conditions(rows, reference)
    means = rows[value].astype(float).groupby([rows["participant"], rows["condition"]]).mean()
    who, under = (means.index.get_level_values(at).to_numpy(dtype=str) for at in (0, 1))
    within = len(means) > len(np.unique(who))
    fixed = np.column_stack([np.ones(len(means)), *((under == name) for name in names[1:])])
    df = len(means) - fixed.shape[1] - (len(np.unique(who)) - 1 if within else 0)
    sets = _sets(rows) if within and "task_id" in rows.columns else None
    if sets is not None and df - sets.shape[1] >= _LEAST_DF:
        fixed, df = np.hstack([fixed, sets]), df - sets.shape[1]
    given: Floats = np.asarray(means, dtype=np.float64)
    return CellMeans(given, who, fixed, names, within, df)


def _conditions(rows: pd.DataFrame, reference: str | None) -> tuple[str, ...]:
    names = sorted(rows["condition"].unique())
    if reference is not None and reference not in names:
        raise BadInput(f"No row has condition {reference!r}. Use one of {', '.join(names)}.")
    if len(names) < 2:
        raise BadInput(
            "Fewer than two conditions have answers. Collect answers in another condition, then compute again."
        )
    first = reference if reference is not None else names[0]
    return (first, *(name for name in names if name != first))


def _sets(rows: pd.DataFrame) -> Floats | None:
    """Return centred columns for the task sets, or None if their effects are not estimable."""
    met = rows[["participant", "condition", "task_id"]].drop_duplicates()
    sets = met.groupby(["participant", "condition"])["task_id"].agg(lambda tasks: "\n".join(sorted(map(str, tasks))))
    if not 1 < sets.nunique() <= len(sets) // 2:
        return None
    columns = pd.get_dummies(sets, dtype=float).to_numpy()[:, 1:]
    conditions = pd.get_dummies(sets.index.get_level_values(1), dtype=float).to_numpy()
    both = np.hstack([conditions, columns])
    if np.linalg.matrix_rank(both) < both.shape[1]:
        return None
    centred: Floats = columns - columns.mean(axis=0)
    return centred


LEAST_LOGISTIC = 4
_NONE = 1e-4


@dataclass(frozen=True, slots=True)
class Mixed:
    """The value of the reference, the difference of each other condition from it, and the spread of participants.

    The scale is probability or log odds. `method` describes the fit for a report, and `note` describes any problem.
    """

    scale: str
    reference: str
    level: Estimate
    differences: dict[str, Estimate]
    participants: int
    cells: int
    sd_participants: float | None
    sd_residual: float | None
    method: str
    note: str = ""


def fit_linear(frame: pd.DataFrame, value: str, reference: str | None = None) -> Mixed:
    """Estimate differences in probability by a mixed model of participants' means per condition.

    Within participants, the model has a fixed effect of condition (and of task set, if task sets rotate) and a random
    effect of participant. REML fits the model; t has the degrees of freedom of the participant-by-condition stratum
    (Pinheiro and Bates 2000, section 2.4). Each participant has one mean per condition, so that 400 decisions do not
    count as independent: their dependence is part of the error. Between participants: least squares of the means. Raise
    BadInput like `cell_means`.
    """
    cells = cell_means(frame, value, reference)
    if cells.df < 1:
        return _nothing("probability", cells, f"{cells.participants} participants are too few for so many conditions.")
    if np.ptp(cells.values) == 0:
        return _nothing("probability", cells, "All means are equal, so the spread is 0.")
    if cells.within:
        return _random_participants(cells)
    return _least_squares(cells, cells.fixed, "least squares of participants' means, each in one condition")


def fit_logistic(frame: pd.DataFrame, value: str, reference: str | None = None) -> Mixed:
    """Estimate differences in log odds by generalised estimating equations, clustered by participant.

    The correlation is exchangeable within a participant. The bias-reduced covariance (Mancl and DeRouen 2001) with t
    and participants - 1 degrees of freedom is conservative for few participants. Raise BadInput like `cell_means`.
    """
    cells = cell_means(frame, value, reference)
    if cells.participants < LEAST_LOGISTIC:
        return _nothing("log odds", cells, f"With fewer than {LEAST_LOGISTIC} participants, use the linear estimate.")
    rows = frame.dropna(subset=["participant", "condition", value])
    answers = rows[value].to_numpy(dtype=np.float64)
    if not np.isin(answers, (0.0, 1.0)).all():
        raise BadInput(f"The column {value!r} has values other than 0 and 1. Use one row per answer and compute again.")
    under = rows["condition"].astype(str).to_numpy()
    fixed = np.column_stack([np.ones(len(rows)), *((under == name).astype(float) for name in cells.conditions[1:])])
    found = fit_logits(answers, fixed, rows["participant"].to_numpy(dtype=str))
    if found.note:
        return _nothing("log odds", cells, found.note)
    method = "logistic GEE, exchangeable within participants, bias-reduced covariance, t with participants - 1"
    df = cells.participants - 1
    return _report(cells, (found.values, found.errors), method, df=df, scale="log odds")


def _random_participants(cells: CellMeans) -> Mixed:
    from statsmodels.regression.mixed_linear_model import MixedLM  # slow to load, and few need it

    try:
        with suppress_warnings():
            fit = MixedLM(cells.values, cells.fixed, groups=cells.who).fit(reml=True, method=["bfgs", "powell"])
            spread, residual = float(fit.cov_re[0, 0]), float(fit.scale)
            errors = np.sqrt(np.diag(fit.cov_params())[: cells.fixed.shape[1]])
    except (LinAlgError, ValueError) as failed:
        return _fixed_participants(cells, f"The mixed model could not be fitted ({failed}).")
    if not fit.converged or not np.isfinite(errors).all():
        return _fixed_participants(cells, "The mixed model did not converge; participants are fixed effects.")
    if spread < _NONE * residual:
        return _fixed_participants(cells, "Participants differ only by chance; they are fixed effects here.")
    if residual < _NONE**2 * spread:
        return _fixed_participants(cells, "All participants differ equally between conditions, so the error is 0.")
    method = "linear mixed model (REML), random participant, t with the stratum's degrees of freedom"
    return _report(cells, (np.asarray(fit.fe_params), errors), method, (spread**0.5, residual**0.5))


def _fixed_participants(cells: CellMeans, note: str) -> Mixed:
    """Estimate the differences from the reference condition with participants as fixed, not random, effects."""
    people = pd.get_dummies(pd.Series(cells.who), dtype=float).to_numpy()
    centred = people[:, 1:] - people[:, 1:].mean(axis=0)
    columns = np.hstack([cells.fixed, centred])
    others = np.delete(columns, np.s_[1 : len(cells.conditions)], axis=1)
    if np.linalg.matrix_rank(columns) - np.linalg.matrix_rank(others) < len(cells.conditions) - 1:
        return _nothing("probability", cells, "Not estimable: no participant connects some conditions with the others.")
    return _least_squares(cells, columns, "linear model with participants as fixed effects", note)


def _least_squares(cells: CellMeans, columns: Floats, method: str, note: str = "") -> Mixed:
    from statsmodels.regression.linear_model import OLS  # slow to load, and few need it

    fit, kept = OLS(cells.values, columns).fit(), cells.fixed.shape[1]
    figures = np.asarray(fit.params)[:kept], np.asarray(fit.bse)[:kept]
    return _report(cells, figures, method, (None, float(fit.scale) ** 0.5), note=note)


def _report(
    cells: CellMeans,
    figures: tuple[Floats, Floats],
    method: str,
    spreads: tuple[float | None, float | None] = (None, None),
    *,
    df: float | None = None,
    note: str = "",
    scale: str = "probability",
) -> Mixed:
    n, names = cells.participants, cells.conditions
    exact = "The model fits every mean exactly, so the interval is undefined."
    found = [
        estimate_by_t(float(value), float(error), cells.df if df is None else df, n)
        if error > 1e-12
        else Estimate(float(value), n=n, note=exact)
        for value, error in zip(*figures, strict=True)
    ]
    differences = dict(zip(names[1:], found[1:], strict=False))
    return Mixed(scale, names[0], found[0], differences, n, len(cells.values), *spreads, method, note)


def _nothing(scale: str, cells: CellMeans, note: str) -> Mixed:
    n, names, none = cells.participants, cells.conditions, undefined_estimate(note, cells.participants)
    return Mixed(scale, names[0], none, dict.fromkeys(names[1:], none), n, len(cells.values), None, None, "", note)


_SEPARATED = 15.0


@dataclass(frozen=True, eq=False)
class Logits:
    """Log odds and their standard errors, in column order; both are empty, with a note, if the fit failed."""

    values: Floats = field(default_factory=lambda: np.array([]))
    errors: Floats = field(default_factory=lambda: np.array([]))
    note: str = ""


def fit_logits(answers: Floats, columns: Floats, clusters: NDArray[np.str_]) -> Logits:
    """Fit generalised estimating equations with exchangeable correlation within a cluster.

    The covariance is that of Mancl and DeRouen (2001). Time grows with the cube of the answers per cluster: 40 clusters
    of 600 answers take a second, 40 clusters of 2,500 answers take twenty seconds.
    """
    from statsmodels.genmod.cov_struct import Exchangeable  # slow to load, and few need it
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    try:
        with suppress_warnings():
            model = GEE(answers, columns, clusters, family=Binomial(), cov_struct=Exchangeable())
            fit = model.fit(cov_type="bias_reduced")
            values, errors = np.asarray(fit.params), np.asarray(fit.bse)
    except (LinAlgError, ValueError) as failed:
        return Logits(note=f"The estimating equations could not be solved ({failed}).")
    if not np.isfinite([values, errors]).all() or np.abs(values).max() > _SEPARATED:
        return Logits(note="The log odds are unbounded: one column separates successes from failures completely.")
    if not fit.converged:
        return Logits(note="The estimating equations did not converge. Use the linear estimate.")
    return Logits(values, errors)
