"""A simulated reviewer and its behaviour: the case that it gets, and the answer that it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from console.environments.environment import TaskSpec
from console.trajectory import Label
from console.trajectory.checkpoints import Checkpoint


@dataclass(frozen=True, slots=True)
class ReviewCase:
    """A case for review: a checkpoint with its task, gold included.

    A `logged` one has no world that its action could be tried in; `recorded` is the label that its log carries.
    `earlier` are the words that were said after earlier trials of the task. `wordings` is a folder that takes the place
    of prompts/feedback.
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
    """The noise in a behaviour: how often it is wrong, and the mean seconds for an item.

    `false_accept` is the share of misaligned actions that pass, `false_reject` that of aligned ones turned down.
    """

    false_accept: float = 0.0
    false_reject: float = 0.0
    seconds_per_item: float = 0.0


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """The answer of a simulated reviewer: the label (None for a halted trial), its words, and the time it took.

    The words go to the agent; they are empty where the action is aligned.
    """

    label: Label | None
    words: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelWords:
    """The words of a model that plays the user, and what asking for them took (USD None: no known price)."""

    text: str
    requests: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A named simulated reviewer; `judge` is its behaviour, a pure function of the case and the noise.

    `words` asks a model (the settings' if None) for the words of a case that is inspected, instead of those of `judge`.
    """

    name: str
    title: str
    judge: Callable[[ReviewCase, Noise], SimulatedAnswer]
    words: Callable[[ReviewCase, str | None], ModelWords] | None = None
