"""Quoting: search a record for the words that a model copied from it, and return the words as written there.

Blanks (also around the marks of JSON), line breaks and case may differ, but words may not. A quote must not begin or
end within a word or a number, so that "order 13" is not found in "order 133".
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise

from console.trajectory.checkpoints import Checkpoint
from console.trajectory.requirements import Quote, QuotePlace, text_at

_AROUND = " \t\r\n\"'`“”„‟‘’‚«»‹›「」『』…"
_LONGEST = 600
# Models write JSON with other blanks than the record; a comma within a number is part of it.
_MARK = re.compile(r"[:{}\[\]()]|,")
_TOKEN = re.compile(r"[:{}\[\]()]|,(?=\s*[\"{\[])|(?:[^\s:{}\[\](),]|,(?!\s*[\"{\[]))+")
_LETTER = r"A-Za-zÀ-ÖØ-öø-ɏͰ-ϿЀ-ӿ"


def find_stated(checkpoint: Checkpoint, text: str, place: QuotePlace, step: int | None = None) -> Quote | None:
    """Return these words as a quote of a requirement in a place, or None if the place does not contain them."""
    return _found(checkpoint, text, place, step, stated=True)


def find_reply(checkpoint: Checkpoint, text: str, step: int, replies: Collection[int]) -> Quote | None:
    """Return these words as a quote from a reply of the user, in the step nearest to `step`, or None."""
    found = (find_stated(checkpoint, text, QuotePlace.OBSERVATION, number) for number in _nearest(replies, step))
    return next((quote for quote in found if quote), None)


def find_evidence(checkpoint: Checkpoint, text: str, step: int) -> Quote | None:
    """Return these words as a quote from an action or its result, in the step nearest to `step`, or None.

    A repetition of the user's request in a result is not evidence.
    """
    begin = text.strip(_AROUND).split()[:1]
    for number in _nearest(range(1, checkpoint.index + 2), step):
        for place in (QuotePlace.ACTION, QuotePlace.OBSERVATION):
            # A search of all steps for other spellings would take seconds in a long record.
            if number != step and not (begin and begin[0] in (text_at(checkpoint, place, number) or "")):
                continue
            if (quote := _found(checkpoint, text, place, number)) is not None:
                return quote
    return None


def _nearest(steps: Collection[int], step: int) -> list[int]:
    return sorted(steps, key=lambda number: (abs(number - step), number))


def _found(
    checkpoint: Checkpoint, text: str, place: QuotePlace, step: int | None, stated: bool = False
) -> Quote | None:
    whole = text_at(checkpoint, place, step)
    if not whole or not text.strip(_AROUND) or len(text) > _LONGEST:
        return None
    # The marks around a quote are the model's own unless the text has them.
    written = dict.fromkeys((tuple(_TOKEN.findall(text)), tuple(_TOKEN.findall(text.strip(_AROUND)))))
    spans = next((spans for words in written if (spans := _spans(words, whole))), [])
    apart = _repetitions(checkpoint, whole) if spans and place is QuotePlace.OBSERVATION and not stated else ()
    for start, end in spans:
        if not any(begin <= start and end <= stop for begin, stop in apart):
            return Quote(whole[start:end], start, end, place, step)
    return None


def _repetitions(checkpoint: Checkpoint, whole: str) -> list[tuple[int, int]]:
    """Return the spans [start, end) of a result that repeat the request, as on the pages of some worlds."""
    words = tuple(_TOKEN.findall(checkpoint.instruction))
    return [match.span() for match in _pattern(words).finditer(whole)] if words else []


def _spans(words: tuple[str, ...], whole: str) -> list[tuple[int, int]]:
    """Return the spans of the words in the text, exact matches first, then matches in another case."""
    spans = [match.span() for match in _pattern(words).finditer(whole)]
    return sorted(spans, key=lambda span: _TOKEN.findall(whole[span[0] : span[1]]) != list(words))


@lru_cache(maxsize=256)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    first, last = words[0][0], words[-1][-1]
    before = r"(?<!\d)(?<!\d[.,])" if first.isdigit() else rf"(?<![{_LETTER}])" if _is_letter(first) else ""
    after = r"(?!\d)(?![.,]\d)" if last.isdigit() else rf"(?![{_LETTER}])" if _is_letter(last) else ""
    joints = (r"\s*" if _MARK.fullmatch(one) or _MARK.fullmatch(other) else r"\s+" for one, other in pairwise(words))
    middle = "".join(joint + re.escape(word) for joint, word in zip(("", *joints), words, strict=True))
    return re.compile(before + middle + after, re.IGNORECASE)


def _is_letter(character: str) -> bool:
    """Return whether the character is a letter of a script that separates words by blanks."""
    return bool(re.fullmatch(f"[{_LETTER}]", character))
