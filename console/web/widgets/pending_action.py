"""A pending action as HTML, large and exact: its text as it is, or its calls as tables of arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from console.language import _, digits
from console.review.long_texts import BLOCK, capped, is_clipped
from console.trajectory.checkpoints import Call, calls
from console.trajectory.provenance import Source
from console.web.widgets.file_changes import arguments_with_changes
from console.web.widgets.markup import in_blocks, plain

_STEP = re.compile(r"step (?P<number>\d+)(?:, (?P<tool>.*))?")
_LARGE_CHARS = 160
_FEW = 4
_SHOWN_CHARS, _SHOWN_LINES = 600, 6


def action_html(action: str, stamp: str, *, whole: bool = True, origins: Mapping[str, str] | None = None) -> str:
    """The action as HTML with its stamp; calls as tables of arguments, their exact text folded beneath.

    Without `whole` a long one is its beginning and words that say so. `origins` says of the arguments where they come
    from, which then stands beside each.
    """
    if not whole and is_clipped(action):
        return _beginning(action, stamp)
    drawn = json_calls(action)
    if not drawn:
        css = "ia-action" if len(action) <= _LARGE_CHARS else "ia-action ia-lengthy"
        return f'<div class="ia-line"><pre class="{css}">{_text(action)}</pre>{stamp}</div>'
    beside = stamp + _exact(action)
    return "".join(_call(call, "" if index else beside, origins or {}) for index, call in enumerate(drawn))


def _beginning(action: str, stamp: str) -> str:
    shown = capped("\n".join(action[:_SHOWN_CHARS].split("\n")[:_SHOWN_LINES]), _SHOWN_CHARS)
    words = _("the first {shown} of {count} characters; press “Show the whole action”")
    note = f'<p class="ia-all">{plain(words.format(shown=digits(len(shown)), count=digits(len(action))))}</p>'
    return f'<div class="ia-line"><pre class="ia-action ia-lengthy">{plain(shown)}…</pre>{stamp}</div>{note}'


def _exact(action: str) -> str:
    return f'<details class="ia-fold ia-exact"><summary>{plain(_("exact text"))}</summary>{_text(action)}</details>'


def _text(text: str) -> str:
    """The text whole, in blocks where it is very long."""
    return plain(text) if len(text) <= BLOCK else in_blocks(text)


def json_calls(action: str) -> list[Call]:
    """The calls of an action that is nothing but `name({...})`, one a line or one in all; else none.

    An action with any other text in it is shown as it is, so that a table never hides a part of it.
    """
    lines = [line for line in action.splitlines() if line.strip()]
    parsed = calls(action)
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
    """Where an argument's value comes from, in the reader's language; the tool keeps its name."""
    found = _STEP.fullmatch(origin)
    if found is None:
        return _(origin)
    if found["tool"]:
        return _("step {number}, {tool}").format(number=found["number"], tool=found["tool"])
    return _("step {number}").format(number=found["number"])


def _value(value: Any) -> str:
    css = "" if isinstance(value, str) else ' class="ia-json"'
    return f"<td{css}>{_text(as_words(value))}</td>"


def as_words(value: Any) -> str:
    """An argument's value: a text as it is, anything else as JSON, a list of objects with one of them a line."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return "\n".join(json.dumps(each, ensure_ascii=False) for each in value)
    return json.dumps(value, ensure_ascii=False)
