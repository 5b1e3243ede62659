"""What a detection did, detector by detector."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from console.detection.detectors import UNPARSED
from console.llm import ClientUsage, ModelError


@dataclass(slots=True)
class DetectionReport:
    """What one detection did; `excluded` trajectories have no critical action, so nothing could be judged.

    `unparsed` verdicts (flagged, among all there are) come from replies that could not be read; `errors` checkpoints
    have no verdict, for the reasons counted in `problems`. Requests, tokens and USD are those that the new verdicts
    rest on: detectors that share a reply count it each.
    """

    run: str
    detector: str
    threshold: float
    model: str | None = None
    judged: int = 0
    cached: int = 0
    checkpoints: int = 0
    flagged: int = 0
    unparsed: int = 0
    errors: int = 0
    problems: dict[str, int] = field(default_factory=dict)
    halted: int = 0
    excluded: int = 0
    queued: int = 0
    routing: bool = False
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None

    def note(self, row: dict[str, Any]) -> None:
        """Counts a new verdict."""
        parameters = orjson.loads(row["parameters"])
        self.judged += 1
        self.flagged += row["flagged"]
        self.unparsed += bool(parameters.get(UNPARSED))
        self.requests += row["requests"]
        self.prompt_tokens += row["prompt_tokens"]
        self.completion_tokens += row["completion_tokens"]
        if row["cost_usd"] is not None:
            self.cost_usd = (self.cost_usd or 0.0) + row["cost_usd"]

    def fail(self, failure: ModelError) -> None:
        """Counts a checkpoint without a verdict."""
        name = type(failure).__name__
        self.errors += 1
        self.problems[name] = self.problems.get(name, 0) + 1


@dataclass(frozen=True, slots=True)
class Detection:
    """The report of each detector, and what the models were really asked."""

    reports: list[DetectionReport]
    tally: ClientUsage
