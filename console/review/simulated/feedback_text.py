"""Feedback texts: templates that describe a fault and never reveal the target.

A template file holds one wording per line (Jinja2); the seed, task and trial determine the wording that is used.
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
"""A fault without details."""

STUCK = Fault("halted")
"""A trial without a result."""
NO_SECRETS = frozenset({"label", "score", "reward", "outcome"})
"""Entries of the gold target that do not describe the target; their words may occur in any feedback."""
_OF_KIND = {"hotpotqa": frozenset({"type", "level", "keyword"})}
"""More such entries by environment: the kind of a question, not its answer or its articles."""

_JINJA = Environment(undefined=StrictUndefined, autoescape=False)
_NUMBERED = re.compile(r"\b[a-z]+ \d+\b")


def write_feedback(case: ReviewCase, fault: Fault) -> str:
    """Describe the fault; use the general wording if the specific wording would reveal the target."""
    for candidate in (fault, GENERAL):
        text = _filled(case, candidate)
        if not reveals_target(text, case.task):
            return text
    raise BadInput(
        f"The wordings of {case.task.environment}/{GENERAL.name} reveal the target of {case.task.task_id}. "
        "Reword these wordings."
    )


def reveals_target(text: str, task: TaskSpec) -> bool:
    """Return whether the text contains a string of the gold target that the instruction does not contain."""
    folded, asked = text.lower(), task.instruction.lower()
    return any(_holds(folded, secret) and not _holds(asked, secret) for secret in list_secrets(task))


def list_secrets(task: TaskSpec) -> frozenset[str]:
    """List the secrets of a task in lower case: every text of the gold target, and every numbered object in it."""
    skipped = NO_SECRETS | _OF_KIND.get(task.environment, frozenset())
    leaves = {leaf.lower() for leaf in _leaves(task.gold, skipped) if leaf.strip()}
    return frozenset(leaves | {name for leaf in leaves for name in _NUMBERED.findall(leaf)})


def _leaves(value: Any, skipped: frozenset[str]) -> Iterator[str]:
    if isinstance(value, (Mapping, list, tuple)):
        named = value.items() if isinstance(value, Mapping) else ((None, part) for part in value)
        for part in (part for name, part in named if name not in skipped):
            yield from _leaves(part, skipped)
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
    file = folder / environment / f"{name}.txt" if folder else None
    if file and not file.is_file():
        raise BadInput(f"The file of wordings {file} does not exist. Create the file with one wording per line.")
    text = file.read_text("utf-8") if file else prompts.read_template(packaged)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise BadInput(f"The file of wordings {environment}/{name}.txt is empty. Write one wording per line.")
    return lines


@lru_cache(maxsize=512)
def _template(line: str) -> Template:
    return _JINJA.from_string(line)
