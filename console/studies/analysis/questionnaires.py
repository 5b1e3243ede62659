"""What questionnaires say: scores by moment and condition, and how sure people were of right and wrong decisions."""

from __future__ import annotations

import pandas as pd

from console.analysis.statistics.estimates import mean
from console.studies.analysis.frames import ALL, Frames, cells, own, table
from console.studies.analysis.parts import read_analysis

_SURE = {True: "right", False: "wrong"}


def scores(frames: Frames) -> pd.DataFrame:
    """The mean score over participants of each questionnaire, by moment and condition."""
    scored = frames["scales"]
    scored = scored[scored["score"].notna()].assign(condition=scored["condition"].fillna(ALL))
    rows = [
        {
            "instrument": instrument,
            "moment": moment,
            "condition": condition,
            "sd": float(part["score"].std()) if len(part) > 1 else None,
            **cells(mean(part["score"].to_numpy(float)), "mean", tested=False),
        }
        for (instrument, moment, condition), part in scored.groupby(["instrument", "moment", "condition"], sort=False)
    ]
    return table(rows, "instrument$ moment$ condition$ mean low high sd n# note$")


def sureness(frames: Frames) -> pd.DataFrame:
    """How sure people were of their right and of their wrong decisions: the mean over participants of their means."""
    told = frames["page_times"]
    told = told[told["confidence"].notna()][["decision_id", "confidence"]]
    judged = own(frames)
    both = judged[judged["correct"].notna()].merge(told, on="decision_id")
    rows = []
    for right, part in both.groupby("correct", sort=False):
        means = part.groupby("participant")["confidence"].mean().to_numpy(float)
        found = cells(mean(means), "mean", tested=False)
        rows.append({"decisions": _SURE[bool(right)], "counted": len(part), **found})
    return table(sorted(rows, key=lambda row: row["decisions"]), "decisions$ mean low high n# counted# note$")


def of_scores(shown: pd.DataFrame) -> str:
    """How many questionnaires were filled in, of which kinds."""
    if shown.empty:
        return "No questionnaire with a score was filled in."
    return f"Scores of {', '.join(dict.fromkeys(shown['instrument'].tolist()))}: {shown['n'].sum()} filled in whole."


def of_sureness(shown: pd.DataFrame) -> str:
    """How sure people were of right decisions and of wrong ones."""
    means = dict(zip(shown["decisions"], shown["mean"], strict=True))
    if len(means) < len(_SURE) or shown["mean"].isna().any():
        return "How sure people were of right and of wrong decisions cannot be compared."
    return f"People were sure at {means['right']:.2f} of right decisions and at {means['wrong']:.2f} of wrong ones."


ANALYSIS = read_analysis(
    "questionnaires",
    {"questionnaire-scores": scores, "confidence": sureness},
    sentences={"questionnaire-scores": of_scores, "confidence": of_sureness},
)
