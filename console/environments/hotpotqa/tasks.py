"""Tasks of the embedded world and of question files, and the worlds for these tasks.

Question files have HotPotQA's distractor format (JSON array or JSON lines). `context` and `supporting_facts` may be
lists of pairs, as in the official files, or columns (`{"title": [...], "sentences": [...]}`). All paragraphs of a file
form one corpus.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import combinations
from pathlib import Path
from typing import Any

import orjson

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
from console.environments.hotpotqa.corpus import SHOWN_SENTENCES, WIKI, Corpus, WikiPage, wiki_of
from console.environments.hotpotqa.world import Encyclopedia
from console.errors import BadInput, UnreadableFile

_PARTS = ("question", "answer", "context")
# A full data set takes seconds and hundreds of megabytes: worlds that start together wait for one index.
_BUILDING = threading.Lock()


def tasks_from_file(path: str | Path) -> list[TaskSpec]:
    """Return the questions of the file in order; raise UnreadableFile if a record is invalid."""
    file = Path(path).absolute()
    tasks: dict[str, TaskSpec] = {}
    for number, record in _records(file):
        task = _task_of_record(record, file, number)
        if task.task_id in tasks:
            raise UnreadableFile(
                str(file), f"the id {task.task_id!r} occurs twice. Give each question a different id", number
            )
        tasks[task.task_id] = task
    return list(tasks.values())


def corpus_of(path: str) -> Corpus:
    """Return the corpus of all pages in the file, rebuilt after a change; raise UnreadableFile for a bad file."""
    try:
        state = Path(path).stat()
    except OSError as missing:
        raise UnreadableFile(path, "the file with this task's pages is missing. Restore the file") from missing
    with _BUILDING:
        return _corpus(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _corpus(path: str, _modified_ns: int, _size_bytes: int) -> Corpus:
    sentences: dict[str, dict[str, None]] = {}
    for number, record in _records(Path(path)):
        for title, texts in _paragraphs(record, Path(path), number):
            sentences.setdefault(title, {}).update(dict.fromkeys(filter(None, texts)))
    return Corpus(WikiPage(title, tuple(texts)) for title, texts in sentences.items())


def _task_of_record(record: Mapping[str, Any], file: Path, number: int) -> TaskSpec:
    paragraphs = dict(_paragraphs(record, file, number))
    named = _pairs(record.get("supporting_facts") or [], "title", "sent_id", file, number)
    cited = [(unescape(str(title)).strip(), index) for title, index in named]
    facts = [
        {"title": title, "sentence": paragraphs[title][index]}
        for title, index in cited
        if isinstance(index, int) and 0 <= index < len(paragraphs.get(title, ())) and paragraphs[title][index]
    ]
    return TaskSpec(
        task_id=str(record.get("id") or record.get("_id") or number),
        environment="hotpotqa",
        instruction=str(record["question"]).strip(),
        gold={
            "answer": str(record["answer"]),
            "type": str(record.get("type", "")),
            "level": str(record.get("level", "")),
            "supporting_facts": facts,
        },
        options={"corpus": str(file)},
    )


def _paragraphs(record: Mapping[str, Any], file: Path, number: int) -> Iterator[tuple[str, list[str]]]:
    for title, sentences in _pairs(record["context"], "title", "sentences", file, number):
        if not isinstance(sentences, list):
            raise UnreadableFile(
                str(file), f"the sentences of {title!r} are not a list. Use the distractor format", number
            )
        yield unescape(str(title)).strip(), [str(sentence).strip() for sentence in sentences]


def _pairs(value: object, first: str, second: str, file: Path, number: int) -> Sequence[tuple[Any, Any]]:
    if isinstance(value, dict) and isinstance(value.get(first), list) and isinstance(value.get(second), list):
        value = [list(pair) for pair in zip(value[first], value[second], strict=False)]
    if not isinstance(value, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in value):
        raise UnreadableFile(
            str(file), f'"{first}" and "{second}" are neither pairs nor two columns. Use the distractor format', number
        )
    return [(pair[0], pair[1]) for pair in value]


def _records(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, record in _parsed(file):
        if not isinstance(record, dict):
            raise UnreadableFile(str(file), "this is not a question object. Use the distractor format", number)
        for name in _PARTS:
            if record.get(name) is None:
                raise UnreadableFile(str(file), f'the question has no "{name}". Use a distractor file', number)
        yield number, record


def _parsed(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        raw = file.read_bytes()
    except OSError as missing:
        raise UnreadableFile(str(file), f"the file cannot be opened ({missing.strerror}). Check the path") from missing
    lines = [raw] if raw.lstrip()[:1] == b"[" else raw.splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            parsed = orjson.loads(line)
        except orjson.JSONDecodeError as broken:
            raise UnreadableFile(str(file), f"this is not valid JSON ({broken}). Correct the file", number) from broken
        if isinstance(parsed, list):
            yield from enumerate(parsed, 1)
        else:
            yield number, parsed


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
