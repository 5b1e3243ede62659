"""The reply form of a prompt: the labels for parsing the reply, and the JSON schema with the same labels.

A custom prompts folder may declare another form beside a template, as `<step>.toml` with any of these fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

import orjson

from console.errors import BadInput
from console.llm import prompts

CONSOLE, REFERENCE = "console", "reference"
STEPS = "Steps"
_TEXT = {"type": "string"}


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """The form of a reply: its labels, the words of its verdict, and patterns that replace labels.

    `parser` is console (tolerant, ambiguous replies are unreadable) or reference (as in the InferAct reference code).
    `patterns` are regular expressions by field (verdict, reason, task, letter: the first group is the value; step:
    groups number and value).
    """

    parser: str = CONSOLE
    status: str = ""
    verdict: str = "Verdict"
    aligned: tuple[str, ...] = ("Correct",)
    misaligned: tuple[str, ...] = ("Incorrect",)
    reason: str = "Reason"
    task: str = "Task"
    justification: str = "Justification"
    patterns: Mapping[str, str] = field(default_factory=dict)

    def verdict_schema(self) -> dict[str, Any]:
        """Return the JSON schema of a verdict and its reason."""
        status = {self.status: _TEXT} if self.status else {}
        verdict = {"type": "string", "enum": [*self.aligned, *self.misaligned]}
        return _schema({**status, self.verdict: verdict, self.reason: _TEXT})

    def task_schema(self) -> dict[str, Any]:
        """Return the JSON schema of an inferred task and its reason."""
        return _schema({self.task: _TEXT, self.reason: _TEXT})

    def steps_schema(self) -> dict[str, Any]:
        """Return the JSON schema of a probability for each step, and their justification."""
        return _schema({STEPS: {"type": "array", "items": {"type": "number"}}, self.justification: _TEXT})


DEFAULT = ReplyForm()


def read_form(prompt: str) -> ReplyForm:
    """Return the form of a prompt's reply; raise BadInput, naming the file, if its declaration is invalid."""
    return _form(prompt, repr(prompts.find_template(prompt)), orjson.dumps(prompts.read_reply_form(prompt)))


@lru_cache(maxsize=64)
def _form(prompt: str, where: str, declared: bytes) -> ReplyForm:
    given: dict[str, Any] = orjson.loads(declared)
    known = {one.name for one in fields(ReplyForm)}
    if unknown := sorted(given.keys() - known):
        raise BadInput(f"{prompt}.toml: unknown field {unknown[0]!r}; use {', '.join(sorted(known))}.")
    if given.get("parser", CONSOLE) not in (CONSOLE, REFERENCE):
        raise BadInput(f"{prompt}.toml: invalid parser {given['parser']!r}. Use {CONSOLE} or {REFERENCE}.")
    for name, pattern in given.get("patterns", {}).items():
        try:
            re.compile(pattern)
        except re.error as broken:
            raise BadInput(
                f"{prompt}.toml: the pattern of {name} is not a valid regular expression ({broken})."
            ) from broken
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return ReplyForm(**values)


def format_lines(text: str) -> str:
    """Return a JSON reply as the lines that the prompt asks for, and any other reply unchanged."""
    try:
        document = orjson.loads(text.strip().removeprefix("```json").removesuffix("```"))
    except orjson.JSONDecodeError:
        return text
    if not isinstance(document, dict):
        return text
    return "\n".join(line for name, value in document.items() for line in _lines(str(name), value))


def _lines(name: str, value: object) -> list[str]:
    if name == STEPS and isinstance(value, list):
        return [f"Step {number}: {share}" for number, share in enumerate(value, start=1)]
    return [f"{name}: {' '.join(str(value).split())}"]


def _schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
