"""The requirement table of the rules: broken lines from the checks, and lines that are met, not shown or unclear."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from console.detection.detectors.rules.answers import is_on_a_page
from console.detection.detectors.rules.finding import (
    quote_action,
    quote_beside,
    quote_option,
    quote_price,
    quote_request,
    quote_result,
    quote_term,
    terms_of_option,
)
from console.detection.detectors.rules.household import list_done
from console.detection.detectors.rules.shopping import complete_phrase, is_tail
from console.detection.detectors.rules.stated import is_excluding, runs_code, values_passed
from console.environments.evidence import Evidence, TermState
from console.environments.hotpotqa.reading import normalise_words
from console.environments.tool_use import TracedCall, find_requests
from console.environments.webshop.purchase import COLOUR_GROUP, EXACT, GENERIC, OPTIONS_SHOWN
from console.trajectory.effects import CHANGING
from console.trajectory.requirements import (
    Line,
    Quote,
    QuotePlace,
    Requirement,
    RequirementKind,
    Standing,
)
from console.trajectory.requirements.sentences import ANSWER, ASKED, FORM, OTHER_NUMBER, PRODUCT, TITLE
from console.trajectory.terms import (
    COLOURS,
    FUNCTION_WORDS,
    Term,
    TermKind,
    lowered,
    mentions,
    occurrences,
    singular,
    words,
)

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


def list_requirements(evidence: Evidence, broken: Mapping[str, Line]) -> list[Line]:
    """Return the lines of a checkpoint, not yet verified: the broken lines of the checks, by check, and all others."""
    lines = [replace(line, rule=name) for name, line in broken.items()]
    lines += _purchase_lines(evidence, [line.requirement.quote for line in lines]) if evidence.buys else ()
    kinds = {line.requirement.kind for line in lines}
    lines += _answer_lines(evidence, kinds) if evidence.reading else ()
    lines += list_done(evidence, kinds) if evidence.checkpoint.environment == "alfworld" else ()
    lines += _call_lines(evidence) if evidence.pending_calls else ()
    return lines


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
            said = terms_of_option(choice.chosen, evidence)
            for quote in dict.fromkeys(quote_beside(term, said, evidence) for term in said):
                asked = Requirement(RequirementKind.OPTION, choice.name, quote.text, quote)
                yield Line(asked, Standing.MET, quote_option(choice.chosen, evidence), PRODUCT)
                told |= {term for term in evidence.states if _is_within(term, quote)}
    for group in _phrases([term for term in list(evidence.states)[:_MOST_TERMS] if term not in told], evidence):
        yield from _product_lines(group, evidence)


def _phrases(stated: Sequence[Term], evidence: Evidence) -> Iterator[list[Term]]:
    """Yield the terms in the order of the request, with adjacent terms of the same state in one list."""
    text, group = evidence.checkpoint.instruction, list[Term]()
    for term in sorted(stated, key=lambda term: term.start):
        last = group[-1] if group else None
        joins = last and text[last.end : term.start] in _JOINING and evidence.states[last] is evidence.states[term]
        if group and not joins:
            yield group
        group = [*group, term] if joins else [term]
    if group:
        yield group


_JOINING = frozenset({" ", "-"})


def _product_lines(group: Sequence[Term], evidence: Evidence) -> Iterator[Line]:
    """Yield one line for a phrase of the request, or one line per term if the product's pages separate the terms."""
    start, end = group[0].start, max(term.end for term in group)
    state = evidence.states[group[0]]
    if state is TermState.FOUND and all(term.kind is TermKind.WORD for term in group):
        # One word of a phrase says too little: "open" of "open toe".
        start, end = _whole_phrase(group, start, end, evidence)
    elif state is TermState.MISSING and group[-1].kind is TermKind.WORD:
        start, end = complete_phrase(start, end, evidence)
    text = evidence.checkpoint.instruction[start:end]
    is_one = (start, end) == (group[0].start, group[0].end)
    whole = group[0]
    if not is_one:
        whole = replace(whole, kind=TermKind.WORD, value=lowered(text), text=text, start=start, end=end)
    kind = next((_KINDS.get(term.kind) for term in group if term.kind not in EXACT), None) or RequirementKind.ATTRIBUTE
    asked = _of_term(kind, "product", whole, evidence)
    if state is TermState.MISSING:
        if group[-1].kind is TermKind.WORD and is_tail(start, end, evidence):
            return
        other = _other_number(text, evidence)
        yield Line(asked, Standing.NOT_SHOWN, other, OTHER_NUMBER if other else PRODUCT)
    elif state is TermState.OFFERED:
        option = _option_in_words(group, evidence)
        if option:
            yield Line(asked, Standing.CANNOT_TELL, quote_option(option, evidence), PRODUCT)
    elif shown := _seen(whole, evidence) or (None if is_one else _seen_in_one_line(text, evidence)):
        is_other = _is_chosen_otherwise(group, evidence)
        yield Line(asked, *((Standing.CANNOT_TELL, shown, TITLE) if is_other else (Standing.MET, shown, PRODUCT)))
    else:
        for term in (term for term in group if term.kind is not TermKind.WORD):
            if shown := _seen(term, evidence):
                yield Line(_of_term(kind, "product", term, evidence), Standing.MET, shown, PRODUCT)


def _is_chosen_otherwise(group: Sequence[Term], evidence: Evidence) -> bool:
    """Return whether the agent left out an option that is a term of the group, or chose a colour that no term names."""
    for choice in evidence.purchase.choices if evidence.purchase else ():
        is_other = choice.chosen and not any(mentions(term, lowered(choice.chosen)) for term in group)
        for term in group if is_other else ():
            own = {*words(term.text)}
            offered = any({*words(option)} == own for option in choice.options)
            if offered or (COLOURS & own and COLOUR_GROUP.search(choice.name)):
                return True
    return False


_COUNTED = re.compile(r"\s*(\d[\d.,]*)[ -]?([^\W\d_]+)\s*")
_MEASURED = re.compile(r"(?<![\w.,])(\d[\d.]*)\W{0,3}(?:w|h|l|d)?\s?[x×*]\s?(\d[\d.]*)(?!\w*[\d])", re.IGNORECASE)


def _other_number(text: str, evidence: Evidence) -> Quote | None:
    """Return the last quote on the product's pages of another number of the same thing, or None.

    Examples are "4 Pack" for "12 pack", and "52x84" for "55 x 45".
    """
    asked, measured = _COUNTED.fullmatch(text), _MEASURED.search(text)
    if evidence.purchase is None or not (asked or measured):
        return None
    same = _MEASURED if asked is None else re.compile(rf"(?<![\w.,])(\d[\d.,]*)[ -]?{re.escape(asked[2])}(?!\w)", re.I)
    own = asked.groups()[:1] if asked else measured.groups() if measured else ()
    for act in (act for act in reversed(evidence.acts) if act.step in evidence.purchase.steps):
        for found in same.finditer(act.observation[:50_000]):
            if found.groups() != own:
                return Quote(found[0], *found.span(), QuotePlace.OBSERVATION, act.step)
    return None


_WORD_BEFORE, _WORD_AFTER = re.compile(r"([\w'’]+)[ -]$"), re.compile(r"^[ -]([\w'’]+)")


def _whole_phrase(group: Sequence[Term], start: int, end: int, evidence: Evidence) -> tuple[int, int]:
    """Return [start, end) extended by the words beside it, up to a term that the product must match exactly.

    A phrase of several words is not extended by other terms.
    """
    text = evidence.checkpoint.instruction
    apart = [term for term in evidence.states if term not in group and (group[1:] or term.kind is not TermKind.WORD)]
    taken = {at for term in apart for at in range(term.start, term.end)}
    while (before := _WORD_BEFORE.search(text[:start])) and _is_telling(before[1]) and before.start(1) not in taken:
        start = before.start(1)
    while (after := _WORD_AFTER.search(text[end:])) and _is_telling(after[1]) and end + after.start(1) not in taken:
        end += after.end()
    return start, end


def _is_telling(word: str) -> bool:
    return lowered(word) not in FUNCTION_WORDS and lowered(word) not in GENERIC


def _option_in_words(group: Sequence[Term], evidence: Evidence) -> str:
    """Return an offered option that mentions a term and has no other words than the request, or ""."""
    asked = set(words(evidence.checkpoint.instruction)) | {"pack", "1"}
    choices = evidence.purchase.choices if evidence.purchase else ()
    offered = (option for choice in choices for option in choice.options if set(words(option)) <= asked)
    return next((option for option in offered if mentions(group[0], lowered(option))), "")


_SPAN = 80


def _seen_in_one_line(text: str, evidence: Evidence) -> Quote | None:
    """Return the shortest part of a line of the product's pages that has every word of a phrase, or None."""
    wanted = set(words(text))
    for act in reversed(evidence.acts):
        if not wanted or evidence.purchase is None or act.step not in evidence.purchase.steps:
            continue
        for row in re.finditer(r"[^\n\[\]]+", act.observation[:50_000]):
            places = [(singular(word[0]), *word.span()) for word in re.finditer(r"[\w'’]+", lowered(row[0]))]
            places = [place for place in places if place[0] in wanted]
            for at, (_, low, _) in enumerate(places):
                for to, (_, _, high) in enumerate(places[at:], at + 1):
                    if high - low <= _SPAN and {word for word, _, _ in places[at:to]} == wanted:
                        start, end = row.start() + low, row.start() + high
                        return Quote(act.observation[start:end], start, end, QuotePlace.OBSERVATION, act.step)
    return None


def _is_within(term: Term, quote: Quote) -> bool:
    return quote.place is QuotePlace.REQUEST and quote.start <= term.start and term.end <= quote.end


def _of_term(kind: RequirementKind, about: str, term: Term, evidence: Evidence) -> Requirement:
    return Requirement(kind, about, term.text, quote_term(term, evidence))


def _seen(term: Term, evidence: Evidence) -> Quote | None:
    """Return the last quote of a term on the product's pages or in a chosen option, or None if they reword it."""
    shown = evidence.purchase
    if shown is None:
        return None
    asked = lowered(evidence.checkpoint.instruction.strip())
    for act in (act for act in reversed(evidence.acts) if act.step in shown.steps):
        text = act.observation[:50_000]
        hidden = lowered(text).find(asked)
        apart = [(hidden, hidden + len(asked)), *(row.span() for row in OPTIONS_SHOWN.finditer(text))]
        for start, end in occurrences(term, text)[:8]:
            if not any(0 <= low <= start < high for low, high in apart):
                return Quote(text[start:end], start, end, QuotePlace.OBSERVATION, act.step)
    chosen = (choice.chosen for choice in shown.choices if mentions(term, lowered(choice.chosen)))
    return next((quote_option(option, evidence) for option in chosen), None)


def _answer_lines(evidence: Evidence, broken: Collection[RequirementKind]) -> Iterator[Line]:
    """Yield a line on whether a page contains the answer; no check knows whether the answer is right."""
    reading = evidence.reading
    if reading is None or RequirementKind.QUESTION in broken or not normalise_words(reading.answer):
        return
    question = quote_request(evidence)
    asked = Requirement(RequirementKind.QUESTION, "answer", question.text, question)
    if not is_on_a_page(evidence):
        yield Line(asked, Standing.CANNOT_TELL, rule=FORM)
        return
    first = reading.saying[0].step if reading.saying else len(evidence.acts) + 1
    # The last page before the answer is the likelier source of a word that several pages contain.
    quotes = (quote_result(evidence, reading.answer, act.step) for act in reversed(evidence.acts) if act.step >= first)
    shown = next((quote for quote in quotes if quote.end > 0), None)
    standing = Standing.CANNOT_TELL if reading.saying else Standing.NOT_SHOWN
    yield Line(asked, standing, shown, ANSWER if shown or not reading.saying else FORM)


def _call_lines(evidence: Evidence) -> Iterator[Line]:
    yield from values_passed(evidence)
    for call in evidence.pending_calls:
        if call.effects & CHANGING and not runs_code(call):
            yield from _permission(call, evidence)


def _permission(call: TracedCall, evidence: Evidence) -> Iterator[Line]:
    """Yield the line with the user's own words for a call's effect, if the user wrote a known word for it."""
    shown = quote_action(evidence, call.call.name)
    found: list[tuple[int, Quote]] = []
    for place, step, whole, start in evidence.user_texts:
        for rank, low, high in find_requests(call.call, call.effects, whole[start:]):
            if not is_excluding(lowered(whole[max(0, start + low - 40) : start + low]), words=True):
                found.append((rank, Quote(whole[start + low : start + high], start + low, start + high, place, step)))
    if found:
        quote = min(found, key=lambda one: one[0])[1]
        asked = Requirement(RequirementKind.PERMISSION, call.call.name, quote.text, quote)
        yield Line(asked, Standing.MET, shown, ASKED)
