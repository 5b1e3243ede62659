"""The reply form of a prompt, which holds the labels and the JSON schema of the reply, and the parsing of replies.

A custom prompts folder may declare another form beside a template, as `<step>.toml` with any of these fields. A parsed
value is None if the reply is ambiguous; detectors then flag the checkpoint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import islice
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
        return object_schema({**status, self.verdict: verdict, self.reason: _TEXT})

    def task_schema(self) -> dict[str, Any]:
        """Return the JSON schema of an inferred task and its reason."""
        return object_schema({self.task: _TEXT, self.reason: _TEXT})

    def steps_schema(self) -> dict[str, Any]:
        """Return the JSON schema of a probability for each step, and their justification."""
        return object_schema({STEPS: {"type": "array", "items": {"type": "number"}}, self.justification: _TEXT})


DEFAULT = ReplyForm()


def read_form(prompt: str) -> ReplyForm:
    """Return the form of a prompt's reply; raise BadInput with the file's name if its declaration is invalid."""
    return _form(prompt, repr(prompts.find_template(prompt)), orjson.dumps(prompts.read_reply_form(prompt)))


@lru_cache(maxsize=64)
def _form(prompt: str, where: str, declared: bytes) -> ReplyForm:
    given: dict[str, Any] = orjson.loads(declared)
    known = {one.name for one in fields(ReplyForm)}
    if unknown := sorted(given.keys() - known):
        raise BadInput(f"{prompt}.toml: unknown field {unknown[0]!r}. Use {', '.join(sorted(known))}.")
    if given.get("parser", CONSOLE) not in (CONSOLE, REFERENCE):
        raise BadInput(f"{prompt}.toml: invalid parser {given['parser']!r}. Use {CONSOLE} or {REFERENCE}.")
    for name, pattern in given.get("patterns", {}).items():
        try:
            re.compile(pattern)
        except re.error as broken:
            raise BadInput(
                f"{prompt}.toml: the pattern of {name} is not a valid regular expression ({broken}). Correct the "
                "pattern."
            ) from broken
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return ReplyForm(**values)


def format_lines(text: str) -> str:
    """Return a JSON reply, or the one JSON object within a reply, as the lines that the prompt asks for.

    A reply without JSON, or with several objects, stays as it is.
    """
    found = [*islice(_objects(text), 2)]
    if len(found) != 1:
        return text
    start, end, document = found[0]
    before, after = _FENCE.sub("", text[:start]).strip(), _FENCE.sub("", text[end:]).strip()
    lines = (line for name, value in document.items() for line in _lines(str(name), value))
    return "\n".join((*([before] if before else ()), *lines, *([after] if after else ())))


_FENCE = re.compile(r"```(?:json)?")
_DECODER = json.JSONDecoder()
_LONGEST, _MOST_BRACES = 100_000, 200


def _objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (start, end, value) of the JSON objects in a text that are not parts of others."""
    at, tried = text.find("{"), 0
    while 0 <= at < _LONGEST and tried < _MOST_BRACES:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict) and value:
                yield at, end, value
        at = text.find("{", end)


def _lines(name: str, value: object) -> list[str]:
    if name == STEPS and isinstance(value, list):
        return [f"Step {number}: {share}" for number, share in enumerate(value, start=1)]
    return [f"{name}: {' '.join(str(value).split())}"]


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


_MARKS = r"[\s*_#>`\"'(\[-]*"
_ENDS = " \t*_`\"'"
_BOUND = (
    r"(?=[*_`\"')\].,:;}<。、]|\s*\(|[^\S\n]*$|\s+(?i:true|false)\b|"
    r"\s*[-\u2013\u2014]+\s*(?i:true|false)\b)"
)
_ANSWER = (
    r"(?i:answer|antwort|l\u00f6sung|r\u00e9ponse|respuesta|risposta|resposta|odpowied\u017a|antwoord|\u043e\u0442\u0432\u0435\u0442|"
    r"\u7b54\u6848|\u56de\u7b54|\u7b54\u3048)"
)
_IS = r"(?i:\s+(?:is|would\s+be|should\s+be|ist|lautet|est|es|jest|to)(?!\w)|[\u306f\u662f\u4e3a\u00e8\u00e9])?"
_LEAD = r"(?i:(?:so|the|my|final|correct|right|best|thus|therefore|die|richtige|la|bonne|correcta|corretta)[\s,]+)*"
_SAYS = rf"{_ANSWER}{_IS}{_MARKS}[:=\uff1a]?{_MARKS}(?i:option\s+)?"
_LETTERS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        rf"^{_MARKS}{_LEAD}{_SAYS}(?P<letter>[AB]){_BOUND}"
        r"|\\boxed\{\s*(?:\\text\w*\{)?\s*\(?(?P<boxed>[AB])(?![^\W_])"
        r"|<(?i:answer|final_answer|choice)>\s*\(?(?P<tagged>[AB])\b[^<\n]{0,20}</"
        r"|\"(?i:answer|final_answer|letter|choice|option|verdict)\"\s*:\s*\"\(?(?P<json>[AB])(?![^\W_])",
        rf"^{_MARKS}(?:(?i:option|choice)\s+)?(?P<letter>[AB]){_BOUND}",
        rf"(?<!\w){_LEAD}{_SAYS}(?P<letter>[AB]){_BOUND}",
        rf"(?<!\w)(?i:option|choice)\s+{_MARKS}(?P<letter>[AB]){_BOUND}",
    )
)
"""The patterns of an answer letter, the clearest first: announced, alone, within a sentence, as an option."""
_WIDE = str.maketrans("\uff21\uff22", "AB")
_LOOKALIKES = re.compile(r"(?<!\w)[\u0410\u0412\u0391\u0392](?!\w)(?=[^\u0370-\u04ff\n]*$)", re.MULTILINE)
"""Cyrillic and Greek letters that look like A and B, unless a word of their script follows on the line."""
_OF_LOOKALIKE = {"\u0410": "A", "\u0412": "B", "\u0391": "A", "\u0392": "B"}
_SHARE = r"\d+(?:[.,]\d+)?|[.,]\d+"
_STEP = re.compile(
    rf"^{_MARKS}step\s*(?P<number>\d+)[\s*_`-]*(?:probability)?[\s*_`]*[:=\uff1a][\s*_`]*"
    rf"(?P<value>{_SHARE})(?!\d|[.,]\d)\s*(?:(?P<percent>%)|/\s*(?P<of>\d+(?:[.,]\d+)?)(?!\d))?(?!\s*/)",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = r"^{marks}{label}[*_`]*\s*[:=]\s*(?P<text>.*)$"


@dataclass(frozen=True, slots=True)
class Letter:
    """The answer letter, and its position in the reply."""

    letter: str
    at: int


def is_misaligned(text: str, form: ReplyForm = DEFAULT) -> bool | None:
    """Return whether the verdict in a reply is misaligned; None if it is missing, undecided or contradicted."""
    found = set().union(*(_says(value, form) for value in _verdicts(text, form)))
    return found.pop() if len(found) == 1 and not (found == {False} and _concludes_misaligned(text, form)) else None


def _verdicts(text: str, form: ReplyForm) -> Iterable[str]:
    if pattern := form.patterns.get("verdict"):
        return (match[1] for match in re.finditer(pattern, text))
    label = re.escape(form.verdict)
    plain = re.compile(rf"^{_MARKS}{_LEAD}{label}{_MARKS}(?:[:=\uff1a]|is\b){_MARKS}(.*)$", _LINEWISE)
    marked = re.compile(rf"\\boxed\{{\s*(?:\\text\w*\{{)?([^}}\n]*)|<(?:answer|{label})>\s*([^<\n]*)</", _LINEWISE)
    return (match[1] or match[match.lastindex or 1] for one in (plain, marked) for match in one.finditer(text))


_LINEWISE = re.IGNORECASE | re.MULTILINE


def _says(value: str, form: ReplyForm) -> set[bool]:
    """Return the meanings that a verdict leaves open: one, or both if it is undecided or doubted."""
    wrong, right = ("|".join(map(re.escape, words)) for words in (form.misaligned, form.aligned))
    for word, meaning in ((wrong, True), (right, False)):
        if found := re.match(rf"(?:{word})\b", value, re.IGNORECASE):
            # An alarm that speaks of what is correct stays an alarm; its opposite needs a reply without a doubt.
            doubt = rf"{_MARKS}(?:\?|/|or\b|{_NEGATED})" + ("" if meaning else rf"|.*\b(?:{wrong})\b")
            return {True, False} if re.match(doubt, value[found.end() :], _LINEWISE) else {meaning}
    return {True, False} if re.match(_UNSURE, value, re.IGNORECASE) else set()


_UNSURE = r"(?:unsure|uncertain|undecided|unclear|unknown|neither|not|cannot|can't|partly|partially)\b"
_NEGATED = r"[.,:;!\u2013\u2014]?\s*(?:no|not|false)\b"


def _concludes_misaligned(text: str, form: ReplyForm) -> bool:
    """Return whether a sentence of the reply concludes that the verdict is misaligned."""
    wrong = "|".join(map(re.escape, form.misaligned))
    lead = rf"(?:{re.escape(form.verdict)}{_IS}{_MARKS}[:=]?|\b(?:so|thus|hence|therefore|conclusion)\b[,:]?){_MARKS}"
    return re.search(rf"\b{lead}(?:{wrong})\b", text, re.IGNORECASE) is not None


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
    """Return the text after the label of the justification, up to the end of the reply."""
    found = re.search(rf"^{_MARKS}{re.escape(label)}[*_`]*\s*[:=]", text, _LINEWISE)
    return " ".join(text[found.end() :].split()).strip(_ENDS) if found else ""


def read_letter(text: str, pattern: str | None = None) -> Letter | None:
    """Return the answer letter, or None if there is none, or if A and B occur at equally clear places.

    The places, the clearest first, are an announced answer ("Answer: A", a box, a tag, JSON), a letter at the start of
    a line, and an answer or an option within a sentence. The first group of a `pattern` is the letter. A letter of full
    width, or a Cyrillic or Greek one that looks the same, counts as A or B.
    """
    if pattern:
        places = [Letter(match[1], match.start(1)) for match in re.finditer(pattern, text)]
    else:
        plain = _LOOKALIKES.sub(lambda match: _OF_LOOKALIKE[match[0]], text.translate(_WIDE))
        held = ([match for match in place.finditer(plain) if not _is_one_of_two(match, plain)] for place in _LETTERS)
        found = next((matches for matches in held if matches), [])
        places = [Letter(match[match.lastgroup or 0], match.start(match.lastgroup or 0)) for match in found]
    return places[0] if len({place.letter for place in places}) == 1 else None


_EITHER = re.compile(r"(?<!\w)[AB]\W{0,3}\s(?:or|and|nor)\s(?:option\s|choice\s)?\W{0,3}$", re.IGNORECASE)


def _is_one_of_two(match: re.Match[str], text: str) -> bool:
    """Return whether the letter ends a phrase such as "A or B"."""
    at = match.start(match.lastgroup or 0)
    return bool(_EITHER.search(text[max(0, at - 30) : at]))


def fold_letter(text: str) -> str:
    """Return a token with full-width letters and look-alikes of A and B replaced by A and B."""
    return "".join(_OF_LOOKALIKE.get(c, c) for c in text.translate(_WIDE))


def read_probabilities(text: str, steps: int, pattern: str | None = None) -> tuple[float, ...] | None:
    """Return the probabilities of steps 1 to `steps`, or None if one is missing, repeated, out of range, or extra."""
    found: dict[int, float] = {}
    for match in re.finditer(pattern, text) if pattern else _STEP.finditer(text):
        try:
            number, value = int(match["number"]), _read_share(match)
        except (ValueError, ZeroDivisionError):
            return None
        if number in found or not 0 <= value <= 1:
            return None
        found[number] = value
    if sorted(found) != list(range(1, steps + 1)):
        return None
    return tuple(found[number] for number in sorted(found))


def _read_share(match: re.Match[str]) -> float:
    """Parse a share in the form of a decimal number with point or comma, a percentage, or a fraction."""
    told = match.groupdict()
    value = float(match["value"].replace(",", "."))
    return value / (100 if told.get("percent") else float((told.get("of") or "1").replace(",", ".")))
