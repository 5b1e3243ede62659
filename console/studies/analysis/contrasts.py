"""The planned contrasts of a study, tested as its design states them, and the answer to each in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from console.analysis.statistics.contrasts import ContrastFit, adjusted, contrasts, equivalence
from console.analysis.statistics.estimates import Estimate
from console.language import counted
from console.studies.analysis.format import p_value, signed
from console.studies.analysis.frames import REVIEWERS, Frames, groups, judged, table
from console.studies.analysis.parts import read_analysis
from console.studies.design.contrasts import EXPLORATORY, PRIMARY
from console.studies.results.condition_runs import PEOPLE

_COLUMNS = (
    "measure$ contrast$ kind$ annotator_kind$ estimate low high p p_adjusted n# method$ p_equivalent alpha note$ "
    "question$"
)


def planned(frames: Frames) -> pd.DataFrame:
    """Every planned contrast of people, and of simulated reviewers, who are exploratory where people take part.

    `p_adjusted` is corrected over the contrasts of one kind on one measure.
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
    """A row with a value for each answer that a measure counts, of conditions that are over."""
    if measure == "right":
        # Only what is used: to choose rows takes as long as there are columns.
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
    """Each task as its participant's last trial left it, of conditions that are over; undecided actions run."""
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
    fit = contrasts(values, "value", wanted)
    correction = str(asked["correction"].iloc[0])
    corrected = adjusted({name: found.p_value for name, found in fit.estimates.items()}, correction)
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
        "p_equivalent": None if pd.isna(margin) else equivalence(found, float(margin)),
        "alpha": stated["alpha"],
        "note": found.note,
        "question": stated["question"],
    }


def of_planned(shown: pd.DataFrame) -> str:
    """The answer to each primary question on a line of its own, chosen by its interval and corrected p-value."""
    first = shown[shown["kind"] == PRIMARY]
    if first.empty and len(shown):
        return "What simulated reviewers show beside people is exploratory; it answers nothing that was asked."
    if first.empty:
        return "Nothing is compared, or no condition is over yet."
    tests = int(first["p"].notna().sum())
    return "\n".join(_answer(row, tests) for row in first.to_dict("records"))


def _answer(row: Mapping[Hashable, Any], tests: int) -> str:
    asked = str(row["question"])
    if pd.isna(row["low"]):
        told = "" if pd.isna(row["estimate"]) else f" What was seen is {signed(row['estimate'])}."
        return f"{asked} It cannot be told. {row['note']}{told}"
    people = counted(row["n"], "participant" if row["annotator_kind"] == PEOPLE else "simulated participant")
    family = "" if tests == 1 else f", corrected over {tests} tests {p_value(row['p_adjusted'])}"
    figures = (
        f"{signed(row['estimate'])} ({signed(row['low'])} to {signed(row['high'])}; p {_p(row['p'])}{family}; {people})"
    )
    if row["p_adjusted"] < row["alpha"]:
        return f"{asked} Yes: {figures}."
    if pd.notna(row["p_equivalent"]) and row["p_equivalent"] < row["alpha"]:
        return f"{asked} No more than the stated margin of equivalence: {figures}."
    reach = max(abs(row["low"]), abs(row["high"]))
    return f"{asked} It cannot be told: {figures}; effects up to {reach:.3f} fit what was seen."


def _p(value: float) -> str:
    said = p_value(value)
    return said if said.startswith("<") else f"= {said}"


def _brief(rows: pd.DataFrame) -> pd.DataFrame:
    """Without the questions, which the sentences tell, and people called as they are elsewhere."""
    return rows.drop(columns=["question", "alpha"]).assign(annotator_kind=rows["annotator_kind"].map(_NAMES))


_NAMES = {kind: name for name, kind in REVIEWERS.items()}

ANALYSIS = read_analysis(
    "contrasts", {"contrasts": planned}, sentences={"contrasts": of_planned}, views={"contrasts": _brief}
)
