"""Edit fields: one field for each argument of the pending action; the filled fields give the edited action.

An action whose arguments cannot be read by name has no fields and is edited as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any

from console.errors import BadInput
from console.language import _, gettext_noop
from console.review.edits import Written, is_keyworded, kind_of, pending_calls

_LINE = 80
_BY_WORDS = 4_000
"""The longest text, in characters, that is compared word by word; longer texts are compared line by line."""


class FieldKind(StrEnum):
    """The kind of an argument, as shown beside its name."""

    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    LIST = "list, as JSON"
    OBJECT = "object, as JSON"
    JSON = "JSON"


_KINDS: dict[type, FieldKind] = {
    str: FieldKind.TEXT,
    int: FieldKind.NUMBER,
    float: FieldKind.NUMBER,
    list: FieldKind.LIST,
    dict: FieldKind.OBJECT,
}


_NOT_THAT = {
    FieldKind.NUMBER: gettext_noop("{name}: {text} is not a number. Enter a number such as 12.5."),
    FieldKind.LIST: gettext_noop('{name}: {text} is not a JSON list. Enter a list such as ["S", "M"].'),
    FieldKind.OBJECT: gettext_noop('{name}: {text} is not a JSON object. Enter an object such as {{"size": "M"}}.'),
}


@dataclass(frozen=True, slots=True)
class EditField:
    """An argument of a pending call; `choices` lists the allowed values as text if there are only a few."""

    call: int
    tool: str
    name: str
    kind: FieldKind
    value: Any
    choices: tuple[str, ...] = ()

    @property
    def raw(self) -> str:
        """The value as text to edit."""
        return raw_text(self.value)


def edit_fields(pending: str, tool_schema: Mapping[str, Any] | None = None) -> tuple[EditField, ...]:
    """Return the fields of a pending action, in call order.

    `tool_schema` describes the arguments; it is used only if the action is a single call.
    """
    calls = _readable(pending)
    known = (tool_schema or {}).get("properties") if len(calls) == 1 else None
    described = known if isinstance(known, dict) else {}
    return tuple(
        _field(number, call.name, name, value, described.get(name))
        for number, call in enumerate(calls)
        for name, value in (call.arguments or {}).items()
    )


def raw_text(value: Any) -> str:
    """Return a value as editable text: a string unchanged, any other value as JSON."""
    if isinstance(value, str):
        return value
    flat = json.dumps(value, ensure_ascii=False)
    return flat if len(flat) <= _LINE else json.dumps(value, ensure_ascii=False, indent=2)


def write_action(pending: str, fields: Sequence[EditField], raw: Sequence[str]) -> str:
    """Write the fields' texts into the pending action, keeping its style; raise BadInput if a text is invalid."""
    calls = [dict(call.arguments or {}) for call in _readable(pending)]
    for field, text in zip(fields, raw, strict=True):
        calls[field.call][field.name] = _read(field, text)
    before = _readable(pending)
    return _style(pending, before)([Written(call.name, made) for call, made in zip(before, calls, strict=True)])


def find_invalid_field(fields: Sequence[EditField], raw: Sequence[str]) -> int | None:
    """Return the position of the first field whose text is invalid, or None if every text is valid."""
    for position, (field, text) in enumerate(zip(fields, raw, strict=True)):
        try:
            _read(field, text)
        except BadInput:
            return position
    return None


def list_changed_arguments(pending: str, edited: str) -> list[tuple[str, str, str]]:
    """Return (argument, text before, text after) for each change.

    Return one row with an empty argument name if the names of the calls differ or the action has no readable calls.
    """
    before, after = _readable(pending), _readable(edited)
    if not before or [call.name for call in before] != [call.name for call in after]:
        return [("", pending, edited)] if pending != edited else []
    rows = []
    for number, (old, new) in enumerate(zip(before, after, strict=True), start=1):
        was, now = dict(old.arguments or {}), dict(new.arguments or {})
        place = f"{old.name} {number}, " if len(before) > 1 else ""
        for name in {**was, **now}:
            if not _same(was.get(name), now.get(name)) or (name in was) != (name in now):
                first, then = (raw_text(values[name]) if name in values else "" for values in (was, now))
                rows.append((f"{place}{name}", first, then))
    return rows


def _same(old: Any, new: Any) -> bool:
    """Return whether two values are equal and of the same type: true differs from 1, but 20.0 equals 20."""
    return kind_of(old) is kind_of(new) and old == new


def word_changes(before: str, after: str) -> list[tuple[str, str]]:
    """Return pairs of a change (`kept`, `removed` or `added`) and a piece of text, in reading order."""
    old, new = _words(before), _words(after)
    pieces: list[tuple[str, str]] = []
    for tag, i, j, k, n in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(("kept", "".join(old[i:j])))
        else:
            pieces += [("removed", "".join(old[i:j]))] if j > i else []
            pieces += [("added", "".join(new[k:n]))] if n > k else []
    return pieces


def _words(text: str) -> list[str]:
    return text.splitlines(keepends=True) if len(text) > _BY_WORDS else re.findall(r"\s+|\S+", text)


def _readable(action: str) -> list[Written]:
    """Return the calls of an action if all their arguments can be read by name, else an empty result."""
    calls = pending_calls(action)
    if not calls or any(call.arguments is None or call.bracketed for call in calls):
        return []
    return calls


def _field(number: int, tool: str, name: str, value: Any, described: Any) -> EditField:
    listed = described.get("enum") if isinstance(described, dict) else None
    if isinstance(value, bool):
        listed = [True, False]
    if isinstance(listed, list) and listed and value in listed:
        return EditField(number, tool, name, FieldKind.CHOICE, value, tuple(map(raw_text, listed)))
    return EditField(number, tool, name, _KINDS.get(type(value), FieldKind.JSON), value)


def _read(field: EditField, text: str) -> Any:
    if field.kind is FieldKind.TEXT or (field.kind is FieldKind.CHOICE and isinstance(field.value, str)):
        return text
    try:
        value = json.loads(text)
    except json.JSONDecodeError as broken:
        if field.kind is FieldKind.NUMBER:
            raise BadInput(
                _(_NOT_THAT[field.kind]).format(name=field.name, text=repr(text.strip() or _("nothing")))
            ) from broken
        told = _("{name}: invalid JSON in line {line}, column {column} ({why}). Correct the value there.")
        place = {"line": broken.lineno, "column": broken.colno}
        raise BadInput(told.format(name=field.name, why=broken.msg.lower(), **place)) from broken
    except (ValueError, RecursionError) as broken:
        raise BadInput(
            _("{name}: the value cannot be read ({why}). Correct the value.").format(name=field.name, why=broken)
        ) from broken
    if field.kind is not FieldKind.JSON and kind_of(value) is not kind_of(field.value):
        none = _(_NOT_THAT.get(field.kind, gettext_noop("{name}: {text} is not one of the choices. Select a choice.")))
        raise BadInput(none.format(name=field.name, text=preview_of(text)))
    return value


def preview_of(text: str) -> str:
    """Return the beginning of a text in quotes."""
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 40 else f"{flat[:39]}…")


_Writer = Callable[[Sequence[Written]], str]


def _style(pending: str, calls: Sequence[Written]) -> _Writer:
    """Return a writer that reproduces the style of the pending action, so that an edit changes nothing else."""
    ways = _keyword_ways() if is_keyworded(pending) else _json_ways()
    return next((way for way in ways if way(calls) == pending.strip()), ways[0])


def _json_ways() -> list[_Writer]:
    def way(separators: tuple[str, str], ascii_only: bool) -> _Writer:
        def write(calls: Sequence[Written]) -> str:
            given = (
                json.dumps(call.arguments, ensure_ascii=ascii_only, separators=separators) if call.arguments else "{}"
                for call in calls
            )
            return "\n".join(f"{call.name}({text})" for call, text in zip(calls, given, strict=True))

        return write

    return [way(separators, ascii_only) for ascii_only in (False, True) for separators in ((",", ":"), (", ", ": "))]


def _keyword_ways() -> list[_Writer]:
    def way(quoted: Callable[[Any], str]) -> _Writer:
        def argument(name: str, value: Any) -> str:
            text = quoted(value) if isinstance(value, str) else repr(value)
            return text if name.isdigit() else f"{name}={text}"

        def write(calls: Sequence[Written]) -> str:
            return "\n".join(
                f"{call.name}({', '.join(argument(name, value) for name, value in (call.arguments or {}).items())})"
                for call in calls
            )

        return write

    return [way(repr), way(lambda text: json.dumps(text, ensure_ascii=False))]
