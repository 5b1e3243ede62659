"""The requirement table of a model: one call per task lists the requirements, one call per checkpoint fills in lines.

The model writes only kinds, statuses and copied words. A line whose quote is missing in the record is dropped and
counted. Blanks (also around the marks of JSON), line breaks and case of a quote may differ from the record, but words
may not. The verdict is computed from the remaining lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from console.detection.detectors.shared.line_replies import (
    MOST_LINES,
    FilledEntry,
    ListedEntry,
    fill_schema,
    list_schema,
    read_filled,
    read_listed,
)
from console.detection.detectors.shared.query_cache import ModelCall, QueryCache, build_full_view, user_message
from console.detection.detectors.shared.reply_verdict import unparsed_verdict, verdict_from_replies
from console.detection.detectors.verdict import TABLE, Detector, Verdict
from console.environments import ENVIRONMENTS
from console.environments.evidence import evidence_of
from console.llm import prompts
from console.trajectory.checkpoints import Checkpoint
from console.trajectory.requirements import (
    Line,
    Quote,
    QuotePlace,
    Requirement,
    RequirementKind,
    Standing,
    text_at,
    verify,
)
from console.trajectory.requirements.sentences import explain_table

LIST, FILL = ("requirements", "list"), ("requirements", "fill")
KINDS = {kind.name.lower(): kind for kind in RequirementKind}
STANDINGS = {str(standing): standing for standing in Standing}
SOURCES = {"request": QuotePlace.REQUEST, "rules": QuotePlace.POLICY}
NEEDS_EVIDENCE = frozenset({Standing.MET, Standing.BROKEN})
_FIRST_MESSAGE = "The user's first message:"
_MOST_RULES = 40_000
_LIST_TOKENS, _FILL_TOKENS, _TOKENS_A_LINE = 1_800, 500, 90


@dataclass(frozen=True, slots=True)
class RequirementList:
    """The requirements of a task, numbered from 1 (None if unreadable); `dropped` counts faults by kind."""

    call: ModelCall
    requirements: tuple[Requirement, ...] | None
    dropped: Counter[str]


async def judge_by_requirements(cache: QueryCache) -> Verdict:
    """Judge by the requirement lines: a broken line flags the action."""
    listed, is_first = await _list_once(cache)
    if listed.requirements is None:
        return unparsed_verdict([listed.call], "list of requirements")
    call, filled = await _fill(cache, listed.requirements)
    calls, told = [listed.call, call], dict[str, Any]()
    if filled is None:
        verdict = unparsed_verdict(calls, "list of lines")
    else:
        lines, dropped = _lines(cache.checkpoint, listed.requirements, filled)
        table = verify(cache.checkpoint, lines, replies=_replies(cache.checkpoint))
        dropped += listed.dropped
        table = replace(table, dropped=table.dropped + dropped.total())
        told = {TABLE: table.to_dict(), "dropped": dict(dropped)}
        if dropped.total() and not any(line.standing in NEEDS_EVIDENCE for line in table.lines):
            verdict = unparsed_verdict(calls, "line with a quote from the record")
        else:
            why = explain_table(table, cache.checkpoint.index + 1)
            verdict = verdict_from_replies(calls, table.score, why)
    spent = verdict.spent if is_first else verdict_from_replies([call], 0.0, "").spent
    return replace(verdict, parameters={**verdict.parameters, **told}, spent=spent)


async def _list_once(cache: QueryCache) -> tuple[RequirementList, bool]:
    checkpoint = cache.checkpoint
    prompt = cache.prompt(*LIST)
    key = (cache.models.verify.model, prompt, checkpoint.instruction, _rules(checkpoint))
    return await cache.per_task.once(key, lambda: _list(cache, prompt))


def _rules(checkpoint: Checkpoint) -> str:
    """Return the agent's instructions in the opening; "" if the opening is a world's first observation."""
    if ENVIRONMENTS[checkpoint.environment].start is not None:
        return ""
    return checkpoint.opening.partition(_FIRST_MESSAGE)[0][:_MOST_RULES].strip()


async def _list(cache: QueryCache, prompt: str) -> RequirementList:
    checkpoint, rules = cache.checkpoint, _rules(cache.checkpoint)
    sources = list(SOURCES) if rules else ["request"]
    asked = prompts.render(
        prompt, instruction=checkpoint.instruction, rules=rules, kinds=", ".join(KINDS), most=MOST_LINES
    )
    call = await cache.ask(
        cache.models.verify,
        prompt,
        [user_message(asked)],
        read_listed,
        schema=list_schema(list(KINDS), sources),
        as_json=True,
        max_tokens=_LIST_TOKENS,
    )
    entries, dropped = read_listed(call.reply.text), Counter[str]()
    if entries is None:
        return RequirementList(call, None, dropped)
    found = [_requirement(checkpoint, entry) for entry in entries[:MOST_LINES]]
    dropped["requirement without its words in the source"] = found.count(None)
    dropped["requirement beyond the limit"] = max(0, len(entries) - MOST_LINES)
    return RequirementList(call, tuple(dict.fromkeys(one for one in found if one)), +dropped)


def _requirement(checkpoint: Checkpoint, entry: ListedEntry) -> Requirement | None:
    place, kind = SOURCES.get(entry.source), _kind(entry.kind)
    if place is None or kind is None:
        return None
    quote = find_stated(checkpoint, entry.quote, place)
    if quote is None:
        return None
    bound = find_stated(checkpoint, entry.bound_to, place) if entry.bound_to.strip() else None
    return Requirement(kind, bound.text if bound else "", quote.text, quote)


def _kind(name: str) -> RequirementKind | None:
    return KINDS.get(name) or next((kind for kind in RequirementKind if str(kind) == name), None)


async def _fill(
    cache: QueryCache, requirements: Sequence[Requirement]
) -> tuple[ModelCall, tuple[FilledEntry, ...] | None]:
    checkpoint, prompt = cache.checkpoint, cache.prompt(*FILL)
    # The rules are in the numbered lines already.
    view = build_full_view(replace(checkpoint, opening="") if _rules(checkpoint) else checkpoint)
    numbered = "\n".join(_numbered(number, one) for number, one in enumerate(requirements, start=1)) or "(none)"
    asked = cache.filled(prompt, view, requirements=numbered, kinds=", ".join(KINDS))
    call = await cache.ask(
        cache.models.verify,
        prompt,
        [user_message(asked)],
        read_filled,
        schema=fill_schema(list(KINDS), list(STANDINGS)),
        as_json=True,
        max_tokens=_FILL_TOKENS + _TOKENS_A_LINE * len(requirements),
    )
    return call, read_filled(call.reply.text)


def _numbered(number: int, one: Requirement) -> str:
    name = next(name for name, kind in KINDS.items() if kind is one.kind)
    bound = f" (of: {' '.join(one.about.split())})" if one.about else ""
    return f"{number}. {name}{bound}: {' '.join(one.quote.text.split())}"


def _replies(checkpoint: Checkpoint) -> frozenset[int]:
    """Return the numbers of the steps whose observation is the user's reply."""
    return frozenset(act.step for act in evidence_of(checkpoint).acts if act.talks)


def _lines(
    checkpoint: Checkpoint, requirements: Sequence[Requirement], filled: Sequence[FilledEntry]
) -> tuple[list[Line], Counter[str]]:
    """Return the lines whose quotes are in the record, and the number of dropped lines by cause."""
    lines: list[Line] = []
    dropped = Counter[str]()
    for requirement, entry in _paired(checkpoint, requirements, filled, dropped):
        standing = STANDINGS.get(entry.standing)
        evidence = find_evidence(checkpoint, entry.quote, entry.step) if standing in NEEDS_EVIDENCE else None
        if standing is None:
            dropped["line without a known standing"] += 1
        elif standing in NEEDS_EVIDENCE and evidence is None:
            dropped[f"{standing} line without its words in the record"] += 1
        else:
            lines.append(Line(requirement, standing, evidence))
    return lines, +dropped


def _paired(
    checkpoint: Checkpoint, requirements: Sequence[Requirement], filled: Sequence[FilledEntry], dropped: Counter[str]
) -> Iterator[tuple[Requirement, FilledEntry]]:
    """Yield each requirement with its entry; a missing or contradictory entry gets the status `cannot tell`."""
    by_number: dict[int, list[FilledEntry]] = {}
    replies = _replies(checkpoint)
    for entry in filled:
        if entry.number:
            by_number.setdefault(entry.number, []).append(entry)
        elif (added := _further(checkpoint, entry, replies)) is not None:
            yield added, entry
        else:
            dropped["further requirement without its words in a reply of the user"] += 1
    for number, requirement in enumerate(requirements, start=1):
        found = by_number.pop(number, [])
        agreed = len({entry.standing for entry in found}) == 1
        yield requirement, found[0] if agreed else FilledEntry(number, str(Standing.CANNOT_TELL), "", 0)
    dropped["line of an unknown number"] += len(by_number)


def _further(checkpoint: Checkpoint, entry: FilledEntry, replies: frozenset[int]) -> Requirement | None:
    kind, quote = _kind(entry.kind), find_reply(checkpoint, entry.asked, entry.asked_step, replies)
    return Requirement(kind, "", quote.text, quote) if kind and quote else None


REQUIREMENTS = Detector(
    "requirements", "Requirement table (model)", ask=judge_by_requirements, prompts=(LIST, FILL), version=1
)


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
