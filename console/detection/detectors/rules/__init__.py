"""Rules: what the instruction states against what the trajectory did and saw; needs no model.

Every check looks at one thing and answers with a strength in [0, 1] and a sentence, or with None. The score is
1 / (1 + exp(-sum)), the sum being BASE and each strength times its weight. A new check is one function and one line.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from console.detection.detectors.rules import answers, household, shopping, tool_calls
from console.detection.detectors.rules.evidence import Evidence, Finding
from console.detection.detectors.verdict import Detector, Verdict
from console.trajectory.checkpoints import Checkpoint

BASE = -1.0
"""With no finding at all the score is 0.27."""

CHECKS: dict[str, tuple[float, Callable[[Evidence], Finding | None]]] = {
    "price_above_limit": (2.5, shopping.price_above_limit),
    "price_below_floor": (2.0, shopping.price_below_floor),
    "option_not_chosen": (1.5, shopping.option_not_chosen),
    "option_differs": (1.2, shopping.option_differs),
    "options_left": (0.6, shopping.options_left),
    "stated_missing": (2.2, shopping.stated_missing),
    "figures_missing": (1.0, shopping.figures_missing),
    "choice_refused": (0.6, shopping.choice_refused),
    "option_chosen": (-1.0, shopping.option_chosen),
    "answer_unseen": (1.0, answers.answer_unseen),
    "answer_of_wrong_form": (2.0, answers.answer_of_wrong_form),
    "answer_not_last_read": (1.2, answers.answer_not_last_read),
    "answer_out_of_context": (0.4, answers.answer_out_of_context),
    "answer_several": (0.5, answers.answer_several),
    "answer_wordy": (1.5, answers.answer_wordy),
    "subject_unread": (0.6, answers.subject_unread),
    "many_searches": (1.0, answers.many_searches),
    "unsure": (1.5, answers.unsure),
    "argument_unseen": (2.0, tool_calls.argument_unseen),
    "figure_unseen": (1.0, tool_calls.figure_unseen),
    "id_differs": (0.8, tool_calls.id_differs),
    "verb_not_asked": (1.0, tool_calls.verb_not_asked),
    "unconfirmed": (1.0, tool_calls.unconfirmed),
    "many_arguments": (1.2, tool_calls.many_arguments),
    "conditions": (1.0, tool_calls.conditions),
    "long_task": (0.6, tool_calls.long_task),
    "object_not_asked": (2.5, household.object_not_asked),
    "change_not_asked": (2.0, household.change_not_asked),
    "place_not_asked": (2.0, household.place_not_asked),
    "change_missing": (2.5, household.change_missing),
    "placing_missing": (2.5, household.placing_missing),
    "failure_ignored": (0.5, tool_calls.failure_ignored),
    "failures": (0.8, tool_calls.failures),
    "tool_failed_before": (0.8, tool_calls.tool_failed_before),
    "said_impossible": (0.4, tool_calls.said_impossible),
    "many_turns": (0.5, tool_calls.many_turns),
    "repeated": (0.8, tool_calls.repeated),
    "done_before": (1.2, tool_calls.done_before),
}


def judge(checkpoint: Checkpoint, seed: int) -> Verdict:
    """The score of all findings together, and a sentence for each, the weightiest first; the seed has no effect."""
    evidence = Evidence(checkpoint)
    found = {name: finding for name, (_, check) in CHECKS.items() if (finding := check(evidence))}
    weighed = {name: CHECKS[name][0] * finding.strength for name, finding in found.items()}
    score = 1 / (1 + math.exp(-(BASE + sum(weighed.values()))))
    against = sorted((name for name in found if weighed[name] > 0), key=lambda name: -weighed[name])
    rationale = "\n".join(found[name].sentence for name in against)
    return Verdict(
        score=score,
        rationale=rationale or "Nothing that the instruction states is at odds with what the agent did and saw.",
        parameters={"signals": {name: round(finding.strength, 4) for name, finding in found.items()}},
    )


RULES = Detector("rules", "Rules", judge)
