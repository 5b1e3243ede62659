"""The oracle and the noisy reviewer, two of REVIEWERS: they judge by the gold target and never reveal the target.

In a live run, both try the action in a copy of its world. For an imported log, both use its label or its gold answer.
"""

from __future__ import annotations

import re
from random import Random

from console.environments.hotpotqa.world import exact_match
from console.errors import BadInput
from console.review.simulated.faults import find_fault, is_misaligned
from console.review.simulated.feedback_text import GENERAL, STUCK, write_feedback
from console.review.simulated.reviewer import Noise, ReviewCase, Reviewer, SimulatedAnswer
from console.trajectory import Label
from console.trajectory.checkpoints import CheckpointKind

_FINISH = re.compile(r"\s*finish\[(.*)\]\s*$", re.IGNORECASE | re.DOTALL)


def judge(case: ReviewCase, noise: Noise) -> SimulatedAnswer:
    """Return the true label, with feedback if the action is misaligned or the trial halted; `noise` has no effect."""
    if case.checkpoint.kind is CheckpointKind.HALTED:
        return SimulatedAnswer(None, _words(case))
    if find_label(case) is Label.ALIGNED:
        return SimulatedAnswer(Label.ALIGNED, "")
    return SimulatedAnswer(Label.MISALIGNED, _words(case))


def find_label(case: ReviewCase) -> Label:
    """Return the label in the log, or the label found by trying the action or by comparing answers.

    Raise BadInput if none of the three is available.
    """
    if case.recorded is not None:
        return case.recorded
    if not case.logged:
        return Label.MISALIGNED if is_misaligned(case) else Label.ALIGNED
    found = _FINISH.match(case.checkpoint.action)
    answer = case.task.gold.get("answer")
    if not found or not isinstance(answer, str):
        raise BadInput(
            f"The log of task {case.task.task_id!r} has neither a gold label nor a gold answer. Add a gold "
            "label or a gold answer."
        )
    return Label.ALIGNED if exact_match(found[1], answer) else Label.MISALIGNED


def _words(case: ReviewCase) -> str:
    """Return feedback about the fault; for a log, which has no world, return general feedback."""
    if not case.logged:
        return write_feedback(case, find_fault(case))
    return write_feedback(case, STUCK if case.checkpoint.kind is CheckpointKind.HALTED else GENERAL)


def judge_with_noise(case: ReviewCase, noise: Noise) -> SimulatedAnswer:
    """Return the oracle's decision, inverted at the error rates of `noise`.

    An aligned action that is rejected gets general feedback. The time is drawn uniformly between 0.5 and 1.5 times the
    seconds per item.
    """
    true = judge(case, noise)
    rng = Random(f"{case.seed} {case.task.task_id} {case.trial} {case.checkpoint.index} {case.checkpoint.kind}")
    error, pace = rng.random(), rng.random()
    seconds = noise.seconds_per_item * (0.5 + pace)
    if true.label is Label.MISALIGNED and error < noise.false_accept:
        return SimulatedAnswer(Label.ALIGNED, "", seconds)
    if true.label is Label.ALIGNED and error < noise.false_reject:
        return SimulatedAnswer(Label.MISALIGNED, write_feedback(case, GENERAL), seconds)
    return SimulatedAnswer(true.label, true.words, seconds)


ORACLE = Reviewer("oracle", "Oracle", judge)
NOISY = Reviewer("noisy", "Noisy reviewer", judge_with_noise)
