"""The reply form of a prompt, which holds the labels and the JSON schema of the reply, and the parsing of replies.

A custom prompts folder may declare another form beside a template, as `<step>.toml` with any of these fields. A parsed
value is None if the reply is ambiguous; detectors then flag the checkpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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
                f"{prompt}.toml: the pattern of {name} is not a valid regular expression ({broken}). Correct it."
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


_MARKS = r"[\s*_#>`\"'(\[-]*"
_ENDS = " \t*_`\"'"
_LETTER = re.compile(
    rf"^{_MARKS}(?P<announced>(?i:(?:the\s+|my\s+|final\s+)*answer(?:\s+is)?{_MARKS}[:=]?){_MARKS})?"
    r"(?P<letter>[AB])(?=[*_`\"')\].,:;]|[^\S\n]*$|\s+(?i:true|false)\b)",
    re.MULTILINE,
)
_STEP = re.compile(
    rf"^{_MARKS}step\s*(?P<number>\d+)[\s*_`-]*(?:probability)?[\s*_`]*[:=][\s*_`]*"
    r"(?P<value>\d+(?:\.\d+)?|\.\d+)\s*(?P<percent>%)?(?![\d/])",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = r"^{marks}{label}[*_`]*\s*[:=]\s*(?P<text>.*)$"


@dataclass(frozen=True, slots=True)
class Letter:
    """The answer letter, and its position in the reply."""

    letter: str
    at: int


def is_misaligned(text: str, form: ReplyForm = DEFAULT) -> bool | None:
    """Return whether the verdict in a reply is misaligned, or None if the verdict is missing or two verdicts differ."""
    found = {_says(value, form) for value in _verdicts(text, form)} - {None}
    return found.pop() if len(found) == 1 else None


def _verdicts(text: str, form: ReplyForm) -> Iterable[str]:
    if pattern := form.patterns.get("verdict"):
        return (match[1] for match in re.finditer(pattern, text))
    label = re.compile(rf"^{_MARKS}(?:final\s+)?{re.escape(form.verdict)}{_MARKS}[:=]{_MARKS}(.*)$", _LINEWISE)
    return (match[1] for match in label.finditer(text))


_LINEWISE = re.IGNORECASE | re.MULTILINE


def _says(value: str, form: ReplyForm) -> bool | None:
    for words, meaning in ((form.misaligned, True), (form.aligned, False)):
        if any(re.match(rf"{re.escape(word)}\b", value, re.IGNORECASE) for word in words):
            return meaning
    return None


def read_label(text: str, label: str, pattern: str | None = None) -> str:
    """Return the rest of the first line with the label (or the first group of `pattern`), without formatting, or ""."""
    if pattern:
        found = re.search(pattern, text)
        return " ".join(found[1].split()).strip(_ENDS) if found else ""
    found = _line(label).search(text)
    return found["text"].strip(_ENDS) if found else ""


@lru_cache(maxsize=64)
def _line(label: str) -> re.Pattern[str]:
    return re.compile(_LABEL.format(marks=_MARKS, label=re.escape(label)), _LINEWISE)


def read_justification(text: str, label: str = DEFAULT.justification) -> str:
    """Return the text behind the label of the justification, up to the end of the reply."""
    found = re.search(rf"^{_MARKS}{re.escape(label)}[*_`]*\s*[:=]", text, _LINEWISE)
    return " ".join(text[found.end() :].split()).strip(_ENDS) if found else ""


def read_letter(text: str, pattern: str | None = None) -> Letter | None:
    """Return the answer letter (A or B) at the start of a line, or None if neither or both occur.

    An announced answer ("Answer: A") counts before bare ones. The first group of a `pattern` is the letter.
    """
    if pattern:
        places = [Letter(match[1], match.start(1)) for match in re.finditer(pattern, text)]
    else:
        found = list(_LETTER.finditer(text))
        found = [match for match in found if match["announced"]] or found
        places = [Letter(match["letter"], match.start("letter")) for match in found]
    return places[0] if len({place.letter for place in places}) == 1 else None


def read_probabilities(text: str, steps: int, pattern: str | None = None) -> tuple[float, ...] | None:
    """Return the probabilities of steps 1 to `steps`, or None if one is missing, repeated, out of range, or extra."""
    found: dict[int, float] = {}
    for match in re.finditer(pattern, text) if pattern else _STEP.finditer(text):
        try:
            number, value = int(match["number"]), float(match["value"])
        except ValueError:
            return None
        value /= 100 if match.groupdict().get("percent") else 1
        if number in found or not 0 <= value <= 1:
            return None
        found[number] = value
    if sorted(found) != list(range(1, steps + 1)):
        return None
    return tuple(found[number] for number in sorted(found))
