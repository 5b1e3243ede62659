"""Changes as HTML: the arguments of an edit, the texts of a file edit, and patches as diffs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Any

from console.language import _, ngettext
from console.review.edit_fields import list_changed_arguments, word_changes
from console.review.plain_text import CAP
from console.web.widgets.markup import plain

_PAIRS = (
    ("old_str", "new_str"),
    ("old_string", "new_string"),
    ("old_text", "new_text"),
    ("old_content", "new_content"),
    ("old", "new"),
    ("search", "replace"),
)
"""The arguments of coding tools for the old and the new text."""

_PATCH = re.compile(r"^(?:diff --git |\*\*\* Begin Patch|--- \S.*\n\+\+\+ |@@ )", re.MULTILINE)
_FEW_LINES = 12
_SIGNS = {"kept": "  ", "removed": "− ", "added": "+ "}

Lines = Sequence[tuple[str, str]]
"""Pairs of `kept`, `removed` or `added` and a line, in reading order."""


def arguments_with_changes(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield (name, HTML, value) for each argument; the HTML is a diff for a patch or a file edit, else empty.

    The old and the new text of a file edit are two arguments; yield them as one entry under both names.
    """
    pair = next((pair for pair in _PAIRS if _is_edit(*(arguments.get(name) for name in pair))), None)
    for name, value in arguments.items():
        if pair and name == pair[0]:
            lines = compare_lines(value.splitlines(), arguments[pair[1]].splitlines())
            yield " → ".join(pair), diff_html(lines), value
        elif pair and name == pair[1]:
            continue
        elif isinstance(value, str) and len(value) <= CAP and _PATCH.search(value):
            yield name, diff_html(patch_lines(value)), value
        else:
            yield name, "", value


def _is_edit(old: object, new: object) -> bool:
    texts = isinstance(old, str) and isinstance(new, str)
    return texts and len(f"{old}{new}") <= CAP and "\n" in f"{old}{new}"


def compare_lines(before: Sequence[str], after: Sequence[str]) -> Lines:
    """Return the lines (or actions) of two lists as one list, each with `kept`, `removed` or `added`."""
    found: list[tuple[str, str]] = []
    for tag, i, j, k, n in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found += [("kept", line) for line in before[i:j]]
        else:
            found += [("removed", line) for line in before[i:j]] + [("added", line) for line in after[k:n]]
    return found


def pair_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Return the rows of two lists side by side: the index of the line of each list, or None if it has none there.

    Equal lines share a row; a row of different lines is a replacement.
    """
    rows: list[tuple[int | None, int | None]] = []
    for _tag, i, j, k, n in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        rows += zip_longest(range(i, j), range(k, n))
    return rows


def patch_lines(patch: str) -> Lines:
    """Return the lines of a patch without their signs, each with its kind; file headers count as kept lines."""
    kinds = {"+": "added", "-": "removed"}
    heads = ("+++ ", "--- ")
    return [
        (kinds[line[0]], line[1:]) if line[:1] in kinds and not line.startswith(heads) else ("kept", line)
        for line in patch.splitlines()
    ]


def diff_html(lines: Lines) -> str:
    """Return the lines as HTML; group adjacent lines of one kind, and fold a long diff behind its counts."""
    drawn = "".join(
        f'<div class="ia-{kind}">{plain(chr(10).join(f"{_SIGNS[kind]}{line}" for _kind, line in run))}</div>'
        for kind, run in groupby(lines, key=lambda line: line[0])
    )
    kinds = [kind for kind, _line in lines]
    removed, added = kinds.count("removed"), kinds.count("added")
    told = ", ".join(
        (
            ngettext("{count} line removed", "{count} lines removed", removed).format(count=removed),
            ngettext("{count} line added", "{count} lines added", added).format(count=added),
        )
    )
    note = _("show all {count} lines").format(count=len(lines))
    body = f'<div class="ia-lines">{drawn}</div>'
    if len(lines) <= _FEW_LINES:
        return body
    return f'<details class="ia-fold"><summary data-note="{plain(note)}">{plain(told)}</summary>{body}</details>'


def change_html(pending: str, edited: str) -> str:
    """Return each changed argument with its removed and added words, as HTML; return an empty text if none changed."""
    rows = "".join(
        f'<tr><th scope="row">{plain(name)}</th><td>{_words_html(old, new)}</td></tr>'
        for name, old, new in list_changed_arguments(pending, edited)
    )
    return f'<div class="ia-sheet"><table class="ia-arguments ia-change">{rows}</table></div>' if rows else ""


def _words_html(old: str, new: str) -> str:
    """Return the text with its changed words, or the whole old and new text if the changes are many and scattered."""
    marks = {"removed": "del", "added": "ins"}
    pieces = word_changes(old, new)
    kept = sum(len(text.split()) for kind, text in pieces if kind == "kept")
    if "kept" in dict(pieces[1:-1]) and 2 * kept < max(len(old.split()), len(new.split())):
        return f"<del>{plain(old)}</del><br><ins>{plain(new)}</ins>"
    return "".join(
        f"<{marks[kind]}>{plain(text)}</{marks[kind]}>" if kind in marks else plain(text) for kind, text in pieces
    )
