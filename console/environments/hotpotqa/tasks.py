"""Tasks of the embedded world and of question files, and the worlds that play them."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from console.environments.environment import TaskSpec
from console.environments.hotpotqa.almanac import almanac
from console.environments.hotpotqa.corpus import SHOWN_SENTENCES, Corpus
from console.environments.hotpotqa.pages import embedded_corpus, written
from console.environments.hotpotqa.question_files import corpus_of
from console.environments.hotpotqa.questions import GeneratedQuestion, bridges, comparisons
from console.environments.hotpotqa.world import Encyclopedia
from console.errors import BadInput

_COMPARISON_SHARE = 0.2


def tasks(seed: int, count: int) -> list[TaskSpec]:
    """`count` different questions about the embedded world, a fifth of them comparisons; the same for the same seed.

    Raises BadInput for more questions than there are.
    """
    most = min(int(len(comparisons()) / _COMPARISON_SHARE), int(len(bridges()) / (1 - _COMPARISON_SHARE)))
    if not 0 <= count <= most:
        raise BadInput(f"{count} tasks were asked of hotpotqa; it has between 0 and {most}, or give a question file")
    rng = random.Random(f"hotpotqa {seed}")
    compared = rng.sample(comparisons(), round(count * _COMPARISON_SHARE))
    chosen = rng.sample(bridges(), count - len(compared)) + compared
    rng.shuffle(chosen)
    return [_task(question) for question in chosen]


def start(task: TaskSpec) -> Encyclopedia:
    """The world of a task from `tasks` or `tasks_from_file`; raises UnreadableFile if its file is gone."""
    return Encyclopedia(task, _corpus(task))


def _corpus(task: TaskSpec) -> Corpus:
    file = task.options.get("corpus")
    return corpus_of(str(file)) if file else embedded_corpus()


def _supporting(title: str, name: str) -> dict[str, str]:
    relation = next(found for found in almanac().entities[title].kind.relations if found.name == name)
    return {"title": title, "sentence": written()[title].telling[name], "keyword": relation.keyword}


def _task(question: GeneratedQuestion) -> TaskSpec:
    facts = [_supporting(title, fact) for title, fact in question.facts]
    shown = all(fact["sentence"] in written()[fact["title"]].page.sentences[:SHOWN_SENTENCES] for fact in facts)
    gold: dict[str, Any] = {
        "answer": question.answer,
        "type": question.type,
        "level": "easy" if shown else "hard",
        "supporting_facts": facts,
    }
    name = hashlib.sha256(question.text.encode()).hexdigest()[:12]
    return TaskSpec(f"hotpotqa-{name}", "hotpotqa", question.text, gold)
