"""Computes the planned contrasts and the success rates of a study again, by pandas, scipy and statsmodels alone.

It goes into each report's folder and reads the CSV files there; nothing of the console is needed. Run it there:
pip install pandas scipy statsmodels && python analysis_plain.py

Where a layout is not balanced, variances are searched for (REML); on a machine that rounds otherwise than the one that
wrote the report, that search may end about 1e-7 away, and such rows are named as different.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import minimize
from statsmodels.stats.multitest import multipletests

NEAR = 1e-9
CELL = ["participant", "condition"]
TASK = [*CELL, "task_id"]
CONTRAST = ["measure", "contrast", "annotator_kind"]
RATE = ["reviewers", "count", "condition", "trial"]


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """The tidy tables that are read, without those whom a rule of the design leaves out."""
    names = ("decisions", "outcomes", "success", "participants", "plan", "exclusions")
    found = {name: pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""]) for name in names}
    out = found["exclusions"].loc[found["exclusions"]["excluded"] == True, "participant"]  # noqa: E712
    return {
        name: frame[~frame["participant"].isin(out)] if "participant" in frame and name != "exclusions" else frame
        for name, frame in found.items()
    }


def answers(found: dict[str, pd.DataFrame], measure: str) -> pd.DataFrame:
    """A row with a value for each answer that a measure counts."""
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


def dummies(keys: Any) -> np.ndarray:
    """A column of 0 and 1 for each key, in their order."""
    return pd.get_dummies(pd.Categorical(keys, pd.unique(keys))).to_numpy(float)


class Model:
    """Conditions' means from the cells: participants and, where they can be told, sets of tasks as further effects."""

    def __init__(self, rows: pd.DataFrame) -> None:
        keyed = rows.dropna(subset=[*CELL, "value"]).astype(dict.fromkeys(TASK, str))
        cells = keyed.groupby(CELL).agg(
            value=("value", "mean"), met=("task_id", lambda keys: "\n".join(sorted(set(keys))))
        )
        cells = cells.reset_index()
        self.cells, self.people = cells, cells["participant"].nunique()
        self.names = sorted(cells["condition"].unique())
        self.fixed = (cells["condition"].to_numpy()[:, None] == np.array(self.names)).astype(float)
        self.effects: list[np.ndarray] = []
        self.df = len(cells) - len(self.names)
        if len(cells) > self.people:
            self.df -= self.people - 1
            self.effects.append(dummies(cells["participant"]))
            self._take_sets()
        self.every = np.hstack([self.fixed, *(effect[:, 1:] for effect in self.effects)])
        self.columns, self.values = self._weighed() if self.df >= 1 else (self.every, cells["value"].to_numpy())

    def _take_sets(self) -> None:
        sets = dummies(self.cells["met"])
        both, left = np.hstack([self.fixed, sets[:, 1:]]), self.df - (sets.shape[1] - 1)
        if 1 < sets.shape[1] <= len(sets) // 2 and left >= 3 and np.linalg.matrix_rank(both) == both.shape[1]:
            self.effects.append(sets)
            self.df = left

    def _weighed(self) -> tuple[np.ndarray, np.ndarray]:
        """Columns and values for least squares, in a layout that is not balanced weighed by REML's variances."""
        values = self.cells["value"].to_numpy()
        shares = [(self.fixed / self.fixed.sum(axis=0)).T @ effect for effect in self.effects]
        if len(values) > 800 or all(np.ptp(share, axis=0).max() < 1e-10 for share in shares):
            return self.every, values
        products = [effect @ effect.T for effect in self.effects]
        start, bounds = np.zeros(len(products)), [(-12.0, 8.0)] * len(products)
        logs = minimize(lambda at: deviance(values, self.fixed, products, np.exp(at)), start, method="L-BFGS-B",
                        bounds=bounds).x  # fmt: skip
        random = {at: float(np.exp(log)) for at, log in enumerate(logs) if log > -8.0}
        if not random:
            return self.every, values
        spread = np.eye(len(values))
        for at, ratio in random.items():
            spread = spread + ratio * products[at]
        rest = [
            effect[:, 1:] - effect[:, 1:].mean(axis=0) for at, effect in enumerate(self.effects) if at not in random
        ]
        root = np.linalg.cholesky(spread)
        return np.linalg.solve(root, np.hstack([self.fixed, *rest])), np.linalg.solve(root, values)

    def contrast(self, weights: dict[str, float]) -> dict[str, float]:
        """The weighted sum of the conditions' means with its error, t interval and p; empty where it has no figure."""
        if any(name not in self.names for name in weights):
            return {}
        if self.df < 1:
            means = self.cells.groupby("condition")["value"].mean()
            return {"estimate": sum(weight * means[name] for name, weight in weights.items())}
        sums = np.array([weights.get(name, 0.0) for name in self.names])
        wanted = np.concatenate([sums, np.zeros(self.every.shape[1] - len(sums))])
        if np.abs(wanted @ np.linalg.pinv(self.every) @ self.every - wanted).max() > 1e-6:
            return {}
        levels, _, rank, _ = np.linalg.lstsq(self.columns, self.values, rcond=None)
        rest = self.values - self.columns @ levels
        variance = rest @ rest / max(len(rest) - rank, 1)
        inverse = np.linalg.pinv(self.columns.T @ self.columns)[: len(sums), : len(sums)]
        value, error = float(sums @ levels[: len(sums)]), float(variance * (sums @ inverse @ sums)) ** 0.5
        if error <= 1e-10:
            return {"estimate": value if abs(value) > 1e-10 else 0.0}
        low, high = stats.t.interval(0.95, self.df, value, error)
        p = 2 * stats.t.sf(abs(value) / error, self.df)
        return {"estimate": value, "low": low, "high": high, "p": p, "error": error}


def deviance(values: np.ndarray, fixed: np.ndarray, products: list[np.ndarray], ratios: np.ndarray) -> float:
    """Less twice the restricted log likelihood, but for a constant (Pinheiro and Bates 2000, section 2.2.5)."""
    spread = np.eye(len(values))
    for ratio, product in zip(ratios, products, strict=True):
        # In the order of the console: by other roundings the search would end some 1e-7 away.
        spread = spread + ratio * product
    root = np.linalg.cholesky(spread)
    columns, given = np.linalg.solve(root, fixed), np.linalg.solve(root, values)
    inner = columns.T @ columns
    rest = given - columns @ np.linalg.solve(inner, columns.T @ given)
    logs = 2 * float(np.log(np.diag(root)).sum()) + float(np.linalg.slogdet(inner)[1])
    return float((len(values) - fixed.shape[1]) * np.log(max(rest @ rest, 1e-300)) + logs)


def contrasts(found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Every planned contrast, of people and of simulated reviewers apart."""
    rows: list[dict[str, Any]] = []
    for (measure, _), stated in found["plan"].groupby(["measure", "kind"], sort=False):
        given = answers(found, str(measure))
        for kind in ("human", "rule"):
            if (given["annotator_kind"] == kind).any():
                model = Model(given[given["annotator_kind"] == kind])
                rows += family(model, stated, {"measure": str(measure), "annotator_kind": kind})
    return pd.DataFrame(rows)


def family(model: Model, stated: pd.DataFrame, about: dict[str, str]) -> list[dict[str, Any]]:
    """The contrasts that are corrected together."""
    rows = []
    for name, part in stated.groupby("contrast", sort=False):
        told = model.contrast(dict(zip(part["condition"], part["weight"].astype(float), strict=True)))
        margin, error = part["equivalence"].iloc[0], told.pop("error", None)
        if error and pd.notna(margin):
            told["p_equivalent"] = stats.t.cdf((abs(told["estimate"]) - margin) / error, model.df)
        rows.append({**about, "contrast": name, "n": model.people, **told})
    tested, correction = [row for row in rows if "p" in row], stated["correction"].iloc[0]
    given = [row["p"] for row in tested]
    corrected = multipletests(given, method=correction)[1] if given and correction != "none" else given
    for row, p in zip(tested, corrected, strict=True):
        row["p_adjusted"] = p
    return rows


def success(found: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Mean and spread over participants of the success rate, by condition and trial that is over, in both counts."""
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
    """The mean with its t interval over participants, and all tasks as one sample with Wilson's."""
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
    """How many rows are not those that were written, which are named; prints the table."""
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
    """How many rows of contrasts.csv and tables/success.csv are not computed again."""
    found = tables(folder)
    stated, rates = pd.read_csv(folder / "contrasts.csv"), pd.read_csv(folder / "tables" / "success.csv")
    return differing("contrasts", contrasts(found), stated, CONTRAST) + differing(
        "success", success(found), rates, RATE
    )


if __name__ == "__main__":
    sys.exit(min(main(Path(__file__).resolve().parent), 1))
