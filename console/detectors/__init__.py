"""Detectors judge a checkpoint: how likely has the agent left the user's task?

A new detector is one file here and one line in DETECTORS.
"""

from console.detectors.full_validation import FULL_VALIDATION
from console.detectors.random import RANDOM
from console.detectors.rules import RULES
from console.detectors.verdict import Detector, Verdict
from console.errors import Unknown

DETECTORS: dict[str, Detector] = {
    "rules": RULES,
    "full-validation": FULL_VALIDATION,
    "random": RANDOM,
}

__all__ = ["DETECTORS", "Detector", "Verdict", "detector"]


def detector(name: str) -> Detector:
    """The detector of that name; raises Unknown, naming those there are."""
    if name not in DETECTORS:
        raise Unknown("detector", name, DETECTORS)
    return DETECTORS[name]
