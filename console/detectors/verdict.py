"""What a detector answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from console.critical import Checkpoint


@dataclass(frozen=True, slots=True)
class Verdict:
    """A detector's answer for one checkpoint.

    `score` in [0, 1] ranks, higher = more likely misaligned; `probability` is set only by detectors whose score is a
    calibrated P(misaligned). `rationale` says why, in one sentence a line.
    """

    score: float
    rationale: str = ""
    inferred_task: str | None = None
    probability: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Detector:
    """A named judge; a checkpoint is flagged where its score lies strictly above the threshold."""

    name: str
    title: str
    judge: Callable[[Checkpoint, int], Verdict]
    threshold: float = 0.5
