"""Designs as YAML files, in and out; what is wrong with one is told in one sentence.

Scalars are read as the text that was written, and the design says what is a number. The sentence names the field and
its line, what it must be, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from console.errors import BadInput
from console.studies.design.model import Design

Step = str | int
Lines = dict[tuple[Step, ...], int]


@dataclass(frozen=True, slots=True)
class Located:
    """Dicts, lists, texts and None, with the line of each field by its path; lines count from 1."""

    value: object
    lines: Lines


@dataclass(slots=True)
class _Walk:
    lines: Lines = field(default_factory=dict)
    open_nodes: set[int] = field(default_factory=set)
    nodes: int = 0


_MOST_NODES = 20_000


def plain(root: yaml.Node | None) -> Located:
    """The value of a document; raises MarkedYAMLError for fields given twice, keys that are no text, endless ones."""
    walk = _Walk()
    return Located(None if root is None else _value(root, (), walk), walk.lines)


def _value(node: yaml.Node, path: tuple[Step, ...], walk: _Walk) -> object:
    walk.lines.setdefault(path, node.start_mark.line + 1)
    walk.nodes += 1
    if walk.nodes > _MOST_NODES or id(node) in walk.open_nodes:
        raise yaml.MarkedYAMLError(problem="an alias repeats too much", problem_mark=node.start_mark)
    if isinstance(node, yaml.ScalarNode):
        return None if node.tag == "tag:yaml.org,2002:null" else node.value
    walk.open_nodes.add(id(node))
    found = _fields(node, path, walk) if isinstance(node, yaml.MappingNode) else _list(node, path, walk)
    walk.open_nodes.discard(id(node))
    return found


def _list(node: yaml.Node, path: tuple[Step, ...], walk: _Walk) -> list[object]:
    return [_value(one, (*path, at), walk) for at, one in enumerate(node.value)]


def _fields(node: yaml.MappingNode, path: tuple[Step, ...], walk: _Walk) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(problem="a field's name is not text", problem_mark=key.start_mark)
        if key.value in found:
            raise yaml.MarkedYAMLError(problem=f"{key.value} is given twice", problem_mark=key.start_mark)
        walk.lines[*path, key.value] = key.start_mark.line + 1
        found[key.value] = _value(value, (*path, key.value), walk)
    return found


_NUMBERS = {"int_parsing", "int_type", "int_from_float", "int_parsing_size"}
_DECIMALS = {"float_parsing", "float_type", "finite_number"}
_LISTS = {"tuple_type", "list_type"}
_FIELDS = {"dict_type", "model_type", "model_attributes_type"}
_BOUNDS = {
    "greater_than_equal": ("ge", "{} or more"),
    "less_than_equal": ("le", "{} or less"),
}
_PATTERNS = {
    "name": "up to 40 letters, digits, blanks and . _ - (a study's also @), with a letter or digit first",
    "key": "small letters, digits and _, with a letter first, such as age_group",
}


def sentence(
    failure: ValidationError, model: type[BaseModel], where: str, lines: Mapping[tuple[str | int, ...], int]
) -> str:
    """The first of the problems, with its line where one is known, and how many more there are."""
    problems = failure.errors(include_url=False)
    first = problems[0]
    loc = tuple(first["loc"])
    line = lines.get(loc) or lines.get(loc[:-1])
    place = f"{where}, line {line}" if line and loc else where
    path = _path(loc)
    more = f" ({len(problems) - 1} more after that.)" if len(problems) > 1 else ""
    return f"{place}: {path + ' ' if path else ''}{_said(first, model)}.{more}"


def _path(loc: Sequence[str | int]) -> str:
    text = ""
    for step in loc:
        # A field that is none of ours may be named anything, line breaks included.
        name = step if isinstance(step, int) or step.isprintable() else repr(step)
        text += f"[{name + 1}]" if isinstance(name, int) else f".{name}" if text else name
    return f"{text}:" if text else ""


def _said(problem: Any, model: type[BaseModel]) -> str:
    kind, given, context = problem["type"], problem["input"], problem.get("ctx", {})
    name = str(problem["loc"][-1]) if problem["loc"] else ""
    if kind == "extra_forbidden":
        return _unknown(name, _known(model, problem["loc"][:-1]))
    if kind == "missing":
        return "is missing; add it"
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return f"must be {context['expected']}, not {_shown(given)}"
    if kind == "string_pattern_mismatch":
        return f"must be {_PATTERNS.get(name, context['pattern'])}, not {_shown(given)}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"must be {words.format(context[key])}, not {_shown(given)}"
    return f"must be {_wanted(kind)}, not {_shown(given)}"


def _wanted(kind: str) -> str:
    if kind in _NUMBERS:
        return "a whole number"
    if kind in _DECIMALS:
        return "a number"
    if kind in _LISTS:
        return "a list, such as [one, another]"
    return "fields of its own, one a line" if kind in _FIELDS else "some text"


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    if near:
        return f"is no field here; write {near[0]} if that is meant"
    return f"is no field here; use {', '.join(known)}"


def _known(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    for step in loc:
        if isinstance(step, str) and step in model.model_fields:
            model = _model(model.model_fields[step].annotation) or model
    return list(model.model_fields)


def _model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _model(one))), None)


def _shown(given: object) -> str:
    if given is None:
        return "nothing"
    if not isinstance(given, str | int | float):
        return "a list" if isinstance(given, list | tuple) else "fields"
    text = " ".join(str(given).split())
    return repr(text if len(text) <= 40 else text[:39] + "…")


_MOST_CHARACTERS = 200_000
_OTHER_LINE_BREAKS = "\r\x85\u2028\u2029"


def load(source: Path | str) -> Design:
    """The design in a YAML file, or in YAML text; raises BadInput, one sentence with the field and what to do."""
    if isinstance(source, Path):
        return parse(text_of_file(source), str(source))
    return parse(source, "The design")


def parse(text: str, where: str) -> Design:
    """The design in YAML text; `where` begins every error's sentence. Raises BadInput."""
    if len(text) > _MOST_CHARACTERS:
        raise BadInput(f"{where}: is longer than {_MOST_CHARACTERS:,} characters; a design is a page or two of YAML.")
    located = _read(text, where)
    if not isinstance(located.value, dict):
        raise BadInput(f"{where}: holds no fields; see a design that works with `inferact study example`.")
    try:
        return Design.model_validate(located.value)
    except ValidationError as failure:
        raise BadInput(sentence(failure, Design, where, located.lines)) from None


def dump(design: Design) -> str:
    """The design as YAML with every field, the defaults included; `load` gives the same design back."""
    fields = design.model_dump(mode="json")
    if not fields["conditions"]:
        del fields["conditions"]
    return yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def changed(design: Design, **fields: object) -> Design:
    """The same design but for these fields; raises BadInput as `load` does."""
    try:
        return Design.model_validate(design.model_dump(mode="json") | fields)
    except ValidationError as failure:
        raise BadInput(sentence(failure, Design, "The design", {})) from None


def example() -> str:
    """A commented design that works as it is."""
    return files("console.studies.design").joinpath("example.yaml").read_text(encoding="utf-8")


def text_of_file(path: Path) -> str:
    """The text of a file that somebody named; raises BadInput where it cannot be read or is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as failure:
        raise BadInput(f"{path}: cannot be read ({failure.strerror or failure}); check the path.") from None
    except ValueError:
        raise BadInput(f"{path}: is no UTF-8 text; save it as UTF-8.") from None


def _read(text: str, where: str) -> Located:
    try:
        return plain(yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise BadInput(f"{where}{line}: {failure.problem or 'is no YAML'}; correct the YAML there.") from None
    except (yaml.YAMLError, ValueError):
        raise BadInput(f"{where}: is no YAML text; remove the control characters.") from None
    except RecursionError:
        raise BadInput(f"{where}: is nested too deeply; a design has five levels at most.") from None


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, as a person would."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    if any(other in text for other in _OTHER_LINE_BREAKS):  # YAML reads each of them as a plain line break
        return '"'
    return "|" if "\n" in text else None


_Dumper.add_representer(str, _text_node)
