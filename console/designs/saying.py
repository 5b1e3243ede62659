"""What is wrong with a design, as one sentence: the field, what it must be, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

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
