"""Rewards, scores and trials as logs write them: numbers, texts, booleans."""

from __future__ import annotations

import math

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


def trial_of(value: object) -> int:
    """The trial, counted from 0; 0 where none is told."""
    number = number_of(value)
    return int(number) if number is not None and 0 <= number <= _MOST_TRIALS else 0
