"""How the agent went about it: failures ignored, actions repeated, the same thing done twice."""

from __future__ import annotations

from collections import Counter

from console.detectors.rules.evidence import Evidence, Finding, quoted


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
    """Actions tried more than once."""
    counts = Counter(act.action for act in evidence.acts if not act.talks)
    again = [action for action, count in counts.items() if count > 1]
    if not again:
        return None
    extra = sum(count - 1 for count in counts.values())
    return Finding(1 - 0.6**extra, f"Done more than once: {quoted(again, 2)}.")


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
