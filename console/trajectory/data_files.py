"""Data files, the tables in YAML that lie beside the code that uses them, read strictly into a shape.

A shape is a dataclass, `dict[str, ...]`, `tuple[..., ...]`, a range, an enumeration, a plain scalar, one of
these `| None`, or `frozenset[str]`, which is written as one text of words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import EnumType
from functools import lru_cache
from importlib.resources.abc import Traversable
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml

from console.errors import UnreadableFile

Shape = TypeVar("Shape")

# The parser written in C reads the tables ten times faster; some builds of PyYAML lack it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BOUNDS = ([int, int], [int, int, int])
_EXPECTED: Mapping[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number with a point",
    bool: "true or false",
    tuple: "a list",
    frozenset: "words in one text",
    dict: "fields with names",
    Mapping: "fields with names",
    range: "[first, below] or [first, below, step]",
}


def read_data(file: Traversable, shape: type[Shape]) -> Shape:
    """The data of a file in that shape; raises UnreadableFile for an unknown or missing field or another type."""
    try:
        read: Shape = _value(yaml.load(file.read_text("utf-8"), _LOADER), shape, "the table")
    except (yaml.YAMLError, ValueError) as refused:
        raise UnreadableFile(file.name, str(refused)) from refused
    return read


def _value(value: Any, shape: Any, where: str) -> Any:
    """The YAML value in that shape."""
    if is_dataclass(shape):
        return _record(value, shape, where)
    origin, parts = get_origin(shape), get_args(shape)
    if origin is UnionType and type(None) in parts:
        return _value(value, parts[0], where)
    if origin in (dict, Mapping) and isinstance(value, dict):
        return {name: _value(row, parts[1], f"{where}, {name}") for name, row in value.items()}
    if origin is tuple and isinstance(value, list):
        if parts[-1] is not ... and len(value) != len(parts):
            raise ValueError(f"{where} is {value!r}; give a list of {len(parts)}")
        return tuple(_value(item, parts[0], f"{where}, {n}") for n, item in enumerate(value, 1))
    if origin is frozenset and isinstance(value, str):
        return frozenset(value.split())
    if shape is range and isinstance(value, list) and [type(bound) for bound in value] in _BOUNDS:
        return range(*value)
    if isinstance(shape, EnumType):
        return shape(value)
    if type(value) is not shape:
        raise ValueError(f"{where} is {value!r}; give {_EXPECTED[origin or shape]}")
    return value


def _record(row: Any, shape: Any, where: str) -> Any:
    if not isinstance(row, dict):
        raise ValueError(f"{where} is {row!r}; give fields with names")
    for field in row.keys() - _types(shape):
        raise ValueError(f"{where} has the unknown field {field!r}; its fields are {', '.join(_types(shape))}")
    for field in fields(shape):
        if field.default is field.default_factory is MISSING and field.name not in row:
            raise ValueError(f"{where} has no field {field.name!r}; give it")
    return shape(**{name: _value(value, _types(shape)[name], f"{where}, {name}") for name, value in row.items()})


@lru_cache
def _types(shape: Any) -> dict[str, Any]:
    return get_type_hints(shape)
