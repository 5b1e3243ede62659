"""Detectors and their verdicts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.trajectory.checkpoints import Checkpoint

if TYPE_CHECKING:
    from console.detection.detectors.shared.query_cache import QueryCache

UNPARSED = "unparsed"
"""The parameter of a verdict whose reply was unreadable: the checkpoint is flagged, and counted separately."""
NO_REPLY = "no_reply"
"""The parameter of a verdict from an empty reply: the cause, in words. The next detection sends the request again."""
REFUSED = "refused"
"""The parameter of a verdict whose model refused to answer: a person decides, and metrics leave the verdict out."""
TABLE = "requirements"
"""The parameter of a verdict with the requirement table as JSON values; it is stored in a column of its own."""
MODE, PAPER_MODE = "mode", "paper"
"""The parameter of a verdict with its mode, and the mode of verdicts that were computed as in the paper."""


@dataclass(frozen=True, slots=True)
class ReplyCost:
    """The cost of replies when they were first requested; `cost_usd` is None if a price is unknown."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float = 0.0
    cost_usd: float | None = None


def sum_costs(parts: Sequence[ReplyCost]) -> ReplyCost:
    """Return the sum of these costs; `cost_usd` is None if any cost is unknown."""
    costs = [part.cost_usd for part in parts]
    return ReplyCost(
        requests=sum(part.requests for part in parts),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=sum(part.completion_tokens for part in parts),
        latency_ms=sum(part.latency_ms for part in parts),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict: a detector's result for one checkpoint.

    `score` is in [0, 1], higher if misaligned is more likely; `probability` is set only by detectors whose score is a
    calibrated P(misaligned). `rationale` has one sentence per line; `raw` is the replies as JSON, and `spent` their
    cost.
    """

    score: float
    rationale: str = ""
    inferred_task: str | None = None
    probability: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None
    spent: ReplyCost = field(default_factory=ReplyCost)

    @property
    def unparsed(self) -> bool:
        """True if the checkpoint is flagged only because a reply was unreadable."""
        return bool(self.parameters.get(UNPARSED))


@dataclass(frozen=True, slots=True)
class Detector:
    """A detector; a checkpoint is flagged if its score is strictly above the threshold.

    A detector has `judge` (checkpoint and seed; offline) or `ask` (query cache). `prompts` are (method, step) pairs,
    and `models` come from its name. A change of `version`, or of the seed if `seeded`, makes earlier verdicts stale.
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
