"""The planned contrasts of a study: their tests, and a sentence that answers each question."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from console.analysis.statistics.contrasts import (
    OWN_VALUES,
    ContrastFit,
    adjust_p_values,
    equivalence_p_value,
    estimate_contrasts,
    joint_interval,
    joint_levels,
)
from console.language import counted
from console.studies.analysis.format import format_signed, p_value
from console.studies.analysis.frames import NAMES, Frames, get_judged, groups, table
from console.studies.analysis.parts import read_analysis
from console.studies.design.contrasts import EXPLORATORY, PRIMARY
from console.studies.results.condition_runs import PEOPLE

_COLUMNS = (
    "measure$ contrast$ kind$ annotator_kind$ estimate low high p p_adjusted n# method$ p_equivalent alpha note$ "
    "question$ claim$ tasks# df low_joint high_joint simple simple_low simple_high simple_p caution$"
)
SUCH_TASKS, THESE_TASKS = "people and tasks", "these tasks"
"""The possible claims: over people and tasks like the study's, or over people on these tasks only."""

_SCALES = {"gain": 2.0}
"""The range of a value of each measure; a share has the range 1."""


def estimate_planned(frames: Frames) -> pd.DataFrame:
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
        known = get_judged(frames)[[*_WHOSE, "purpose", "correct"]]
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
    """Return the last success of each task of a finished condition; an undecided action counts as run."""
    solved = frames["outcomes"][[*_WHOSE, "trial", "closed", "solved_paper"]]
    solved = solved[solved["closed"].astype(bool)]
    longest = solved.groupby(["participant", "condition"])["trial"].transform("max")
    planned_trials = frames["outcomes"]["trial"].max()
    over = solved[(solved["trial"] == longest) & (longest == planned_trials)]
    counted: pd.DataFrame = over.assign(value=over["solved_paper"].astype(float))
    return counted[_KEPT]


def _family(measure: str, kind: str, stated: pd.DataFrame, values: pd.DataFrame) -> Iterator[dict[str, Any]]:
    wanted = {
        str(name): dict(zip(rows["condition"], rows["weight"].astype(float), strict=True))
        for name, rows in stated.groupby("contrast", sort=False)
    }
    asked = stated.drop_duplicates("contrast").set_index("contrast")
    scale = _SCALES.get(measure, 1.0)
    fit = estimate_contrasts(values, "value", wanted, scale)
    correction, alpha = str(asked["correction"].iloc[0]), float(asked["alpha"].iloc[0])
    p_values = {name: found.p_value for name, found in fit.estimates.items()}
    corrected, levels = adjust_p_values(p_values, correction), joint_levels(p_values, correction, alpha)
    for name, weights in wanted.items():
        reach = scale * sum(map(abs, weights.values())) / 2
        joint = joint_interval(fit.estimates[name], levels[name], reach) if name in levels else None
        yield _row(fit, name, asked.loc[name], corrected[name]) | {
            "measure": measure,
            "kind": kind,
            "annotator_kind": values["annotator_kind"].iloc[0],
            "low_joint": joint.low if joint else None,
            "high_joint": joint.high if joint else None,
        }


def _row(fit: ContrastFit, name: str, stated: Any, corrected: float | None) -> dict[str, Any]:
    found, simple, claim = fit.estimates[name], fit.simple[name], fit.claims[name]
    (low, high), (simple_low, simple_high) = found.bounds, simple.bounds
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
        "claim": SUCH_TASKS if claim.over_tasks else f"{THESE_TASKS}: {claim.why}",
        "tasks": claim.tasks,
        "df": found.df,
        "simple": simple.value,
        "simple_low": simple_low,
        "simple_high": simple_high,
        "simple_p": simple.p_value,
        "caution": claim.caution,
    }


def describe_planned(shown: pd.DataFrame) -> str:
    """Answer each primary question on its own line, with the interval and the corrected p-value."""
    first = shown[shown["kind"] == PRIMARY]
    if first.empty and len(shown):
        return "Beside people, results of simulated reviewers are exploratory; they answer no planned question."
    if first.empty:
        return "The design has one condition, or no condition has finished yet."
    tested = first[first["p"].notna()]
    tests = 1 if tested["p"].equals(tested["p_adjusted"]) else len(tested)
    return "\n".join(_answer(row, tests) for row in first.to_dict("records"))


def _answer(row: Mapping[Hashable, Any], tests: int) -> str:
    asked = str(row["question"])
    if pd.isna(row["low"]):
        told = "" if pd.isna(row["estimate"]) else f" The estimate is {format_signed(row['estimate'])}."
        return f"{asked} Inconclusive. {row['note']}{told}"
    family = "" if tests == 1 else f"; interval and p corrected over {tests} tests"
    span = f"{format_signed(row['low_joint'])} to {format_signed(row['high_joint'])}"
    figures = f"{format_signed(row['estimate'])} ({span}), p {_p(row['p_adjusted'])}{family}"
    return " ".join(filter(None, [asked, _verdict(row, figures), _scope(row), row["caution"], _simple(row)]))


def _verdict(row: Mapping[Hashable, Any], figures: str) -> str:
    if row["p_adjusted"] < row["alpha"]:
        return f"Yes: {figures}."
    if pd.notna(row["p_equivalent"]) and row["p_equivalent"] < row["alpha"]:
        return f"Not beyond the stated margin of equivalence: {figures}."
    reach = max(abs(row["low_joint"]), abs(row["high_joint"]))
    return f"Inconclusive: {figures}. The data are compatible with effects up to {reach:.3f}."


def _scope(row: Mapping[Hashable, Any]) -> str:
    who, noun = ("people", "participant") if row["annotator_kind"] == PEOPLE else ("reviewers", "simulated participant")
    these = counted(row["n"], noun)
    if row["claim"] == SUCH_TASKS:
        return f"The interval is for {who} and tasks like these {these} and {counted(row['tasks'], 'task')}."
    whole = str(row["method"]).startswith(OWN_VALUES)
    sample = f"the {these} with answers in every compared condition" if whole else f"these {these}"
    return f"The interval is for {who} like {sample}, on these tasks only: {str(row['claim']).partition(': ')[2]}."


def _simple(row: Mapping[Hashable, Any]) -> str:
    if row["claim"] != SUCH_TASKS or pd.isna(row["simple_low"]):
        return ""
    span = f"{format_signed(row['simple_low'])} to {format_signed(row['simple_high'])}"
    return f"On these tasks only, participants' means give {format_signed(row['simple'])} ({span})."


def _p(value: float) -> str:
    said = p_value(value)
    return said if said.startswith("<") else f"= {said}"


def _brief(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.drop(columns=["question", "alpha", "caution"]).assign(annotator_kind=rows["annotator_kind"].map(NAMES))


ANALYSIS = read_analysis(
    "contrasts", {"contrasts": estimate_planned}, sentences={"contrasts": describe_planned}, views={"contrasts": _brief}
)
