"""Full validation: every critical action goes to a person (InferAct, section 4, upper bound)."""

from console.detection.detectors.verdict import Detector, Verdict
from console.trajectory.checkpoints import Checkpoint


def judge(checkpoint: Checkpoint, seed: int) -> Verdict:
    """The verdict of full validation: score 1 for every checkpoint."""
    return Verdict(score=1.0, rationale="Every critical action is inspected; nothing was compared.")


FULL_VALIDATION = Detector("full-validation", "Full validation", judge)
