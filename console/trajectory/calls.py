"""Calls: the single parser for tool calls in an action, strict for policies and tolerant everywhere else.

The notations of a call are `name({...})` with JSON, `name(key=value)` or `name(value)` as in Python, `name[argument]`,
`name: {...}` and `{"name": ..., "arguments": {...}}`. Prompt marks (`> `) or a code fence may surround a call. Only
`name({...})` and `name[argument]` are strict. Every other call has a `problem`, so that a policy asks a person.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any

import orjson

from console.trajectory.call_values import (
    DUPLICATE_KEY,
    MAX_ARGUMENTS,
    MAX_DEPTH,
    TOO_LARGE,
    UNREADABLE,
    find_json_problem,
    has_duplicate_key,
    parse_number,
)

ARGUMENT = "argument"
"""The argument name for a text in brackets and for arguments that cannot be parsed."""
MAX_TOOL_NAME = 256
"""Maximum characters of a tool's name in a strict call; a longer name has too many segments to compare."""
SHELLS = frozenset({"bash", "sh", "shell", "zsh", "console", "cmd", "powershell"})

_NAME = r"[\w.:/-]+"
_BRACKETED = re.compile(rf"(?P<name>{_NAME})\s*\[(?P<argument>.*)\]", re.DOTALL)
_CALLED = re.compile(rf"(?P<name>{_NAME})\((?P<arguments>.*)\)", re.DOTALL)
_CUT_OFF = re.compile(rf"(?P<name>{_NAME})\((?P<arguments>\{{.*)", re.DOTALL)
_NAMED_ODDLY = re.compile(
    r"(?P<name>[^\s()\[\]{}](?:[^()\[\]{}\n]*[^\s()\[\]{}])?+)\s*+\((?P<arguments>\{.*\})\)", re.DOTALL
)
_LOOSE = re.compile(
    r"(?:Action:[ \t]*)?(?P<name>[A-Za-z_][\w./-]{0,80})\s*(?::\s*|\n\s*Action Input\s*:\s*)?(?P<arguments>\{.*\})\s*",
    re.DOTALL,
)
_NEXT_LOOSE = re.compile(r"\n(?=[A-Za-z_]\w{2,80}\s*:?\s*\{)")
_IN_JSON = re.compile(r"\"name\"\s*:\s*\"(?P<name>[\w./-]+)\"\s*,\s*\"(?:args|arguments|parameters)\"\s*:\s*(?=\{)")
_FENCED = re.compile(r"```(?P<name>\w*)\n(?P<code>.*?)(?:```|$)", re.DOTALL)
_MARKS = re.compile(r"(?:>+\s*)*")
_SEQUENCE = re.compile(r"\[?\s*[A-Za-z_][\w.]*\(")
_GIVEN = ("arguments", "args", "parameters", "input")
_MCP = re.compile(r"(?:^|[./:])(?=mcp__)", re.IGNORECASE)
_SEPARATOR = re.compile(r"([./:])")
_MCP_SEPARATOR = re.compile(r"([./:]|__)")

PROMPT_MARK = "a prompt mark precedes the call"
FENCE = "the call is in a code fence"
OTHER_TEXT = "there is other text beside the call"
NOT_JSON = "the arguments are not one JSON object"
BARE_WORD = "a word among the arguments has no quotes"
BRACKETS = "there are brackets or line breaks within the brackets"
OBJECT = "the call is written as a JSON object"


@dataclass(frozen=True, slots=True)
class Call:
    """A call: the tool's name, its arguments, the reason why it is not strict (`problem`, or ""), and its text.

    Unnamed arguments get the names `1`, `2`, ...; `argument` holds a text in brackets or unparsable arguments.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    problem: str = field(default="", compare=False)
    text: str = field(default="", compare=False)

    @property
    def raw(self) -> str:
        """The original text of the arguments, or "" if the call is not a name with one pair of brackets."""
        found = _CALLED.fullmatch(self.text)
        return found["arguments"] if found else ""


@dataclass(frozen=True, slots=True)
class ActionPart:
    """A part of an action to which a policy applies: a strict call, or other text (`call` is None)."""

    text: str
    call: Call | None


def read_strictly(action: str) -> tuple[ActionPart, ...]:
    """Return the calls of an action one by one, or its lines without calls if any call is not strict."""
    calls = read_calls(action)
    if calls and not any(call.problem or len(call.name) > MAX_TOOL_NAME for call in calls):
        return tuple(ActionPart(call.text, call) for call in calls)
    lines = [line for line in action.splitlines() if line.strip()]
    return tuple(ActionPart(line, None) for line in lines) or (ActionPart(action, None),)


def read_action(action: str) -> tuple[Call, ...]:
    """Return the calls of an action; read a sentence as one call with its first word as the name."""
    if calls := read_calls(action):
        return calls
    name, *rest = _without_marks(action.strip()).split(None, 1) or [""]
    return (Call(name, {ARGUMENT: "".join(rest)}, OTHER_TEXT, action.strip()),) if name else ()


def read_calls(action: str) -> tuple[Call, ...]:
    """Return the calls of an action in any supported notation; return an empty tuple for plain prose."""
    text = action.strip()
    if "```" in text and _exact(text) is None and (calls := _fenced_calls(text)):
        return calls
    if "(" not in text and "[" not in text and "{" not in text:
        return ()
    bare = _without_marks(text)
    return tuple(_read(text)) if bare == text else _with_problem(_read(bare), PROMPT_MARK)


def read_line(line: str) -> Call | None:
    """Parse one line as a call, ignoring leading prompt marks; return None if the line is a sentence."""
    return _one(_without_marks(line.strip()))


def read_arguments(text: str) -> Mapping[str, Any] | None:
    """Parse arguments in JSON or Python notation; return None if the text cannot be parsed."""
    call = _called("", text, text)
    return None if call.problem == UNREADABLE else call.arguments


def find_problem(given: str) -> str:
    """Return why the text of a JSON object is not strict, such as a duplicate key; return "" for any other text."""
    return "" if (call := _json_call("", given, given)) is None else call.problem


def read_object(value: object) -> Call | None:
    """Parse `{"name": ..., "arguments": ...}`, also under `function`, as a call; return None for any other value."""
    if not isinstance(value, dict):
        return None
    held = value["function"] if isinstance(value.get("function"), dict) else value
    name, key = held.get("name"), next((key for key in _GIVEN if key in held), None)
    if not isinstance(name, str) or not name.strip() or key is None:
        return None
    given, text = held[key], orjson.dumps(value).decode()
    if isinstance(given, str):
        return _with_problem([_called(name, given, text)], OBJECT)[0]
    return Call(name, given if isinstance(given, dict) else {} if given is None else {"1": given}, OBJECT, text)


def read_python(text: str) -> tuple[Call, ...]:
    """Parse Python text of calls only, such as `f(a=1); g()` or `[f(a=1), g()]`; return no calls for other text."""
    body = getattr(_parse(text, "exec"), "body", [])
    nodes = list(_elements(each.value if isinstance(each, ast.Expr) else each for each in body))
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))]
    if not nodes or len(calls) != len(nodes):
        return ()
    return tuple(_python_call(ast.unparse(node.func), node, ast.get_source_segment(text, node) or "") for node in calls)


def argument_text(value: object) -> str:
    """Return a value as text for pattern matching: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _read(text: str) -> Sequence[Call]:
    if calls := _whole(text):
        return calls
    lines = text.splitlines()
    whole = _one(text)
    each = [call for line in lines if (call := read_line(line))] if len(lines) > 1 else []
    if whole is None or len(each) > 1:
        return _with_problem(each or _buried_calls(text), OTHER_TEXT)
    return [whole]


def _whole(text: str, fewest: int = 2) -> Sequence[Call]:
    """Return the calls of a text of calls only; Python notation requires a list or at least `fewest` calls."""
    if (exact := _exact(text)) is not None:
        return [exact]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and len(calls := list(takewhile(bool, map(_exact, lines)))) == len(lines):
        return [call for call in calls if call]
    if text[:1] in ("{", "[") and (objects := _object_calls(text)):
        return objects
    sequence = read_python(text) if _SEQUENCE.match(text) else ()
    return _with_problem(sequence, OTHER_TEXT) if len(sequence) >= fewest or text[:1] == "[" else ()


def _exact(text: str) -> Call | None:
    """Parse `name({...})`, or `name[argument]` on one line, as a call; return None for any other text."""
    if match := _BRACKETED.fullmatch(text):
        inside = match["argument"]
        if {"[", "]"} & {*inside} or len(inside.splitlines()) > 1:
            return None
        problem = TOO_LARGE if len(inside) > MAX_ARGUMENTS else ""
        if not problem and "{" in inside and has_duplicate_key(inside):
            problem = DUPLICATE_KEY
        return Call(match["name"], {ARGUMENT: inside}, problem, text)
    match = _CALLED.fullmatch(text)
    return _json_call(match["name"], match["arguments"], text) if match else None


def _one(text: str) -> Call | None:
    """Parse a text that is one call, a name with brackets or before an object; return None for any other text."""
    if (exact := _exact(text)) is not None:
        return exact
    if match := _BRACKETED.fullmatch(text):
        return Call(match["name"], {ARGUMENT: match["argument"]}, BRACKETS, text)
    if match := _CALLED.fullmatch(text):
        return _called(match["name"], match["arguments"], text)
    if match := _CUT_OFF.fullmatch(text):
        return Call(match["name"], {ARGUMENT: match["arguments"]}, UNREADABLE, text)
    oddly = _NAMED_ODDLY.fullmatch(text)
    call = _json_call(oddly["name"], oddly["arguments"], text) if oddly else None
    if call is None and (loose := _LOOSE.fullmatch(text)):
        call = _called(loose["name"], loose["arguments"], text)
    return replace(call, problem=call.problem or OTHER_TEXT) if call else None


def _called(name: str, given: str, text: str) -> Call:
    """Return the call with arguments parsed as JSON or Python, or else stored whole as `argument`."""
    if call := _json_call(name, given, text):
        return call
    parsed = getattr(_parse(f"f({given}\n)", "eval"), "body", None)
    if isinstance(parsed, ast.Call) and isinstance(parsed.func, ast.Name):
        return _python_call(name, parsed, text, given.strip())
    return Call(name, {ARGUMENT: given.strip()}, UNREADABLE, text)


def _json_call(name: str, given: str, text: str) -> Call | None:
    """Return the call if its arguments are empty or one JSON object, else None."""
    given = given.strip() or "{}"
    try:
        found = orjson.loads(given) if given[0] == "{" else None
    except orjson.JSONDecodeError:
        return None
    return Call(name, found, find_json_problem(given, found), text) if isinstance(found, dict) else None


def _parse(text: str, mode: str) -> ast.AST | None:
    try:
        return ast.parse(text, mode=mode) if len(text) <= MAX_ARGUMENTS else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _elements(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield from _elements(node.elts) if isinstance(node, (ast.List, ast.Tuple)) else [node]


def _python_call(name: str, node: ast.Call, text: str, given: str | None = None) -> Call:
    """Return the call with literal arguments, keyed by name, position (`1`, `2`, ...), or by a lone object's keys."""
    faults: list[str] = []
    try:
        placed = [_literal(each, faults) for each in node.args]
        named = {word.arg or "**": _literal(word.value, faults) for word in node.keywords}
    except (ValueError, RecursionError):
        inside = ", ".join(map(ast.unparse, (*node.args, *node.keywords))) if given is None else given
        return Call(name, {ARGUMENT: inside}, UNREADABLE, text)
    if len(named) != len(node.keywords):
        faults.append(DUPLICATE_KEY)
    if len(placed) == 1 and not named and isinstance(placed[0], dict):
        return Call(name, placed[0], faults[0] if faults else NOT_JSON, text)
    by_place = {str(place): value for place, value in enumerate(placed, 1)}
    return Call(name, by_place | named, faults[0] if faults else NOT_JSON, text)


def _literal(node: ast.AST, faults: list[str], depth: int = 0) -> Any:
    """Return the plain value of a node; raise ValueError if computing the value would require running code."""
    if depth > MAX_DEPTH:
        raise ValueError(TOO_LARGE)
    match node:
        case ast.Constant(value=str() as value):
            value.encode()
            return value
        case ast.Constant(value=bool() | None):
            return node.value
        case ast.Constant(value=int() | float() as value):
            return parse_number(str(value), faults)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return -_literal(node.operand, faults)
        case ast.List() | ast.Tuple():
            return [_literal(each, faults, depth + 1) for each in node.elts]
        case ast.Dict():
            keys = [str(_literal(key, faults)) if isinstance(key, ast.Constant) else None for key in node.keys]
            if None in keys:
                raise ValueError(UNREADABLE)
            if len({*keys}) != len(keys):
                faults.append(DUPLICATE_KEY)
            return dict(zip(keys, (_literal(each, faults, depth + 1) for each in node.values), strict=True))
        case ast.Name(id="true" | "false" | "null" as name):
            return {"true": True, "false": False}.get(name)
        case ast.Name() | ast.Attribute():
            faults.append(BARE_WORD)
            return ast.unparse(node)
    raise ValueError(UNREADABLE)


def _object_calls(text: str) -> list[Call]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    values = value if isinstance(value, list) else [value]
    calls = [call for one in values if (call := read_object(one))]
    return calls if len(calls) == len(values) else []


def _buried_calls(text: str) -> list[Call]:
    """Return the calls within other text: an object with a name field, or lines that start with name and object."""
    if named := _IN_JSON.search(text):
        rest = text[named.end() :]
        try:
            end = json.JSONDecoder().raw_decode(rest)[1]
        except (ValueError, RecursionError):
            end = rest.rfind("}") + 1
        return [_called(named["name"], rest[:end], text)]
    return [call for piece in _NEXT_LOOSE.split(text) if (call := _one(piece.strip()))]


def _fenced_calls(text: str) -> tuple[Call, ...]:
    """Return the calls in a text's code fences; for a fence without a call, return one call with the code."""
    found: list[Call] = []
    for fence in _FENCED.finditer(text):
        name, code = fence["name"] or "code", fence["code"]
        inner = () if name in SHELLS else _whole(_without_marks(code.strip()), 1)
        found += inner or [Call(name, {"command" if name in SHELLS else "code": code}, FENCE, code)]
    return _with_problem(found, FENCE)


def _without_marks(text: str) -> str:
    return _MARKS.sub("", text, count=1)


def _with_problem(calls: Iterable[Call], problem: str) -> tuple[Call, ...]:
    return tuple(call if call.problem else replace(call, problem=problem) for call in calls)


@lru_cache(maxsize=4096)
def name_segments(name: str, *, is_mcp: bool = False) -> tuple[str, ...]:
    """Return the segments of a tool's full name and the separators between them, in NFKC form.

    The separators are `.`, `/` and `:`, plus `__` from a segment with the prefix `mcp__` onwards: `mcp__shop__refund`
    gives `("mcp", "__", "shop", "__", "refund")`. If `is_mcp`, every `__` is a separator.
    """
    plain = unicodedata.normalize("NFKC", name)
    bare = plain.rstrip("./:") or plain
    if is_mcp:
        return tuple(_MCP_SEPARATOR.split(bare))
    mcp = _MCP.search(bare)
    if mcp is None:
        return tuple(_SEPARATOR.split(bare))
    return (*_SEPARATOR.split(bare[: mcp.end()])[:-1], *_MCP_SEPARATOR.split(bare[mcp.end() :]))


def name_suffixes(name: str) -> tuple[str, ...]:
    """Return the full name, then its remainder after each separator; the last entry is the last segment."""
    segments = name_segments(name)
    shorter = ("".join(segments[at:]) for at in range(0, len(segments), 2))
    plain = unicodedata.normalize("NFKC", name)
    return tuple(each for each in dict.fromkeys((name, plain, *shorter)) if each)
