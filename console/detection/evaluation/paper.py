"""Metrics printed in the InferAct paper (v3, Tables 1, 2 and 9), from the paper's models and tasks."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO

SOURCE = "InferAct paper, v3"

METHODS = {
    "direct": "Direct Prompt",
    "self-consistency": "Self-Consistency",
    "token-prob": "Token Prob",
    "token-entropy": "Token Entropy",
    "multi-step": "Multi-step",
    "inferact-verb": "InferAct-verb",
    "inferact-prob": "InferAct-prob",
}
"""The paper's name of each detector."""

ENVIRONMENTS = {"webshop": "WebShop", "hotpotqa": "HotPotQA", "alfworld": "ALFWorld"}


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """One printed metric; `environment` and `detector` are the console's names."""

    environment: str
    model: str
    detector: str
    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class StudiedSuccess:
    """A row of the paper's user study: success after the last trial in per cent, by source of feedback."""

    detector: str
    people: float
    sd: float
    model: float


STUDIED_FROM, STUDIED_TRIAL = 33.0, 3
"""Success in per cent at trial 0 of the user study, and the trial that its table reports."""


def read_user_study() -> list[StudiedSuccess]:
    """Return the paper's user study (Table 9): WebShop, three people, natural-language feedback, after trial 3."""
    return [
        StudiedSuccess(_OURS[row["method"]], float(row["people"]), float(row["sd"]), float(row["model"]))
        for row in _rows("user_study.csv")
    ]


def read_printed_figures(environment: str) -> list[PrintedFigure]:
    """Return the paper's metrics for an environment; empty if the paper has no table for it."""
    if environment not in ENVIRONMENTS:
        return []
    return [*_detection(environment), *_calibration(environment)]


_OURS = {theirs: ours for ours, theirs in METHODS.items()}


def _detection(environment: str) -> Iterator[PrintedFigure]:
    for row in _rows("detection.csv"):
        if row["environment"] == ENVIRONMENTS[environment]:
            for metric in ("macro_f1", "cost", "er", "pr_auc"):
                if row[metric]:
                    yield PrintedFigure(environment, row["model"], _OURS[row["method"]], metric, float(row[metric]))


def read_published_csv(name: str) -> str:
    """Return one of the paper's tables from the file with that name."""
    return files(__package__).joinpath("published", name).read_text("utf-8")


def _calibration(environment: str) -> Iterator[PrintedFigure]:
    for row in _rows("calibration.csv"):
        yield PrintedFigure(environment, row["model"], _OURS[row["method"]], "ece", float(row[environment]))


def _rows(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(StringIO(read_published_csv(name)))
