"""Pages of the embedded world: a first paragraph of five sentences, then the rest."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache

from console.environments.hotpotqa.almanac import Almanac, Entity, Relation, almanac
from console.environments.hotpotqa.corpus import SHOWN_SENTENCES, Corpus, WikiPage

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
    """Return the corpus of the embedded world, indexed once."""
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
