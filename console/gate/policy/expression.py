"""Conditions in CEL (Common Expression Language) over the facts of a check, with validation and a limit on loops.

A condition may read earlier results of tools, as in `results("get_order").status == "open"`. A result is recorded if
the agent reported it after beginning an action that the console allowed. Only recorded results can loosen a policy. Any
other result is only the agent's statement.

A tool's name is matched by its last segment or in full if the rule permits more, else by every suffix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import cel
import orjson

from console.errors import BadInput
from console.trajectory import checkpoints
from console.trajectory.call_values import MAX_ARGUMENTS
from console.trajectory.calls import (
    MAX_TOOL_NAME,
    find_problem,
    name_segments,
    name_suffixes,
    read_calls,
    read_strictly,
)

VARIABLES = ("args", "tool", "agent", "environment", "task", "hour", "weekday", "date", "hints")
MAX_EXPRESSION = 1_000
"""The maximum number of characters of a condition."""
_MOST_SUMS = 4

_TYPES = ("int", "uint", "double", "string", "bool", "bytes", "list", "map", "null_type", "type")
_FUNCTIONS = frozenset(
    (
        *("size", "contains", "startsWith", "endsWith", "matches", "timestamp", "duration"),
        *("string", "int", "uint", "double", "type", "dyn"),
        *("lower", "icontains", "results"),
    )
)
_OPERATORS = frozenset(
    (
        *("_&&_", "_||_", "!_", "-_", "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"),
        *("_+_", "_-_", "_*_", "_/_", "_%_", "_?_:_", "_[_]", "@in", "@not_strictly_false"),
    )
)
_STRING = re.compile(
    r"""(?P<odd>//|[rR][bB]?["']|[bB][rR]["']|\"{3}|'{3})|\"(?:\\.|[^"\\])*\"|'(?:\\.|[^'\\])*'""", re.DOTALL
)
_OWN = re.compile(r"\b(?:lower|icontains)\s*\(")
_LOOP = re.compile(r"\.\s*(?P<loop>all|exists|exists_one|filter|map)\s*\(")
_RESULTS = re.compile(r"(?P<before>\.\s*)?\bresults\s*\((?:\s*(?P<tool>\"_*\")\s*\))?")
_TOOL = re.compile(r"[\w./:-]+")
_RESULT_VARIABLE = "_result_{}"
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|filter)\s*\(\s*(\w+)\s*,")


@dataclass(frozen=True, slots=True)
class ToolHints:
    """Hints about a tool: whether the tool only reads, and whether it can destroy data (true if unknown).

    `changed` is true if the definition of the tool has changed since the agent first saw it.
    """

    read_only: bool = False
    destructive: bool = True
    changed: bool = False


NO_HINTS = ToolHints()


def check_expression(text: str) -> None:
    """Raise BadInput if the condition is invalid or uses no fact of a check."""
    if len(text) > MAX_EXPRESSION:
        raise BadInput(f"The condition has {len(text):,} characters. Use fewer than {MAX_EXPRESSION:,}.")
    references = _program(text).references()
    if any(found["odd"] for found in _STRING.finditer(text)):
        raise BadInput("Comments, raw and triple-quoted strings are not supported. Write plain strings.")
    _check_results(text)
    bare = _STRING.sub('""', text)
    _check_loops(bare)
    known = {*VARIABLES, *_TYPES, *_BOUND.findall(bare)}
    for name in references["variables"]:
        if name not in known:
            raise BadInput(f"{name!r} is not a variable. Use {', '.join(VARIABLES)}.")
    for name in references["functions"]:
        if name not in _FUNCTIONS and name not in _OPERATORS:
            raise BadInput(f"{name!r} is not a supported function. Use {', '.join(sorted(_FUNCTIONS))}.")
    if not {*VARIABLES} & {*references["variables"]} and not result_tools(text):
        raise BadInput(
            f"The condition uses no fact of the check, so its result never changes. Use {', '.join(VARIABLES)}."
        )


def result_tools(text: str) -> tuple[str, ...]:
    """Return the tools whose earlier results a valid condition reads, each once."""
    return _read_results(text)[1] if "results" in text else ()


def holds(text: str, facts: Mapping[str, Any], results: Mapping[str, Any] | None = None) -> bool | None:
    """Return whether the condition holds for these facts, or None if undecidable, as with a missing argument.

    `results` holds the value of `results("tool")` by tool.
    """
    try:
        if tools := result_tools(text):
            text = _read_results(text)[0]
            known = {name: (results or {})[name] for name in tools if name in (results or {})}
            facts = {**facts, **{_RESULT_VARIABLE.format(tools.index(name)): value for name, value in known.items()}}
        found = _program(text).execute(_context(text, facts))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        # The evaluator is compiled code, whose panics are not Exceptions; after any failure the answer is unknown.
        return None
    return found if isinstance(found, bool) else None


def _check_results(text: str) -> None:
    """Raise BadInput unless each call of `results` has the quoted name of one tool as its argument."""
    for found in _RESULTS.finditer(_blanked(text)):
        name = text[found.start("tool") + 1 : found.end("tool") - 1] if found["tool"] else ""
        if found["before"] or not _TOOL.fullmatch(name):
            raise BadInput('results needs the name of one tool between quotes, such as results("get_order").')


@lru_cache(maxsize=1_024)
def _read_results(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the condition with a variable in place of each call of `results`, and the tools of these calls."""
    pieces, tools, end = list[str](), dict[str, None](), 0
    for found in _RESULTS.finditer(_blanked(text)):
        name = text[found.start("tool") + 1 : found.end("tool") - 1]
        tools[name] = None
        pieces += [text[end : found.start()], _RESULT_VARIABLE.format(list(tools).index(name))]
        end = found.end()
    return "".join([*pieces, text[end:]]), tuple(tools)


def _blanked(text: str) -> str:
    """Return the condition with strings of the same length in which every character is an underscore."""
    return _STRING.sub(lambda found: f'"{"_" * (len(found[0]) - 2)}"', text)


def _context(text: str, facts: Mapping[str, Any]) -> dict[str, Any] | cel.Context:
    """Return the facts, with the functions that ignore case if the condition may call them."""
    if not _OWN.search(text):
        return dict(facts)
    context = cel.Context()
    context.add_function("lower", str.casefold)
    context.add_function("icontains", lambda whole, part: part.casefold() in whole.casefold())
    context.update(dict(facts))
    return context


@lru_cache(maxsize=1_024)
def _program(text: str) -> cel.Program:
    try:
        return cel.compile(text)
    except ValueError as unreadable:
        reason = str(unreadable).partition("ERROR: <input>:")[2].partition("\n")[0] or "it is not an expression"
        raise BadInput(f"The condition is not valid ({reason}). Correct the condition.") from unreadable


def _check_loops(bare: str) -> None:
    """Raise BadInput if loops are nested or a loop grows a list, since evaluation could take minutes."""
    end = 0
    for found in _LOOP.finditer(bare):
        if found["loop"] == "map":
            raise BadInput("'map' is not a supported function. Use all, exists, exists_one or filter.")
        if found.start() < end:
            raise BadInput(f"{found['loop']!r} is within another loop. Write one rule for each loop.")
        end = _closing(bare, found.end())
        if bare.count("+", found.end(), end) > _MOST_SUMS:
            raise BadInput(
                f"{found['loop']!r} contains more than {_MOST_SUMS} plus signs. Split the condition into several rules."
            )


def _closing(bare: str, start: int) -> int:
    depth = 1
    for place in range(start, len(bare)):
        depth += {"(": 1, ")": -1}.get(bare[place], 0)
        if not depth:
            return place
    return len(bare)


def names_suffix(name: str, glob: str) -> bool:
    """Return whether a glob matches the tool's full name or a remainder of the name; a too long name always matches."""
    return len(name) > MAX_TOOL_NAME or is_like(list_suffixes(name), (glob,))


def list_suffixes(name: str) -> tuple[str, ...]:
    """Return the tool's full name, and its remainder after each separator and each `__`."""
    found = name_suffixes(name)
    return (*found, *(one[at.start() :] for one in found for at in re.finditer("(?<=__)(?=.)", one)))


def names_tool(name: str, glob: str) -> bool:
    """Return whether a glob matches the last segment of the tool's name, or the full name segment by segment."""
    # Clients write `__` after a server's name or within a tool's name: the glob must match in both readings.
    return len(name) <= MAX_TOOL_NAME and all(
        _are_like(name_segments(name, is_mcp=is_mcp), name_segments(glob, is_mcp=is_mcp)) for is_mcp in (False, True)
    )


def _are_like(segments: Sequence[str], wanted: Sequence[str]) -> bool:
    if len(wanted) == 1:
        segments = segments[-1:]
    return len(wanted) == len(segments) and all(
        is_like((segment,), (part,)) if at % 2 == 0 else segment == part
        for at, (segment, part) in enumerate(zip(segments, wanted, strict=True))
    )


def is_like(names: Iterable[str], globs: tuple[str, ...]) -> bool:
    """Return whether one of the texts matches one of the globs."""
    return any(_glob(globs).fullmatch(name) for name in names)


_glob = lru_cache(maxsize=1_024)(checkpoints.globs)


_MOST_CHOICES = 1_000
"""The largest number of combinations of results for which a condition is evaluated."""


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """The action that led to a result, and the result as text."""

    action: str
    text: str


@dataclass(frozen=True, slots=True)
class EarlierResults:
    """The results in a task so far, oldest first: results recorded by the console, and results stated by the agent."""

    recorded: tuple[EarlierResult, ...] = ()
    stated: tuple[EarlierResult, ...] = ()

    def latest(self, tools: Sequence[str]) -> dict[str, Any]:
        """Return the latest recorded result of each tool, without the tools that have no readable result."""
        found: dict[str, Any] = {}
        for name in tools:
            of_tool = [one.text for one in self.recorded if _is_only_call(one.action, name)]
            if of_tool and (value := _read(of_tool[-1])) is not None:
                found[name] = value
        return found

    def choices(self, tools: Sequence[str]) -> Iterator[dict[str, Any]] | None:
        """Return every combination of results of these tools, stated or recorded; None if there are too many."""
        number, lists = 1, []
        for name in tools:
            texts = dict.fromkeys(one.text for one in (*self.recorded, *self.stated) if _has_call(one.action, name))
            lists.append([value for text in texts if (value := _read(text)) is not None])
            number *= len(lists[-1])
        if number > _MOST_CHOICES:
            return None
        return (dict(zip(tools, values, strict=True)) for values in product(*lists))


NO_RESULTS = EarlierResults()


def _is_only_call(action: str, tool: str) -> bool:
    call = parts[0].call if len(parts := read_strictly(action)) == 1 else None
    return call is not None and names_tool(call.name, tool)


def _has_call(action: str, tool: str) -> bool:
    return any(names_suffix(call.name, tool) for call in read_calls(action))


@lru_cache(maxsize=64)
def _read(text: str) -> Any:
    """Return the value of a JSON result, else its text; None if it is too long, null or not strict JSON."""
    if len(text) > MAX_ARGUMENTS:
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return None if find_problem(f'{{"result":{text}}}') else value
