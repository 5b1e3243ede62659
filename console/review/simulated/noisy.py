"""The noisy reviewer, one of REVIEWERS: the oracle like a person, erring at stated rates, taking a stated time."""

from __future__ import annotations

from random import Random

from console.review.simulated import oracle
from console.review.simulated.feedback_text import GENERAL, worded
from console.review.simulated.reviewer import Noise, ReviewCase, Reviewer, SimulatedAnswer
from console.trajectory import Label


def judge(case: ReviewCase, noise: Noise) -> SimulatedAnswer:
    """The oracle's answer, turned round where the seeded draw says so; an aligned action is refused in general words.

    The time is drawn evenly between half and one and a half times the seconds per item.
    """
    true = oracle.judge(case, noise)
    rng = Random(f"{case.seed} {case.task.task_id} {case.trial} {case.checkpoint.index} {case.checkpoint.kind}")
    error, pace = rng.random(), rng.random()
    seconds = noise.seconds_per_item * (0.5 + pace)
    if true.label is Label.MISALIGNED and error < noise.false_accept:
        return SimulatedAnswer(Label.ALIGNED, "", seconds)
    if true.label is Label.ALIGNED and error < noise.false_reject:
        return SimulatedAnswer(Label.MISALIGNED, worded(case, GENERAL), seconds)
    return SimulatedAnswer(true.label, true.words, seconds)


NOISY = Reviewer("noisy", "Noisy reviewer", judge)
