"""What a simulated reviewer gets, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from console.environments.environment import TaskSpec
from console.trajectory import Label
from console.trajectory.checkpoints import Checkpoint


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """A checkpoint with its task, gold included; `wordings` is a folder that takes the place of prompts/feedback."""

    task: TaskSpec
    checkpoint: Checkpoint
    trial: int = 0
    seed: int = 0
    wordings: Path | None = None


@dataclass(frozen=True, slots=True)
class Noise:
    """How often a misaligned action passes, how often an aligned one is turned down, and the seconds for an item."""

    false_accept: float = 0.0
    false_reject: float = 0.0
    seconds_per_item: float = 0.0


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """The label, None for a halted trial; the words to the agent, empty where it is aligned; the time it took."""

    label: Label | None
    words: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A named simulated reviewer; `judge` is a pure function of the case and the noise."""

    name: str
    title: str
    judge: Callable[[ReviewCase, Noise], SimulatedAnswer]
