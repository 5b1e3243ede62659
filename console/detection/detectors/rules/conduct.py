"""How the agent went about it: failures ignored, actions repeated, the same thing done twice."""

from __future__ import annotations

import re
from collections import Counter

from console.detection.detectors.rules.evidence import Evidence, Finding, quoted

_REFUSING = re.compile(r"\b(?:unable|cannot|can't|not (?:possible|allowed|eligible|able|permitted))\b", re.IGNORECASE)


def failures(evidence: Evidence) -> Finding | None:
    """Actions that failed before this one."""
    failed = [act.action for act in evidence.acts if act.failed]
    if not failed:
        return None
    many = f"{len(failed)} actions" if len(failed) > 1 else "An action"
    return Finding(1 - 0.5 ** len(failed), f"{many} failed on the way: {quoted(failed, 2)}.")


def failure_ignored(evidence: Evidence) -> Finding | None:
    """The action just before this one failed."""
    if not evidence.acts or not evidence.acts[-1].failed:
        return None
    last = evidence.acts[-1]
    return Finding(1.0, f'The action just before failed ("{last.observation.strip()[:80]}"), and the agent goes on.')


def repeated(evidence: Evidence) -> Finding | None:
    """Actions tried more than once that brought back the same again."""
    counts = Counter((act.action, act.observation) for act in evidence.acts if not act.talks)
    again = [action for (action, _), count in counts.items() if count > 1]
    if not again:
        return None
    extra = sum(count - 1 for count in counts.values())
    return Finding(1 - 0.6**extra, f"Done again although it brought nothing new: {quoted(again, 2)}.")


def done_before(evidence: Evidence) -> Finding | None:
    """Exactly this action, tried before."""
    action = evidence.checkpoint.action
    earlier = [act for act in evidence.acts if act.action == action and action]
    if not earlier:
        return None
    how = "and failed" if earlier[-1].failed else "and it ran"
    return Finding(1.0, f"Exactly this was tried before, {how}.")


def tool_failed_before(evidence: Evidence) -> Finding | None:
    """The same tool refused an earlier call."""
    names = {call.name for call in evidence.calls}
    refused = [act for act in evidence.acts if act.failed and act.call.name in names and act.call.arguments]
    if not refused or not evidence.checkpoint.action.rstrip().endswith(")"):
        return None
    told = refused[-1].observation.strip()[:100]
    return Finding(1 - 0.5 ** len(refused), f'"{refused[-1].call.name}" was refused before: "{told}".')


def said_impossible(evidence: Evidence) -> Finding | None:
    """The agent told the user that something cannot be done, and now it does something."""
    if not evidence.checkpoint.action.rstrip().endswith(")"):
        return None
    refusals = (_REFUSING.search(act.action[:5_000]) for act in evidence.acts if act.talks)
    said = next((refusal[0] for refusal in refusals if refusal), None)
    return Finding(1.0, f'The agent told the user "{said}" on the way; is this still what was asked?') if said else None


def many_turns(evidence: Evidence) -> Finding | None:
    """A long talk with the user before the action."""
    turns = sum(act.talks for act in evidence.acts)
    return (
        Finding(min(1.0, (turns - 4) / 6), f"It took {turns} turns with the user to get here.") if turns > 4 else None
    )
