"""The oracle, one of REVIEWERS: it knows the gold, labels by what the action would lead to, never tells the target."""

from __future__ import annotations

from console.review.simulated.faults import fault_of, misleads
from console.review.simulated.feedback_text import worded
from console.review.simulated.reviewer import Noise, ReviewCase, Reviewer, SimulatedAnswer
from console.trajectory import Label
from console.trajectory.checkpoints import CheckpointKind


def judge(case: ReviewCase, noise: Noise) -> SimulatedAnswer:
    """The true label, and words about what differs where it is misaligned or halted; the noise has no effect."""
    halted = case.checkpoint.kind is CheckpointKind.HALTED
    if not halted and not misleads(case):
        return SimulatedAnswer(Label.ALIGNED, "")
    return SimulatedAnswer(None if halted else Label.MISALIGNED, worded(case, fault_of(case)))


ORACLE = Reviewer("oracle", "Oracle", judge)
