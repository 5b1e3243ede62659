"""Tool calls: do the arguments come from the user or from what was read, and did the calls before work or fail?"""

from __future__ import annotations

import re
from collections import Counter

from console.detection.detectors.rules.evidence import Evidence, Finding, leaves, quoted
from console.trajectory.terms import FUNCTION_WORDS, TermKind, lowered

_CONFIRM = re.compile(r"\bconfirm(?:s|ed|ation)?\b")
_ASSENT = re.compile(
    r"\b(?:yes|yeah|yep|sure|ok|okay|confirm(?:ed)?|correct|proceed|go ahead|please do|sounds good|that works|"
    r"that's fine|right|perfect|absolutely|definitely|agree|great|fine)\b"
)
_MEANINGS = (
    "cancel delete remove terminate close",
    "return refund reimburse money",
    "exchange replace swap change switch",
    "book reserve buy purchase order create fly new trip flight",
    "send email message notify compensate compensation refund certificate complain",
    "update modify change edit set upgrade downgrade add move switch correct fix push shift make put remove",
    "pay transfer charge wire payment",
)
_VERBS = tuple(frozenset(meaning.split()) for meaning in _MEANINGS)
_LONG = 60


def argument_unseen(evidence: Evidence) -> Finding | None:
    """Ids, names and words in the arguments that neither the user nor any observation spoke of."""
    unseen = [(name, value) for name, value in _values(evidence) if not _is_figure(value) and _unknown(value, evidence)]
    if not unseen:
        return None
    told = ", ".join(f'{name} "{value[:60]}"' for name, value in unseen[:3])
    return Finding(1 - 0.5 ** len(unseen), f"Nobody named and nothing showed what the call passes as {told}.")


def figure_unseen(evidence: Evidence) -> Finding | None:
    """Figures in the arguments that neither the user nor any observation showed."""
    unseen = [(name, value) for name, value in _values(evidence) if _is_figure(value) and _unknown(value, evidence)]
    if not unseen:
        return None
    told = ", ".join(f"{name} {value}" for name, value in unseen[:3])
    return Finding(1 - 0.5 ** len(unseen), f"The agent worked out for itself, or made up: {told}.")


def id_differs(evidence: Evidence) -> Finding | None:
    """An id of the same make as one in the instruction, but another one."""
    stated = {_make(str(term.value)): str(term.value) for term in evidence.terms if term.kind is TermKind.ID}
    all_stated = {str(term.value) for term in evidence.terms if term.kind is TermKind.ID}
    for name, value in _values(evidence):
        text = lowered(value)
        if _is_id(text) and text not in all_stated and _make(text) in stated:
            return Finding(1.0, f'The user named "{stated[_make(text)]}"; the call passes {name} "{value[:60]}".')
    return None


def verb_not_asked(evidence: Evidence) -> Finding | None:
    """A tool that does something the instruction does not speak of."""
    for call in evidence.calls:
        parts = call.name.lower().split("_")
        if len(parts) < 2:
            continue
        meanings = [group for group in _VERBS if parts[0] in group]
        if meanings and not any(_spoken(word, evidence) for group in meanings for word in group):
            return Finding(
                1.0, f'The instruction does not ask to {parts[0]}; the agent is about to call "{call.name}".'
            )
    return None


def unconfirmed(evidence: Evidence) -> Finding | None:
    """A write without the user's yes, where the opening demands one."""
    if not _has_arguments(evidence) or not _CONFIRM.search(lowered(evidence.checkpoint.opening)):
        return None
    said = [lowered(act.observation) for act in evidence.acts if act.talks]
    if said and _ASSENT.search(said[-1]):
        return None
    heard = "the user's last words are no yes" if said else "the user was not asked"
    return Finding(1.0, f"A confirmation by the user is required before this; {heard}.")


def many_arguments(evidence: Evidence) -> Finding | None:
    """A call with so many arguments that one is easily wrong."""
    count = len(_values(evidence))
    if count <= 6:
        return None
    return Finding(min(1.0, (count - 6) / 12), f"The call passes {count} values; each is a chance for a mistake.")


def conditions(evidence: Evidence) -> Finding | None:
    """Exceptions and conditions in the instruction, which are easily overlooked."""
    if not _has_arguments(evidence):
        return None
    stated = [term.text for term in evidence.terms if term.kind is TermKind.NEGATION]
    stated = list(dict.fromkeys(stated + re.findall(r"\b(?:if|unless|only) \w+(?: \w+){0,2}", evidence.instruction)))
    if len(stated) < 2:
        return None
    told = quoted(stated)
    return Finding(min(1.0, (len(stated) - 1) / 4), f"The task has exceptions or conditions to check: {told}.")


def long_task(evidence: Evidence) -> Finding | None:
    """A task that states so much that something is easily left out."""
    count = len(evidence.instruction.split())
    if not _has_arguments(evidence) or count <= 60:
        return None
    return Finding(min(1.0, (count - 60) / 80), f"The task is long ({count} words); is every part of it done?")


def _spoken(verb: str, evidence: Evidence) -> bool:
    """Whether the instruction has the verb in any form: `cancel`, `cancelled`, `cancellation`."""
    return verb in evidence.asked_words or (
        len(verb) > 3 and any(word.startswith(verb.removesuffix("e")) for word in evidence.asked_words)
    )


def _values(evidence: Evidence) -> list[tuple[str, str]]:
    if not _has_arguments(evidence):
        return []
    found = [pair for call in evidence.calls for pair in leaves(call.arguments)]
    return [(name, value) for name, value in found if 1 < len(value.strip()) <= _LONG or value.isdigit()][:200]


def _has_arguments(evidence: Evidence) -> bool:
    return evidence.checkpoint.action.rstrip().endswith(")")


def _unknown(value: str, evidence: Evidence) -> bool:
    text = lowered(value).strip()
    if text in evidence.known or text.lstrip("#") in evidence.known:
        return False
    if _is_figure(value):
        return True
    return any(word not in evidence.known for word in re.findall(r"[^\W_]+", text) if word not in FUNCTION_WORDS)


def _is_figure(value: str) -> bool:
    return bool(re.fullmatch(r"-?[\d,]{1,9}(?:\.\d+)?", value))


def _is_id(text: str) -> bool:
    return len(text) >= 5 and any(c.isdigit() for c in text) and not _is_figure(text) and " " not in text


def _make(text: str) -> str:
    return re.sub(r"\d", "0", text) if "_" not in text else text.split("_")[0]


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
