"""The texts of a presentation: previews of long ones, the terms that occur in them, and what was seen last."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from console.trajectory import Step
from console.trajectory.checkpoints import is_thought
from console.trajectory.terms import Term, TermKind, lowered, mentions, occurrences

LONG_CHARS = 300
LONG_LINES = 3
PREVIEW_CHARS = 160
CAP = 20_000
"""Characters of a text that are shown at first."""
_BACK = 1_000
_LAST_SEEN_CHARS = 420
_TELLING_CHARS = 80
# Where everything is marked, nothing is; and each mark is one more element to swap when the next item comes.
_MARKS, _WORD_MARKS = 3, 1
WORDS = frozenset({TermKind.WORD})
"""What a text may well say in other words, so that its absence tells little."""
LIMITS = frozenset({TermKind.PRICE_MAX, TermKind.PRICE_MIN, TermKind.NEGATION})
"""What a text keeps to without saying it, so neither found nor missing."""


def preview(text: str, limit: int = PREVIEW_CHARS) -> str:
    """The text on one line, cut at `limit` characters."""
    flat = " ".join(text[: limit * 4].split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1].rstrip() + "…"


def capped(text: str, limit: int = CAP) -> str:
    """The text up to `limit` characters, ended after a line where one ends shortly before, never within a character."""
    if len(text) <= limit:
        return text
    end = text.rfind("\n", max(limit - _BACK, 1), limit) + 1 or limit
    # A half of a surrogate pair, or a mark that belongs to the character before it, does not begin the rest.
    while end > max(limit - _BACK, 1) and _continues(text[end]):
        end -= 1
    return text[:end]


def _continues(character: str) -> bool:
    return "\udc00" <= character <= "\udfff" or character == "\u200d" or unicodedata.combining(character) > 0


def left_out(text: str, shown: str) -> str:
    """How much of the text is not in what is shown of it, in words; empty where nothing is."""
    left = len(text) - len(shown)
    return f"... {left:,} more characters" if left else ""


def is_long(text: str) -> bool:
    """Whether a text is folded behind its preview."""
    return len(text) > LONG_CHARS or text.count("\n") >= LONG_LINES


def spans(text: str, stated: Sequence[Term]) -> list[tuple[int, int]]:
    """Where the terms occur in the text, merged and in order, as [start, end): the first few of each."""
    matches = sorted(span for term in stated for span in occurrences(term, text)[: _most(term)])
    merged: list[tuple[int, int]] = []
    for start, end in matches:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def _most(term: Term) -> int:
    return _WORD_MARKS if term.kind in WORDS else _MARKS


def last_seen(steps: Sequence[Step]) -> tuple[tuple[int, str], ...]:
    """Number and beginning of the last observation; where that is too short to tell, also of the last telling one."""
    seen = [
        (number, step.observation)
        for number, step in enumerate(steps, start=1)
        if step.observation.strip() and not is_thought(step.action)
    ]
    shown = seen[-1:]
    if shown and len(shown[0][1]) < _TELLING_CHARS:
        shown += [entry for entry in seen if len(entry[1]) >= _TELLING_CHARS][-1:]
    return tuple((number, preview(text, _LAST_SEEN_CHARS)) for number, text in shown)


def evidence(steps: Sequence[Step], action: str, instruction: str) -> str:
    """What the agent saw, and the action; its own queries and pages that repeat the task would make all look found."""
    text = "\n".join([*(step.observation for step in steps if not is_thought(step.action)), action])
    return text.replace(instruction.strip(), " ") if instruction.strip() else text


def occurring(stated: Sequence[Term], texts: Iterable[str]) -> tuple[Term, ...]:
    """The terms that occur anywhere in the texts."""
    lower = lowered("\n".join(texts))
    return tuple(term for term in stated if mentions(term, lower))


def compare(stated: Sequence[Term], text: str) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The terms that the text speaks of, and those that it does not, the telling ones first."""
    lower = lowered(text)
    once = {term.text.lower(): term for term in reversed(stated) if term.kind not in LIMITS}
    mentioned = {term: mentions(term, lower) for term in reversed(once.values())}
    order = sorted(mentioned, key=lambda term: term.kind in WORDS)
    return tuple(term for term in order if mentioned[term]), tuple(term for term in order if not mentioned[term])
