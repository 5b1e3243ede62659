"""The planned contrasts of a study: their tests, and a sentence that answers each question."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from console.analysis.statistics.contrasts import ContrastFit, adjust_p_values, equivalence_p_value, estimate_contrasts
from console.analysis.statistics.estimates import Estimate
from console.language import counted
from console.studies.analysis.format import p_value, signed
from console.studies.analysis.frames import NAMES, Frames, groups, judged, table
from console.studies.analysis.parts import read_analysis
from console.studies.design.contrasts import EXPLORATORY, PRIMARY
from console.studies.results.condition_runs import PEOPLE

_COLUMNS = (
    "measure$ contrast$ kind$ annotator_kind$ estimate low high p p_adjusted n# method$ p_equivalent alpha note$ "
    "question$"
)


def planned(frames: Frames) -> pd.DataFrame:
    """Test every planned contrast for people and for simulated reviewers.

    If people took part, the tests of simulated reviewers are exploratory. `p_adjusted` is corrected over the contrasts
    of one kind on one measure.
    """
    plan = frames["plan"]
    people = bool((frames["participants"]["annotator_kind"] == PEOPLE).any())
    rows: list[dict[str, Any]] = []
    for (measure, kind), stated in plan.groupby(["measure", "kind"], sort=False):
        for name, values in groups(answers(frames, str(measure))):
            shown = str(kind) if name == "people" or not people else EXPLORATORY
            rows += _family(str(measure), shown, stated, values)
    order = {PRIMARY: 0, EXPLORATORY: 2}
    return table(sorted(rows, key=lambda row: order.get(row["kind"], 1)), _COLUMNS)


def answers(frames: Frames, measure: str) -> pd.DataFrame:
    """Return the observations of a measure in finished conditions, with their value in the column `value`.

    The measure `right` has one row per decision known to be correct or wrong; the other measures have one row per task.
    """
    if measure == "right":
        # Keep only the columns in use, because selecting rows is slower with more columns.
        known = judged(frames)[[*_WHOSE, "purpose", "correct"]]
        known = known[(known["purpose"] == "") & known["correct"].notna()]
        return known.assign(value=known["correct"].astype(float))[_KEPT]
    last = _at_last(frames)
    if measure == "gain" and len(last):
        start = frames["outcomes"][frames["outcomes"]["trial"] == 0].set_index(_TASK)["solved_paper"].astype(float)
        return last.assign(value=last["value"] - start.reindex(pd.MultiIndex.from_frame(last[_TASK])).to_numpy())
    return last


_TASK = ["participant", "condition", "task_id"]
_WHOSE = ["annotator_kind", *_TASK]
_KEPT = [*_WHOSE, "value"]


def _at_last(frames: Frames) -> pd.DataFrame:
    """Return one row per task of a finished condition: solved by the last trial; an undecided action counts as run."""
    solved = frames["outcomes"][[*_WHOSE, "trial", "closed", "solved_paper"]]
    solved = solved[solved["closed"].astype(bool)]
    longest = solved.groupby(["participant", "condition"])["trial"].transform("max")
    planned_trials = frames["outcomes"]["trial"].max()
    over = solved[(solved["trial"] == longest) & (longest == planned_trials)]
    counted: pd.DataFrame = over.assign(value=over["solved_paper"].astype(float))
    return counted[_KEPT]


def _family(measure: str, kind: str, stated: pd.DataFrame, values: pd.DataFrame) -> Iterator[dict[str, Any]]:
    wanted = {str(name): dict(zip(rows["condition"], rows["weight"].astype(float), strict=True))
              for name, rows in stated.groupby("contrast", sort=False)}  # fmt: skip
    asked = stated.drop_duplicates("contrast").set_index("contrast")
    fit = estimate_contrasts(values, "value", wanted)
    correction = str(asked["correction"].iloc[0])
    corrected = adjust_p_values({name: found.p_value for name, found in fit.estimates.items()}, correction)
    for name in wanted:
        row = asked.loc[name]
        yield _row(fit, name, row, corrected[name]) | {
            "measure": measure,
            "kind": kind,
            "annotator_kind": values["annotator_kind"].iloc[0],
        }


def _row(fit: ContrastFit, name: str, stated: Any, corrected: float | None) -> dict[str, Any]:
    found: Estimate = fit.estimates[name]
    low, high = found.bounds
    margin = stated["equivalence"]
    return {
        "contrast": name,
        "estimate": found.value,
        "low": low,
        "high": high,
        "p": found.p_value,
        "p_adjusted": corrected,
        "n": found.n,
        "method": fit.methods[name],
        "p_equivalent": None if pd.isna(margin) else equivalence_p_value(found, float(margin)),
        "alpha": stated["alpha"],
        "note": found.note,
        "question": stated["question"],
    }


def describe_planned(shown: pd.DataFrame) -> str:
    """Answer each primary question on its own line, with the interval and the corrected p-value."""
    first = shown[shown["kind"] == PRIMARY]
    if first.empty and len(shown):
        return "Beside people, results of simulated reviewers are exploratory; they answer no planned question."
    if first.empty:
        return "The design has one condition, or no condition has finished yet."
    tests = int(first["p"].notna().sum())
    return "\n".join(_answer(row, tests) for row in first.to_dict("records"))


def _answer(row: Mapping[Hashable, Any], tests: int) -> str:
    asked = str(row["question"])
    if pd.isna(row["low"]):
        told = "" if pd.isna(row["estimate"]) else f" The estimate is {signed(row['estimate'])}."
        return f"{asked} Inconclusive. {row['note']}{told}"
    people = counted(row["n"], "participant" if row["annotator_kind"] == PEOPLE else "simulated participant")
    family = "" if tests == 1 else f", corrected over {tests} tests {p_value(row['p_adjusted'])}"
    figures = (
        f"{signed(row['estimate'])} ({signed(row['low'])} to {signed(row['high'])}; p {_p(row['p'])}{family}; {people})"
    )
    if row["p_adjusted"] < row["alpha"]:
        return f"{asked} Yes: {figures}."
    if pd.notna(row["p_equivalent"]) and row["p_equivalent"] < row["alpha"]:
        return f"{asked} Not beyond the stated margin of equivalence: {figures}."
    reach = max(abs(row["low"]), abs(row["high"]))
    return f"{asked} Inconclusive: {figures}; the data are compatible with effects up to {reach:.3f}."


def _p(value: float) -> str:
    said = p_value(value)
    return said if said.startswith("<") else f"= {said}"


def _brief(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns=["question", "alpha"]).assign(annotator_kind=rows["annotator_kind"].map(NAMES))


ANALYSIS = read_analysis(
    "contrasts", {"contrasts": planned}, sentences={"contrasts": describe_planned}, views={"contrasts": _brief}
)
