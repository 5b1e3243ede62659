"""Edits: the action that a reviewer writes in place of the pending action, parsed and checked before the agent gets it.

If the pending action is a readable call, the edit must be a call too: `name({...})` with JSON, `name(key=value)` with
plain values, or `name[argument]`. Free text is accepted only if the pending action is not a call.
"""

from __future__ import annotations

import ast
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import cel
from jsonschema import exceptions, validators
from referencing import Registry

from console.environments import ENVIRONMENTS
from console.errors import BadInput, Refused
from console.language import _, gettext_noop
from console.trajectory.call_values import DUPLICATE_KEY, UNREADABLE
from console.trajectory.calls import BARE_WORD, FENCE, NOT_JSON, OBJECT, OTHER_TEXT, PROMPT_MARK, Call, read_calls

TOOL_SCHEMA = "pending_tool_schema"
"""The key in a trajectory's `extra` of the JSON schema of the pending tool's arguments."""

_NAME = re.compile(r"\s*(?:>\s*)*(?P<name>[\w.:/-]+)\s*(?P<opening>[(\[])")
_BRACKETED = re.compile(r"(?P<name>[\w.:/-]+)\s*\[(?P<argument>[^\n]*)\]")
_PATTERN = cel.compile("text.matches(pattern)")
_REFERENCES, _MOST_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef"), 1_000
_BESIDE = (OTHER_TEXT, FENCE, OBJECT)
_TYPES = {
    str: gettext_noop("text"),
    bool: gettext_noop("true or false"),
    float: gettext_noop("a number"),
    list: gettext_noop("a list"),
    dict: gettext_noop("an object"),
    type(None): "null",
}


class OtherTool(Refused):
    """The edit calls a different tool than the pending action; the reviewer has to confirm it."""


@dataclass(frozen=True, slots=True)
class Written:
    """A call as written: its name, its arguments by name (None if unreadable), and whether its form is `name[...]`."""

    name: str
    arguments: Mapping[str, Any] | None
    bracketed: bool = False


def check_edit(
    text: str,
    pending: str,
    *,
    environment_name: str = "generic",
    tool_schema: Mapping[str, Any] | None = None,
    allow_other_tool: bool = False,
) -> None:
    """Raise BadInput (with line and column) if the agent could not run the edit, or OtherTool if it must be confirmed.

    `tool_schema` is the JSON schema of the pending tool's arguments.
    """
    expected = pending_calls(pending)
    if not expected:
        _check_free(text, allow_other_tool)
        return
    written = _calls(text, pending, expected[0])
    if len(written) != len(expected):
        other = _("Calls in the edit: {written}, pending calls: {pending}. Write one call for each pending call.")
        raise BadInput(other.format(written=len(written), pending=len(expected)))
    for ours, theirs in zip(written, expected, strict=True):
        if ours.name != theirs.name:
            _refuse_other(ours, theirs, environment_name, allow_other_tool)
        elif tool_schema is not None and len(expected) == 1 and ours.arguments is not None:
            _check_schema(ours, tool_schema)
        elif ours.arguments is not None and theirs.arguments is not None:
            _check_arguments(ours, theirs)


def _check_free(text: str, allow_other_tool: bool) -> None:
    """Accept free text if the pending action is free text; raise OtherTool if the edit is an unconfirmed call."""
    call = _NAME.match(text)
    if call and text.rstrip().endswith((")", "]")) and not allow_other_tool:
        other = _("{tool} is a call, but the pending action is not a call. Confirm that you want {tool}.")
        raise OtherTool(other.format(tool=call["name"]))


def _refuse_other(ours: Written, theirs: Written, environment_name: str, allow_other_tool: bool) -> None:
    if ours.bracketed and ours.name.lower() in ENVIRONMENTS[environment_name].verbs:
        return
    if not allow_other_tool:
        other = _("{tool} is not the tool of the pending call, {pending}. Confirm that you want {tool}.")
        raise OtherTool(other.format(tool=ours.name, pending=theirs.name))


def pending_calls(pending: str) -> list[Written]:
    """Return the calls of a pending action, or an empty list if the action is a sentence.

    The arguments of a call are None if they cannot be edited.
    """
    begun = _NAME.match(pending)
    if begun is None or not pending.rstrip().endswith((")", "]")):
        return []
    is_bracketed, calls = begun["opening"] == "[", read_calls(pending)
    if not calls or any(call.problem in _BESIDE for call in calls) or (is_bracketed and len(calls) > 1):
        return [Written(begun["name"], None, is_bracketed)]
    return [Written(call.name, _editable(call), is_bracketed) for call in calls]


def _editable(call: Call) -> Mapping[str, Any] | None:
    """Return the arguments if they can be written back unchanged, or None if unreadable or with duplicate keys."""
    is_foreign = call.problem == NOT_JSON and call.raw.lstrip().startswith("{")
    return None if is_foreign or call.problem in (UNREADABLE, DUPLICATE_KEY, BARE_WORD) else call.arguments


def _calls(text: str, pending: str, like: Written) -> list[Written]:
    """Parse the edit as calls in the form of the pending calls; raise BadInput, with line and column, if invalid."""
    if like.bracketed:
        return [_bracketed_call(text, like)]
    if like.arguments is None or is_keyworded(pending):
        try:
            return _json_calls(text, like)
        except BadInput:
            return _keyword_calls(text, like)
    return _json_calls(text, like)


def is_keyworded(action: str) -> bool:
    """Return whether an action is a call whose arguments are not a JSON object."""
    begun = _NAME.match(action)
    return begun is not None and not action[begun.end() :].lstrip().startswith(("{", ")"))


def _bracketed_call(text: str, like: Written) -> Written:
    whole = text.strip().removeprefix(">").strip()
    found = _BRACKETED.fullmatch(whole)
    if found is None:
        begun = _NAME.match(text)
        at = len(text.rstrip()) if begun and begun["opening"] == "[" else 0
        _refuse(text, at, _("an action such as {example} on one line is expected").format(example=f"{like.name}[...]"))
    return Written(found["name"], {"argument": found["argument"]}, True)


def _json_calls(text: str, like: Written) -> list[Written]:
    found, at = [], 0
    while text[at:].strip():
        begun = _NAME.match(text, at)
        if begun is None or begun["opening"] != "(":
            _refuse(text, at, _expected_call(f"{like.name}({{...}})"))
        arguments, at = _json_arguments(text, begun.end())
        found.append(Written(begun["name"], arguments))
    if not found:
        _refuse(text, 0, _expected_call(f"{like.name}({{...}})"))
    return found


def _json_arguments(text: str, at: int) -> tuple[dict[str, Any], int]:
    """Parse the object of arguments that begins at this position; return it with the end position of the call."""
    start = _past_blanks(text, at)
    if text[start : start + 1] == ")":
        return {}, start + 1
    decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_number, object_pairs_hook=_refuse_duplicates)
    try:
        arguments, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as broken:
        _refuse(text, broken.pos, _("the arguments are not valid JSON ({why})").format(why=broken.msg.lower()))
    except (ValueError, RecursionError) as broken:
        _refuse(text, start, _("the arguments cannot be used ({why})").format(why=broken))
    if not isinstance(arguments, dict):
        _refuse(text, start, _("the arguments are not a JSON object"))
    end = _past_blanks(text, end)
    if text[end : end + 1] != ")":
        _refuse(text, end, _("a closing parenthesis is expected"))
    return arguments, end + 1


def _keyword_calls(text: str, like: Written) -> list[Written]:
    calls = read_calls(text)
    if calls and all(call.problem in ("", NOT_JSON, PROMPT_MARK) for call in calls):
        return [Written(call.name, call.arguments) for call in calls]
    whole = text.strip()
    why = _("only plain values can be given as arguments")
    try:
        if not isinstance(ast.parse(whole, mode="eval").body, ast.Call):
            why = _expected_call(f"{like.name}(...)")
    except SyntaxError as broken:
        lines = whole.split("\n")[: (broken.lineno or 1) - 1]
        at = sum(len(line) + 1 for line in lines) + (broken.offset or 1) - 1
        _refuse(text, at + len(text) - len(text.lstrip()), _("the text cannot be read ({why})").format(why=broken.msg))
    except (ValueError, RecursionError, MemoryError):
        pass
    raise _refusal(text, 0, why)


def _check_arguments(ours: Written, theirs: Written) -> None:
    """Raise BadInput if the edit changes argument names or types; used if the tool has no schema."""
    wanted, given = theirs.arguments or {}, ours.arguments or {}
    takes = ", ".join(wanted) or _("none")
    if unknown := [name for name in given if name not in wanted]:
        gives = _("The pending call of {tool} has no argument {name}. Use only the arguments of the call: {arguments}.")
        raise BadInput(gives.format(tool=ours.name, name=repr(unknown[0]), arguments=takes))
    if missing := [name for name in wanted if name not in given]:
        leaves_out = _("The edit lacks the argument {name} of {tool}. Give all arguments of {tool}: {arguments}.")
        raise BadInput(leaves_out.format(tool=ours.name, name=repr(missing[0]), arguments=takes))
    for name, value in given.items():
        kind, before = kind_of(value), kind_of(wanted[name])
        if kind is not before and before is not type(None):
            makes = _(
                "{tool}'s argument {name} is {kind} in the edit, but {before} in the pending call. Enter the same type."
            )
            raise BadInput(
                makes.format(tool=ours.name, name=repr(name), kind=_(_TYPES[kind]), before=_(_TYPES[before]))
            )


def kind_of(value: Any) -> type:
    """Return the type of a plain value; whole numbers count as numbers."""
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def check_tool_schema(schema: Any) -> None:
    """Raise BadInput if the value is not a JSON schema of an object of arguments."""
    if not isinstance(schema, Mapping):
        raise BadInput("tool_schema is not a valid JSON schema. Give the object that describes the tool's arguments.")
    try:
        validators.validator_for(schema).check_schema(dict(schema))
        _check_cost(schema)
    except exceptions.SchemaError as broken:
        raise BadInput(f"tool_schema is not a valid JSON schema ({broken.message[:200]}). Correct it.") from broken
    except RecursionError as broken:
        raise BadInput("tool_schema is nested too deeply to be checked. Flatten the schema.") from broken


def _check_cost(schema: Any) -> None:
    """Raise BadInput if checking an edit against the schema could take unbounded time."""
    for name, value in schema.items() if isinstance(schema, Mapping) else enumerate(schema):
        if name == "patternProperties":
            raise BadInput("tool_schema has patternProperties. Name the properties instead.")
        if name == "pattern" and isinstance(value, str):
            _fits_pattern(value, "")
        if isinstance(value, (Mapping, list)):
            _check_cost(value)


def _fits_pattern(pattern: str, text: str) -> bool:
    """Return whether the text matches the agent's pattern, in linear time; raise BadInput if it is unsupported."""
    try:
        return bool(_PATTERN.execute({"pattern": pattern, "text": text}))
    except (ValueError, RuntimeError) as unreadable:
        raise BadInput(
            f"tool_schema has an unsupported regular expression: {pattern[:80]!r}. Simplify or remove the expression."
        ) from unreadable


def _bounded(validator_class: Any) -> Any:
    """Return a validator class that matches patterns in linear time and limits the number of followed references."""
    taken = itertools.count()

    def pattern(_validator: Any, wanted: str, instance: Any, _schema: Any) -> Iterator[exceptions.ValidationError]:
        if isinstance(instance, str) and not _fits_pattern(wanted, instance):
            yield exceptions.ValidationError(f"{instance!r} does not match {wanted!r}")

    def followed(keyword: str) -> Any:
        def reference(*arguments: Any) -> Iterator[exceptions.ValidationError]:
            if next(taken) >= _MOST_REFERENCES:
                raise BadInput(
                    f"the references in tool_schema do not end within {_MOST_REFERENCES:,} steps. Flatten the schema"
                )
            yield from validator_class.VALIDATORS[keyword](*arguments) or ()

        return reference

    references = {each: followed(each) for each in _REFERENCES if each in validator_class.VALIDATORS}
    return validators.extend(validator_class, {"pattern": pattern, **references})  # type: ignore[no-untyped-call]


def _check_schema(ours: Written, schema: Mapping[str, Any]) -> None:
    # An empty registry: a reference in an agent's schema must not make the console fetch anything.
    validator = _bounded(validators.validator_for(schema))(schema, registry=Registry())
    try:
        worst = exceptions.best_match(validator.iter_errors(ours.arguments))
    except Exception as broken:
        unchecked = _(
            "The edit cannot be checked against the schema of {tool} ({why}). Reject the action with feedback instead."
        )
        raise BadInput(unchecked.format(tool=ours.name, why=broken)) from broken
    if worst is not None:
        place = ".".join(map(str, worst.absolute_path)) or _("the arguments")
        misfit = _("The edit does not match the schema of {tool} at {place}: {why}. Correct the value there.")
        raise BadInput(misfit.format(tool=ours.name, place=place, why=worst.message[:200]))


def _past_blanks(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip())


def _number(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _no_constant(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(_("{name} is not a JSON number").format(name=name))


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(_("two arguments have the same name"))
    return found


def _refuse(text: str, at: int, why: str) -> NoReturn:
    raise _refusal(text, at, why)


def _refusal(text: str, at: int, why: str) -> BadInput:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    told = _("The edit cannot be run ({why}). Correct line {line}, column {column}.")
    return BadInput(told.format(line=line, column=column, why=why))


def _expected_call(example: str) -> str:
    return _("a call such as {example} is expected").format(example=example)
