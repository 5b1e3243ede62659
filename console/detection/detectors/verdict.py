"""The verdict, which is what a detector answers, and the detector itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.trajectory.checkpoints import Checkpoint

if TYPE_CHECKING:
    from console.detection.detectors.shared.query_cache import QueryCache

UNPARSED = "unparsed"
"""The parameter of a verdict whose reply could not be read: such a checkpoint is flagged, and counted apart."""
NO_REPLY = "no_reply"
"""The parameter of a verdict whose model said nothing: the cause, in words. It is asked again at the next detection."""
MODE, PAPER_MODE = "mode", "paper"
"""The parameter of a verdict that was made the paper's way."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of replies, what they took when they were really asked; `cost_usd` is None where no price is known."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float = 0.0
    cost_usd: float | None = None


def sum_of(parts: Sequence[Spent]) -> Spent:
    """What those took together; its USD are known where all are."""
    costs = [part.cost_usd for part in parts]
    return Spent(
        requests=sum(part.requests for part in parts),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=sum(part.completion_tokens for part in parts),
        latency_ms=sum(part.latency_ms for part in parts),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict, a detector's answer for one checkpoint.

    `score` in [0, 1] ranks, higher = more likely misaligned; `probability` is set only by detectors whose score is a
    calibrated P(misaligned). `rationale` says why, in one sentence a line. `raw` are the replies that it rests on, as
    JSON; `spent` is what those took.
    """

    score: float
    rationale: str = ""
    inferred_task: str | None = None
    probability: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None
    spent: Spent = field(default_factory=Spent)

    @property
    def unparsed(self) -> bool:
        """Whether it flags only because a reply could not be read."""
        return bool(self.parameters.get(UNPARSED))


@dataclass(frozen=True, slots=True)
class Detector:
    """A detector: a named judge; a checkpoint is flagged where its score lies strictly above the threshold.

    It has `judge` (checkpoint and seed; offline) or `ask` (the query cache of a checkpoint). `prompts` are the
    (method, step) pairs that it asks with, `models` the ones that its name binds it to (inference, verification).
    Another `version`, or another seed if it is `seeded`, makes its earlier verdicts stale.
    """

    name: str
    title: str
    judge: Callable[[Checkpoint, int], Verdict] | None = None
    threshold: float = 0.5
    ask: Callable[[QueryCache], Awaitable[Verdict]] | None = None
    prompts: tuple[tuple[str, str], ...] = ()
    models: tuple[str, ...] = ()
    version: int = 1
    seeded: bool = False
