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
_OPEN, _CLOSE = r"[\s*_`\"'(\[]*", r"[\s.!*_`\"')\]]*"
_SAID_ALOUD = re.compile(r"\b(YES|NO|(?i:non-?\s?essential))\b")
_LABELLED = re.compile(
    rf"\b(?:answer|verdict|conclusion|decision|result|so|thus|hence|therefore|finally)\b(?:\s+is)?\s*"
    rf"(?:[:=,]|(?<=is)\s){_OPEN}{_WORD}\b(?!-)",
    re.IGNORECASE,
)
_AT_END = re.compile(rf"(?:^|[.!?:;)\n\u2013\u2014-]){_OPEN}{_WORD}\b{_CLOSE}$", re.IGNORECASE)
_LAST_WORD = re.compile(rf"\b{_WORD}\b{_CLOSE}$", re.IGNORECASE)
_ALONE = re.compile(rf"{_OPEN}{_WORD}{_CLOSE}", re.IGNORECASE)
_AT_START = re.compile(rf"{_OPEN}{_WORD}\b[*_`\"')\]]*\s*(?:[.,:;!(\n\u2014\u2013-]|$)", re.IGNORECASE)
_TURN = re.compile(r"\b(but|however|although|though|except|unless|yet|still)\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|without|if|whether)|n['\u2019]t)\b[^.!?:;\n\u2013\u2014]*$", re.IGNORECASE
)
_QUOTED = re.compile(rf"(?<=\w )([\"'\u201c\u2018`]){_WORD}[.,!]?[\"'\u201d\u2019`]", re.IGNORECASE)


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

    The last labelled verdict ("so: NO") counts, else the verdict at the start, else at the end, else the only verdict
    in capitals. A negated, limited ("Yes, but ...") or contradicted yes is not a conclusion, and a quoted word is not a
    verdict. In a JSON object, the only verdict or boolean counts.
    """
    document = read_json(reply)
    if document is not None:
        return _of_json(document)
    text = _QUOTED.sub(lambda word: " " * len(word[0]), reply)
    spoken = [one for one in _SAID_ALOUD.finditer(text) if not _NEGATED.search(text, 0, one.start())]
    labelled, start, end = list(_LABELLED.finditer(text)), _AT_START.match(text), _AT_END.search(text)
    last = _LAST_WORD.search(text)
    found = labelled[-1] if labelled else start or end or last
    if found is None and len({_named(one[1]) for one in spoken}) == 1:
        found = spoken[0]
    if found is None or _NEGATED.search(text, 0, found.start(1)):
        return None
    verdict, said = _named(found[1]), {_named(one[1]) for one in (*labelled, start, end, *spoken) if one}
    # A leading or labelled no stands against later words, unless the reply ends with a verdict of its own.
    is_doubted = verdict != NO or found is last or (found is start and end and end[1].isupper())
    if (is_doubted and said - {verdict}) or (verdict != NO and _TURN.search(text, found.end())):
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
