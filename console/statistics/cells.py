"""One mean per participant and condition, and the columns of the model over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from console.errors import BadInput
from console.statistics.estimates import Floats, need

_LEAST_DF = 3


@dataclass(frozen=True, eq=False)
class Cells:
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


def cells_of(frame: pd.DataFrame, value: str, reference: str | None = None) -> Cells:
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
    return Cells(given, who, fixed, names, within, df)


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
