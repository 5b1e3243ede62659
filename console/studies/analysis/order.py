"""Order effects: the position of a condition, practice, and carry-over from the previous condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.estimates import estimate_mean
from console.analysis.statistics.session_effects import compare_halves, estimate_carry_over, estimate_position_effect
from console.studies.analysis.contrasts import answers
from console.studies.analysis.format import by_figure, signed, span
from console.studies.analysis.frames import Frames, cells, groups, own_decisions, table
from console.studies.analysis.parts import read_analysis
from console.studies.design.contrasts import MEASURES

LATER, LEARNING, AFTER = "one position later", "later half less earlier half", "after"
_RIGHT = "right"


def order(frames: Frames) -> pd.DataFrame:
    """Estimate the effects of position and previous condition on each measure, and of practice on correct decisions."""
    places = frames["allocation"].drop_duplicates(["participant", "condition"])
    places = places[["participant", "condition", "position"]]
    rows = [
        {"reviewers": name, "measure": measure, **row}
        for measure in MEASURES
        for name, part in groups(answers(frames, measure))
        for row in _figures(part, places)
    ]
    rows += [
        {"reviewers": name, "measure": _RIGHT, "figure": LEARNING, **_learning(part)}
        for name, part in groups(own_decisions(frames))
    ]
    return table(rows, "reviewers$ measure$ figure$ value low high p n# note$")


def _figures(part: pd.DataFrame, places: pd.DataFrame) -> Iterator[dict[str, Any]]:
    means = part.groupby(["participant", "condition"])["value"].mean().reset_index().merge(places)
    yield {"figure": LATER, **cells(estimate_position_effect(means, "value"), "value")}
    for (name, first), found in estimate_carry_over(means, "value").items():
        yield {"figure": f"{AFTER} {name} rather than {AFTER} {first}", **cells(found, "value")}


def _learning(decided: pd.DataFrame) -> dict[str, Any]:
    judged = decided[decided["correct"].notna()]
    apart = compare_halves(judged.assign(value=judged["correct"].astype(float)), "value", ("decided_at", "decision_id"))
    return cells(estimate_mean(apart["difference"]), "value")


def describe_order(table: pd.DataFrame) -> str:
    """State whether order changed the share of correct decisions, based on the intervals of the three order effects."""
    rows = by_figure(table[table["measure"] == _RIGHT])
    if not rows:
        return "No condition has finished yet, so order has no estimate."
    told = [_told(what, rows[figure]) for figure, what in _WHAT.items() if figure in rows]
    before = [row for figure, row in rows.items() if figure.startswith(AFTER)]
    return " ".join([*told, _carried(before)] if before else told)


_WHAT = {
    LATER: "A condition one position later changes the share of correct decisions by",
    LEARNING: "From the earlier to the later half of a participant's decisions, the share of correct ones changes by",
}


_UNKNOWN = {LATER: "The effect of a condition's position", LEARNING: "The effect of practice"}


def _told(what: str, row: dict[str, Any]) -> str:
    if pd.isna(row["value"]):
        return f"{_UNKNOWN[row['figure']]} is inconclusive. {row['note']}"
    figure = f"{what} {signed(row['value'])}{span(row, '+.3f')}"
    if pd.isna(row["low"]):
        return f"{figure}. {row['note']}"
    known = row["low"] > 0 or row["high"] < 0
    return f"{figure}: {'an effect of order' if known else 'the direction is inconclusive'}."


def _carried(rows: list[dict[str, Any]]) -> str:
    tested = [row for row in rows if pd.notna(row["low"])]
    if not tested:
        return f"Carry-over from the previous condition is inconclusive. {rows[0]['note']}"
    found = [str(row["figure"]) for row in tested if row["p"] < 0.05 / len(tested)]
    if not found:
        widest = max(max(abs(row["low"]), abs(row["high"])) for row in tested)
        return (
            "Carry-over from the previous condition is inconclusive: the data are compatible with effects up to "
            f"{widest:.3f}."
        )
    return f"Carry-over from the previous condition (Bonferroni over {len(tested)}): {'; '.join(found)}."


ANALYSIS = read_analysis("order", {"order": order}, sentences={"order": describe_order})
