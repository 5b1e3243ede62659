"""Long texts of a presentation: how much of each is shown at first, in which blocks the rest, and what was seen.

Pages and terminal cut alike. The pending action is no such text: it is shown whole, or its approval is off.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Iterator

from console.language import gettext_noop
from console.review.presentation import Presentation

_TASK, _BELIEF, _OPENING = gettext_noop("task"), gettext_noop("belief"), gettext_noop("opening")
_ACTION, _WORDS = gettext_noop("action"), gettext_noop("words")
_THOUGHT, _OBSERVATION = gettext_noop("thought"), gettext_noop("observation")

CAP = 20_000
"""Characters of a text that are shown at first."""
_BACK = 1_000
BLOCK = 8_000
ACTION_CHARS, ACTION_LINES = 1_500, 15
"""A pending action of more is shown in part until its reviewer asks for the whole."""


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


def blocks(text: str, size: int = BLOCK) -> Iterator[str]:
    """The text in pieces of at most that many characters, cut after lines where there are any."""
    at = 0
    while at < len(text):
        end = at + len(capped(text[at : at + size + 1], size))
        yield text[at:end]
        at = end


def is_clipped(action: str) -> bool:
    """Whether a pending action is shown in part at first."""
    return len(action) > ACTION_CHARS or action.count("\n") >= ACTION_LINES


def cut_texts(presentation: Presentation) -> Iterator[tuple[str, str]]:
    """Those texts that are cut at first, each with its name, such as `step 3, observation`, in the order of reading."""
    return ((name, text) for name, text in _texts(presentation) if len(text) > CAP)


def seen_digest(presentation: Presentation, opened: Collection[str] = (), *, action_whole: bool = True) -> str:
    """`all:` or `part:`, as nothing or something was cut, and the SHA-256 (hex) of the text that was shown.

    `opened` are the names of the cut texts that were shown whole.
    """
    read, whole = hashlib.sha256(), action_whole
    for name, text in [("action", presentation.action if action_whole else ""), *_beside(presentation)]:
        _add(read, name, text)
    for name, text in _texts(presentation):
        shown = text if name in opened else capped(text)
        whole = whole and len(shown) == len(text)
        _add(read, name, shown)
    return f"{'all' if whole else 'part'}:{read.hexdigest()}"


def _add(read: hashlib._Hash, *texts: str) -> None:
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        read.update(f"{len(encoded)}:".encode() + encoded)


def _texts(presentation: Presentation) -> Iterator[tuple[str, str]]:
    yield _TASK, presentation.task
    if presentation.belief is not None:
        yield _BELIEF, presentation.belief
    yield _OPENING, presentation.opening
    for step in presentation.steps:
        pending = step.critical and step.action == presentation.action
        named = {_WORDS: step.spoken, _THOUGHT: step.thought, _OBSERVATION: step.observation}
        for name, text in ({} if pending else {_ACTION: step.action} | named).items():
            if text:
                yield f"step {step.number}, {name}", text
        if pending and step.thought:
            yield f"step {step.number}, {_THOUGHT}", step.thought


def _beside(presentation: Presentation) -> Iterator[tuple[str, str]]:
    """What stands beside the record: the brief, the flag, the outcome."""
    yield from presentation.brief
    yield from presentation.outcome
    if presentation.flag:
        yield presentation.flag.detector or "", presentation.flag.margin
        yield from (("reason", reason) for reason in presentation.flag.reasons)
