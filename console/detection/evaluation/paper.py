"""What the InferAct paper prints for its detectors (v3, Tables 1, 2 and 9), to lay over one's own results.

The figures are the paper's, of its own models and tasks; nothing here was measured by the console.
"""

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
class Printed:
    """One figure as it is printed; `environment` and `detector` are the console's names."""

    environment: str
    model: str
    detector: str
    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class Studied:
    """A row of the paper's user study: success after the last trial in per cent, by whose feedback it was."""

    detector: str
    people: float
    sd: float
    model: float


STUDIED_FROM, STUDIED_TRIAL = 33.0, 3
"""Success in per cent at trial 0 of the user study, and the trial that its table is of."""


def user_study() -> list[Studied]:
    """The paper's user study (Table 9): WebShop, three people, words as feedback, after trial 3."""
    return [
        Studied(_OURS[row["method"]], float(row["people"]), float(row["sd"]), float(row["model"]))
        for row in _rows("user_study.csv")
    ]


def printed(environment: str) -> list[Printed]:
    """The paper's figures for an environment; none for one that it has no table of."""
    if environment not in ENVIRONMENTS:
        return []
    return [*_detection(environment), *_calibration(environment)]


_OURS = {theirs: ours for ours, theirs in METHODS.items()}


def _detection(environment: str) -> Iterator[Printed]:
    for row in _rows("detection.csv"):
        if row["environment"] == ENVIRONMENTS[environment]:
            for metric in ("macro_f1", "cost", "er", "pr_auc"):
                if row[metric]:
                    yield Printed(environment, row["model"], _OURS[row["method"]], metric, float(row[metric]))


def published_csv(name: str) -> str:
    """One of the paper's tables as it stands in the file of that name."""
    return files(__package__).joinpath("published", name).read_text("utf-8")


def _calibration(environment: str) -> Iterator[Printed]:
    for row in _rows("calibration.csv"):
        yield Printed(environment, row["model"], _OURS[row["method"]], "ece", float(row[environment]))


def _rows(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(StringIO(published_csv(name)))
