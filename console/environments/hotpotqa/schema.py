"""Tables from which the embedded world is generated: kinds of entities, their relations, and lists of names.

The tables are strict YAML files in this folder. In every text `{x}` is the entity, `{v}` is the value of the relation,
and `{o}` is another entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from console.errors import UnreadableFile
from console.trajectory.strict_yaml import Bounds, read_data

_KIND_TABLES = ("places", "buildings", "people", "companies", "music", "works")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that each entity of a kind has exactly once: to another entity (`target`), a number or a word.

    Each sentence in `tells` contains `keyword` (ignoring case), so that a lookup finds the sentence. `deep` facts, and
    a fifth of the others, appear below the text that a search returns; in that text `trap` replaces them with a true
    statement about another entity. `noun` names the value in a question. `first` is the question which of `{a}` and
    `{b}` comes first (the larger number if `larger`); `same` is the question whether both values are equal.
    """

    name: str
    asks: str
    keyword: str
    tells: tuple[str, ...]
    target: str = ""
    numbers: Bounds | None = None
    words: tuple[str, ...] = ()
    noun: str = ""
    deep: bool = False
    trap: str = ""
    first: str = ""
    larger: bool = False
    same: str = ""


@dataclass(frozen=True, slots=True)
class EntityKind:
    """A kind of entity; `names` is its list of names, and `mark` tells the titles of entities that share one apart."""

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
    """All tables of a world: kinds of entities and lists of names, by name and in order."""

    kinds: Mapping[str, EntityKind]
    names: Mapping[str, NameList]


@lru_cache(maxsize=1)
def embedded_tables() -> WorldTables:
    """Return the tables in this folder, read once."""
    return read_tables(files(__package__) / "tables")


def read_tables(folder: Traversable) -> WorldTables:
    """Read the tables of a folder; raise UnreadableFile for an unknown or missing field or an unknown name."""
    names = read_data(folder / "names.yaml", dict[str, NameList])
    tables = {table: read_data(folder / f"{table}.yaml", tuple[EntityKind, ...]) for table in _KIND_TABLES}
    kinds = {kind.name: kind for table in tables.values() for kind in table}
    for table, rows in tables.items():
        for fault in _faults(rows, kinds, names):
            raise UnreadableFile(f"{table}.yaml", fault)
    return WorldTables(kinds, names)


def _faults(
    table: Iterable[EntityKind], kinds: Mapping[str, EntityKind], names: Mapping[str, NameList]
) -> Iterator[str]:
    for kind in table:
        if kinds[kind.name] is not kind:
            yield f"the kind {kind.name!r} stands twice; keep one"
        if kind.names not in names:
            yield f"the kind {kind.name!r} takes its names from {kind.names!r}, which is not a list in names.yaml"
        for relation in kind.relations:
            if relation.target and relation.target not in kinds:
                leads = f"{relation.name!r} of {kind.name!r} leads to {relation.target!r}"
                yield f"{leads}, which is not a kind in any table"
            if sum(map(bool, (relation.target, relation.numbers, relation.words))) != 1:
                yield f"{relation.name!r} of {kind.name!r} needs one of target, numbers and words, and only one"
