"""A simulated reviewer who turns everything down."""

from console.review.simulated.reviewer import Reviewer, SimulatedAnswer
from console.trajectory import Label


def judge(case, noise):
    """No, and why."""
    return SimulatedAnswer(Label.MISALIGNED, "The seam reviewer says: leave it alone.")


ENTRY = Reviewer("seam-reviewer", "Seam reviewer", judge)
