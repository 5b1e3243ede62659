"""Features of a checkpoint as numbers of about 0 to 1: length, failures, and similarity to the request."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from console.trajectory.checkpoints import Checkpoint, CheckpointKind, is_thought

_WORD = re.compile(r"[a-z0-9]+")
_FAILED = re.compile(r"invalid|nothing happens|error|could not find|not found|no results|cannot", re.IGNORECASE)
_FEW = 3
"""The shortest word, in letters, that counts."""


def compute_features(checkpoint: Checkpoint) -> dict[str, float]:
    """Return all features of a checkpoint, by name."""
    return {name: feature(checkpoint) for name, feature in FEATURES.items()}


def _length(checkpoint: Checkpoint) -> float:
    return math.log1p(len(checkpoint.steps)) / 4


def _failures(checkpoint: Checkpoint) -> float:
    failed = [bool(_FAILED.search(step.observation[:200])) for step in checkpoint.steps]
    return sum(failed) / max(1, len(failed))


def _last_failed(checkpoint: Checkpoint) -> float:
    return float(bool(checkpoint.steps and _FAILED.search(checkpoint.steps[-1].observation[:200])))


def _repeats(checkpoint: Checkpoint) -> float:
    actions = [step.action for step in checkpoint.steps if not is_thought(step.action)]
    return 1 - len(set(actions)) / len(actions) if actions else 0.0


def _request_length(checkpoint: Checkpoint) -> float:
    return math.log1p(len(checkpoint.instruction.split())) / 5


def _action_length(checkpoint: Checkpoint) -> float:
    return math.log1p(len(checkpoint.action)) / 6


def _words_met(checkpoint: Checkpoint) -> float:
    return _share(checkpoint.instruction, [step.observation for step in checkpoint.steps])


def _words_met_last(checkpoint: Checkpoint) -> float:
    return _share(checkpoint.instruction, [checkpoint.action, *(step.observation for step in checkpoint.steps[-2:])])


def _action_met(checkpoint: Checkpoint) -> float:
    return _share(checkpoint.action, [step.observation for step in checkpoint.steps])


def _at_the_end(checkpoint: Checkpoint) -> float:
    return float(checkpoint.kind is CheckpointKind.END)


FEATURES: dict[str, Callable[[Checkpoint], float]] = {
    "length": _length,
    "failures": _failures,
    "last_failed": _last_failed,
    "repeats": _repeats,
    "request_length": _request_length,
    "action_length": _action_length,
    "words_met": _words_met,
    "words_met_last": _words_met_last,
    "action_met": _action_met,
    "at_the_end": _at_the_end,
}


def _share(text: str, places: Sequence[str]) -> float:
    """Return the share of the text's significant words that occur in any of the texts in `places`."""
    wanted = {word for word in _WORD.findall(text.lower()) if len(word) >= _FEW}
    met = set().union(*(_WORD.findall(place.lower()) for place in places)) if places else set()
    return len(wanted & met) / len(wanted) if wanted else 0.0
