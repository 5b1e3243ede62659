"""Order: what the position of a condition, practice and the condition before it change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.estimates import mean
from console.analysis.statistics.order_effects import carry_over, halves, position
from console.studies.analysis.contrasts import answers
from console.studies.analysis.format import by_figure, signed, span
from console.studies.analysis.frames import Frames, cells, groups, own, table
from console.studies.analysis.parts import read_analysis
from console.studies.design.contrasts import MEASURES

LATER, LEARNING, AFTER = "one position later", "later half less earlier half", "after"
_RIGHT = "right"


def order(frames: Frames) -> pd.DataFrame:
    """Effects of position and of the condition before on each measure, and of practice on right decisions."""
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
        for name, part in groups(own(frames))
    ]
    return table(rows, "reviewers$ measure$ figure$ value low high p n# note$")


def _figures(part: pd.DataFrame, places: pd.DataFrame) -> Iterator[dict[str, Any]]:
    means = part.groupby(["participant", "condition"])["value"].mean().reset_index().merge(places)
    yield {"figure": LATER, **cells(position(means, "value"), "value")}
    for (name, first), found in carry_over(means, "value").items():
        yield {"figure": f"{AFTER} {name} rather than {AFTER} {first}", **cells(found, "value")}


def _learning(decided: pd.DataFrame) -> dict[str, Any]:
    judged = decided[decided["correct"].notna()]
    apart = halves(judged.assign(value=judged["correct"].astype(float)), "value", ("decided_at", "decision_id"))
    return cells(mean(apart["difference"]), "value")


def of_order(table: pd.DataFrame) -> str:
    """Whether order changed right decisions, chosen by the intervals of position, practice and carry-over."""
    rows = by_figure(table[table["measure"] == _RIGHT])
    if not rows:
        return "No condition is over yet, so nothing can be said of their order."
    told = [_told(what, rows[figure]) for figure, what in _WHAT.items() if figure in rows]
    before = [row for figure, row in rows.items() if figure.startswith(AFTER)]
    return " ".join([*told, _carried(before)] if before else told)


_WHAT = {
    LATER: "A condition one position later changes the share of right decisions by",
    LEARNING: "From the earlier to the later half of a participant's decisions, the share of right ones changes by",
}


_UNKNOWN = {LATER: "What a condition's position changes", LEARNING: "What practice changes"}


def _told(what: str, row: dict[str, Any]) -> str:
    if pd.isna(row["value"]):
        return f"{_UNKNOWN[row['figure']]} cannot be told. {row['note']}"
    figure = f"{what} {signed(row['value'])}{span(row, '+.3f')}"
    if pd.isna(row["low"]):
        return f"{figure}. {row['note']}"
    return f"{figure}: {'an effect of order' if _apart(row) else 'whether it changes at all cannot be told'}."


def _carried(rows: list[dict[str, Any]]) -> str:
    tested = [row for row in rows if pd.notna(row["low"])]
    if not tested:
        return f"What is carried over from the condition before cannot be told. {rows[0]['note']}"
    found = [str(row["figure"]) for row in tested if row["p"] < 0.05 / len(tested)]
    if not found:
        widest = max(max(abs(row["low"]), abs(row["high"])) for row in tested)
        return (
            "Whether anything is carried over from the condition before cannot be told: effects up to "
            f"{widest:.3f} fit what was seen."
        )
    return f"Carried over from the condition before (Bonferroni over {len(tested)}): {'; '.join(found)}."


def _apart(row: dict[str, Any]) -> bool:
    return bool(row["low"] > 0 or row["high"] < 0)


ANALYSIS = read_analysis("order", {"order": order}, sentences={"order": of_order})
