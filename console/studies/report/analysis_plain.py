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
TASK_ORDER = ["participant", "task_id", "condition"]
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
        return self._fit_within(wanted) if self.within else self._compare_groups(wanted)

    def _fit_within(self, wanted: pd.Series) -> dict[str, float]:
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

    def _compare_groups(self, wanted: pd.Series) -> dict[str, float]:
        """Estimate the contrast between groups of participants by Welch's test."""
        groups = [self.means[name].dropna().to_numpy() for name in wanted.index]
        value, people = sum(w * group.mean() for w, group in zip(wanted, groups, strict=True)), sum(map(len, groups))
        if min(map(len, groups)) < 2:
            return figure(value, 0.0, 0, people)
        parts = np.array([w**2 * group.var(ddof=1) / len(group) for w, group in zip(wanted, groups, strict=True)])
        if parts.sum() <= 1e-20:
            return figure(value, 0.0, 1, people)
        df = parts.sum() ** 2 / (parts**2 / [len(group) - 1 for group in groups]).sum()
        return figure(float(value), float(parts.sum() ** 0.5), df, people)


class Crossed:
    """The answers with participants and tasks as random samples; `contrast` follows the plan's section on analysis."""

    def __init__(self, rows: pd.DataFrame) -> None:
        keyed = rows.dropna(subset=[*CELL, "value"]).astype(dict.fromkeys(TASK, str))
        cells = keyed.groupby(TASK)["value"].mean().reset_index()
        self.person, self.task, self.condition = (pd.factorize(cells[name], sort=True)[0] for name in TASK_ORDER)
        self.names, self.y = sorted(cells["condition"].unique()), cells["value"].to_numpy(float)
        self.within = len(cells[CELL].drop_duplicates()) > cells["participant"].nunique()
        nuisance = [self.person, self.task] if self.within else [self.task]
        self.x = np.hstack([dummies(codes) for codes in (*nuisance, self.condition)])
        self.basis = orthonormal(self.x)
        self.rest = self.y - self.basis @ (self.basis.T @ self.y)

    def contrast(self, weights: dict[str, float]) -> dict[str, Any]:
        """Return the contrast with error and df, the number of tasks, or the reason why it is refused."""
        if any(name not in self.names for name, weight in weights.items() if weight):
            return {"tasks": 0, "refused": "no answers"}
        given = np.zeros(self.x.shape[1])
        given[-len(self.names) :] = [weights.get(name, 0.0) for name in self.names]
        loads = np.linalg.pinv(self.x.T, rcond=1e-9) @ given
        if np.abs(self.x.T @ loads - given).max() > 1e-6:
            return {"tasks": 0, "refused": "no shared task"}
        own = np.array([weights.get(name, 0.0) for name in self.names])
        chosen = np.flatnonzero(own)
        here = np.isin(self.condition, chosen)
        people, tasks = (self.spread(loads, codes) for codes in (self.person, self.task))
        over_people, df_people = self.welch(people) if not self.within else people[:2]
        alone = people[3]
        found = {
            "n": len(set(self.person[here])),
            "tasks": len(set(self.task[here])),
            "estimate": float(loads @ self.y),
        }
        if self.refuses(own, df_people) or alone:
            return found | {"refused": "too few"}
        error, df_error = self.single(loads, own, chosen)
        parts = [(over_people, df_people), tasks[:2], (error, df_error)]
        variance = over_people + tasks[0] - error
        if variance < max(over_people, tasks[0]):
            variance, df = parts[0] if over_people >= tasks[0] else parts[1]
        else:
            df = variance**2 / sum(part**2 / of for part, of in parts)
        means = np.abs([self.y[self.condition == at].mean() for at in chosen])
        # So skewed answers have a standard error that is raised by 8%.
        factor = 1.08 if ((means <= 0.1) | (means >= 1 - 0.1)).any() else 1.0
        return found | {"error": float(variance**0.5) * factor, "df": float(df)}

    def spread(self, loads: np.ndarray, codes: np.ndarray) -> tuple[float, float, np.ndarray, bool]:
        """Return the variance over clusters (CR2, Bell and McCaffrey 2002), its df, and each cluster's part.

        The last value is whether one cluster alone decides part of the contrast.
        """
        adjusted, alone = np.zeros((codes.max() + 1, len(loads))), 0.0
        for cluster in range(len(adjusted)):
            mine = np.flatnonzero(codes == cluster)
            values, vectors = np.linalg.eigh(np.eye(len(mine)) - self.basis[mine] @ self.basis[mine].T)
            scale = np.where(values > 1e-8, np.maximum(values, 1e-8) ** -0.5, 0.0)
            adjusted[cluster, mine] = vectors @ (scale * (vectors.T @ loads[mine]))
            alone = max(alone, np.abs(vectors.T[values <= 1e-8] @ loads[mine]).max(initial=0.0))
        squares = (adjusted @ self.rest) ** 2
        left = adjusted - (adjusted @ self.basis) @ self.basis.T
        products = left @ left.T
        total = (products**2).sum()
        df = float(np.trace(products) ** 2 / total) if total > 1e-24 else 1.0
        return float(squares.sum()), df, squares, bool(alone > 1e-4 * np.abs(loads).max())

    def welch(self, people: tuple[float, float, np.ndarray, bool]) -> tuple[float, float]:
        """Return the variance over people with Welch's df over the groups."""
        group = dict(zip(self.person.tolist(), self.condition.tolist(), strict=True))
        of = np.array([group[person] for person in range(len(people[2]))])
        parts = [(people[2][of == at].sum(), max((of == at).sum() - 1, 1)) for at in range(len(self.names))]
        return people[0], people[0] ** 2 / sum(part**2 / df for part, df in parts) if people[0] > 1e-24 else 1.0

    def single(self, loads: np.ndarray, own: np.ndarray, chosen: np.ndarray) -> tuple[float, float]:
        """Return the variance from single answers alone, and its df."""
        left = [additive(*(codes[self.condition == at] for codes in (self.person, self.task, self.y))) for at in chosen]
        df = sum(one[1] for one in left)
        if df < 5:
            shares = loads**2 / np.maximum(1 - (self.basis**2).sum(1), 1e-3)
            return float(shares @ self.rest**2), max(len(loads) - self.basis.shape[1], 1)
        square = sum(one[0] for one in left) / df
        place = pd.DataFrame({"p": self.person, "t": self.task, "c": self.condition, "row": range(len(loads))})
        pairs = place[place["c"].isin(chosen)].pivot(index=["p", "t"], columns="c", values="row").dropna().astype(int)
        if self.within and len(chosen) > 1 and len(pairs):
            rows = pairs[chosen].to_numpy()
            person, task = (pairs.index.get_level_values(at).to_numpy() for at in (0, 1))
            squares, of = additive(person, task, self.y[rows] @ own[chosen])
            if of >= 5:
                others, load = np.delete(loads, rows.ravel()), (loads[rows] / own[chosen]).mean(1)
                return float(squares / of * (load @ load) + square * (others @ others)), of
        return float(square * (loads @ loads)), df

    def refuses(self, own: np.ndarray, df_people: float) -> bool:
        """Return whether the data support no claim over tasks."""
        tasks, people = (
            [set(codes[np.isin(self.condition, np.flatnonzero(side))]) for side in (own > 0, own < 0)]
            for codes in (self.task, self.person)
        )
        if not tasks[0] & tasks[1] or len(tasks[0] | tasks[1]) < 8:
            return True
        if not self.within:
            return min(len(set(self.person[self.condition == at])) for at in np.flatnonzero(own)) < 6
        both, counts = len(people[0] & people[1]), pd.crosstab(self.person, self.condition).to_numpy()
        whole = both == len(people[0] | people[1]) == 4 and (counts == counts[0, 0]).all()
        return (both < 5 and not whole) or df_people < 2


def dummies(codes: np.ndarray) -> np.ndarray:
    """Return one column per code."""
    columns: np.ndarray = np.eye(codes.max() + 1)[codes]
    return columns


def orthonormal(x: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns."""
    left, sizes, _ = np.linalg.svd(x, full_matrices=False)
    return left[:, sizes > sizes[0] * 1e-5]


def additive(person: np.ndarray, task: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Return the residual sum of squares of y by person and task, and its df."""
    basis = orthonormal(np.hstack([dummies(np.unique(codes, return_inverse=True)[1]) for codes in (person, task)]))
    return float(max(y @ y - ((basis.T @ y) ** 2).sum(), 0.0)), len(y) - basis.shape[1]


def figure(value: float, error: float, df: float, people: int) -> dict[str, float]:
    """Return the numbers of a row; omit the interval and p-value if the standard error is unknown or 0."""
    if df < 0.999 or error <= 1e-10:
        return {"n": people, "estimate": 0.0 if df >= 0.999 and abs(value) <= 1e-10 else value}
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
                mine = given[given["annotator_kind"] == kind]
                rows += family(mine, stated, {"measure": str(measure), "annotator_kind": kind})
    return pd.DataFrame(rows)


def on_shared_tasks(rows: pd.DataFrame, weights: dict[str, float]) -> dict[str, float]:
    """Compute the simple contrast on the tasks that the compared conditions share, or on all tasks if it fails."""
    compared = rows[rows["condition"].astype(str).isin([name for name, weight in weights.items() if weight])]
    tasks = [set(part["task_id"]) for _, part in compared.groupby("condition")]
    shared = set.intersection(*tasks) if tasks else set()
    if shared and shared != set.union(*tasks):
        found = Cells(compared[compared["task_id"].isin(shared)]).contrast(weights)
        if "low" in found:
            return found
    return Cells(rows).contrast(weights)


def family(rows_of: pd.DataFrame, stated: pd.DataFrame, about: dict[str, str]) -> list[dict[str, Any]]:
    """Compute the contrasts whose p-values are corrected together."""
    crossed = Crossed(rows_of)
    rows = []
    for name, part in stated.groupby("contrast", sort=False):
        weights = dict(zip(part["condition"], part["weight"].astype(float), strict=True))
        reach = sum(map(abs, weights.values())) / 2 * (2 if about["measure"] == "gain" else 1)
        simple, model = on_shared_tasks(rows_of, weights), crossed.contrast(weights)
        tasks, refused = model.pop("tasks"), model.pop("refused", "")
        told = simple if refused else figure(model["estimate"], model["error"], model.get("df", 0.0), model["n"])
        margin = part["equivalence"].iloc[0]
        if "error" in told and pd.notna(margin):
            told["p_equivalent"] = stats.t.cdf((abs(told["estimate"]) - margin) / told["error"], told["df"])
        beside = {"simple": simple.get("estimate"), "simple_low": simple.get("low"), "simple_high": simple.get("high")}
        row = {**about, "contrast": name, **told, "tasks": tasks, "reach": reach}
        rows.append(row | beside | {"simple_p": simple.get("p")})
    correct(rows, str(stated["correction"].iloc[0]), float(stated["alpha"].iloc[0]))
    return rows


def correct(rows: list[dict[str, Any]], correction: str, alpha: float) -> None:
    """Add corrected p-values and the joint intervals of the correction's steps, and limit intervals to the scale."""
    tested = sorted((row for row in rows if "p" in row), key=lambda row: (row["p"], row["contrast"]))
    given = [row["p"] for row in tested]
    corrected = multipletests(given, method=correction)[1] if given and correction != "none" else given
    left, rejects = len(tested), True
    for row, p in zip(tested, corrected, strict=True):
        share = alpha / {"holm": left, "bonferroni": len(tested)}.get(correction, 1)
        half = stats.t.isf(share / 2, row["df"]) * row["error"]
        row |= {"p_adjusted": p, "low_joint": row["estimate"] - half, "high_joint": row["estimate"] + half}
        rejects = rejects and row["p"] < alpha / left
        left -= rejects
    for row in rows:
        for name in ("low", "low_joint", "simple_low"):
            row[name] = None if row.get(name) is None else max(row[name], -row["reach"])
        for name in ("high", "high_joint", "simple_high"):
            row[name] = None if row.get(name) is None else min(row[name], row["reach"])


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
    again = again.reindex(columns=[*keys, *numbers]).astype(dict.fromkeys(numbers, float))
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
