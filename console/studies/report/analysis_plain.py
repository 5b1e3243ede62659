"""Recompute the planned contrasts and the success rates of a study with pandas, scipy and statsmodels alone.

This script is part of each report's folder and reads the CSV files in that folder. It does not need the console. Run
the script in that folder: pip install pandas scipy statsmodels && python analysis_plain.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

NEAR = 1e-9
CELL = ["participant", "condition"]
TASK = [*CELL, "task_id"]
CONTRAST = ["measure", "contrast", "annotator_kind"]
RATE = ["reviewers", "count", "condition", "trial"]


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read the tidy tables; leave out participants whom a rule of the design excludes."""
    names = ("decisions", "outcomes", "success", "participants", "plan", "exclusions")
    found = {name: pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""]) for name in names}
    out = found["exclusions"].loc[found["exclusions"]["excluded"] == True, "participant"]  # noqa: E712
    return {
        name: frame[~frame["participant"].isin(out)] if "participant" in frame and name != "exclusions" else frame
        for name, frame in found.items()
    }


def answers(found: dict[str, pd.DataFrame], measure: str) -> pd.DataFrame:
    """Return the observations of a measure, with their value in the column `value`.

    The measure `right` has one row per decision known to be correct or wrong; the other measures have one row per task.
    """
    if measure == "right":
        own = found["decisions"][found["decisions"]["purpose"].isna()].dropna(subset=["correct"])
        judged: pd.DataFrame = own.assign(value=own["correct"].astype(float))
        return judged
    rows = found["outcomes"]
    closed = rows[rows["closed"].astype(bool)]
    longest = closed.groupby(CELL)["trial"].transform("max")
    over = closed[(closed["trial"] == longest) & (longest == found["success"]["trial"].max())]
    last: pd.DataFrame = over.assign(value=over["solved_paper"].astype(float))
    if measure == "gain":
        start = rows[rows["trial"] == 0].set_index(TASK)["solved_paper"].astype(float)
        last["value"] -= start.reindex(pd.MultiIndex.from_frame(last[TASK])).to_numpy()
    return last


class Cells:
    """The mean of each participant under each condition, with the participant's task set."""

    def __init__(self, rows: pd.DataFrame) -> None:
        keyed = rows.dropna(subset=[*CELL, "value"]).astype(dict.fromkeys(TASK, str))
        tasks = keyed.groupby(CELL)["task_id"].agg(lambda keys: "\n".join(sorted(set(keys))))
        self.means = keyed.groupby(CELL)["value"].mean().unstack()
        self.met = tasks.unstack()
        self.within = len(tasks) > len(self.means)

    def contrast(self, weights: dict[str, float]) -> dict[str, float]:
        """Return the contrast with error, t interval and p-value, or only the number of participants if undefined."""
        wanted = pd.Series(weights)[lambda weight: weight != 0]
        if not wanted.index.isin(self.means.columns).all():
            return {"n": len(self.means)}
        return self._own(wanted) if self.within else self._apart(wanted)

    def _own(self, wanted: pd.Series) -> dict[str, float]:
        """Estimate the contrast by least squares from participants' own values; adjust for task sets if they rotate."""
        whole = self.means[wanted.index].dropna()
        own, met = whole @ wanted, self.met.loc[whole.index, wanted.index]
        if own.empty:
            return {"n": 0}
        names = pd.unique(met.to_numpy().ravel())
        sets = np.column_stack([(met == name).to_numpy(float) @ wanted.to_numpy() for name in names])
        columns = np.column_stack([np.ones(len(own)), sets])
        rank = np.linalg.matrix_rank(columns)
        if rank == 1 or len(names) >= len(own) or rank != np.linalg.matrix_rank(sets) + 1 or len(own) - rank < 3:
            columns, rank = np.ones((len(own), 1)), 1
        fitted = np.linalg.lstsq(columns, own.to_numpy(), rcond=None)[0]
        rest, spread = own.to_numpy() - columns @ fitted, np.linalg.pinv(columns.T @ columns)[0, 0]
        error = float(spread * (rest @ rest) / max(len(own) - rank, 1)) ** 0.5
        return figure(float(fitted[0]), error, len(own) - rank, len(own))

    def _apart(self, wanted: pd.Series) -> dict[str, float]:
        """Estimate the contrast between groups of participants, with the pooled spread within groups."""
        groups = [column.dropna() for _, column in self.means.items()]
        df = len(self.means) - len(groups)
        variance = sum(((group - group.mean()) ** 2).sum() for group in groups) / max(df, 1)
        error = (variance * sum(wanted[name] ** 2 / self.means[name].count() for name in wanted.index)) ** 0.5
        value = self.means.mean()[wanted.index].to_numpy() @ wanted.to_numpy()
        return figure(float(value), float(error), df, len(self.means))


def figure(value: float, error: float, df: int, people: int) -> dict[str, float]:
    """Return the numbers of a row; omit the interval and p-value if the standard error is unknown or 0."""
    if df < 1 or error <= 1e-10:
        return {"n": people, "estimate": 0.0 if df >= 1 and abs(value) <= 1e-10 else value}
    low, high = stats.t.interval(0.95, df, value, error)
    p = 2 * stats.t.sf(abs(value) / error, df)
    return {"n": people, "estimate": value, "low": low, "high": high, "p": p, "error": error, "df": df}


def contrasts(found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Compute every planned contrast, separately for people and simulated reviewers."""
    rows: list[dict[str, Any]] = []
    for (measure, _), stated in found["plan"].groupby(["measure", "kind"], sort=False):
        given = answers(found, str(measure))
        for kind in ("human", "rule"):
            if (given["annotator_kind"] == kind).any():
                cells = Cells(given[given["annotator_kind"] == kind])
                rows += family(cells, stated, {"measure": str(measure), "annotator_kind": kind})
    return pd.DataFrame(rows)


def family(cells: Cells, stated: pd.DataFrame, about: dict[str, str]) -> list[dict[str, Any]]:
    """Compute the contrasts whose p-values are corrected together."""
    rows = []
    for name, part in stated.groupby("contrast", sort=False):
        told = cells.contrast(dict(zip(part["condition"], part["weight"].astype(float), strict=True)))
        margin, error, df = part["equivalence"].iloc[0], told.pop("error", None), told.pop("df", None)
        if error and pd.notna(margin):
            told["p_equivalent"] = stats.t.cdf((abs(told["estimate"]) - margin) / error, df)
        rows.append({**about, "contrast": name, **told})
    tested, correction = [row for row in rows if "p" in row], stated["correction"].iloc[0]
    given = [row["p"] for row in tested]
    corrected = multipletests(given, method=correction)[1] if given and correction != "none" else given
    for row, p in zip(tested, corrected, strict=True):
        row["p_adjusted"] = p
    return rows


def success(found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Compute the success rate over participants by condition and closed trial, counted in both ways."""
    closed = found["success"][found["success"]["closed"].astype(bool) & (found["success"]["tasks"] > 0)]
    rows = []
    for reviewers, kind in (("people", "human"), ("simulated", "rule")):
        for count, column in (("undecided run", "solved_paper"), ("undecided held", "solved_held")):
            of_kind = closed[closed["annotator_kind"] == kind]
            for (condition, trial), part in of_kind.groupby(["condition", "trial"]):
                about = {"reviewers": reviewers, "count": count, "condition": condition, "trial": trial}
                rows.append(about | rate(part[column].to_numpy(float), part["tasks"].to_numpy(float)))
    return pd.DataFrame(rows)


def rate(solved: np.ndarray, tasks: np.ndarray) -> dict[str, float]:
    """Return the mean with its t interval over participants, and the pooled rate with Wilson's interval."""
    rates, n = solved / tasks, len(tasks)
    pooled = stats.binomtest(int(solved.sum()), int(tasks.sum())).proportion_ci(0.95, "wilson")
    found = {"participants": n, "tasks": tasks.sum(), "mean": rates.mean(), "pooled": solved.sum() / tasks.sum()}
    found |= {"pooled_low": pooled.low, "pooled_high": pooled.high}
    if n > 1:
        found |= {"sd": rates.std(ddof=1), "sd_paper": rates.std()}
        error = rates.std(ddof=1) / n**0.5
        if error > 1e-12:
            low, high = stats.t.interval(0.95, n - 1, rates.mean(), error)
            found |= {"low": max(low, 0.0), "high": min(high, 1.0)}
    return found


def differing(name: str, again: pd.DataFrame, written: pd.DataFrame, keys: list[str]) -> int:
    """Print and count the rows that differ from the rows in the written file."""
    numbers = [column for column in written.select_dtypes("number") if column not in (*keys, "alpha")]
    again = again.reindex(columns=[*keys, *numbers])
    sys.stdout.write(f"{again.to_string(index=False)}\n")
    both = written[[*keys, *numbers]].merge(again, on=keys, how="outer", suffixes=("", "_again"), indicator=True)
    ours = both[[f"{column}_again" for column in numbers]].to_numpy(float)
    same = np.isclose(both[numbers].to_numpy(float), ours, rtol=NEAR, atol=NEAR, equal_nan=True).all(axis=1)
    wrong = both[~same | (both["_merge"] != "both")]
    for row in wrong[keys].itertuples(index=False):
        sys.stdout.write(f"DIFFERENT  {name}: {', '.join(map(str, row))}\n")
    sys.stdout.write(f"{name}: {len(both) - len(wrong)} of {len(both)} rows are the same to {NEAR}\n")
    return len(wrong)


def main(folder: Path) -> int:
    """Return the number of rows in contrasts.csv and tables/success.csv that cannot be reproduced."""
    found = tables(folder)
    stated, rates = pd.read_csv(folder / "contrasts.csv"), pd.read_csv(folder / "tables" / "success.csv")
    return differing("contrasts", contrasts(found), stated, CONTRAST) + differing(
        "success", success(found), rates, RATE
    )


if __name__ == "__main__":
    sys.exit(min(main(Path(__file__).resolve().parent), 1))
