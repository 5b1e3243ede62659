"""The almanac of the embedded world: every entity and its facts, and the pages about them, identical on every machine.

All entities are invented. Each fact has one value, so every question has exactly one correct answer. A page has a first
paragraph of five sentences, then the rest.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product

from console.environments.hotpotqa.corpus import SHOWN_SENTENCES, Corpus, WikiPage
from console.errors import UnreadableFile
from console.trajectory.strict_yaml import Bounds, read_data

_KIND_TABLES = ("places", "buildings", "people", "companies", "music", "works")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that each entity of a kind has exactly once: to another entity (`target`), a number or a word.

    Each sentence in `tells` contains `keyword` (ignoring case), so that a lookup finds the sentence. `deep` facts, and
    a fifth of the other facts, appear below the text that a search returns; in that text `trap` replaces them with a
    true statement about another entity. `noun` names the value in a question. `first` asks which of `{a}` and `{b}` is
    first (the larger number if `larger`), and `same` whether their values are equal.
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
    """A kind of entity; `names` is its list of names, and `mark` distinguishes entities with equal names."""

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
    """Return the tables in this folder; read them once per process."""
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
            yield f"the kind {kind.name!r} occurs twice. Keep one of these kinds"
        if kind.names not in names:
            yield f"the kind {kind.name!r} takes its names from {kind.names!r}, which is not a list in names.yaml"
        for relation in kind.relations:
            if relation.target and relation.target not in kinds:
                leads = f"{relation.name!r} of {kind.name!r} leads to {relation.target!r}"
                yield f"{leads}, which is not a kind in any table"
            if sum(map(bool, (relation.target, relation.numbers, relation.words))) != 1:
                yield f"{relation.name!r} of {kind.name!r} needs one of target, numbers and words, and only one"


_NAMESAKE_EVERY = 5
_DEEPENED_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity; facts about another entity hold its title, and `deep` facts are below the first paragraph."""

    kind: EntityKind
    title: str
    name: str
    facts: dict[str, str]
    deep: frozenset[str]

    @property
    def called(self) -> str:
        """The phrase by which a question refers to the entity."""
        return self.kind.called.format(x=self.name)


@dataclass(frozen=True, slots=True)
class Almanac:
    """The almanac: all entities by title and by kind."""

    entities: dict[str, Entity]
    by_kind: dict[str, list[Entity]]

    def value(self, entity: Entity, relation: Relation) -> str:
        """Return the value of a fact as text: a name, a number or a word."""
        fact = entity.facts[relation.name]
        return self.entities[fact].name if relation.target else fact


@lru_cache(maxsize=1)
def almanac() -> Almanac:
    """Return the almanac of the embedded world; build it once per process."""
    rng = random.Random("almanac")
    kinds = embedded_tables().kinds
    named = _name_entities(kinds)
    titles = {kind: [title for title, _ in pairs] for kind, pairs in named.items()}
    entities: dict[str, Entity] = {}
    for name, pairs in named.items():
        for title, shown in pairs:
            kind = kinds[name]
            facts = {relation.name: _fact(relation, titles, rng) for relation in kind.relations}
            deep = frozenset(r.name for r in kind.relations if r.deep or rng.random() < _DEEPENED_SHARE)
            entities[title] = Entity(kind, title, shown, facts, deep)
    # A film with a novel's name is the film of that novel.
    for entity in entities.values():
        novel = f"{entity.name} (novel)"
        if entity.kind.name == "film" and novel in entities:
            entity.facts["novel"] = novel
    by_kind = {name: [entities[title] for title in found] for name, found in titles.items()}
    return Almanac(entities, by_kind)


def read_number(fact: str) -> int:
    """Return the number that a fact states."""
    return int(fact.replace(",", ""))


def _fact(relation: Relation, titles: dict[str, list[str]], rng: random.Random) -> str:
    if relation.target:
        return rng.choice(titles[relation.target])
    if relation.numbers is None:
        return rng.choice(relation.words)
    value = rng.choice(relation.numbers)
    return f"{value:,}" if value >= 10_000 else str(value)


def _name_entities(kinds: Mapping[str, EntityKind]) -> dict[str, list[tuple[str, str]]]:
    """Return (title, name) of each entity by kind; if two kinds share a name, the titles contain the kind's mark."""
    lists = embedded_tables().names
    fresh = {}
    for source, names in lists.items():
        combined = [names.pattern.format(a, b) for a, b in product(names.first, names.second)]
        fresh[source] = iter(random.Random(f"names {source}").sample(combined, len(combined)))
    taken: dict[str, list[str]] = {source: [] for source in lists}
    chosen = {kind.name: _choose(kind, fresh[kind.names], taken[kind.names]) for kind in kinds.values()}
    owners = Counter(name for found in chosen.values() for name in found)
    return {
        kind: [(f"{name} ({kinds[kind].mark})" if owners[name] > 1 else name, name) for name in found]
        for kind, found in chosen.items()
    }


def _choose(kind: EntityKind, fresh: Iterator[str], taken: list[str]) -> list[str]:
    older = iter([name for name in reversed(taken) if taken.count(name) == 1][::2])
    reused = [next(older, "") if place % _NAMESAKE_EVERY == 1 else "" for place in range(kind.count)]
    chosen = [name or next(fresh) for name in reused]
    taken += chosen
    return chosen


_TRAPPED_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page, and the sentence that states each fact of the page's entity."""

    page: WikiPage
    telling: dict[str, str]


@lru_cache(maxsize=1)
def write_pages() -> dict[str, WrittenPage]:
    """Return every page of the embedded world by title."""
    world = almanac()
    return {title: _write(entity, world) for title, entity in world.entities.items()}


@lru_cache(maxsize=1)
def embedded_corpus() -> Corpus:
    """Return the corpus of the embedded world; index it once per process."""
    return Corpus(entry.page for entry in write_pages().values())


def _write(entity: Entity, world: Almanac) -> WrittenPage:
    rng = random.Random(f"page {entity.title}")
    telling = {
        relation.name: _sentence(rng.choice(relation.tells), entity, world.value(entity, relation))
        for relation in entity.kind.relations
    }
    fillers = rng.sample(entity.kind.fillers, len(entity.kind.fillers))
    above = [text for name, text in telling.items() if name not in entity.deep] + _traps(entity, world, rng)
    above += fillers[: max(0, SHOWN_SENTENCES - 1 - len(above))]
    below = [text for name, text in telling.items() if name in entity.deep] + _namesake(entity, world, rng)
    below += [text for text in fillers if text not in above][:3]
    rng.shuffle(above)
    rng.shuffle(below)
    opening = _sentence(rng.choice(entity.kind.opens), entity)
    return WrittenPage(WikiPage(entity.title, (opening, *above, *below)), telling)


def _traps(entity: Entity, world: Almanac, rng: random.Random) -> list[str]:
    trapped = [relation for relation in entity.kind.relations if relation.trap and relation.name in entity.deep]
    return [
        _sentence(relation.trap, entity, other=_other(entity, relation, world, rng))
        for relation in trapped
        if rng.random() < _TRAPPED_SHARE
    ]


def _other(entity: Entity, relation: Relation, world: Almanac, rng: random.Random) -> str:
    true = entity.facts[relation.name]
    return rng.choice([found.name for found in world.by_kind[relation.target] if found.title != true])


def _namesake(entity: Entity, world: Almanac, rng: random.Random) -> list[str]:
    alike = [
        other.title
        for other in world.entities.values()
        if other is not entity and (other.name == entity.name or other.name.split()[-1] == entity.name.split()[-1])
    ]
    same_name = [title for title in alike if world.entities[title].name == entity.name]
    chosen = rng.choice(same_name or alike) if alike else ""
    return [f"{entity.title} should not be confused with {chosen}."] if chosen else []


def _sentence(pattern: str, entity: Entity, value: str = "", other: str = "") -> str:
    text = pattern.format(x=entity.name, v=value, o=other)
    return text[0].upper() + text[1:]
