"""A question is about to be answered: does anything that was read support the answer?"""

from __future__ import annotations

import re

from console.detection.detectors.rules.evidence import Evidence, Finding, quoted
from console.trajectory.terms import COUNTS, TermKind, lowered, mentions, words

_ANSWERING = frozenset({"finish", "answer", "final_answer", "submit", "submit_answer", "conclude"})
_WANTS_FIGURE = re.compile(r"\b(?:what year|which year|when (?:was|did|is|were)|how (?:many|much|old|tall|long))\b")
_CHOICE = re.compile(r"\b(?:or|which of|who of|between)\b")
_UNSURE = re.compile(
    r"\b(?:not (?:clear|sure|certain|mention\w*|specif\w*|found|stated|listed)|unclear|unknown|unable|"
    r"cannot|can't|couldn't|could not|assum\w+|guess\w*|probably|perhaps|presumably|no information|"
    r"does not (?:say|mention|provide|state))\b",
    re.IGNORECASE,
)
_NO_ANSWER = frozenset({"", "unknown", "n/a", "none", "not found", "no answer", "unclear"})
_NUMBER_WORDS = frozenset((*COUNTS, "hundred", "thousand", "million"))
_NEAR, _TOP = 250, 300


def answer(evidence: Evidence) -> str | None:
    """The answer that the critical action gives, or None where it gives none."""
    for call in evidence.calls:
        if call.name.lower() in _ANSWERING:
            return str(next(iter(call.arguments.values()), "")).strip()
    return None


def answer_unseen(evidence: Evidence) -> Finding | None:
    """An answer, or words of it, that no page said."""
    given = answer(evidence)
    if given is None or _is_yes_or_no(given) or lowered(given) in evidence.read:
        return None
    known = set(words(evidence.instruction)) | set(words(evidence.read))
    unseen = [word for word in words(given) if word not in known]
    if not unseen and given:
        return Finding(0.5, f"No page says {quoted([given])} in these words; only its single words were read.")
    return Finding(1.0, f"The answer has words that no page showed: {quoted(unseen or [given])}.")


def answer_not_last_read(evidence: Evidence) -> Finding | None:
    """An answer that is not on the page read last, or only far down on it."""
    given = answer(evidence)
    if not given or not evidence.acts or _is_yes_or_no(given) or _is_choice(given, evidence):
        return None
    at = lowered(evidence.acts[-1].observation).find(lowered(given))
    if 0 <= at < _TOP:
        return None
    if at > 0:
        return Finding(0.5, f"The page read last says {quoted([given])} only far down.")
    return Finding(1.0, f"The page read last does not say {quoted([given])}.")


def answer_out_of_context(evidence: Evidence) -> Finding | None:
    """An answer that was read, but never near the words of the question."""
    given = answer(evidence)
    if not given or not evidence.asked_words or _is_yes_or_no(given) or _is_choice(given, evidence):
        return None
    places = [match.start() for match in re.finditer(re.escape(lowered(given)), evidence.read)][:20]
    asked = evidence.asked_words - set(words(given))
    near = max((_shared(evidence.read[max(0, at - _NEAR) : at + _NEAR], asked) for at in places), default=1.0)
    if near >= 0.5:
        return None
    return Finding(1.0 - 2 * near, f"Where {quoted([given])} was read, little of the question stood nearby.")


def answer_several(evidence: Evidence) -> Finding | None:
    """An answer that lists several things."""
    given = answer(evidence)
    if not given or not re.search(r",\s|\band\b|\bor\b", lowered(given)) or lowered(given) in evidence.instruction:
        return None
    return Finding(1.0, f"The answer names several things: {quoted([given])}.")


def answer_wordy(evidence: Evidence) -> Finding | None:
    """A long answer where a name, a figure or a few words would do."""
    given = answer(evidence)
    count = len(words(given)) if given else 0
    if count <= 2:
        return None
    return Finding(min(1.0, (count - 2) / 4), f"The answer is long ({count} words); such answers often say too much.")


def answer_of_wrong_form(evidence: Evidence) -> Finding | None:
    """An answer without a figure to a question for a year or a number, or no answer at all."""
    given = answer(evidence)
    if given is None:
        return None
    if lowered(given) in _NO_ANSWER:
        return Finding(1.0, f"The agent gives up: its answer is {quoted([given])}.")
    wants = _WANTS_FIGURE.search(evidence.instruction)
    if not wants or re.search(r"\d", given) or _NUMBER_WORDS & set(words(given)):
        return None
    return Finding(1.0, f'The question asks "{wants[0]}"; the answer {quoted([given])} has no figure.')


def subject_unread(evidence: Evidence) -> Finding | None:
    """Names in the question that no page ever spoke of."""
    if answer(evidence) is None:
        return None
    names = [term for term in evidence.terms if term.kind is TermKind.NAME]
    unread = [term.text for term in names if not mentions(term, evidence.seen)]
    if not unread:
        return None
    return Finding(
        len(unread) / len(names), f"The question names {quoted(unread)}; nothing that was read speaks of it."
    )


def unsure(evidence: Evidence) -> Finding | None:
    """The agent's own doubt, in its last thought."""
    doubt = _UNSURE.search(evidence.thought[:5_000])
    return Finding(1.0, f'The agent itself is not sure: "{doubt[0]}".') if doubt else None


def many_searches(evidence: Evidence) -> Finding | None:
    """An answer after more searches than one or two facts need."""
    if answer(evidence) is None or len(evidence.acts) <= 2:
        return None
    count = len(evidence.acts)
    return Finding(min(1.0, (count - 2) / 4), f"The answer came only after {count} searches.")


def _shared(text: str, asked: frozenset[str]) -> float:
    return len(asked & set(words(text))) / len(asked) if asked else 1.0


def _is_choice(given: str, evidence: Evidence) -> bool:
    """Whether the question itself offers the answer, as in `which came first, A or B`."""
    return lowered(given) in evidence.instruction and bool(_CHOICE.search(evidence.instruction))


def _is_yes_or_no(given: str) -> bool:
    return lowered(given).strip(" .") in ("yes", "no")
