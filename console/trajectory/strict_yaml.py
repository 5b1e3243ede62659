"""The strict YAML parser for study designs, gate policies, and data tables stored beside the code that uses them.

A shape is a pydantic model, a dataclass, or a dict, tuple or scalar of these. A scalar is its text in the file, and the
shape determines its type; in the console's own tables, scalars have the types of YAML. The parser refuses duplicate
keys, unknown fields and endless aliases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from difflib import get_close_matches
from importlib.resources.abc import Traversable
from typing import Annotated, Any, NamedTuple, NoReturn, TypeVar, cast, get_args, get_origin, get_type_hints

import orjson
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError
from yaml.constructor import SafeConstructor

from console.errors import BadInput, UnreadableFile

Shape = TypeVar("Shape")
Loc = tuple[str | int, ...]


class Place(NamedTuple):
    """A line and a column of a file, both counted from 1."""

    line: int
    column: int


class WrittenScalar(str):
    """The text of a scalar with its YAML tag, such as `tag:yaml.org,2002:int` for an unquoted number."""

    tag = ""


def _to_words(value: object) -> frozenset[str]:
    if not isinstance(value, str):
        raise ValueError("must be a single text")
    return frozenset(value.split())


def _to_range(value: object) -> range:
    try:
        return range(*map(int, value))  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise ValueError("must be [first, below] or [first, below, step]") from None


def _join(parts: object) -> str:
    return parts if isinstance(parts, str) else "".join(map(_join, cast("Sequence[object]", parts)))


Pattern = Annotated[re.Pattern[str], BeforeValidator(_join)]
"""A regular expression written as one text or as a list of its parts."""
Words = Annotated[frozenset[str], BeforeValidator(_to_words)]
"""A set of words written as one text."""
Bounds = Annotated[range, BeforeValidator(_to_range)]
"""A range written as [first, below] or [first, below, step]."""

_MOST_NODES = 20_000
_CONFIG = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
# The parser written in C reads the tables ten times faster; some builds of PyYAML lack it. It has no limit of depth,
# so texts that a user gives are read by the other.
_TABLE_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, shape: type[Shape], where: str, *, hint: str = "", aliases: bool = True) -> Shape:
    """Parse the YAML text as this shape; raise BadInput with `where`, the line and column, and the problem.

    `hint` is the advice in the error about a text without fields. If `aliases` is false, refuse any alias.
    """
    walk = _Walk(aliases=aliases)
    value = _compose(text, yaml.SafeLoader, where, walk)
    if not isinstance(value, dict) and issubclass(shape, BaseModel):
        raise BadInput(f"{where}: expected `field: value` lines{'; ' if hint else ''}{hint}.")
    return _validate(lambda adapter: adapter.validate_python([value]), shape, where, walk.places)


def read_data(file: Traversable, shape: type[Shape]) -> Shape:
    """Parse one of the console's tables as this shape; raise UnreadableFile with the line, column and problem."""
    walk, where = _Walk(typed=True), "the table"
    try:
        document = orjson.dumps([_compose(file.read_text("utf-8"), _TABLE_LOADER, where, walk)], default=str)
        read = _validate(lambda adapter: adapter.validate_json(document, strict=True), shape, where, walk.places)
    except BadInput as refused:
        raise UnreadableFile(file.name, str(refused)) from refused
    return read


def refuse_at(path: Loc, reason: str) -> NoReturn:
    """Raise, within a validator, a ValidationError for the field at this path below the validated value."""
    error = PydanticCustomError("value_error", "{error}", {"error": reason})
    raise ValidationError.from_exception_data("shape", [InitErrorDetails(type=error, loc=path, input=None)])


def describe_failure(failure: ValidationError, shape: object, where: str) -> str:
    """Describe in one sentence the first problem of values from outside a file, and the number of other problems."""
    return _describe(failure.errors(include_url=False), shape, where, {})


def _describe(problems: Sequence[Any], shape: object, where: str, places: Mapping[Loc, Place]) -> str:
    loc = tuple(problems[0]["loc"])
    known = next((places[loc[:end]] for end in range(len(loc), 0, -1) if loc[:end] in places), None)
    known = known or (places.get(()) if loc else None)
    place = f"{where}, line {known.line}, column {known.column}" if known else where
    path = _path(loc)
    more = f" ({len(problems) - 1} more after that.)" if len(problems) > 1 else ""
    end = "" if (problem := _problem(problems[0], shape)).endswith("?") else "."
    return f"{place}: {path + ' ' if path else ''}{problem}{end}{more}"


def _validate(
    validate: Callable[[TypeAdapter[list[Shape]]], list[Shape]],
    shape: type[Shape],
    where: str,
    places: Mapping[Loc, Place],
) -> Shape:
    # Within a list, so that a dataclass takes the configuration too.
    adapter = TypeAdapter(list[shape], config=_CONFIG)  # type: ignore[valid-type]
    try:
        return validate(adapter)[0]
    except ValidationError as failure:
        problems = [{**one, "loc": one["loc"][1:]} for one in failure.errors(include_url=False)]
        raise BadInput(_describe(problems, shape, where, places)) from None


@dataclass(slots=True)
class _Walk:
    aliases: bool = True
    typed: bool = False
    places: dict[Loc, Place] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    open_nodes: set[int] = field(default_factory=set)
    nodes: int = 0


def _compose(text: str, loader: Any, where: str, walk: _Walk) -> object:
    try:
        root = yaml.compose(text, Loader=loader)
        return None if root is None else _value(root, (), walk)
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise BadInput(
            f"{where}{place}: invalid YAML, {failure.problem or 'unreadable'}. Correct this place."
        ) from None
    except (yaml.YAMLError, ValueError):
        raise BadInput(f"{where}: invalid YAML text. Remove the control characters.") from None
    except RecursionError:
        raise BadInput(f"{where}: the YAML is nested too deeply. Use a few levels at most.") from None


def _value(node: yaml.Node, path: Loc, walk: _Walk) -> object:
    mark = node.start_mark
    walk.places.setdefault(path, Place(mark.line + 1, mark.column + 1))
    walk.nodes += 1
    if walk.nodes > _MOST_NODES or id(node) in walk.open_nodes:
        raise yaml.MarkedYAMLError(problem="an alias repeats too much", problem_mark=mark)
    if not walk.aliases and id(node) in walk.seen:
        raise yaml.MarkedYAMLError(problem="an alias (*name) is not allowed", problem_mark=mark)
    walk.seen.add(id(node))
    if isinstance(node, yaml.ScalarNode) and walk.typed:
        return SafeConstructor().construct_object(node)
    if isinstance(node, yaml.ScalarNode):
        text = WrittenScalar(node.value)
        text.tag = node.tag
        return None if node.tag == "tag:yaml.org,2002:null" else text
    walk.open_nodes.add(id(node))
    found: object
    if isinstance(node, yaml.MappingNode):
        found = _fields(node, path, walk)
    else:
        found = [_value(one, (*path, at), walk) for at, one in enumerate(node.value)]
    walk.open_nodes.discard(id(node))
    return found


def _fields(node: yaml.MappingNode, path: Loc, walk: _Walk) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(problem="a field's name is not text", problem_mark=key.start_mark)
        if key.value in found:
            raise yaml.MarkedYAMLError(problem=f"duplicate key {key.value!r}", problem_mark=key.start_mark)
        walk.places[*path, key.value] = Place(key.start_mark.line + 1, key.start_mark.column + 1)
        found[key.value] = _value(value, (*path, key.value), walk)
    return found


_EXPECTED = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float", "int_parsing_size"), "a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list, such as [one, another]"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), "fields, one per line"),
}
_BOUNDS = {"greater_than_equal": ("ge", "{} or more"), "less_than_equal": ("le", "{} or less")}
_PATTERNS = {
    "name": "up to 40 letters, digits, spaces and . _ - (a study's also @), starting with a letter or digit",
    "key": "lower-case letters, digits and _, starting with a letter, such as age_group",
}


def _problem(problem: Any, shape: object) -> str:
    kind, given, context = problem["type"], problem["input"], problem.get("ctx", {})
    name = str(problem["loc"][-1]) if problem["loc"] else ""
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        known = _field_types(_shape_at(shape, problem["loc"][:-1]))
        near = get_close_matches(name, known, n=1)
        return f"unknown field. Did you mean {near[0]}?" if near else f"unknown field. Use {', '.join(known)}"
    if kind == "missing":
        return "is missing. Add this field"
    if kind == "value_error":
        return str(context["error"]).rstrip(".")
    if kind in ("literal_error", "enum"):
        return f"must be {context['expected']}, not {_shown(given)}"
    if kind == "string_pattern_mismatch":
        return f"must be {_PATTERNS.get(name, context['pattern'])}, not {_shown(given)}"
    if kind in ("too_short", "too_long") and get_origin(_shape_at(shape, problem["loc"])) is tuple:
        return f"must have {problem['msg'].split('should have ')[-1].split(' after')[0]}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"must be {words.format(context[key])}, not {_shown(given)}"
    return f"must be {_EXPECTED.get(kind, 'text')}, not {_shown(given)}"


def _path(loc: Sequence[str | int]) -> str:
    text = ""
    for step in loc:
        # An unknown field may have any name, line breaks included.
        name = step if isinstance(step, int) or step.isprintable() else repr(step)
        text += f"[{name + 1}]" if isinstance(name, int) else f".{name}" if text else name
    return f"{text}:" if text else ""


def _shape_at(shape: object, loc: Sequence[str | int]) -> object:
    for step in loc:
        fields = _field_types(shape)
        if isinstance(step, str) and step in fields:
            shape = fields[step]
        elif parts := [one for one in get_args(shape) if one is not ...]:
            shape = parts[-1]
    return shape


def _field_types(shape: object) -> dict[str, object]:
    """Return the field types of the first model or dataclass within a shape, by name."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return {name: one.annotation for name, one in shape.model_fields.items()}
    if isinstance(shape, type) and is_dataclass(shape):
        return dict(get_type_hints(shape))
    return next((found for one in get_args(shape) if (found := _field_types(one))), {})


def _shown(given: object) -> str:
    if given is None:
        return "nothing"
    if not isinstance(given, str | int | float):
        return "a list" if isinstance(given, list | tuple) else "fields"
    text = " ".join(str(given).split())
    return repr(text if len(text) <= 40 else text[:39] + "…")
