"""Untrusted text as HTML: escaped, hidden characters made visible, terms marked, long texts folded.

Every function returns one line of HTML without a raw line break, because Streamlit dedents the lines of what it gets
and would change the text of a record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from console.language import _, digits, ngettext
from console.review.long_texts import CAP, blocks, capped
from console.review.plain_text import ODD, code_point
from console.review.presentation import is_long, preview, spans
from console.trajectory.terms import Term

_NAME = re.compile(r"`([^`<>]{1,80})`")
# Two noncharacters of Unicode, which no interchanged text holds, so that a text is escaped once and not piece by piece.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"


def plain(text: str) -> str:
    """The text as HTML that can only ever be text."""
    escaped = escape(text.replace("\r\n", "\n"))
    return ODD.sub(lambda odd: f'<span class="ia-odd">{code_point(odd[0])}</span>', escaped).replace("\n", "&#10;")


def with_names(sentence: str) -> str:
    """The sentence of a detector with the names that it sets in backquotes in code; their text stays text."""
    return _NAME.sub(r"<code>\1</code>", plain(sentence))


def marked(text: str, stated: Sequence[Term]) -> str:
    """The text with each occurrence of a term inside <mark>; a very long one in part, with words that say so."""
    if len(text) > CAP:
        return marked(capped(text), stated) + all_of(text)
    if _OPEN in text or _CLOSE in text:
        return plain(text)
    parts: list[str] = []
    end = 0
    for start, stop in spans(text, stated):
        parts += [text[end:start], _OPEN, text[start:stop], _CLOSE]
        end = stop
    drawn = plain("".join([*parts, text[end:]]))
    return drawn.replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>") if parts else drawn


def all_of(text: str) -> str:
    """The words beneath a text that is shown in part."""
    words = _("all {count} characters: under “Whole texts”, beneath the steps").format(count=digits(len(text)))
    return f'<span class="ia-all">{plain(words)}</span>'


def in_blocks(text: str) -> str:
    """The whole text as elements of their own, so that what is far outside the window costs nothing."""
    return "".join(f'<div class="ia-part">{plain(part)}</div>' for part in blocks(text))


def folded(text: str, stated: Sequence[Term], css: str) -> str:
    """A short text as it is; a long one folded behind its first words."""
    if not is_long(text):
        return f'<pre class="{css}">{marked(text, stated)}</pre>'
    return fold(marked(preview(text), stated), size(text), text, stated, f"ia-cut {css}")


def fold(summary: str, note: str, text: str, stated: Sequence[Term], css: str) -> str:
    """A <details> with ready HTML as its summary, a note that the style sheet writes, and the whole text inside."""
    noted = f' data-note="{plain(note)}"' if note else ""
    return f'<details class="ia-fold {css}"><summary{noted}>{summary}</summary>{marked(text, stated)}</details>'


def size(text: str) -> str:
    """How much is folded away, in words."""
    lines = text.count("\n") + 1
    if lines > 1:
        return ngettext("{count} line", "{count} lines", lines).format(count=digits(lines))
    return ngettext("{count} character", "{count} characters", len(text)).format(count=digits(len(text)))
