"""Reports of a detection: what each detector judged, the usage of models, and the features that endpoints lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from console.detection.detectors import UNPARSED
from console.llm import ClientUsage
from console.llm.errors import Deferred, ModelError


@dataclass(slots=True)
class DetectionReport:
    """The counts of one detector; `excluded` trajectories have no critical action.

    `unparsed` verdicts come from unreadable replies and are flagged. `errors` checkpoints have no verdict, for the
    reasons in `problems`; `waiting` ones have none until a batch is done. Usage is that of the new verdicts: each
    detector that shares a reply counts it.
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
    waiting: int = 0
    halted: int = 0
    excluded: int = 0
    queued: int = 0
    routing: bool = False
    mode: str = "console"
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None

    def note(self, row: dict[str, Any]) -> None:
        """Count a new verdict."""
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
        """Count a checkpoint without a verdict, or with a question in an open batch."""
        if isinstance(failure, Deferred):
            self.waiting += 1
            return
        name = type(failure).__name__
        self.errors += 1
        self.problems[name] = self.problems.get(name, 0) + 1


@dataclass(frozen=True, slots=True)
class DetectionUsage:
    """The usage of all models, and the features that each model's endpoint lacks, by model."""

    tally: ClientUsage = field(default_factory=ClientUsage)
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def explain_lacking(self, *, paper: bool) -> tuple[str, ...]:
        """Return a sentence for each model whose endpoint lacks a feature, with the replacement."""
        instead = _INSTEAD | (_INSTEAD_IN_PAPER if paper else {})
        return tuple(_lack(model, names, instead) for model, names in sorted(self.lacking.items()))


_INSTEAD = {
    "logprobs": "probabilities are shares of sampled answers",
    "n": "samples are asked for one by one",
    "temperature": "answers come at its own temperature",
    "seed": "samples cannot be repeated",
    "response_format": "replies are read from plain lines",
    "reasoning_effort": "it reasons as long as it likes",
}
_INSTEAD_IN_PAPER = {"logprobs": "without them the reference code has no probability"}


def _lack(model: str, names: Sequence[str], instead: Mapping[str, str]) -> str:
    told = [f"no {name}" + (f" ({instead[name]})" if name in instead else "") for name in names]
    return f"{model} gives {', '.join(told)}."


@dataclass(frozen=True, slots=True)
class Detection:
    """The reports, the usage of models, a sentence for each lacking endpoint, and why the queue is empty (or "")."""

    reports: list[DetectionReport]
    asked: DetectionUsage
    lacking: tuple[str, ...] = ()
    queue_note: str = ""
