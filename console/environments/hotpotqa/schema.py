"""The tables that the embedded world is made from: kinds of entities, the relations of each, and lists of names.

They lie beside this file as YAML and are read strictly. In every text `{x}` is the entity itself, `{v}` the value of
the relation and `{o}` some other entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import yaml

from console.errors import UnreadableFile

_KIND_TABLES = ("places", "buildings", "people", "companies", "music", "works")
# The parser written in C reads the tables ten times faster; some builds of PyYAML lack it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BOUNDS = ([int, int], [int, int, int])
_EXPECTED = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    tuple: "a list",
    dict: "fields with names",
    UnionType: "[first, below] or [first, below, step]",
}


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that each entity of a kind has exactly once: to another entity (`target`), a number or a word.

    `keyword` is what a lookup finds in each of `tells`, whatever the case.
    `deep` facts stand below what a search shows, and so does a fifth of the others; `trap` then takes their place
    above with something that is true of another entity. `noun` names the value in a question about it. `first` asks
    which of `{a}` and `{b}` is ahead (the larger number if `larger`), `same` whether both agree.
    """

    name: str
    asks: str
    keyword: str
    tells: tuple[str, ...]
    target: str = ""
    numbers: range | None = None
    words: tuple[str, ...] = ()
    noun: str = ""
    deep: bool = False
    trap: str = ""
    first: str = ""
    larger: bool = False
    same: str = ""


@dataclass(frozen=True, slots=True)
class EntityKind:
    """A kind of entity: how many there are, what questions call one, and how a page about it opens and goes on.

    `names` is the list that its names come from; `mark` stands in the title where two entities share a name.
    """

    name: str
    count: int
    names: str
    called: str
    mark: str
    opens: tuple[str, ...]
    fillers: tuple[str, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True)
class NameList:
    """A list of invented names: every combination of `first` and `second` in `pattern`."""

    pattern: str
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WorldTables:
    """All tables of a world: its kinds of entities and its lists of names, both by name and in their order."""

    kinds: Mapping[str, EntityKind]
    names: Mapping[str, NameList]


@lru_cache(maxsize=1)
def embedded_tables() -> WorldTables:
    """The tables beside this file, read once."""
    return read_tables(files(__package__) / "tables")


def read_tables(folder: Traversable) -> WorldTables:
    """The tables of a folder; raises UnreadableFile for an unknown or missing field or a name that leads nowhere."""
    names: dict[str, NameList] = _table(folder / "names.yaml", dict[str, NameList])
    tables: dict[str, tuple[EntityKind, ...]] = {}
    for table in _KIND_TABLES:
        tables[table] = _table(folder / f"{table}.yaml", tuple[EntityKind, ...])
    kinds = {kind.name: kind for table in tables.values() for kind in table}
    for table, rows in tables.items():
        for fault in _faults(rows, kinds, names):
            raise UnreadableFile(f"{table}.yaml", fault)
    return WorldTables(kinds, names)


def _table(file: Traversable, shape: Any) -> Any:
    try:
        return _value(yaml.load(file.read_text("utf-8"), _LOADER), shape, "the table")
    except (yaml.YAMLError, ValueError) as refused:
        raise UnreadableFile(file.name, str(refused)) from refused


def _value(value: Any, shape: Any, where: str) -> Any:
    """The YAML value in that shape: a dataclass of ours, a tuple, a dict by name, a range or a plain scalar."""
    if is_dataclass(shape):
        return _record(value, shape, where)
    if get_origin(shape) is dict and isinstance(value, dict):
        return {name: _value(row, get_args(shape)[1], f"{where}, {name}") for name, row in value.items()}
    if get_origin(shape) is tuple and isinstance(value, list):
        return tuple(_value(item, get_args(shape)[0], f"{where}, {n}") for n, item in enumerate(value, 1))
    if shape == range | None and isinstance(value, list) and [type(bound) for bound in value] in _BOUNDS:
        return range(*value)
    if type(value) is not shape:
        raise ValueError(f"{where} is {value!r}; give {_EXPECTED[get_origin(shape) or shape]}")
    return value


def _record(row: Any, shape: Any, where: str) -> Any:
    if not isinstance(row, dict):
        raise ValueError(f"{where} is {row!r}; give fields with names")
    for field in row.keys() - _types(shape):
        raise ValueError(f"{where} has the unknown field {field!r}; its fields are {', '.join(_types(shape))}")
    for field in fields(shape):
        if field.default is MISSING and field.name not in row:
            raise ValueError(f"{where} has no field {field.name!r}; give it")
    return shape(**{name: _value(value, _types(shape)[name], f"{where}, {name}") for name, value in row.items()})


@lru_cache
def _types(shape: Any) -> dict[str, Any]:
    return get_type_hints(shape)


def _faults(
    table: Iterable[EntityKind], kinds: Mapping[str, EntityKind], names: Mapping[str, NameList]
) -> Iterator[str]:
    for kind in table:
        if kinds[kind.name] is not kind:
            yield f"the kind {kind.name!r} stands twice; keep one"
        if kind.names not in names:
            yield f"the kind {kind.name!r} takes its names from {kind.names!r}, which is no list of names.yaml"
        for relation in kind.relations:
            if relation.target and relation.target not in kinds:
                yield f"{relation.name!r} of {kind.name!r} leads to {relation.target!r}, which is no kind of any table"
            if sum(map(bool, (relation.target, relation.numbers, relation.words))) != 1:
                yield f"{relation.name!r} of {kind.name!r} needs one of target, numbers and words, and only one"
