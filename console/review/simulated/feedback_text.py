"""Feedback in words: faults by templates from files, filled, and never telling the target.

A template file holds one wording a line (Jinja2); the seed, the task and the trial choose among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from console.environments.environment import TaskSpec
from console.errors import BadInput
from console.llm import prompts
from console.review.simulated.faults import Fault
from console.review.simulated.reviewer import ReviewCase

GENERAL = Fault("general")
"""That something is wrong, and no more."""

STUCK = Fault("halted")
"""That it came to no result."""
_NO_SECRETS = frozenset({"label", "score", "reward", "outcome"})
"""What of the gold is no target: words for it occur in any feedback."""

_JINJA = Environment(undefined=StrictUndefined, autoescape=False)
_NUMBERED = re.compile(r"\b[a-z]+ \d+\b")


def worded(case: ReviewCase, fault: Fault) -> str:
    """The fault in words; where they would tell the target, only that something is wrong."""
    for told in (fault, GENERAL):
        text = _filled(case, told)
        if not reveals(text, case.task):
            return text
    raise BadInput(f"The wordings of {case.task.environment}/{GENERAL.name} tell the target of {case.task.task_id}.")


def reveals(text: str, task: TaskSpec) -> bool:
    """Whether the text holds a string of the gold that the instruction lacks."""
    folded, asked = text.lower(), task.instruction.lower()
    return any(_holds(folded, secret) and not _holds(asked, secret) for secret in secrets(task))


def secrets(task: TaskSpec) -> frozenset[str]:
    """The secrets of a task: every text of the gold in lower case, and every numbered thing named in one."""
    target = {name: value for name, value in task.gold.items() if name not in _NO_SECRETS}
    leaves = {leaf.lower() for leaf in _leaves(target) if leaf.strip()}
    return frozenset(leaves | {name for leaf in leaves for name in _NUMBERED.findall(leaf)})


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _leaves(part)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _holds(text: str, secret: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(secret)}(?!\w)", text) is not None


def _filled(case: ReviewCase, fault: Fault) -> str:
    lines = _lines(case.wordings, case.task.environment, fault.name)
    rng = Random(f"words {case.seed} {case.task.task_id} {case.trial} {fault.name}")
    return _template(rng.choice(lines)).render(fault.slots)


def _lines(folder: Path | None, environment: str, name: str) -> list[str]:
    packaged = prompts.name_for("feedback", environment, name)
    text = _from(folder / environment / f"{name}.txt") if folder else prompts.source(packaged)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise BadInput(f"The wordings {environment}/{name}.txt are empty; write one a line.")
    return lines


def _from(file: Path) -> str:
    if not file.is_file():
        raise BadInput(f"There is no file of wordings {file}; write one wording a line.")
    return file.read_text("utf-8")


@lru_cache(maxsize=512)
def _template(line: str) -> Template:
    return _JINJA.from_string(line)
