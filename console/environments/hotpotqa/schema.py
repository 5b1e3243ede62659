"""The tables that the embedded world is made from: kinds of entities, the relations of each, and lists of names.

They lie beside this file as YAML and are read strictly. In every text `{x}` is the entity itself, `{v}` the value of
the relation and `{o}` some other entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from console.errors import UnreadableFile
from console.trajectory.data_files import read_data

_KIND_TABLES = ("places", "buildings", "people", "companies", "music", "works")


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
            yield f"the kind {kind.name!r} takes its names from {kind.names!r}, which is no list of names.yaml"
        for relation in kind.relations:
            if relation.target and relation.target not in kinds:
                yield f"{relation.name!r} of {kind.name!r} leads to {relation.target!r}, which is no kind of any table"
            if sum(map(bool, (relation.target, relation.numbers, relation.words))) != 1:
                yield f"{relation.name!r} of {kind.name!r} needs one of target, numbers and words, and only one"
