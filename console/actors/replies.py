"""Parsers of a model's replies: lists and conclusions in prose, in a code fence or in JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

YES, NO, NOT_NEEDED = "yes", "no", "non-essential"

_FENCE = re.compile(r"^\s*```[^\n]*\n(.*?)\n?\s*```", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^[\s>*_#-]*(\d+)[.):][\s*_]*(\S.*?)[\s*]*$", re.MULTILINE)
_WORD = r"(yes|no|non-?\s?essential)"
_SAID_ALOUD = re.compile(r"\b(YES|NO|(?i:non-?\s?essential))\b")
_AT_END = re.compile(rf"\b{_WORD}\b[\s.!*_`\"')\]]*$", re.IGNORECASE)
_ALONE = re.compile(rf"[\s*_`\"'(\[]*{_WORD}[\s.!*_`\"')\]]*", re.IGNORECASE)
_AT_START = re.compile(rf"[\s*_`\"'(\[]*{_WORD}\b[*_`\"')\]]*\s*(?:[.,:;!\n—–-]|$)", re.IGNORECASE)
_TURN = re.compile(r"\b(but|however|although|though|except|unless|yet|still)\b", re.IGNORECASE)


def read_json(reply: str) -> Any:
    """Parse a reply that is JSON, with or without a fence; return None for any other reply."""
    fenced = _FENCE.search(reply)
    text = (fenced[1] if fenced else reply).strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def read_list(reply: str) -> list[tuple[int, str]] | None:
    """Parse the (number, text) of each numbered line, or of a JSON list of texts; return None without a list."""
    document = read_json(reply)
    if isinstance(document, Mapping):
        document = next((value for value in document.values() if isinstance(value, list)), None)
    if isinstance(document, list):
        texts = [" ".join(one.split()) for one in document if isinstance(one, str) and one.strip()]
        return list(enumerate(texts, start=1)) or None
    return [(int(number), text) for number, text in _ITEM.findall(reply)] or None


def read_conclusion(reply: str) -> tuple[str, str] | None:
    """Return (YES, NO or NOT_NEEDED, the other words), or None if the reply has no conclusion.

    The verdict at the end counts, else the verdict at the start, else the only verdict in capitals. A limited ("Yes,
    but ...") or contradicted yes is not a conclusion. In a JSON object, the only verdict or boolean counts.
    """
    document = read_json(reply)
    if document is not None:
        return _of_json(document)
    if found := _AT_END.search(reply):
        return _named(found[1]), reply[: found.start()]
    found = _AT_START.match(reply)
    aloud = list(_SAID_ALOUD.finditer(reply))
    if found is None and len({_named(one[1]) for one in aloud}) == 1:
        found = aloud[0]
    if found is None or {_named(one[1]) for one in aloud} - {_named(found[1])}:
        return None
    verdict = _named(found[1])
    if verdict != NO and _TURN.search(reply, found.end()):
        return None
    return verdict, reply[: found.start(1)] + reply[found.end() :]


def _of_json(document: Any) -> tuple[str, str] | None:
    if not isinstance(document, Mapping):
        return None
    truths = [YES if value else NO for value in document.values() if isinstance(value, bool)]
    words = [value for value in document.values() if isinstance(value, str)]
    told = [_named(found[1]) for value in words if (found := _ALONE.fullmatch(value))]
    if len(truths) + len(told) != 1:
        return None
    return (truths + told)[0], " ".join(value for value in words if not _ALONE.fullmatch(value))


def _named(word: str) -> str:
    plain = word.lower()
    return plain if plain in (YES, NO) else NOT_NEEDED
