"""A pending action as HTML, large and exact: its text as it is, or its calls as tables of arguments."""

from __future__ import annotations

import json
from typing import Any

from console.trajectory.checkpoints import Call, calls
from console.web.widgets.markup import fold, plain

_LARGE_CHARS = 160
_FEW = 4


def action_html(action: str, stamp: str) -> str:
    """The action as HTML with its stamp; calls as tables of arguments, their exact text folded beneath."""
    drawn = json_calls(action)
    if not drawn:
        css = "ia-action" if len(action) <= _LARGE_CHARS else "ia-action ia-lengthy"
        return f'<div class="ia-line"><pre class="{css}">{plain(action)}</pre>{stamp}</div>'
    beside = stamp + fold("exact text", "", action, (), "ia-exact")
    return "".join(_call(call, "" if index else beside) for index, call in enumerate(drawn))


def json_calls(action: str) -> list[Call]:
    """The calls of an action that is nothing but `name({...})`, one a line or one in all; else none.

    An action with any other text in it is shown as it is, so that a table never hides a part of it.
    """
    lines = [line for line in action.splitlines() if line.strip()]
    parsed = calls(action)
    single = len(parsed) == 1 and action.rstrip().endswith("})") and action.lstrip().startswith(f"{parsed[0].name}({{")
    each = all(line.rstrip().endswith("})") and "({" in line for line in lines)
    return parsed if lines and (single or (each and len(parsed) == len(lines))) else []


def _call(call: Call, beside: str) -> str:
    name = f'<div class="ia-line"><code class="ia-action">{plain(call.name)}</code>{beside}</div>'
    rows = "".join(
        f'<tr><th scope="row">{plain(name)}</th>{_value(value)}</tr>' for name, value in call.arguments.items()
    )
    css = "ia-arguments ia-many" if len(call.arguments) > _FEW else "ia-arguments"
    return f'{name}<table class="{css}">{rows}</table>' if rows else f'{name}<p class="ia-none">no arguments</p>'


def _value(value: Any) -> str:
    css = "" if isinstance(value, str) else ' class="ia-json"'
    return f"<td{css}>{plain(as_words(value))}</td>"


def as_words(value: Any) -> str:
    """An argument's value: a text as it is, anything else as JSON, a list of objects with one of them a line."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        return "\n".join(json.dumps(each, ensure_ascii=False) for each in value)
    return json.dumps(value, ensure_ascii=False)
