"""Questions about the embedded world whose answers follow from its facts.

A bridge question asks for a fact of an entity that is itself named only by a fact of another entity; a comparison asks
which of two entities is ahead in a number, or (yes or no) whether both agree.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from console.environments.hotpotqa.almanac import Almanac, Entity, almanac, number
from console.environments.hotpotqa.schema import Relation

_PAIRS = 24


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """A generated question, its answer, and the facts (title, name of the fact) that give it, in reading order."""

    text: str
    answer: str
    type: str
    facts: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1)
def bridges() -> tuple[GeneratedQuestion, ...]:
    """Every bridge question, in a fixed order."""
    world = almanac()
    return tuple(question for entity in world.entities.values() for question in _bridges(entity, world))


@lru_cache(maxsize=1)
def comparisons() -> tuple[GeneratedQuestion, ...]:
    """A fixed choice of comparison questions, as many yes as no."""
    world, rng = almanac(), random.Random("comparisons")
    found: dict[str, GeneratedQuestion] = {}
    for entities in world.by_kind.values():
        for relation in entities[0].kind.relations:
            pairs = [pair for pair in combinations(entities, 2) if pair[0].name != pair[1].name]
            rng.shuffle(pairs)
            for question in (*_firsts(relation, pairs), *_sames(relation, pairs)):
                found.setdefault(question.text, question)
    return tuple(found.values())


def _bridges(entity: Entity, world: Almanac) -> Iterator[GeneratedQuestion]:
    for near in entity.kind.relations:
        if not near.noun:
            continue
        middle = world.entities[entity.facts[near.name]]
        asked = near.noun.format(x=entity.called)
        for far in middle.kind.relations:
            facts = ((entity.title, near.name), (middle.title, far.name))
            answer = world.value(middle, far)
            if answer.lower() not in asked.lower():
                yield GeneratedQuestion(far.asks.format(x=asked), answer, "bridge", facts)


def _firsts(relation: Relation, pairs: list[tuple[Entity, Entity]]) -> list[GeneratedQuestion]:
    if not relation.first:
        return []
    return [_first(relation, a, b) for a, b in pairs if a.facts[relation.name] != b.facts[relation.name]][:_PAIRS]


def _first(relation: Relation, a: Entity, b: Entity) -> GeneratedQuestion:
    ahead = (max if relation.larger else min)((a, b), key=lambda entity: number(entity.facts[relation.name]))
    return _comparison(relation, relation.first, a, b, ahead.name)


def _sames(relation: Relation, pairs: list[tuple[Entity, Entity]]) -> list[GeneratedQuestion]:
    if not relation.same:
        return []
    equal = [pair for pair in pairs if pair[0].facts[relation.name] == pair[1].facts[relation.name]][: _PAIRS // 2]
    unequal = [pair for pair in pairs if pair[0].facts[relation.name] != pair[1].facts[relation.name]][: len(equal)]
    return [
        *(_comparison(relation, relation.same, a, b, "yes") for a, b in equal),
        *(_comparison(relation, relation.same, a, b, "no") for a, b in unequal),
    ]


def _comparison(relation: Relation, pattern: str, a: Entity, b: Entity, answer: str) -> GeneratedQuestion:
    facts = ((a.title, relation.name), (b.title, relation.name))
    return GeneratedQuestion(pattern.format(a=a.called, b=b.called), answer, "comparison", facts)
