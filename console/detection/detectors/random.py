"""Random: the floor that every other detector has to beat."""

import hashlib

from console.detection.detectors.verdict import Detector, Verdict
from console.trajectory.checkpoints import Checkpoint


def judge(checkpoint: Checkpoint, seed: int) -> Verdict:
    """A random verdict: a score uniform in [0, 1) that depends on the seed and what the checkpoint shows alone."""
    seen = [str(seed), checkpoint.instruction, str(checkpoint.index), checkpoint.action]
    seen += [step.action for step in checkpoint.steps]
    drawn = hashlib.sha256("\x1f".join(seen).encode("utf-8", "surrogatepass")).digest()
    score = int.from_bytes(drawn[:7], "big") / 2**56
    return Verdict(score=score, rationale="Drawn at random; nothing was compared.", parameters={"seed": seed})


RANDOM = Detector("random", "Random", judge, seeded=True)
