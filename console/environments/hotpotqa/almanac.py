"""The almanac of the embedded world: every entity and its facts, identical on every machine.

All entities are invented. Each fact has one value, so every question has exactly one correct answer.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from console.environments.hotpotqa.schema import EntityKind, NameList, Relation, embedded_tables

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
    """Return the almanac of the embedded world, built once."""
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
    _adapt_namesakes(entities)
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
    fresh = {source: iter(_shuffle(source, lists[source])) for source in lists}
    taken: dict[str, list[str]] = {source: [] for source in lists}
    chosen = {kind.name: _choose(kind, fresh[kind.names], taken[kind.names]) for kind in kinds.values()}
    owners = Counter(name for found in chosen.values() for name in found)
    return {
        kind: [(f"{name} ({kinds[kind].mark})" if owners[name] > 1 else name, name) for name in found]
        for kind, found in chosen.items()
    }


def _shuffle(source: str, names: NameList) -> list[str]:
    """Return every name of that list in a fixed shuffled order."""
    combined = [names.pattern.format(a, b) for a, b in product(names.first, names.second)]
    return random.Random(f"names {source}").sample(combined, len(combined))


def _choose(kind: EntityKind, fresh: Iterator[str], taken: list[str]) -> list[str]:
    older = iter([name for name in reversed(taken) if taken.count(name) == 1][::2])
    reused = [next(older, "") if place % _NAMESAKE_EVERY == 1 else "" for place in range(kind.count)]
    chosen = [name or next(fresh) for name in reused]
    taken += chosen
    return chosen


def _adapt_namesakes(entities: dict[str, Entity]) -> None:
    """Make each film with a novel's name the film of that novel."""
    for entity in entities.values():
        novel = f"{entity.name} (novel)"
        if entity.kind.name == "film" and novel in entities:
            entity.facts["novel"] = novel
