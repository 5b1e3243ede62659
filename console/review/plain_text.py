"""The texts of a presentation: cut to the length shown at first, escaped, and laid out for the terminal.

Long texts are truncated in the same way on pages and in the terminal. A pending action has its own limit
(`is_clipped`), because approval requires the whole action. `digest_shown_text` identifies the text that was shown.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Iterator

from console.language import gettext_noop
from console.review.presentation import (
    LAST_SEEN_CHARS,
    PREVIEW_CHARS,
    Block,
    Flag,
    Presentation,
    ShownStep,
    is_long,
    preview,
    record_presentation,
)
from console.trajectory import Trajectory
from console.trajectory.requirements.sentences import (
    count_lines,
    explain_dropped,
    explain_line,
    explain_table,
    explain_unchecked,
    name_status,
)

_TASK, _BELIEF, _OPENING = gettext_noop("task"), gettext_noop("belief"), gettext_noop("opening")
_ACTION, _WORDS = gettext_noop("action"), gettext_noop("words")
_THOUGHT, _OBSERVATION = gettext_noop("thought"), gettext_noop("observation")

CAP = 20_000
"""The number of characters of a text that are shown at first."""
_BACK = 1_000
BLOCK = 8_000
ACTION_CHARS, ACTION_LINES = 1_500, 15
"""The characters and lines above which only a part of a pending action is shown at first."""


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
    """Return a text with the number of characters that are not shown; "" if the whole text is shown."""
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
    return ((name, text) for name, text in _long_texts(presentation) if len(text) > CAP)


def digest_shown_text(presentation: Presentation, opened: Collection[str] = (), *, action_whole: bool = True) -> str:
    """Return the SHA-256 (hex) of the text that was shown, prefixed by `all:`, or by `part:` if any text was truncated.

    `opened` holds the names of the long texts that were shown in full.
    """
    read, whole = hashlib.sha256(), action_whole
    for name, text in [("action", presentation.action if action_whole else ""), *_beside(presentation)]:
        _add(read, name, text)
    for name, text in _long_texts(presentation):
        shown = text if name in opened else cut_text(text)
        whole = whole and len(shown) == len(text)
        _add(read, name, shown)
    return f"{'all' if whole else 'part'}:{read.hexdigest()}"


def _add(read: hashlib._Hash, *texts: str) -> None:
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        read.update(f"{len(encoded)}:".encode() + encoded)


def _long_texts(presentation: Presentation) -> Iterator[tuple[str, str]]:
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
    yield from (("requirement", sentence) for sentence in list_sentences(presentation))


def list_own_reasons(presentation: Presentation) -> tuple[str, ...]:
    """Return the reasons of the flag that the requirement table does not give."""
    flag, table = presentation.flag, presentation.requirements
    pending = presentation.steps[-1].number if presentation.steps else 1
    told = explain_table(table, pending).splitlines() if table else ()
    return tuple(reason for reason in flag.reasons if reason not in told) if flag else ()


HIDDEN_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e01ef]"
)
"""Characters that hide or reorder text: controls, bidirectional overrides, invisible letters, lone surrogates, tags."""

_WIDTH = 110
_INDENT = " " * 4


def code_point(character: str) -> str:
    """Return the character's code point, such as `U+202E`."""
    return f"U+{ord(character):04X}"


def escape_hidden(text: str) -> str:
    """Replace each control, invisible or reordering character with its code point (`<U+202E>`), and CRLF with LF."""
    return HIDDEN_CHARACTERS.sub(lambda odd: f"<{code_point(odd[0])}>", text.replace("\r\n", "\n"))


def format_record(trajectory: Trajectory, *, full: bool = False) -> str:
    """Format a whole record for the terminal, including outcome, gold label and the steps after the critical action."""
    return format_presentation(record_presentation(trajectory), full=full)


def format_presentation(presentation: Presentation, *, full: bool = False) -> str:
    """Format the presentation as plain text without terminal control characters."""
    return "\n".join([*_head(presentation), "", *_timeline(presentation, full)]) + "\n"


def _head(presentation: Presentation) -> Iterator[str]:
    yield from _block(Block.ASKED, _cut(presentation.task))
    if presentation.terms and presentation.requirements is None:
        yield from _wrapped("found: " + (" · ".join(term.text for term in presentation.found) or "nothing"))
        if presentation.offered:
            yield from _wrapped("offered, not chosen: " + " · ".join(term.text for term in presentation.offered))
        yield from _wrapped("not found: " + (" · ".join(term.text for term in presentation.missing) or "nothing"))
    if presentation.brief:
        yield from _block(Block.BRIEF, "\n".join(f"{name}: {value}" for name, value in presentation.brief))
    stamp = f"  [{presentation.stamp.upper()}]" if presentation.stamp else ""
    yield from _block(presentation.heading, presentation.action + stamp)
    if presentation.table:
        for row in presentation.table.rows:
            cells = zip(presentation.table.columns[1:], row[1:], strict=True)
            yield from _wrapped(f"{row[0]}: " + "; ".join(f"{name} {cell}" for name, cell in cells))
    yield from _requirements(presentation)
    if presentation.last_seen:
        yield from _block(Block.LAST_SEEN, "\n".join(_seen(presentation)))
    if presentation.belief is not None:
        yield from _block(Block.BELIEVES, _cut(presentation.belief))
        if presentation.unbelieved:
            yield from _wrapped("not in it: " + " · ".join(term.text for term in presentation.unbelieved))
    if presentation.appeals:
        yield from _block(Block.APPEALS, "\n".join(f"step {number}: {text}" for number, text in presentation.appeals))
    if presentation.flag:
        yield from _flag(presentation.flag, list_own_reasons(presentation))
        for other in presentation.flag.also:
            yield from _block(Block.ALSO, f"{other.detector}  {other.margin}")
            for reason in other.reasons:
                yield from _wrapped(reason)
    if presentation.outcome:
        yield from _block(Block.OUTCOME, "\n".join(f"{name}: {value}" for name, value in presentation.outcome))


def _seen(presentation: Presentation) -> Iterator[str]:
    for number, text in presentation.last_seen:
        who = "the customer said, " if number in presentation.customer else ""
        yield f"{who}step {number}: {preview(text, LAST_SEEN_CHARS)}"


def _requirements(presentation: Presentation) -> Iterator[str]:
    table = presentation.requirements
    if table is None:
        return
    yield from _block(Block.REQUIREMENTS, count_lines(table))
    for sentence in list_sentences(presentation):
        yield from _wrapped(sentence)


def list_sentences(presentation: Presentation) -> list[str]:
    """Return the requirement table as English sentences: each line with its status, then the unchecked parts."""
    table = presentation.requirements
    if table is None:
        return []
    pending = presentation.steps[-1].number if presentation.steps else 1
    told = (f"{name_status(line.standing)}: {explain_line(line, pending)}" for line in table.lines)
    return [*explain_unchecked(table), *told, *explain_dropped(table)]


def _flag(flag: Flag, reasons: Iterable[str]) -> Iterator[str]:
    yield from _block(flag.heading, "  ".join(filter(None, [flag.detector, flag.margin])))
    for reason in reasons:
        yield from _wrapped(reason)


def _timeline(presentation: Presentation, full: bool) -> Iterator[str]:
    if presentation.opening:
        yield from _block(Block.OPENING, _shown(presentation.opening, full))
    yield Block.STEPS.upper()
    after = False
    for step in presentation.steps:
        if step.after and not after:
            after = True
            yield f"  ---- {Block.AFTER.upper()} ----"
        yield from _step(step, full)


def _step(step: ShownStep, full: bool) -> Iterator[str]:
    stamp = f"  [{step.stamp.upper()}]" if step.stamp else ""
    act = f'"{_cut(step.spoken)}"' if step.spoken else step.action if step.critical else _cut(step.action)
    who = f"{step.speaker}: " if step.speaker else ""
    lines = escape_hidden(who + act + stamp).split("\n")
    yield f"{step.number:>3} {'!' if step.critical else ' '}{lines[0]}"
    yield from (f"     {line}" for line in lines[1:])
    for name, text in (("thought", step.thought), ("error" if step.failed else "saw", step.observation)):
        if text:
            yield from _wrapped(f"{name}: {_shown(text, full or not is_long(text))}", "     ")


def _shown(text: str, full: bool) -> str:
    """Return the whole text, or a one-line preview with the number of omitted characters."""
    if full:
        return _cut(text)
    shown = cut_text(text, PREVIEW_CHARS)
    return f"{preview(shown)} … {describe_rest(text, shown)}".removesuffix(" … ")


def _cut(text: str) -> str:
    shown = cut_text(text)
    return f"{shown} {describe_rest(text, shown)}".rstrip() if len(shown) < len(text) else text


def _block(heading: Block, text: str) -> Iterator[str]:
    yield heading.upper()
    yield from _wrapped(text)


def _wrapped(text: str, indent: str = _INDENT) -> Iterator[str]:
    wrapper = textwrap.TextWrapper(_WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    for line in escape_hidden(text).split("\n"):
        # Wrapping one long word takes time by the square of its length.
        yield from [row for part in split_blocks(line) for row in wrapper.wrap(part)] or [""]
