"""Rewards, scores and trials in logs, and reports in a log's folder that list resolved instances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from console.trajectory import Label, Outcome

_CLOSE = 1e-6
_MOST_TRIALS = 1_000_000


def number_of(value: object) -> float | None:
    """Return the number, or None if the value is not a number; true counts as 1."""
    if not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def result_of(reward: float) -> tuple[Outcome, Label]:
    """Return the outcome and label of a reward: 1 is a success, anything else a failure."""
    if abs(reward - 1.0) <= _CLOSE:
        return Outcome.SUCCEEDED, Label.ALIGNED
    return Outcome.FAILED, Label.MISALIGNED


def graded(reward: float | None, gold: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) of a reward, with the label first in gold; omit the label if the reward is None."""
    if reward is None:
        return Outcome.FINISHED, dict(gold)
    outcome, label = result_of(reward)
    return outcome, {"label": str(label), **gold}


RESULT_FIELDS = ("label", "success", "reward", "score")
"""The result fields of a record, most reliable first."""

_RESULT_WORDS = {name: name for name in RESULT_FIELDS} | dict.fromkeys(
    ("correct", "correctness", "passed", "pass", "resolved", "task_success", "goal_success"), "success"
)
_LABELS = {
    "aligned": (Outcome.SUCCEEDED, Label.ALIGNED),
    "misaligned": (Outcome.FAILED, Label.MISALIGNED),
}


def told_result(fields: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) from the first usable result field; keep the log's own label as `source_label`."""
    told = {name: fields[name] for name in RESULT_FIELDS if fields.get(name) is not None}
    result = next((judged for name, value in told.items() if (judged := _judged(name, value))), None)
    gold = {"source_label" if name == "label" else name: value for name, value in told.items()}
    return (result[0], {"label": str(result[1]), **gold}) if result else (Outcome.FINISHED, gold)


def scored_result(scores: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) from named scores. Only scores that measure success determine the outcome; keep all scores
    under `scores`.
    """
    told = {_RESULT_WORDS[name.lower()]: value for name, value in scores.items() if name.lower() in _RESULT_WORDS}
    outcome, gold = told_result(told)
    return outcome, gold | ({"scores": dict(scores)} if scores else {})


def _judged(name: str, value: object) -> tuple[Outcome, Label] | None:
    if name == "label":
        return _LABELS.get(value.strip().lower()) if isinstance(value, str) else None
    number = number_of(value)
    return result_of(number) if number is not None and 0.0 <= number <= 1.0 else None


def trial_of(value: object) -> int:
    """Return the trial number, counted from 0, or 0 if the log gives no trial."""
    number = number_of(value)
    return int(number) if number is not None and 0 <= number <= _MOST_TRIALS else 0


_REPORTS = ("report.json", "results.json")


def resolved_result(path: Path, instance: str, told: object = None) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) of an instance, from its record, else from the reports in the file's folder or the parent
    folder.
    """
    resolved = told if isinstance(told, bool) else None
    for folder in (path.parent, path.parent.parent) if resolved is None else ():
        for name in _REPORTS:
            resolved = _among(_report(folder / name), instance) if resolved is None else resolved
    if resolved is None:
        return Outcome.FINISHED, {}
    if resolved:
        return Outcome.SUCCEEDED, {"label": str(Label.ALIGNED), "resolved": True}
    return Outcome.FAILED, {"label": str(Label.MISALIGNED), "resolved": False}


def _among(report: Mapping[str, Any], instance: str) -> bool | None:
    own = report.get(instance)
    if isinstance(own, dict) and isinstance(own.get("resolved"), bool):
        return bool(own["resolved"])
    for name in ("resolved_ids", "resolved"):
        if isinstance(report.get(name), list) and instance:
            return instance in report[name]
    return None


@lru_cache(maxsize=8)
def _report(path: Path) -> Mapping[str, Any]:
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
