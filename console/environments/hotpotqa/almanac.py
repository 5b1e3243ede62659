"""The embedded world: every thing in it and every fact about it, the same on each machine.

Nothing in it is real. Each fact has one value, so the answer to a question about it is certain.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from console.environments.hotpotqa.buildings import BUILDINGS
from console.environments.hotpotqa.companies import CLUB, COMPANIES
from console.environments.hotpotqa.music import MUSIC
from console.environments.hotpotqa.names import NAMES, names
from console.environments.hotpotqa.people import PEOPLE
from console.environments.hotpotqa.places import PLACES
from console.environments.hotpotqa.schema import EntityKind, Relation
from console.environments.hotpotqa.works import WORKS

KINDS: dict[str, EntityKind] = {
    kind.name: kind for kind in (*PLACES, *BUILDINGS, *PEOPLE, *COMPANIES, CLUB, *MUSIC, *WORKS)
}
_NAMESAKE_EVERY = 5
_DEEPENED_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Entity:
    """One thing: the title of its page, its name, its facts, and which of them stand below the first paragraph.

    A fact about another thing holds that thing's title.
    """

    kind: EntityKind
    title: str
    name: str
    facts: dict[str, str]
    deep: frozenset[str]

    @property
    def called(self) -> str:
        """What a question calls it."""
        return self.kind.called.format(x=self.name)


@dataclass(frozen=True, slots=True)
class Almanac:
    """All things by title and by kind."""

    things: dict[str, Entity]
    by_kind: dict[str, list[Entity]]

    def value(self, thing: Entity, relation: Relation) -> str:
        """The value of a fact in words: a name, a number, a word."""
        fact = thing.facts[relation.name]
        return self.things[fact].name if relation.target else fact


@lru_cache(maxsize=1)
def almanac() -> Almanac:
    """The embedded world, made once."""
    rng = random.Random("almanac")
    named = _named()
    titles = {kind: [title for title, _ in pairs] for kind, pairs in named.items()}
    things: dict[str, Entity] = {}
    for name, pairs in named.items():
        for title, shown in pairs:
            kind = KINDS[name]
            facts = {relation.name: _fact(relation, titles, rng) for relation in kind.relations}
            deep = frozenset(r.name for r in kind.relations if r.deep or rng.random() < _DEEPENED_SHARE)
            things[title] = Entity(kind, title, shown, facts, deep)
    _adapt_namesakes(things)
    by_kind = {name: [things[title] for title in found] for name, found in titles.items()}
    return Almanac(things, by_kind)


def number(fact: str) -> int:
    """The number that a fact states."""
    return int(fact.replace(",", ""))


def _fact(relation: Relation, titles: dict[str, list[str]], rng: random.Random) -> str:
    if relation.target:
        return rng.choice(titles[relation.target])
    if relation.numbers is None:
        return rng.choice(relation.words)
    value = rng.choice(relation.numbers)
    return f"{value:,}" if value >= 10_000 else str(value)


def _named() -> dict[str, list[tuple[str, str]]]:
    """(title, name) of each thing by kind; a name that two kinds share carries the kind's mark in the title."""
    fresh = {source: iter(names(source)) for source in NAMES}
    taken: dict[str, list[str]] = {source: [] for source in NAMES}
    chosen = {kind.name: _choose(kind, fresh[kind.names], taken[kind.names]) for kind in KINDS.values()}
    owners = Counter(name for found in chosen.values() for name in found)
    return {
        kind: [(f"{name} ({KINDS[kind].mark})" if owners[name] > 1 else name, name) for name in found]
        for kind, found in chosen.items()
    }


def _choose(kind: EntityKind, fresh: Iterator[str], taken: list[str]) -> list[str]:
    older = iter([name for name in reversed(taken) if taken.count(name) == 1][::2])
    reused = [next(older, "") if place % _NAMESAKE_EVERY == 1 else "" for place in range(kind.count)]
    chosen = [name or next(fresh) for name in reused]
    taken += chosen
    return chosen


def _adapt_namesakes(things: dict[str, Entity]) -> None:
    """A film that has a novel's name is the film of that novel."""
    for thing in things.values():
        novel = f"{thing.name} (novel)"
        if thing.kind.name == "film" and novel in things:
            thing.facts["novel"] = novel
