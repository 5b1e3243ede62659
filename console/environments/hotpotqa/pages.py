"""The embedded world as pages: a first paragraph of five sentences, then the rest."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from console.environments.hotpotqa.almanac import Almanac, Entity, almanac
from console.environments.hotpotqa.corpus import SHOWN_SENTENCES, Corpus, WikiPage
from console.environments.hotpotqa.schema import Relation

_TRAPPED_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class Written:
    """A page, and for each fact of its thing the sentence that tells it."""

    page: WikiPage
    telling: dict[str, str]


@lru_cache(maxsize=1)
def written() -> dict[str, Written]:
    """Every page of the embedded world by title."""
    world = almanac()
    return {title: _write(thing, world) for title, thing in world.things.items()}


@lru_cache(maxsize=1)
def embedded_corpus() -> Corpus:
    """The corpus of the embedded world, indexed once."""
    return Corpus(entry.page for entry in written().values())


def _write(thing: Entity, world: Almanac) -> Written:
    rng = random.Random(f"page {thing.title}")
    telling = {
        relation.name: _sentence(rng.choice(relation.tells), thing, world.value(thing, relation))
        for relation in thing.kind.relations
    }
    fillers = rng.sample(thing.kind.fillers, len(thing.kind.fillers))
    above = [text for name, text in telling.items() if name not in thing.deep] + _traps(thing, world, rng)
    above += fillers[: max(0, SHOWN_SENTENCES - 1 - len(above))]
    below = [text for name, text in telling.items() if name in thing.deep] + _namesake(thing, world, rng)
    below += [text for text in fillers if text not in above][:3]
    rng.shuffle(above)
    rng.shuffle(below)
    opening = _sentence(rng.choice(thing.kind.opens), thing)
    return Written(WikiPage(thing.title, (opening, *above, *below)), telling)


def _traps(thing: Entity, world: Almanac, rng: random.Random) -> list[str]:
    trapped = [relation for relation in thing.kind.relations if relation.trap and relation.name in thing.deep]
    return [
        _sentence(relation.trap, thing, other=_other(thing, relation, world, rng))
        for relation in trapped
        if rng.random() < _TRAPPED_SHARE
    ]


def _other(thing: Entity, relation: Relation, world: Almanac, rng: random.Random) -> str:
    true = thing.facts[relation.name]
    return rng.choice([found.name for found in world.by_kind[relation.target] if found.title != true])


def _namesake(thing: Entity, world: Almanac, rng: random.Random) -> list[str]:
    alike = [
        other.title
        for other in world.things.values()
        if other is not thing and (other.name == thing.name or other.name.split()[-1] == thing.name.split()[-1])
    ]
    same_name = [title for title in alike if world.things[title].name == thing.name]
    chosen = rng.choice(same_name or alike) if alike else ""
    return [f"{thing.title} should not be confused with {chosen}."] if chosen else []


def _sentence(pattern: str, thing: Entity, value: str = "", other: str = "") -> str:
    text = pattern.format(x=thing.name, v=value, o=other)
    return text[0].upper() + text[1:]
