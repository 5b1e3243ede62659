"""A detector that flags everything."""

from console.detection.detectors.verdict import Detector, Verdict
from console.trajectory.checkpoints import Checkpoint


def judge(checkpoint: Checkpoint, seed: int) -> Verdict:
    """Whatever it is, it is suspicious."""
    return Verdict(score=0.9, rationale="The seam detector flags everything.")


ENTRY = Detector("seam-detector", "Seam detector", judge)
