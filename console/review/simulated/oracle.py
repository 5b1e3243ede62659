"""The oracle, one of REVIEWERS: it knows the gold, labels by what the action would lead to, never tells the target.

In a live run the action is tried in a copy of its world; of an imported log the label that it carries counts, or its
gold answer.
"""

from __future__ import annotations

import re

from console.environments.hotpotqa.answers import exact_match
from console.errors import BadInput
from console.review.simulated.faults import fault_of, misleads
from console.review.simulated.feedback_text import GENERAL, STUCK, worded
from console.review.simulated.reviewer import Noise, ReviewCase, Reviewer, SimulatedAnswer
from console.trajectory import Label
from console.trajectory.checkpoints import CheckpointKind

_FINISH = re.compile(r"\s*finish\[(.*)\]\s*$", re.IGNORECASE | re.DOTALL)


def judge(case: ReviewCase, noise: Noise) -> SimulatedAnswer:
    """The true label, and words about what differs where it is misaligned or halted; the noise has no effect."""
    if case.checkpoint.kind is CheckpointKind.HALTED:
        return SimulatedAnswer(None, _words(case))
    if label_of(case) is Label.ALIGNED:
        return SimulatedAnswer(Label.ALIGNED, "")
    return SimulatedAnswer(Label.MISALIGNED, _words(case))


def label_of(case: ReviewCase) -> Label:
    """The label that the log carries, that its gold answer gives, or that trying the action gives.

    Raises BadInput where there is none of the three.
    """
    if case.recorded is not None:
        return case.recorded
    if not case.logged:
        return Label.MISALIGNED if misleads(case) else Label.ALIGNED
    found = _FINISH.match(case.checkpoint.action)
    answer = case.task.gold.get("answer")
    if not found or not isinstance(answer, str):
        raise BadInput(f"The log of task {case.task.task_id!r} carries neither a gold label nor a gold answer.")
    return Label.ALIGNED if exact_match(found[1], answer) else Label.MISALIGNED


def _words(case: ReviewCase) -> str:
    """What differs, in words; of a log, whose world cannot be asked, only that something does."""
    if not case.logged:
        return worded(case, fault_of(case))
    return worded(case, STUCK if case.checkpoint.kind is CheckpointKind.HALTED else GENERAL)


ORACLE = Reviewer("oracle", "Oracle", judge)
