"""Questionnaires: scores by moment and condition, and confidence in correct and wrong decisions."""

from __future__ import annotations

import pandas as pd

from console.analysis.statistics.estimates import estimate_mean
from console.language import counted
from console.studies.analysis.frames import ALL, Frames, cells, own_decisions, table
from console.studies.analysis.parts import read_analysis

_SURE = {True: "right", False: "wrong"}
_WHICH = {"right": "correct decisions", "wrong": "wrong decisions"}


def scores(frames: Frames) -> pd.DataFrame:
    """Return each questionnaire's mean score over participants, by moment and condition."""
    scored = frames["scales"]
    scored = scored[scored["score"].notna()].assign(condition=scored["condition"].fillna(ALL))
    rows = [
        {
            "instrument": instrument,
            "moment": moment,
            "condition": condition,
            "sd": float(part["score"].std()) if len(part) > 1 else None,
            **cells(estimate_mean(part["score"].to_numpy(float)), "mean", tested=False),
        }
        for (instrument, moment, condition), part in scored.groupby(["instrument", "moment", "condition"], sort=False)
    ]
    return table(rows, "instrument$ moment$ condition$ mean low high sd n# note$")


def confidence(frames: Frames) -> pd.DataFrame:
    """Return the confidence in correct and in wrong decisions, as the mean of participants' own means."""
    told = frames["page_times"]
    told = told[told["confidence"].notna()][["decision_id", "confidence"]]
    judged = own_decisions(frames)
    both = judged[judged["correct"].notna()].merge(told, on="decision_id")
    rows = []
    for right, part in both.groupby("correct", sort=False):
        means = part.groupby("participant")["confidence"].mean().to_numpy(float)
        found = cells(estimate_mean(means), "mean", tested=False)
        rows.append({"decisions": _SURE[bool(right)], "counted": len(part), **found})
    return table(sorted(rows, key=lambda row: row["decisions"]), "decisions$ mean low high n# counted# note$")


def describe_scores(shown: pd.DataFrame) -> str:
    """State how many questionnaires of each kind were filled in."""
    if shown.empty:
        return "No questionnaire with a score was completed."
    return f"Scores of {', '.join(dict.fromkeys(shown['instrument'].tolist()))}: {shown['n'].sum()} completed."


def describe_confidence(shown: pd.DataFrame) -> str:
    """State how confident people were in correct and in wrong decisions."""
    if shown.empty:
        return "No decision has a stated confidence."
    if len(shown) < len(_SURE) or shown["mean"].isna().any():
        return "Confidence in correct and wrong decisions cannot be compared."
    told = {
        row["decisions"]: f"{row['mean']:.2f} in {_WHICH[row['decisions']]} ({counted(row['n'], 'participant')})"
        for row in shown.to_dict("records")
    }
    return f"Mean confidence is {told['right']} and {told['wrong']}."


ANALYSIS = read_analysis(
    "questionnaires",
    {"questionnaire-scores": scores, "confidence": confidence},
    sentences={"questionnaire-scores": describe_scores, "confidence": describe_confidence},
)
