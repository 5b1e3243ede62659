"""Question files in HotPotQA's distractor format (JSON array or JSON lines), with their paragraphs.

`context` and `supporting_facts` may be lists of pairs, as in the official files, or columns (`{"title": [...],
"sentences": [...]}`). All paragraphs of a file form one corpus.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any

import orjson

from console.environments.environment import TaskSpec
from console.environments.hotpotqa.corpus import Corpus, WikiPage
from console.errors import UnreadableFile

_PARTS = ("question", "answer", "context")
# A full data set takes seconds and hundreds of megabytes: worlds that start together wait for one index.
_BUILDING = threading.Lock()


def tasks_from_file(path: str | Path) -> list[TaskSpec]:
    """Return the questions of the file in order; raise UnreadableFile if a record is invalid."""
    file = Path(path).absolute()
    tasks: dict[str, TaskSpec] = {}
    for number, record in _records(file):
        task = _task(record, file, number)
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


def _task(record: Mapping[str, Any], file: Path, number: int) -> TaskSpec:
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
