"""Parsing of replies: what one says, or None where that is not plain; whoever reads None has to flag."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARKS = r"[\s*_#>`\"'(\[-]*"
_ENDS = " \t*_`\"'"
_VERDICT = re.compile(rf"^{_MARKS}(?:final\s+)?verdict{_MARKS}[:=]{_MARKS}(in)?correct\b", re.IGNORECASE | re.MULTILINE)
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
    """The letter that was answered, and where it stands in the reply."""

    letter: str
    at: int


def misaligned(text: str) -> bool | None:
    """Whether the verdict in a reply is Incorrect (misaligned); None without a verdict, or with two that differ."""
    found = {bool(match[1]) for match in _VERDICT.finditer(text)}
    return found.pop() if len(found) == 1 else None


def labelled(text: str, label: str) -> str:
    """The rest of the first line that begins with that label, without formatting; empty where there is none."""
    line = re.compile(_LABEL.format(marks=_MARKS, label=label), re.IGNORECASE | re.MULTILINE)
    found = line.search(text)
    return found["text"].strip(_ENDS) if found else ""


def justification(text: str) -> str:
    """The justification in a reply: what stands behind the label Justification, up to the end."""
    found = re.search(rf"^{_MARKS}justification[*_`]*\s*[:=]", text, re.IGNORECASE | re.MULTILINE)
    return " ".join(text[found.end() :].split()).strip(_ENDS) if found else ""


def letter(text: str) -> Letter | None:
    """The letter A or B that a reply answers with, at the start of a line; None without one, or with both.

    An announced answer ("Answer: A") counts before bare ones. A letter amid a sentence is no answer.
    """
    found = list(_LETTER.finditer(text))
    found = [match for match in found if match["announced"]] or found
    if len({match["letter"] for match in found}) != 1:
        return None
    return Letter(found[0]["letter"], found[0].start("letter"))


def probabilities(text: str, steps: int) -> tuple[float, ...] | None:
    """The probabilities of steps 1 to `steps`; None if one is missing, told twice, out of range, or too many."""
    found: dict[int, float] = {}
    for match in _STEP.finditer(text):
        number, value = int(match["number"]), float(match["value"]) / (100 if match["percent"] else 1)
        if number in found or not 0 <= value <= 1:
            return None
        found[number] = value
    if sorted(found) != list(range(1, steps + 1)):
        return None
    return tuple(found[number] for number in sorted(found))
