"""The requirement table of the rules: broken lines from the checks, and lines that are met, not shown or unclear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from console.detection.detectors.rules.finding import quote_action, quote_request, quote_result, user_texts
from console.detection.detectors.rules.shopping import quote_option, quote_price, quote_term, terms_of_option
from console.detection.detectors.rules.stated import values_passed
from console.environments.evidence import EXACT, Evidence, TermState
from console.environments.hotpotqa.reading import normalise_words
from console.environments.tool_use import TracedCall, find_request
from console.trajectory.calls import SHELLS
from console.trajectory.effects import CHANGING, TURNS
from console.trajectory.requirements import (
    Line,
    Quote,
    QuotePlace,
    Requirement,
    RequirementKind,
    RequirementTable,
    Standing,
    verify,
)
from console.trajectory.terms import Term, TermKind, lowered, occurrences

_MOST_TERMS = 16
_KINDS = {
    TermKind.NAME: RequirementKind.THING,
    TermKind.WORD: RequirementKind.THING,
    TermKind.DATE: RequirementKind.DATE,
    TermKind.ID: RequirementKind.ID,
    TermKind.PRICE: RequirementKind.AMOUNT,
    TermKind.NUMBER: RequirementKind.AMOUNT,
    TermKind.QUANTITY: RequirementKind.AMOUNT,
    TermKind.SIZE: RequirementKind.OPTION,
}


def list_requirements(evidence: Evidence, broken: Mapping[str, Line], ranks: Mapping[str, float]) -> RequirementTable:
    """Return the verified table of a checkpoint from the broken lines of the checks, by check, and all other lines."""
    lines = [replace(line, rule=name) for name, line in broken.items()]
    lines += _purchase_lines(evidence, [line.requirement.quote for line in lines]) if evidence.purchase else ()
    lines += _answer_lines(evidence) if evidence.reading else ()
    lines += _call_lines(evidence)
    replies = [step for place, step, _, _ in user_texts(evidence) if place is QuotePlace.OBSERVATION and step]
    return verify(evidence.checkpoint, lines, replies=replies, ranks=ranks, harmless=_is_harmless(evidence))


def _is_harmless(evidence: Evidence) -> bool:
    """Return whether the pending action only talks, answers, ends, plans or reads."""
    pending = evidence.pending
    if pending.talks or pending.kind in TURNS or evidence.reading:
        return True
    return bool(evidence.pending_calls) and all(map(_only_reads, evidence.pending_calls))


def _only_reads(one: TracedCall) -> bool:
    return bool(one.effects) and not one.effects & CHANGING


def _purchase_lines(evidence: Evidence, broken: Sequence[Quote]) -> Iterator[Line]:
    shown = evidence.purchase
    if shown is None:
        return
    for term in evidence.terms:
        if term.kind is TermKind.PRICE_MAX and shown.high <= float(term.value):
            asked = _of_term(RequirementKind.LIMIT, "price", term, evidence)
            yield Line(asked, Standing.MET, quote_price(shown.high, evidence))
    told = {term for term in evidence.states if any(_is_within(term, quote) for quote in broken)}
    for choice in shown.choices:
        if choice.chosen and choice.chosen == choice.asked:
            for term in terms_of_option(choice.chosen, evidence)[:2]:
                asked = _of_term(RequirementKind.OPTION, choice.name, term, evidence)
                yield Line(asked, Standing.MET, quote_option(choice.chosen, evidence))
                told.add(term)
    for term, state in list(evidence.states.items())[:_MOST_TERMS]:
        if term in told:
            continue
        kind = RequirementKind.ATTRIBUTE if term.kind in EXACT else _KINDS.get(term.kind, RequirementKind.ATTRIBUTE)
        asked = _of_term(kind, "product", term, evidence)
        where = _seen(term, evidence) if state is TermState.FOUND else None
        # The page offers what was not chosen, so the record shows something of it.
        open_ = Standing.NOT_SHOWN if state is TermState.MISSING else Standing.CANNOT_TELL
        yield Line(asked, Standing.MET if where else open_, where)


def _is_within(term: Term, quote: Quote) -> bool:
    return quote.place is QuotePlace.REQUEST and quote.start <= term.start and term.end <= quote.end


def _of_term(kind: RequirementKind, about: str, term: Term, evidence: Evidence) -> Requirement:
    return Requirement(kind, about, term.text, quote_term(term, evidence))


def _seen(term: Term, evidence: Evidence) -> Quote | None:
    """Return the last quote of a term in the results, or None if no result has the term as written."""
    asked = lowered(evidence.checkpoint.instruction.strip())
    for act in reversed(evidence.acts):
        text = act.observation[:50_000]
        hidden = lowered(text).find(asked)
        for start, end in occurrences(term, text)[:4]:
            if hidden < 0 or not hidden <= start < hidden + len(asked):
                return Quote(text[start:end], start, end, QuotePlace.OBSERVATION, act.step)
    return None


def _answer_lines(evidence: Evidence) -> Iterator[Line]:
    reading = evidence.reading
    if reading is None or not normalise_words(reading.answer):
        return
    question = quote_request(evidence)
    asked = Requirement(RequirementKind.QUESTION, "answer", question.text, question)
    for page in reading.saying[:1]:
        shown = next((quote for act in evidence.acts if act.step >= page.step
                      and (quote := quote_result(evidence, reading.answer, act.step)).end > 0), None)  # fmt: skip
        yield Line(asked, Standing.MET if shown else Standing.CANNOT_TELL, shown)
        return
    yield Line(asked, Standing.NOT_SHOWN)


def _call_lines(evidence: Evidence) -> Iterator[Line]:
    yield from values_passed(evidence)
    for call in evidence.pending_calls:
        if call.effects & CHANGING and call.call.name.lower() not in SHELLS:
            yield from _permission(call, evidence)


def _permission(call: TracedCall, evidence: Evidence) -> Iterator[Line]:
    """Yield the line with the user's own word for a call's effect, if the user wrote a known word for it."""
    shown = quote_action(evidence, call.call.name)
    for place, step, whole, start in user_texts(evidence):
        if span := find_request(call.call, call.effects, whole[start:]):
            low, high = span[0] + start, span[1] + start
            quote = Quote(whole[low:high], low, high, place, step)
            asked = Requirement(RequirementKind.PERMISSION, call.call.name, quote.text, quote)
            yield Line(asked, Standing.MET, shown)
            return
