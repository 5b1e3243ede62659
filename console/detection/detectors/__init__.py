"""Detectors judge a checkpoint: how likely has the agent left the user's task?

A new detector is one file here and one line in DETECTORS.
"""

from dataclasses import replace

from console.detection.detectors import stacked
from console.detection.detectors.direct import DIRECT
from console.detection.detectors.full_validation import FULL_VALIDATION
from console.detection.detectors.inferact_prob import INFERACT_PROB
from console.detection.detectors.inferact_verb import INFERACT_VERB
from console.detection.detectors.multi_step import MULTI_STEP, MULTI_STEP_MAX, MULTI_STEP_MEAN, MULTI_STEP_MIN
from console.detection.detectors.random import RANDOM
from console.detection.detectors.rules import RULES
from console.detection.detectors.self_consistency import SELF_CONSISTENCY
from console.detection.detectors.stacked import STACKED
from console.detection.detectors.token_entropy import TOKEN_ENTROPY
from console.detection.detectors.token_prob import TOKEN_PROB
from console.detection.detectors.verdict import UNPARSED, Detector, Verdict
from console.errors import BadInput, Unknown

DETECTORS: dict[str, Detector] = {
    "rules": RULES,
    "inferact-prob": INFERACT_PROB,
    "inferact-verb": INFERACT_VERB,
    "direct": DIRECT,
    "self-consistency": SELF_CONSISTENCY,
    "token-prob": TOKEN_PROB,
    "token-entropy": TOKEN_ENTROPY,
    "multi-step": MULTI_STEP,
    "multi-step-min": MULTI_STEP_MIN,
    "multi-step-max": MULTI_STEP_MAX,
    "multi-step-mean": MULTI_STEP_MEAN,
    "stacked": STACKED,
    "full-validation": FULL_VALIDATION,
    "random": RANDOM,
}

__all__ = ["DETECTORS", "UNPARSED", "Detector", "Verdict", "detector"]


def detector(name: str) -> Detector:
    """The detector of that name; `NAME@MODEL` or `NAME@INFERENCE+VERIFICATION` binds one to its models,
    `stacked@NAME` is the stack fitted under that name.

    Raises Unknown, naming those there are, BadInput for models of a detector that asks none, and Refused for
    a stack without its name.
    """
    bare, _, models = name.partition("@")
    if bare not in DETECTORS:
        raise Unknown("detector", name, DETECTORS)
    found = DETECTORS[bare]
    if found is STACKED:
        return stacked.bound(models, detector)
    if bare == name:
        return found
    bound = tuple(part.strip() for part in models.split("+"))
    if found.ask is None or not 1 <= len(bound) <= 2 or not all(bound):
        raise BadInput(
            f"{name!r} binds no detector to a model; write inferact-prob@MODEL or inferact-prob@MODEL+MODEL."
        )
    return replace(found, name=name, models=bound)
