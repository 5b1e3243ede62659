"""Mixed models: how much a condition changes an answer, with participants as a random effect.

The linear model is over one mean per participant and condition, on the probability scale; the logistic one is over
the answers themselves, on the odds scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from console.analysis.statistics.estimates import LEVEL, Estimate, Floats, need, of_t, quiet, undefined
from console.analysis.statistics.gee import logits
from console.errors import BadInput

_LEAST_DF = 3


@dataclass(frozen=True, eq=False)
class CellMeans:
    """Means, who they are of, and the fixed columns: a constant, the conditions after the first, sets of tasks.

    The constant is the reference condition's level, averaged over sets of tasks. `df` are the degrees of freedom
    left in the stratum that conditions are compared in.
    """

    values: Floats
    who: NDArray[np.str_]
    fixed: Floats
    conditions: tuple[str, ...]
    within: bool
    df: int

    @property
    def participants(self) -> int:
        """How many there are."""
        return len(np.unique(self.who))


def cell_means(frame: pd.DataFrame, value: str, reference: str | None = None) -> CellMeans:
    """The cells of a frame; raises BadInput for a missing column, an unknown reference, or fewer than two conditions.

    A column task_id lets sets of tasks that are rotated over conditions be told from the conditions; a column trial
    takes out what the trials of an unfinished cell would shift.
    """
    need(frame, "participant", "condition", value)
    rows = frame.dropna(subset=["participant", "condition", value]).astype({"participant": str, "condition": str})
    names = _conditions(rows, reference)
    values = rows[value].astype(float)
    if "trial" in rows.columns and rows["trial"].nunique() > 1:
        values = values - values.groupby(rows["trial"]).transform("mean") + values.mean()
    groups = values.groupby([rows["participant"], rows["condition"]])
    means = groups.mean()
    who = means.index.get_level_values(0).to_numpy(dtype=str)
    under = means.index.get_level_values(1).to_numpy(dtype=str)
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
        raise BadInput(f"No row has condition {reference!r}; the table has {', '.join(names)}.")
    if len(names) < 2:
        raise BadInput("There are fewer than two conditions with answers, so there is nothing to compare.")
    first = reference if reference is not None else names[0]
    return (first, *(name for name in names if name != first))


def _sets(rows: pd.DataFrame) -> Floats | None:
    """Centred columns for the sets of tasks of the cells; None where the sets are not shared by participants."""
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
    """The reference's level and each other condition's difference from it, with the spread of participants.

    The scale is probability, or log odds; `method` names the fit in words for a report, `note` what went wrong.
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


def linear(frame: pd.DataFrame, value: str, reference: str | None = None, level: float = LEVEL) -> Mixed:
    """Differences in probability from a mixed model of each participant's mean per condition; raises BadInput.

    Within participants: fixed condition (and set of tasks, where sets are rotated), random participant, REML, and t
    with the degrees of freedom of the participant-by-condition stratum (Pinheiro and Bates 2000, section 2.4).
    A mean per condition makes what a participant finds hard in one of them, tasks alike and trials that follow each
    other part of the error, so that 4 participants are not taken for 400 answers. Between: least squares of the means.
    """
    cells = cell_means(frame, value, reference)
    if cells.df < 1:
        return _nothing("probability", cells, f"{cells.participants} participants are too few for so many conditions.")
    if np.ptp(cells.values) == 0:
        return _nothing("probability", cells, "Every mean is the same, so there is no spread to measure against.")
    return _random_participants(cells, level) if cells.within else _least_squares(cells, level)


def logistic(frame: pd.DataFrame, value: str, reference: str | None = None, level: float = LEVEL) -> Mixed:
    """Differences in log odds by generalised estimating equations, clustered by participant; raises BadInput.

    Exchangeable within a participant; the covariance is the bias-reduced one (Mancl and DeRouen 2001) with t and
    participants - 1 degrees of freedom, which errs on the careful side where participants are few.
    """
    cells = cell_means(frame, value, reference)
    if cells.participants < LEAST_LOGISTIC:
        return _nothing("log odds", cells, f"With fewer than {LEAST_LOGISTIC} participants read the linear estimate.")
    rows = frame.dropna(subset=["participant", "condition", value])
    answers = rows[value].to_numpy(dtype=np.float64)
    if not np.isin(answers, (0.0, 1.0)).all():
        raise BadInput(f"The column {value!r} holds more than 0 and 1; give one row per answer and compute again.")
    under = rows["condition"].astype(str).to_numpy()
    fixed = np.column_stack([np.ones(len(rows)), *((under == name).astype(float) for name in cells.conditions[1:])])
    found = logits(answers, fixed, rows["participant"].to_numpy(dtype=str))
    if found.note:
        return _nothing("log odds", cells, found.note)
    method = "logistic GEE, exchangeable within participants, bias-reduced covariance, t with participants - 1"
    figures, df = (found.values, found.errors), cells.participants - 1
    return _report(cells, figures, level, (None, None), method, df, "", "log odds")


def _random_participants(cells: CellMeans, level: float) -> Mixed:
    from statsmodels.regression.mixed_linear_model import MixedLM  # slow to load, and few need it

    try:
        with quiet():
            fit = MixedLM(cells.values, cells.fixed, groups=cells.who).fit(reml=True, method=["bfgs", "powell"])
            spread, residual = float(fit.cov_re[0, 0]), float(fit.scale)
            errors = np.sqrt(np.diag(fit.cov_params())[: cells.fixed.shape[1]])
    except (LinAlgError, ValueError) as failed:
        return _fixed_participants(cells, level, f"The mixed model could not be fitted ({failed}).")
    if not fit.converged or not np.isfinite(errors).all():
        return _fixed_participants(cells, level, "The mixed model did not converge; participants are fixed effects.")
    if spread < _NONE * residual:
        note = "Participants differ no more than chance; they are fixed effects here."
        return _fixed_participants(cells, level, note)
    if residual < _NONE**2 * spread:
        return _fixed_participants(cells, level, "Each participant's means differ by the same; there is no error left.")
    figures = np.asarray(fit.fe_params), errors
    method = "linear mixed model (REML), random participant, t with the stratum's degrees of freedom"
    return _report(cells, figures, level, (spread**0.5, residual**0.5), method, cells.df, "")


def _fixed_participants(cells: CellMeans, level: float, note: str) -> Mixed:
    """The same differences with a parameter per participant: what the mixed model is without their variance."""
    people = pd.get_dummies(pd.Series(cells.who), dtype=float).to_numpy()
    centred = people[:, 1:] - people[:, 1:].mean(axis=0)
    columns = np.hstack([cells.fixed, centred])
    others = np.delete(columns, np.s_[1 : len(cells.conditions)], axis=1)
    if np.linalg.matrix_rank(columns) - np.linalg.matrix_rank(others) < len(cells.conditions) - 1:
        why = "Not estimable: some conditions have no participant who links them with the others."
        return _nothing("probability", cells, why)
    fit = _ordinary(cells.values, columns)
    kept = cells.fixed.shape[1]
    figures = np.asarray(fit.params)[:kept], np.asarray(fit.bse)[:kept]
    method = "linear model with participants as fixed effects"
    return _report(cells, figures, level, (None, float(fit.scale) ** 0.5), method, cells.df, note)


def _least_squares(cells: CellMeans, level: float) -> Mixed:
    fit = _ordinary(cells.values, cells.fixed)
    method = "least squares of participants' means, each in one condition"
    spreads = None, float(fit.scale) ** 0.5
    return _report(cells, (np.asarray(fit.params), np.asarray(fit.bse)), level, spreads, method, cells.df, "")


def _ordinary(values: Floats, columns: Floats) -> Any:
    from statsmodels.regression.linear_model import OLS  # slow to load, and few need it

    return OLS(values, columns).fit()


def _report(
    cells: CellMeans,
    figures: tuple[Floats, Floats],
    level: float,
    spreads: tuple[float | None, float | None],
    method: str,
    df: float,
    note: str,
    scale: str = "probability",
) -> Mixed:
    values, errors = figures
    found = [
        _estimate(float(value), float(error), df, cells, level) for value, error in zip(values, errors, strict=True)
    ]
    differences = dict(zip(cells.conditions[1:], found[1:], strict=False))
    size = len(cells.values)
    return Mixed(scale, cells.conditions[0], found[0], differences, cells.participants, size, *spreads, method, note)


def _estimate(value: float, error: float, df: float, cells: CellMeans, level: float) -> Estimate:
    if error <= 1e-12:
        return Estimate(value, n=cells.participants, note="The model fits every mean exactly, so there is no interval.")
    return of_t(value, error, df, cells.participants, level)


def _nothing(scale: str, cells: CellMeans, note: str) -> Mixed:
    none = undefined(note, cells.participants)
    differences = dict.fromkeys(cells.conditions[1:], none)
    return Mixed(
        scale, cells.conditions[0], none, differences, cells.participants, len(cells.values), None, None, "", note
    )
