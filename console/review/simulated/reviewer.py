"""A simulated reviewer and its parts: the case under review, the decision, and the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from console.environments.environment import TaskSpec
from console.trajectory import Label
from console.trajectory.checkpoints import Checkpoint


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """A case for review: a checkpoint with its task, including the gold target.

    If `logged` is true, the case has no world to try its action in; `recorded` is the label in its log. `earlier` holds
    the feedback after earlier trials of the task. `wordings` is a folder that replaces prompts/feedback.
    """

    task: TaskSpec
    checkpoint: Checkpoint
    trial: int = 0
    seed: int = 0
    wordings: Path | None = None
    logged: bool = False
    recorded: Label | None = None
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of a simulated reviewer: its error rates, and its mean seconds per item.

    `false_accept` is the share of misaligned actions that the reviewer approves; `false_reject` is the share of aligned
    actions that the reviewer rejects.
    """

    false_accept: float = 0.0
    false_reject: float = 0.0
    seconds_per_item: float = 0.0


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """A simulated decision: label (None for a halted trial), feedback to the agent (empty if aligned), and seconds."""

    label: Label | None
    words: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelWords:
    """The feedback of a model that plays the user, its requests, and its cost in USD, None if the price is unknown."""

    text: str
    requests: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A named simulated reviewer; `judge` is its behaviour, a pure function of the case and the noise.

    `words`, if set, requests the feedback on an inspected case from a model. The default is the model in the settings.
    """

    name: str
    title: str
    judge: Callable[[ReviewCase, Noise], SimulatedAnswer]
    words: Callable[[ReviewCase, str | None], ModelWords] | None = None
