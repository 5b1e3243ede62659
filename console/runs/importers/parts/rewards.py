"""Rewards, scores and trials as logs write them: numbers, texts, booleans."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from console.trajectory import Label, Outcome

_CLOSE = 1e-6
_MOST_TRIALS = 1_000_000


def number_of(value: object) -> float | None:
    """The number, or None where there is none; true counts 1."""
    if not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def result_of(reward: float) -> tuple[Outcome, Label]:
    """A reward of 1 is a success, anything else is not."""
    if abs(reward - 1.0) <= _CLOSE:
        return Outcome.SUCCEEDED, Label.ALIGNED
    return Outcome.FAILED, Label.MISALIGNED


def graded(reward: float | None, gold: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """How a run with that reward ended, and what is gold about it with its label first; without a reward no label."""
    if reward is None:
        return Outcome.FINISHED, dict(gold)
    outcome, label = result_of(reward)
    return outcome, {"label": str(label), **gold}


RESULT_FIELDS = ("label", "success", "reward", "score")
"""What a record itself may tell of its result, the most telling first."""

_RESULT_WORDS = {name: name for name in RESULT_FIELDS} | dict.fromkeys(
    ("correct", "correctness", "passed", "pass", "resolved", "task_success", "goal_success"), "success"
)
_LABELS = {
    "aligned": (Outcome.SUCCEEDED, Label.ALIGNED),
    "misaligned": (Outcome.FAILED, Label.MISALIGNED),
}


def told_result(fields: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """(outcome, gold) by the first result field that tells something; a label of another kind keeps its words."""
    told = {name: fields[name] for name in RESULT_FIELDS if fields.get(name) is not None}
    result = next((judged for name, value in told.items() if (judged := _judged(name, value))), None)
    gold = {"source_label" if name == "label" else name: value for name, value in told.items()}
    return (result[0], {"label": str(result[1]), **gold}) if result else (Outcome.FINISHED, gold)


def scored_result(scores: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """(outcome, gold) by named scores, of which only those that mean success decide; all are kept under `scores`."""
    told = {_RESULT_WORDS[name.lower()]: value for name, value in scores.items() if name.lower() in _RESULT_WORDS}
    outcome, gold = told_result(told)
    return outcome, gold | ({"scores": dict(scores)} if scores else {})


def _judged(name: str, value: object) -> tuple[Outcome, Label] | None:
    if name == "label":
        return _LABELS.get(value.strip().lower()) if isinstance(value, str) else None
    number = number_of(value)
    return result_of(number) if number is not None and 0.0 <= number <= 1.0 else None


def trial_of(value: object) -> int:
    """The trial, counted from 0; 0 where none is told."""
    number = number_of(value)
    return int(number) if number is not None and 0 <= number <= _MOST_TRIALS else 0
