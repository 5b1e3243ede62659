"""Tasks of the embedded world and of question files, and the worlds for these tasks."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

from console.environments.environment import TaskSpec
from console.environments.hotpotqa.almanac import (
    Almanac,
    Entity,
    Relation,
    almanac,
    embedded_corpus,
    read_number,
    write_pages,
)
from console.environments.hotpotqa.corpus import SHOWN_SENTENCES
from console.environments.hotpotqa.question_files import corpus_of
from console.environments.hotpotqa.wikipedia import WIKI, wiki_of
from console.environments.hotpotqa.world import Encyclopedia
from console.errors import BadInput

_COMPARISON_SHARE = 0.2


def tasks(seed: int, count: int) -> list[TaskSpec]:
    """Return `count` different questions, a fifth of them comparisons; raise BadInput if `count` is too large."""
    most = min(int(len(list_comparisons()) / _COMPARISON_SHARE), int(len(list_bridges()) / (1 - _COMPARISON_SHARE)))
    if not 0 <= count <= most:
        raise BadInput(f"{count} is not a valid number of hotpotqa tasks. Use 0 to {most}, or give a question file.")
    rng = random.Random(f"hotpotqa {seed}")
    compared = rng.sample(list_comparisons(), round(count * _COMPARISON_SHARE))
    chosen = rng.sample(list_bridges(), count - len(compared)) + compared
    rng.shuffle(chosen)
    return [_task(question) for question in chosen]


def start(task: TaskSpec) -> Encyclopedia:
    """Return the world of a task from `tasks` or `tasks_from_file`; raise UnreadableFile if the file is missing."""
    if site := task.options.get(WIKI):
        return Encyclopedia(task, wiki_of(str(site)))
    file = task.options.get("corpus")
    return Encyclopedia(task, corpus_of(str(file)) if file else embedded_corpus())


def _task(question: GeneratedQuestion) -> TaskSpec:
    facts = []
    for title, name in question.facts:
        relation = next(found for found in almanac().entities[title].kind.relations if found.name == name)
        facts.append({"title": title, "sentence": write_pages()[title].telling[name], "keyword": relation.keyword})
    shown = all(fact["sentence"] in write_pages()[fact["title"]].page.sentences[:SHOWN_SENTENCES] for fact in facts)
    gold: dict[str, Any] = {
        "answer": question.answer,
        "type": question.type,
        "level": "easy" if shown else "hard",
        "supporting_facts": facts,
    }
    digest = hashlib.sha256(question.text.encode()).hexdigest()[:12]
    return TaskSpec(f"hotpotqa-{digest}", "hotpotqa", question.text, gold)


_PAIRS = 24


@dataclass(frozen=True, slots=True)
class GeneratedQuestion:
    """A generated question, its answer, and the facts (title, fact name) needed to answer, in reading order."""

    text: str
    answer: str
    type: str
    facts: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1)
def list_bridges() -> tuple[GeneratedQuestion, ...]:
    """Return every bridge question, in a fixed order."""
    world = almanac()
    return tuple(question for entity in world.entities.values() for question in _bridges(entity, world))


@lru_cache(maxsize=1)
def list_comparisons() -> tuple[GeneratedQuestion, ...]:
    """Return a fixed selection of comparison questions, with as many yes as no answers."""
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


def _firsts(relation: Relation, pairs: list[tuple[Entity, Entity]]) -> Iterator[GeneratedQuestion]:
    unequal = [pair for pair in pairs if pair[0].facts[relation.name] != pair[1].facts[relation.name]]
    for pair in unequal[:_PAIRS] if relation.first else ():
        ahead = (max if relation.larger else min)(pair, key=lambda one: read_number(one.facts[relation.name]))
        yield _comparison(relation, relation.first, *pair, ahead.name)


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
