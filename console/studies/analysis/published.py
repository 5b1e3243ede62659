"""The user study of the InferAct paper (Table 9), compared with this study as part of the analysis of success.

This module is the only one that holds the paper's values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.success_rate import PAPER, compute_success_by_trial
from console.detection.evaluation import paper
from console.studies.analysis.frames import Frames, groups, judged, table
from console.studies.design import FACTORS
from console.studies.results.data_dictionary import FACTOR

HERE, PEOPLE, MODEL = "here: ", "paper: people", "paper: GPT-4-Turbo"
_WORDS = {"nl": "words"}


def published(frames: Frames) -> pd.DataFrame:
    """Return success in per cent by detector and feedback: in this study at the first and last trial, and in Table 9.

    Only WebShop is compared, because the paper's study used WebShop only. `sd` divides by n, as in the paper.
    """
    if set(judged(frames)["environment"].dropna().unique()) != {"webshop"}:
        return table([], _COLUMNS)
    closed = frames["success"][frames["success"]["closed"].astype(bool)]
    rows = [row for name, part in groups(closed) for row in _here(name, part)]
    return table([*rows, *(_printed() if rows else ())], _COLUMNS)


_COLUMNS = "detector$ feedback$ condition$ source$ trial# participants# tasks# percent sd"


def _here(name: str, part: pd.DataFrame) -> Iterator[dict[str, Any]]:
    usual = {name: FACTORS[name].default for name in ("detector", "feedback")}
    named = part.assign(**{name: part.get(FACTOR + name, level) for name, level in usual.items()})
    for (detector, feedback, condition), rows in named.groupby([*usual, "condition"], sort=False):
        told = compute_success_by_trial(rows, PAPER)
        for one in dict.fromkeys((told[0], told[-1])):
            yield {
                "detector": detector,
                "condition": condition,
                "feedback": _WORDS.get(str(feedback), str(feedback)),
                "source": HERE + name,
                "trial": one.trial,
                "participants": one.participants,
                "tasks": one.tasks,
                "percent": None if one.mean.value is None else 100 * one.mean.value,
                "sd": None if one.sd_paper is None else 100 * one.sd_paper,
            }


def _printed() -> Iterator[dict[str, Any]]:
    about = {"feedback": "words"}
    yield {**about, "detector": "none", "source": PEOPLE, "trial": 0, "tasks": 100, "percent": paper.STUDIED_FROM}
    for one in paper.read_user_study():
        known = {**about, "detector": one.detector, "trial": paper.STUDIED_TRIAL, "tasks": 100}
        yield {**known, "source": PEOPLE, "participants": 3, "percent": one.people, "sd": one.sd}
        yield {**known, "source": MODEL, "percent": one.model}


def describe_published(shown: pd.DataFrame) -> str:
    """Compare the gain in success in this study with the gain in the paper, if the results are comparable."""
    here = shown[shown["source"].str.startswith(HERE)]
    if here.empty:
        return ""
    ends = [here[here["trial"] == trial] for trial in sorted({here["trial"].min(), here["trial"].max()})]
    told = " and ".join(f"{_reach(rows['percent'])} at trial {rows['trial'].iloc[0]}" for rows in ends)
    theirs = shown[(shown["source"] == PEOPLE) & (shown["trial"] > 0)]["percent"]
    return (
        f"Here, {told} are solved; in the paper, with people's feedback, {paper.STUDIED_FROM:.1f}% at trial 0 and "
        f"{_reach(theirs)} at trial {paper.STUDIED_TRIAL}. Tasks, agent, models and reviewers differ, so the "
        "figures are shown side by side without a test."
    )


def _reach(shares: pd.Series[float]) -> str:
    low, high = f"{shares.min():.1f}", f"{shares.max():.1f}"
    return f"{low}%" if low == high else f"{low} to {high}%"
