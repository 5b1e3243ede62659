"""File changes as HTML: the old and the new text of an edit, or a patch, as a diff of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any

from console.language import _, ngettext
from console.review.long_texts import CAP
from console.web.widgets.markup import plain

_PAIRS = (
    ("old_str", "new_str"),
    ("old_string", "new_string"),
    ("old_text", "new_text"),
    ("old_content", "new_content"),
    ("old", "new"),
    ("search", "replace"),
)
"""Names under which coding tools take what stands there, and what shall."""

_PATCH = re.compile(r"^(?:diff --git |\*\*\* Begin Patch|--- \S.*\n\+\+\+ |@@ )", re.MULTILINE)
_FEW_LINES = 12
_SIGNS = {"kept": "  ", "removed": "− ", "added": "+ "}

Lines = Sequence[tuple[str, str]]
"""Pairs of `kept`, `removed` or `added` and a line, in the order of reading."""


def arguments_with_changes(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(name, HTML, value) of each argument; the HTML is empty but for a patch, and for an old text beside its new one.

    The two of an edit are one row under both names.
    """
    pair = next((pair for pair in _PAIRS if _is_edit(*(arguments.get(name) for name in pair))), None)
    for name, value in arguments.items():
        if pair and name == pair[0]:
            yield " → ".join(pair), diff_html(compared_lines(value, arguments[pair[1]])), value
        elif pair and name == pair[1]:
            continue
        elif isinstance(value, str) and len(value) <= CAP and _PATCH.search(value):
            yield name, diff_html(patch_lines(value)), value
        else:
            yield name, "", value


def _is_edit(old: object, new: object) -> bool:
    texts = isinstance(old, str) and isinstance(new, str)
    return texts and len(f"{old}{new}") <= CAP and "\n" in f"{old}{new}"


def compared_lines(old: str, new: str) -> Lines:
    """The lines of two texts as one list."""
    before, after = old.splitlines(), new.splitlines()
    found: list[tuple[str, str]] = []
    for tag, i, j, k, n in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found += [("kept", line) for line in before[i:j]]
        else:
            found += [("removed", line) for line in before[i:j]] + [("added", line) for line in after[k:n]]
    return found


def patch_lines(patch: str) -> Lines:
    """The lines of a patch without their signs, those of its heads as kept ones."""
    kinds = {"+": "added", "-": "removed"}
    heads = ("+++ ", "--- ")
    return [
        (kinds[line[0]], line[1:]) if line[:1] in kinds and not line.startswith(heads) else ("kept", line)
        for line in patch.splitlines()
    ]


def diff_html(lines: Lines) -> str:
    """The lines as HTML, an element for each run of one kind; a long diff folded behind how much it changes."""
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
