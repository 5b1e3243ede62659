"""Detectors, which estimate the probability that the agent's critical action departs from the user's task.

A new detector is one file here and one line in BUILT_IN. Other packages add detectors as plug-ins.
"""

from dataclasses import replace

from console.detection.detectors import baselines, stacked
from console.detection.detectors.inferact import INFERACT_PROB, INFERACT_VERB
from console.detection.detectors.requirements import REQUIREMENTS
from console.detection.detectors.rules import RULES
from console.detection.detectors.stacked import STACKED
from console.detection.detectors.verdict import UNPARSED, Detector, Verdict
from console.errors import BadInput
from console.settings import Registry

BUILT_IN: dict[str, Detector] = {
    "rules": RULES,
    "requirements": REQUIREMENTS,
    "inferact-prob": INFERACT_PROB,
    "inferact-verb": INFERACT_VERB,
    "direct": baselines.DIRECT,
    "self-consistency": baselines.SELF_CONSISTENCY,
    "token-prob": baselines.TOKEN_PROB,
    "token-entropy": baselines.TOKEN_ENTROPY,
    "multi-step": baselines.MULTI_STEP,
    "multi-step-min": baselines.MULTI_STEP_MIN,
    "multi-step-max": baselines.MULTI_STEP_MAX,
    "multi-step-mean": baselines.MULTI_STEP_MEAN,
    "stacked": STACKED,
    "full-validation": baselines.FULL_VALIDATION,
    "random": baselines.RANDOM,
}
DETECTORS = Registry("detector", "inferact.detectors", Detector, BUILT_IN)


def detector(name: str) -> Detector:
    """Return the detector with this name; `NAME@MODEL` or `NAME@INFERENCE+VERIFICATION` binds it to models.

    `stacked@NAME` is the stack fitted as NAME. Raise Unknown for an unknown name, and BadInput if an offline detector
    is bound to a model. Raise Refused if the stack's name is missing.
    """
    bare, _, models = name.partition("@")
    found = DETECTORS.pick(bare)
    if found is STACKED:
        return stacked.load_stack_detector(models, detector)
    if bare == name:
        return found
    bound = tuple(part.strip() for part in models.split("+"))
    if found.ask is None or not 1 <= len(bound) <= 2 or not all(bound):
        raise BadInput(
            f"{name!r} does not name a detector and a model. Write inferact-prob@MODEL or inferact-prob@MODEL+MODEL."
        )
    return replace(found, name=name, models=bound)
