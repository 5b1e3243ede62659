"""The pending action as HTML: the exact text, or one table of arguments per call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from console.environments.evidence import NONE_ASKED, NONE_CHOSEN, ORIGIN, UNCLEAR, EvidenceTable
from console.language import _, digits
from console.review.plain_text import BLOCK, cut_text, is_clipped
from console.review.presentation import CELL_CHARS, preview
from console.trajectory.call_values import leaves, value_text
from console.trajectory.calls import Call, read_action
from console.trajectory.provenance import Source
from console.web.widgets.changes import arguments_with_changes
from console.web.widgets.markup import blocks_html, plain

_STEP = re.compile(r"step (?P<number>\d+)(?:, (?P<tool>.*))?")
_LARGE_CHARS = 160
_NONE = (NONE_ASKED, UNCLEAR, NONE_CHOSEN)
_FEW, _MOST_PARTS = 8, 24
_SHOWN_CHARS, _SHOWN_LINES = 600, 6


def action_html(action: str, stamp: str, *, whole: bool = True, sources: EvidenceTable | None = None) -> str:
    """Return the action as HTML with its stamp; show calls as tables, with the exact text folded.

    Without `whole`, return the beginning of a long action and a note. `sources` holds the source of each argument.
    """
    drawn = json_calls(action) if whole or not is_clipped(action) else []
    origins = _origins(sources)
    if drawn:
        exact = f"<summary>{plain(_('exact text'))}</summary>{_text(action)}"
        beside = f'{stamp}<details class="ia-fold ia-exact">{exact}</details>'
        calls = [_call(call, "" if index else beside, origins) for index, call in enumerate(drawn)]
        return "".join(calls) + evidence_html(sources if not origins else None)
    if not whole and is_clipped(action):
        return _beginning(action, stamp) + evidence_html(sources)
    css = "ia-action" if len(action) <= _LARGE_CHARS else "ia-action ia-lengthy"
    return f'<div class="ia-line"><pre class="{css}">{_text(action)}</pre>{stamp}</div>{evidence_html(sources)}'


_Origins = dict[tuple[str, str], str]
"""The source of each argument by the argument's name and value."""


def _origins(table: EvidenceTable | None) -> _Origins:
    found: _Origins = {}
    for name, value, origin in table.rows if table is not None and table.columns[-1] == ORIGIN else ():
        told = (
            origin_words(origin)
            if origin in (Source.WORKED_OUT, Source.AGENT)
            else _("from {origin}").format(origin=origin_words(origin))
        )
        kept = found.setdefault((name, value), told)
        found[name, value] = kept if told in kept else f"{kept}, {told}"
    return found


def evidence_html(table: EvidenceTable | None) -> str:
    """Return the table of options, or of arguments and their sources, as HTML; an empty string if there is none."""
    if table is None:
        return ""
    head = "".join(f"<th>{plain(_(name))}</th>" for name in table.columns)
    told = table.rows if table.columns[-1] != ORIGIN else [(*row[:-1], origin_words(row[-1])) for row in table.rows]
    rows = "".join(
        "<tr>" + "".join(f"<td>{plain(_(cell) if cell in _NONE else cell)}</td>" for cell in row) + "</tr>"
        for row in told
    )
    return f'<table class="ia-evidence"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _beginning(action: str, stamp: str) -> str:
    shown = cut_text("\n".join(action[:_SHOWN_CHARS].split("\n")[:_SHOWN_LINES]), _SHOWN_CHARS)
    words = _("First {shown} of {count} characters. Press “Show full action” to read the rest.")
    note = f'<p class="ia-all">{plain(words.format(shown=digits(len(shown)), count=digits(len(action))))}</p>'
    return f'<div class="ia-line"><pre class="ia-action ia-lengthy">{plain(shown)}…</pre>{stamp}</div>{note}'


def _text(text: str) -> str:
    return plain(text) if len(text) <= BLOCK else blocks_html(text)


def json_calls(action: str) -> list[Call]:
    """Return the calls of an action that consists only of calls `name({...})`: a single call, or one call per line.

    Return an empty list if the action contains other text, so that no table hides a part of the action.
    """
    lines = [line for line in action.splitlines() if line.strip()]
    parsed = list(read_action(action))
    single = len(parsed) == 1 and action.rstrip().endswith("})") and action.lstrip().startswith(f"{parsed[0].name}({{")
    each = all(line.rstrip().endswith("})") and "({" in line for line in lines)
    return parsed if lines and (single or (each and len(parsed) == len(lines))) else []


def _call(call: Call, beside: str, origins: _Origins) -> str:
    name = f'<div class="ia-line"><code class="ia-action">{plain(call.name)}</code>{beside}</div>'
    rows = list(_argument_rows(call, origins))
    css = "ia-arguments ia-many" if len(rows) > _FEW else "ia-arguments"
    return (
        f'{name}<table class="{css}">{"".join(rows)}</table>'
        if rows
        else f'{name}<p class="ia-none">{plain(_("no details"))}</p>'
    )


def _argument_rows(call: Call, origins: _Origins) -> Iterator[str]:
    """Yield a row for each argument, and for each part of a nested one, with its source.

    A value within a command or a statement has a source of its own, and gets a row below its argument.
    """
    inner = dict(origins)
    for shown, change, value in arguments_with_changes(call.arguments):
        for path, name, part in [(shown, shown, value)] if change else _parts(shown, value):
            text = next((text for _name, text in leaves({name: part})), value_text(part))
            origin = "" if change else inner.pop((preview(name, CELL_CHARS), preview(text, CELL_CHARS)), "")
            yield _row(path, f"<td>{change}</td>" if change else _value(part), origin)
        for within, text in [key for key in inner if key[0] == shown and key[1] in str(value)]:
            yield _row(f"  {text}", "<td></td>", inner.pop((within, text)))


def _row(path: str, value: str, origin: str) -> str:
    source = f'<td class="ia-origin">{plain(origin)}</td>' if origin else ""
    return f'<tr><th scope="row">{plain(path)}</th>{value}{source}</tr>'


def _parts(path: str, value: Any) -> list[tuple[str, str, Any]]:
    """Return (path, last name, value) of each part of a nested value, or the whole value if it has too many parts."""
    found, waiting = [], [(path, path, value)]
    while waiting:
        where, name, part = waiting.pop(0)
        if isinstance(part, dict) and part:
            inside = [(f"{where} · {key}", str(key), each) for key, each in part.items()]
        elif isinstance(part, list) and part:
            inside = [(f"{where} {number}", name, each) for number, each in enumerate(part, start=1)]
        else:
            found.append((where, name, part))
            continue
        waiting = inside + waiting
        if len(found) + len(waiting) > _MOST_PARTS:
            return [(path, path, value)]
    return found


def origin_words(origin: str) -> str:
    """Return the source of an argument in the visitor's language; do not translate a tool's name."""
    found = _STEP.fullmatch(origin)
    if found is None:
        return _(origin)
    if found["tool"]:
        return _("step {number}, {tool}").format(number=found["number"], tool=found["tool"])
    return _("step {number}").format(number=found["number"])


def _value(value: Any) -> str:
    css = "" if isinstance(value, str) else ' class="ia-json"'
    return f"<td{css}>{_text(value_text(value))}</td>"
