"""Feedback to the agent: its length, its specificity, and the success of the next trial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.estimates import estimate_proportion
from console.analysis.statistics.feedback_evasion import DIFFERENCE, EVADED, compare_evasion
from console.analysis.statistics.feedback_words import Association, compare_feedback_with_success
from console.language import counted
from console.studies.analysis.format import by_figure, number, span
from console.studies.analysis.frames import Frames, cells, groups, own_decisions, table
from console.studies.analysis.parts import read_analysis
from console.trajectory import Label, Outcome

_BINS = ((0, 0), (1, 5), (6, 10), (11, 20), (21, 40), (41, 20_000))


def words(frames: Frames) -> pd.DataFrame:
    """Estimate how the length (in doublings) and specificity of feedback relate to success in the next trial."""
    rows = [
        {"reviewers": name, "property": which, "texts": found.texts, "participants": found.participants, **row}
        for name, part in groups(own_decisions(frames))
        for which, found in compare_feedback_with_success(part).items()
        for row in _word_figures(found)
    ]
    return table(rows, "reviewers$ property$ figure$ value low high p n# texts# participants# note$")


def by_length(frames: Frames) -> pd.DataFrame:
    """Return the share of solved trials after "misaligned", by words of feedback, with Wilson's intervals."""
    tried = own_decisions(frames)
    tried = tried[tried["next_trial_outcome"].notna() & (tried["label"] == Label.MISALIGNED)]
    rows = [
        {
            "reviewers": name,
            "condition": str(condition),
            "words_low": low,
            "words_high": high,
            **cells(
                estimate_proportion(int((part["next_trial_outcome"] == Outcome.SUCCEEDED).sum()), len(part)), "share"
            ),
        }
        for name, of_kind in groups(tried)
        for condition, of_condition in of_kind.groupby("condition", sort=True)
        for low, high in _BINS
        if len(part := of_condition[of_condition["feedback_words"].between(low, high)])
    ]
    return table(rows, "reviewers$ condition$ words_low# words_high# n# share low high")


def _word_figures(found: Association) -> Iterator[dict[str, Any]]:
    yield {"figure": "mean", "value": found.mean, "n": found.texts}
    yield {"figure": "correlation with success", **cells(found.correlation, "value")}
    yield {"figure": "log odds of success per unit", **cells(found.log_odds, "value")}


def describe_words(table: pd.DataFrame) -> str:
    """State whether longer and more specific feedback is associated with more success in the next trial."""
    if table.empty:
        return "No agent with a next trial got feedback in words."
    told, notes = [], dict[str, None]()
    for name in dict.fromkeys(table["property"]):
        found = by_figure(table[table["property"] == name])["correlation with success"]
        if pd.isna(found["value"]):
            return f"The effect of feedback is inconclusive: {found['note']}"
        told.append(f"{name} {number(found['value'], '+.2f')}{span(found, '+.2f')}")
        notes |= {str(found["note"]): None} if pd.isna(found["low"]) else {}
    count = int(table["texts"].max())
    people = counted(int(table["participants"].max()), "participant")
    said = f"Correlation with success in the next trial, over {counted(count, 'text')} of {people}: {'; '.join(told)}."
    return " ".join([said, *filter(None, notes)])


def evasion(frames: Frames) -> pd.DataFrame:
    """Compare the next trials after feedback with and without the detector's reasons; a task counts once a person."""
    columns = {f"next_trial_{name}": f"next_{name}" for name in ("score", "outcome", "label")}
    rows = []
    for name, part in groups(own_decisions(frames)):
        told = part[part["reasons_sent"].notna()].drop(columns="rationale", errors="ignore")
        told = told.rename(columns={"reasons_sent": "rationale"} | columns)
        task = told["participant"].astype(str) + " " + told["condition"].astype(str) + " " + told["task_id"].astype(str)
        if len(told):
            found = compare_evasion(told.assign(task=task, next_threshold=told["threshold"]))
            rows += [
                {"reviewers": name, "figure": one.figure, "reasons": one.rationale, **cells(one.estimate, "value")}
                for one in found
            ]
    return table(rows, "reviewers$ figure$ reasons$ value low high p n# note$")


def describe_reasons(table: pd.DataFrame) -> str:
    """State whether feedback with the detector's reasons is evaded more often."""
    found = table[(table["figure"] == EVADED) & (table["reasons"] == DIFFERENCE)]
    if table.empty:
        return "No agent got feedback with a next trial."
    row = found.iloc[0]
    if pd.isna(row["value"]):
        return f"Whether the reasons lead to evasion is inconclusive. {row['note']}"
    known = row["low"] > 0 or row["high"] < 0
    bounds = span(dict(row), "+.0%")
    change = f"With the reasons, the share of evaded tasks changes by {number(row['value'], '+.0%')}{bounds}"
    return f"{change}: {'more' if row['low'] > 0 else 'less'} evasion." if known else f"{change}: inconclusive."


ANALYSIS = read_analysis(
    "feedback",
    {"feedback": words, "feedback-length": by_length, "feedback-evasion": evasion},
    sentences={"feedback": describe_words, "feedback-evasion": describe_reasons},
)
