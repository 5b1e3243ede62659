"""Long texts of a presentation: how much of each text is initially shown, and how the rest is divided into blocks.

Pages and the terminal truncate texts in the same way. The pending action is never truncated this way, because approval
requires the whole action. `seen_digest` records which text was shown.
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
"""The number of characters of a text that are shown at first."""
_BACK = 1_000
BLOCK = 8_000
ACTION_CHARS, ACTION_LINES = 1_500, 15
"""A longer pending action is shown in part until its reviewer requests the whole."""


def cut_text(text: str, limit: int = CAP) -> str:
    """Cut the text to `limit` characters, preferably at the end of a line and never within a character."""
    if len(text) <= limit:
        return text
    end = text.rfind("\n", max(limit - _BACK, 1), limit) + 1 or limit
    # A half of a surrogate pair, or a mark that belongs to the character before it, does not begin the rest.
    while end > max(limit - _BACK, 1) and _continues(text[end]):
        end -= 1
    return text[:end]


def _continues(character: str) -> bool:
    return "\udc00" <= character <= "\udfff" or character == "\u200d" or unicodedata.combining(character) > 0


def describe_rest(text: str, shown: str) -> str:
    """Describe how many characters of the text are not shown; empty if the whole text is shown."""
    left = len(text) - len(shown)
    return f"... {left:,} more characters" if left else ""


def split_blocks(text: str, size: int = BLOCK) -> Iterator[str]:
    """Split the text into blocks of at most `size` characters, preferably at the ends of lines."""
    at = 0
    while at < len(text):
        end = at + len(cut_text(text[at : at + size + 1], size))
        yield text[at:end]
        at = end


def is_clipped(action: str) -> bool:
    """Return whether a pending action is initially shown truncated."""
    return len(action) > ACTION_CHARS or action.count("\n") >= ACTION_LINES


def list_cut_texts(presentation: Presentation) -> Iterator[tuple[str, str]]:
    """Yield the name (such as `step 3, observation`) and content of each text that is initially truncated, in order."""
    return ((name, text) for name, text in _texts(presentation) if len(text) > CAP)


def seen_digest(presentation: Presentation, opened: Collection[str] = (), *, action_whole: bool = True) -> str:
    """Return the SHA-256 (hex) of the text that was shown, prefixed by `all:`, or by `part:` if any text was truncated.

    `opened` holds the names of the long texts that were shown in full.
    """
    read, whole = hashlib.sha256(), action_whole
    for name, text in [("action", presentation.action if action_whole else ""), *_beside(presentation)]:
        _add(read, name, text)
    for name, text in _texts(presentation):
        shown = text if name in opened else cut_text(text)
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
    """Yield the texts shown in addition to the record: the brief, the outcome and the flag."""
    yield from presentation.brief
    yield from presentation.outcome
    if presentation.flag:
        yield presentation.flag.detector or "", presentation.flag.margin
        yield from (("reason", reason) for reason in presentation.flag.reasons)
