"""Untrusted text as HTML: escaped, with hidden characters made visible, terms marked and long texts folded.

Every function returns HTML without a line break, because Streamlit dedents lines and would change the text of a record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

import streamlit as st

from console.language import _, digits, ngettext
from console.review.plain_text import CAP, HIDDEN_CHARACTERS, code_point, cut_text, split_blocks
from console.review.presentation import find_spans, is_long, preview
from console.trajectory.terms import Term

_NAME = re.compile(r"`([^`<>]{1,200})`")
_COMMAND = re.compile(r"(?:(?<=: )|(?<=\())inferact [a-z][^()`\n]*?(?=\)|\. [A-Z]|\.?$)", re.MULTILINE)
_KEYS = re.compile(r" \((?:[A-Z]|\?[^)]*|(?:Ctrl|Strg)[^)]*)\)")
# Two Unicode noncharacters, which real texts do not contain, mark terms, so that a text is escaped only once.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"


def show_html(html: str) -> None:
    """Draw the HTML; draw nothing if the HTML is empty, because `st.html` would raise an error."""
    if html.strip():
        st.html(html)


@cache
def style_sheets(*names: str) -> str:
    """Return these style sheets as a <style> element."""
    folder = files(__package__) / "css"
    return f"<style>{''.join((folder / f'{name}.css').read_text('utf-8') for name in names)}</style>"


def plain(text: str) -> str:
    """Escape the text for HTML."""
    escaped = escape(text.replace("\r\n", "\n"))
    return HIDDEN_CHARACTERS.sub(lambda odd: f'<span class="ia-odd">{code_point(odd[0])}</span>', escaped).replace(
        "\n", "&#10;"
    )


def name_keys(sentence: str) -> str:
    """Escape a guide's sentence; devices without a keyboard hide the names of keys, which are in round brackets."""
    return _KEYS.sub(r'<span class="ia-by-key">\g<0></span>', plain(sentence))


def quote_commands(sentence: str) -> str:
    """Put each command of a message into backquotes, as Markdown; commands follow a colon or are in brackets."""
    return _COMMAND.sub(r"`\g<0>`", sentence)


def mark_names(sentence: str) -> str:
    """Escape a sentence; mark its commands, and the names in backquotes, as <code>."""
    return _NAME.sub(r"<code>\1</code>", plain(quote_commands(sentence)))


def mark_terms(text: str, stated: Sequence[Term]) -> str:
    """Escape the text and mark each occurrence of a term; shorten a very long text and add a note."""
    if len(text) > CAP:
        return mark_terms(cut_text(text), stated) + shorten_note(text)
    if _OPEN in text or _CLOSE in text:
        return plain(text)
    parts: list[str] = []
    end = 0
    for start, stop in find_spans(text, stated):
        parts += [text[end:start], _OPEN, text[start:stop], _CLOSE]
        end = stop
    drawn = plain("".join([*parts, text[end:]]))
    return drawn.replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>") if parts else drawn


def shorten_note(text: str) -> str:
    """Return the note below a shortened text."""
    words = _("“Whole texts” below the steps shows all {count} characters.").format(count=digits(len(text)))
    return f'<span class="ia-all">{plain(words)}</span>'


def blocks_html(text: str) -> str:
    """Return the whole text in separate elements, so that the browser does not render elements outside the window."""
    return "".join(f'<div class="ia-part">{plain(part)}</div>' for part in split_blocks(text))


def fold_long_text(text: str, stated: Sequence[Term], css: str) -> str:
    """Return the text as HTML; fold a long text behind its beginning."""
    if not is_long(text):
        return f'<pre class="{css}">{mark_terms(text, stated)}</pre>'
    return fold(mark_terms(preview(text), stated), size(text), text, stated, f"ia-cut {css}")


def fold(summary: str, note: str, text: str, stated: Sequence[Term], css: str) -> str:
    """Return a <details> element with this HTML and the note as summary, and the whole text inside."""
    noted = f' data-note="{plain(note)}"' if note else ""
    return f'<details class="ia-fold {css}"><summary{noted}>{summary}</summary>{mark_terms(text, stated)}</details>'


def size(text: str) -> str:
    """Return the size of a text as a phrase: its number of lines, or its characters if it is a single line."""
    lines = text.count("\n") + 1
    if lines > 1:
        return ngettext("{count} line", "{count} lines", lines).format(count=digits(lines))
    return ngettext("{count} character", "{count} characters", len(text)).format(count=digits(len(text)))
