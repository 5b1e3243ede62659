"""The pending action as HTML: the exact text, or one table of arguments per call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from console.language import _, digits
from console.review.plain_text import BLOCK, cut_text, is_clipped
from console.trajectory.calls import Call, read_action
from console.trajectory.provenance import Source
from console.web.widgets.changes import arguments_with_changes
from console.web.widgets.markup import blocks_html, plain

_STEP = re.compile(r"step (?P<number>\d+)(?:, (?P<tool>.*))?")
_LARGE_CHARS = 160
_FEW = 4
_SHOWN_CHARS, _SHOWN_LINES = 600, 6


def action_html(action: str, stamp: str, *, whole: bool = True, origins: Mapping[str, str] | None = None) -> str:
    """Return the action as HTML with its stamp; show calls as tables, with the exact text folded.

    Without `whole`, return the beginning of a long action and a note. `origins` holds the source of each argument.
    """
    if not whole and is_clipped(action):
        return _beginning(action, stamp)
    drawn = json_calls(action)
    if not drawn:
        css = "ia-action" if len(action) <= _LARGE_CHARS else "ia-action ia-lengthy"
        return f'<div class="ia-line"><pre class="{css}">{_text(action)}</pre>{stamp}</div>'
    exact = f"<summary>{plain(_('exact text'))}</summary>{_text(action)}"
    beside = f'{stamp}<details class="ia-fold ia-exact">{exact}</details>'
    return "".join(_call(call, "" if index else beside, origins or {}) for index, call in enumerate(drawn))


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


def _call(call: Call, beside: str, origins: Mapping[str, str]) -> str:
    name = f'<div class="ia-line"><code class="ia-action">{plain(call.name)}</code>{beside}</div>'
    rows = "".join(
        f'<tr><th scope="row">{plain(name)}</th>{f"<td>{change}</td>" if change else _value(value)}'
        f"{_origin(origins.get(name))}</tr>"
        for name, change, value in arguments_with_changes(call.arguments)
    )
    css = "ia-arguments ia-many" if len(call.arguments) > _FEW else "ia-arguments"
    return (
        f'{name}<table class="{css}">{rows}</table>'
        if rows
        else f'{name}<p class="ia-none">{plain(_("no arguments"))}</p>'
    )


def _origin(origin: str | None) -> str:
    if not origin:
        return ""
    words = origin_words(origin)
    told = words if origin == Source.WORKED_OUT else _("from {origin}").format(origin=words)
    return f'<td class="ia-origin">{plain(told)}</td>'


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


def value_text(value: Any) -> str:
    """Return a string unchanged, and other values as JSON; write each element of a list of objects on its own line."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return "\n".join(json.dumps(each, ensure_ascii=False) for each in value)
    return json.dumps(value, ensure_ascii=False)
