"""Checks of the record that a call takes from a tool's list, against the user's description of the record.

A list offers records, and the call passes the id of one. The taken record is wrong if the user's words describe only
another record, or exclude only the taken record. A request that partly fits both records is left open, because it may
state a first and a second choice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from console.detection.detectors.rules.exclusions import is_swapping, is_unwanted
from console.detection.detectors.rules.finding import PATTERNS, Finding, broken, one_line, quote_action, words_before
from console.detection.detectors.rules.stated import PROSE, may_change
from console.environments.evidence import Evidence
from console.environments.tool_use import is_telling
from console.trajectory.call_values import leaves
from console.trajectory.effects import Effect
from console.trajectory.provenance import Argument, Source
from console.trajectory.requirements import Quote, RequirementKind
from console.trajectory.requirements.anchors import Anchor, AnchorKind, read_anchors, same_value
from console.trajectory.terms import FUNCTION_WORDS, lowered
from console.trajectory.tools import WITHOUT_SPACES

_MOST_RECORDS, _LONGEST_RECORD, _LONGEST_LIST = 60, 400, 60_000
_PIECES = re.compile(r"\s*(?:\n|;)\s*")
_ON_ONE_LINE = re.compile(r"\s*(?:\n|;|,\s)\s*")
_WORD = re.compile(r"[^\W\d_]+|\d{3,}")
_TOKEN = re.compile(r"\d{1,2}:\d\d|[^\W\d_]+|\d+")
_MEASURE = re.compile(r"[^\W\d_]{2,20} \d{1,2}(?![\w.,:]\d)|(?<![\d.,:])\d{1,2} ?[^\W\d_]{2,20}")
"""A short number beside the name of what it measures, such as "size 43"."""
_SHORT = 3
"""The number of letters up to which a word names no record alone."""
_OWN = PATTERNS["records.own"]
_GONE = PATTERNS["records.gone"]
_ALL = PATTERNS["records.all"]
_COMPARED = frozenset({AnchorKind.DATE, AnchorKind.TIME, AnchorKind.ID, AnchorKind.LINK})


@dataclass(frozen=True, slots=True)
class _Said:
    """A word or value of the user, its quote, and whether the user excludes it."""

    word: str
    anchor: Anchor | None
    quote: Quote
    is_excluded: bool


def other_record_described(evidence: Evidence) -> Finding | None:
    """Find an argument with the id of a record in a list if the user described another record of that list."""
    for call in evidence.pending_calls:
        all_said = _list_said(evidence, removes=Effect.DELETE in call.effects)
        said = [each for each in all_said if not _is_beside(words_before(each.quote, evidence))]
        for one in call.arguments if may_change(call, evidence) else ():
            if one.source is Source.TOOL and not PROSE.search(one.name) and len(one.value.strip()) > 1:
                records = _records_of(one, evidence)
                beside = [lowered(text) for name, text in call.leaves if name == one.name and text != one.value]
                found = _find_other(one, records, said, beside, evidence)
                if found is not None:
                    # What the user excludes in the last message, no message of the agent can have settled.
                    is_last = found.is_excluded and not any(
                        act.talks and act.step > (found.quote.step or 0) for act in evidence.acts
                    )
                    is_open = not is_last and _is_spoken_of(one, records, evidence)
                    return _told(one, found, is_open=is_open, evidence=evidence)
    return None


def _is_beside(before: str) -> bool:
    """Return whether the words before a word show that it describes no wanted record: a swap, or the user's name."""
    return is_swapping(before) or _OWN.search(before) is not None


def name_choices(evidence: Evidence) -> list[str]:
    """Return a sentence about the ids that the agent took from lists without a word of the user or an agreed offer
    that names one record of the list, or an empty list.
    """
    found: dict[tuple[str, str], str] = {}
    for call in (call for call in evidence.pending_calls if may_change(call, evidence)):
        for one in (one for one in call.arguments if one.source is Source.TOOL and is_telling(one, call)):
            records = _records_of(one, evidence)
            if len(records) > 1 and not PROSE.search(one.name) and _is_open_choice(one, records, evidence):
                where = f"one of {len(records)} records in step {one.step}"
                found[one.name, one.value] = f"`{one.name}`: {one_line(one.value, 60)}, {where}"
    if not found:
        return []
    more, these = (f", and {len(found) - 1} more", "any of these records") if len(found) > 1 else ("", "this record")
    return [f"Not checked: {next(iter(found.values()))}{more}. No word of the user is in {these} alone."]


def is_named(one: Argument, evidence: Evidence) -> bool:
    """Return whether the user wrote a longer word that a result has in the record with this id."""
    value = lowered(one.value).strip()
    taken = (record for record in _records_of(one, evidence) if _holds(record, value))
    words = {word for record in taken for word in _WORD.findall(record) if len(word) > _SHORT}
    return _has_one(evidence.user, frozenset(words - FUNCTION_WORDS))


def _is_open_choice(one: Argument, records: Sequence[str], evidence: Evidence) -> bool:
    """Return whether neither the user nor the agent's last message names the taken record alone."""
    value = lowered(one.value).strip()
    own = _own_words(value, records)
    rest = [record for record in records if not _holds(record, value)]
    others = frozenset(word for record in rest for word in _TOKEN.findall(record) if len(word) > 1)
    others -= frozenset(_TOKEN.findall(" ".join(record for record in records if _holds(record, value))))
    last = next((lowered(act.action) for act in reversed(evidence.acts) if act.talks), "")
    is_offered = (_holds(last, value) or _has_one(last, own)) and not _has_one(last, others)
    return not (is_offered or _holds(evidence.user, value) or _has_one(evidence.user, own))


def _is_spoken_of(one: Argument, records: Sequence[str], evidence: Evidence) -> bool:
    """Return whether a message of the agent has words of the taken record alone, so that the user can have agreed."""
    value = lowered(one.value).strip()
    own = _own_words(value, records)
    said = (lowered(act.action) for act in evidence.acts if act.talks)
    return any(_holds(text, value) or _has_one(text, own) for text in said)


def _own_words(value: str, records: Sequence[str]) -> frozenset[str]:
    """Return the words that only the taken record of a list has."""
    taken = " ".join(record for record in records if _holds(record, value))
    others = " ".join(record for record in records if not _holds(record, value))
    return frozenset(word for word in _TOKEN.findall(taken) if len(word) > 1 or word.isdigit()) - set(
        _TOKEN.findall(others)
    )


def _has_one(text: str, words: frozenset[str]) -> bool:
    """Return whether a text has one of the words; words without blanks between them can be within others."""
    return not words.isdisjoint(_TOKEN.findall(text)) or any(w in text for w in words if WITHOUT_SPACES.search(w))


def _told(one: Argument, found: _Said, *, is_open: bool, evidence: Evidence) -> Finding:
    value, where = one_line(one.value, 60), f"step {one.step}"
    if found.is_excluded:
        told = f'The user excluded "{found.quote.text}", which describes `{one.name}`: {value} in {where}.'
    else:
        told = (
            f'The user said "{found.quote.text}", which describes another record in {where}, not `{one.name}`: {value}.'
        )
    kind = RequirementKind.PROHIBITION if found.is_excluded else RequirementKind.THING
    line = broken(kind, one.name, found.quote, quote_action(evidence, one.value))
    return Finding(1.0, told, (one.value,), None if is_open else line)


def _find_other(
    one: Argument, records: Sequence[str], said: Sequence[_Said], beside: Sequence[str], evidence: Evidence
) -> _Said | None:
    """Return the user's word that describes another record of the list or excludes the taken record, or None.

    The call passes the values `beside` for the same argument; a record with one of them is taken, too.
    """
    value = lowered(one.value).strip()
    taken = next((record for record in records if _holds(record, value)), None)
    if taken is None or any(len(record) > _LONGEST_RECORD for record in records):
        return None
    # A word that describes more than half of the records does not distinguish them.
    said = [one for one in said if 2 * sum(_matches(one, record) for record in records) <= len(records)]
    wanted, unwanted = _described(taken, said)
    is_any = bool(_ALL.search(evidence.user))
    for other in records:
        if other is taken or _holds(other, value) or _GONE.search(other):
            continue
        more, worse = _described(other, said)
        is_used = any(_holds(other, text) for text in beside) or _is_used(other, value, evidence)
        if not is_used and more and not wanted and not worse - unwanted and not is_any:
            return said[min(more)]
        if unwanted - worse and wanted <= more:
            return said[min(unwanted - worse)]
    return None


def _described(record: str, said: Sequence[_Said]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the places of the user's wanted and excluded words that describe a record."""
    found = [at for at, one in enumerate(said) if _matches(one, record)]
    return (
        frozenset(at for at in found if not said[at].is_excluded),
        frozenset(at for at in found if said[at].is_excluded),
    )


def _matches(one: _Said, text: str) -> bool:
    if one.anchor is not None:
        return any(same_value(one.anchor, other) for other in read_anchors(text))
    if WITHOUT_SPACES.search(one.word):
        return one.word in text
    ends = "" if one.word.isdigit() else r"[^\W\d_]{0,2}"
    stem = one.word if len(one.word) < 6 or one.word.isdigit() else one.word.rstrip("s")
    return bool(re.search(rf"(?<![^\W_]){re.escape(stem)}{ends}(?![^\W_])", text))


def _list_said(evidence: Evidence, *, removes: bool) -> Iterator[_Said]:
    """Yield the words and values with which the user can have described a thing; of a word, only its last use."""
    said = list(_list_all(evidence, removes=removes))
    last = {one.word: one.quote.step or 0 for one in said}
    yield from (one for one in said if one.anchor is not None or last[one.word] == (one.quote.step or 0))


def _list_all(evidence: Evidence, *, removes: bool) -> Iterator[_Said]:
    for place, step, whole, start in evidence.user_texts:
        plain = lowered(whole)
        anchors = [anchor for anchor in read_anchors(whole[start:]) if anchor.kind in _COMPARED]
        for anchor in anchors:
            low, high = anchor.start + start, anchor.end + start
            quote = Quote(whole[low:high], low, high, place, step)
            yield _Said("", anchor, quote, is_unwanted(quote, evidence, removes=removes))
        for match in (*_WORD.finditer(plain, start), *_MEASURE.finditer(plain, start)):
            if any(one.start + start < match.end() and match.start() < one.end + start for one in anchors):
                continue
            parts = [(match[0], match.start())]
            if WITHOUT_SPACES.search(match[0]) and not _MEASURE.fullmatch(match[0]):
                parts = [(match[0][at : at + 2], match.start() + at) for at in range(len(match[0]) - 1)]
            for word, low in parts:
                is_short = len(word) < 3 and not WITHOUT_SPACES.search(word)
                if not is_short and word not in FUNCTION_WORDS:
                    quote = Quote(whole[low : low + len(word)], low, low + len(word), place, step)
                    yield _Said(word, None, quote, is_unwanted(quote, evidence, removes=removes))


def _holds(text: str, value: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", text))


def _is_used(record: str, value: str, evidence: Evidence) -> bool:
    """Return whether a call that changes data passes an id of this record in the form of the value."""
    ids = {word for word in re.findall(r"[\w-]+", record) if _form(word) == _form(value)}
    passed = {lowered(text) for call in evidence.tool_calls for _, text in leaves(call.call.arguments)}
    return bool(ids & passed)


def _form(value: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", value))


def _records_of(one: Argument, evidence: Evidence) -> list[str]:
    """Return the records of the list from which an argument comes, or []."""
    shown = next((act.observation for act in evidence.acts if act.step == one.step), "")
    return _list_records(shown[:_LONGEST_LIST], lowered(one.value).strip())


def _list_records(text: str, value: str) -> list[str]:
    """Return the records of the list that holds a value, or [] if the text has no such list."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        lists = ([lowered(piece) for piece in form.split(text) if piece.strip()] for form in (_PIECES, _ON_ONE_LINE))
        found = (_list_lines(pieces, value) for pieces in lists if 2 <= len(pieces) <= _MOST_RECORDS)
        return next((lines for lines in found if lines), [])
    siblings = _find_siblings(document, value)
    return siblings if 2 <= len(siblings) <= _MOST_RECORDS else []


def _list_lines(pieces: Sequence[str], value: str) -> list[str]:
    """Return the lines with an id of the value's form, or [] if there are fewer than two."""
    if not any(c.isdigit() for c in value):
        return []
    parts = (r"\d" if c.isdigit() else r"[^\W\d_]" if c.isalpha() else re.escape(c) for c in value[:40])
    form = re.compile(rf"(?<![\w-]){''.join(parts)}(?![\w-])")
    alike = [one for one in pieces if form.search(one)]
    return alike if len(alike) > 1 else []


def _find_siblings(document: Any, value: str) -> list[str]:
    """Return the texts of the innermost list of objects, one of which holds the value."""
    parts: list[tuple[str, Any]] = []
    if isinstance(document, dict):
        parts = [(str(name), part) for name, part in document.items()]
    elif isinstance(document, list):
        parts = [("", part) for part in document]
    for _, part in parts:
        if isinstance(part, (dict, list)) and (inner := _find_siblings(part, value)):
            return inner
    is_label = isinstance(document, dict) and any(lowered(name) == value for name in document)
    objects = [(name, part) for name, part in parts if isinstance(part, dict) or (is_label and isinstance(part, str))]
    texts = [lowered(" | ".join([name, *(text for _, text in _scalars(part))])) for name, part in objects]
    is_list = isinstance(document, list) or len(objects) == len(parts)
    return texts if is_list and len(texts) > 1 and any(_holds(text, value) for text in texts) else []


def _scalars(part: Any) -> Iterator[tuple[str, str]]:
    if isinstance(part, dict):
        for name, value in part.items():
            if isinstance(value, bool):
                yield name, f"{name} {value}"
            else:
                measure = [(name, f"{name} {value}")] if re.fullmatch(r"\d{1,2}", str(value)) else []
                yield from _scalars(value) if isinstance(value, (dict, list)) else [(name, str(value)), *measure]
    elif isinstance(part, list):
        for value in part:
            yield from _scalars(value)
    else:
        yield "", str(part)
