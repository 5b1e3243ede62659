"""Rewards, scores and trials in logs, and the reports in a log's folder that list resolved instances."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from console.trajectory import Label, Outcome

_CLOSE = 1e-6
_RESULTS = {True: (Outcome.SUCCEEDED, Label.ALIGNED), False: (Outcome.FAILED, Label.MISALIGNED)}
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


def label_success(success: bool | None, gold: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) of a success or failure, with the label first in gold; add no label if unknown (None)."""
    if success is None:
        return Outcome.FINISHED, dict(gold)
    outcome, label = _RESULTS[success]
    return outcome, {"label": str(label), **gold}


def grade_reward(reward: float | None, gold: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) of a reward by the rule of tau-bench: success for 1, failure from 0 to below 1."""
    is_on_scale = reward is not None and 0 <= reward <= 1 + _CLOSE
    return label_success(_is_success(reward) if reward is not None and is_on_scale else None, gold)


def _is_success(reward: float) -> bool:
    return abs(reward - 1.0) <= _CLOSE


SCALED = ("reward", "score")
UNCLEAR = "value of {} kept but not used (neither success nor failure)"
_SUCCESS = ("success", "correct", "is_correct", "passed", "resolved", "is_resolved", "task_success", "goal_success")
RESULT_FIELDS = ("label", *_SUCCESS, *SCALED)
"""The result fields of a record, most reliable first."""
_SCORES = {name: name for name in RESULT_FIELDS} | dict.fromkeys((*_SUCCESS, "correctness", "pass"), "success")
_LABELS = {"aligned": True, "misaligned": False}
_WORDS = dict.fromkeys(("true", "yes", "pass", "passed", "success", "successful", "correct", "resolved"), True)
_WORDS |= dict.fromkeys(("false", "no", "fail", "failed", "failure", "incorrect", "wrong", "unresolved"), False)


def read_result(fields: Mapping[str, Any], scaled: Collection[str] = ()) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) from the first usable result field; keep the log's own label as `source_label`.

    A value between failure (0) and success (1) is neither. `scaled` are the fields with another scale in this log.
    """
    told = {name: fields[name] for name in RESULT_FIELDS if fields.get(name) is not None}
    usable = (_success(name, value) for name, value in told.items() if name not in scaled)
    gold = {"source_label" if name == "label" else name: value for name, value in told.items()}
    return label_success(next((one for one in usable if one is not None), None), gold)


def list_doubts(fields: Mapping[str, Any], scaled: Collection[str] = ()) -> list[str]:
    """Return a phrase for each result field that contradicts the field that counts, or for all if none is usable."""
    told = {name: _success(name, fields[name]) for name in RESULT_FIELDS if fields.get(name) is not None}
    usable = {name: one for name, one in told.items() if one is not None and name not in scaled}
    if not usable:
        return [UNCLEAR.format(name) for name in told]
    first, own = next(iter(usable.items()))
    return [f"value of {name} kept but not used (contradicts {first})" for name in usable if usable[name] is not own]


def read_scores(scores: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) from named scores, all kept in the field `scores`; scores of success give the outcome."""
    told = {_SCORES[name.lower()]: value for name, value in scores.items() if name.lower() in _SCORES}
    outcome, gold = read_result(told)
    return outcome, gold | ({"scores": dict(scores)} if scores else {})


def _success(name: str, value: object) -> bool | None:
    if name == "label":
        return _LABELS.get(value.strip().lower()) if isinstance(value, str) else None
    if isinstance(value, str) and name not in SCALED and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    number = number_of(value)
    return None if number is None else True if _is_success(number) else False if number == 0 else None


def trial_of(value: object) -> int:
    """Return the trial number, counted from 0, or 0 if the log gives no valid trial number."""
    number = number_of(value)
    return int(number) if number is not None and 0 <= number <= _MOST_TRIALS else 0


def read_resolved_result(path: Path, instance: str, told: object = None) -> tuple[Outcome, dict[str, Any]]:
    """Return (outcome, gold) of an instance from its record, else from reports in the file's folder or its parent."""
    resolved = told if isinstance(told, bool) else None
    for folder in (path.parent, path.parent.parent) if resolved is None else ():
        for name in ("report.json", "results.json"):
            resolved = _among(_report(folder / name), instance) if resolved is None else resolved
    return label_success(resolved, {} if resolved is None else {"resolved": resolved})


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
