"""Checks of a purchase, and its requirement lines: price, options and page against the user's request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from console.detection.detectors.rules.finding import (
    MONEY,
    PATTERNS,
    Finding,
    broken,
    quote_action,
    quote_beside,
    quote_option,
    quote_price,
    quote_term,
    quoted,
    terms_of_option,
)
from console.environments.evidence import WORDS, Evidence, TermState
from console.environments.webshop.purchase import BUYS, COLOUR_GROUP, EXACT, GENERIC, OPTIONS_SHOWN, Choice
from console.trajectory.requirements import Line, Quote, QuotePlace, Requirement, RequirementKind, Standing
from console.trajectory.requirements.sentences import OTHER_NUMBER, PRODUCT, TITLE
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

_MOST_WORDS = 5
_COMPLETING = PATTERNS["shopping.completing"]
"""Nouns that need the word before them."""
_QUALIFYING = frozenset(
    {"easy", "high", "low", "long", "non", "anti", "ultra", "light", "dark", "heavy", "full", "wide"}
)
"""Words that need the word after them."""
_JOINING = frozenset({"", " ", "-", " to "})


def price_above_limit(evidence: Evidence) -> Finding | None:
    """Find a price above the user's limit, or a range of prices that exceeds the limit in part."""
    shown = evidence.purchase
    limits = [float(term.value) for term in evidence.terms if term.kind is TermKind.PRICE_MAX]
    if not limits or (shown and shown.high <= min(limits)):
        return None
    limit = min(limits)
    if not shown:
        return _all_above(limit, evidence)
    if shown.low > limit:
        price = f"{shown.low:.2f}" + (f" to {shown.high:.2f}" if shown.high > shown.low else "")
        told = f"The user set a limit of {limit:.2f}; the chosen page shows {price}."
        return Finding(1.0, told, ("price",), _price_line(TermKind.PRICE_MAX, shown.low, evidence))
    range_ = f"from {shown.low:.2f} to {shown.high:.2f}"
    return Finding(0.1, f"The user set a limit of {limit:.2f}; the prices on the chosen page go {range_}.", ("price",))


def _all_above(limit: float, evidence: Evidence) -> Finding | None:
    """Find a purchase without an opened product page if every price shown is above the limit."""
    prices = [float(figure.replace(",", "")) for figure in MONEY.findall(evidence.read_before)]
    if not prices or min(prices) <= limit or not BUYS.search(evidence.pending.action):
        return None
    told = f"The user set a limit of {limit:.2f}; the lowest price that was shown is {min(prices):.2f}."
    return Finding(1.0, told, ("price",), _price_line(TermKind.PRICE_MAX, min(prices), evidence))


def _price_line(kind: TermKind, price: float, evidence: Evidence) -> Line:
    """Return the broken line of the user's price limit, with the price as the shop showed it."""
    stated = next(term for term in evidence.terms if term.kind is kind)
    return broken(RequirementKind.LIMIT, "price", quote_term(stated, evidence), quote_price(price, evidence))


def _option_line(choice: Choice, shown: Quote, evidence: Evidence) -> Line | None:
    said = terms_of_option(choice.asked, evidence)
    if not said:
        return None
    return broken(RequirementKind.OPTION, choice.name, quote_beside(said[0], said, evidence), shown)


def price_below_floor(evidence: Evidence) -> Finding | None:
    """Find a price below the user's minimum price."""
    shown = evidence.purchase
    floors = [float(term.value) for term in evidence.terms if term.kind is TermKind.PRICE_MIN]
    if not shown or not floors or shown.high >= max(floors):
        return None
    sentence = f"The user asked for at least {max(floors):.2f}; the chosen page shows {shown.high:.2f}."
    return Finding(1.0, sentence, ("price",), _price_line(TermKind.PRICE_MIN, shown.high, evidence))


def option_not_chosen(evidence: Evidence) -> Finding | None:
    """Find options that the user asked for and the shop offered, but the agent did not choose."""
    left = [choice for choice in _choices(evidence) if choice.asked and not choice.chosen]
    if not left:
        return None
    told = "; ".join(f'{choice.name} "{choice.asked[:60]}"' for choice in left[:3])
    line = _option_line(left[0], quote_option(left[0].asked, evidence), evidence)
    facts = tuple(choice.name for choice in left)
    return Finding(1.0, f"Asked for and offered, but never chosen: {told}.", facts, line)


def option_differs(evidence: Evidence) -> Finding | None:
    """Find a choice that differs from the offered option that the user asked for."""
    worse = [choice for choice in _choices(evidence) if choice.asked and choice.chosen not in ("", choice.asked)]
    if not worse:
        return None
    name, asked, chosen = worse[0].name, worse[0].asked[:60], worse[0].chosen[:60]
    sentence = f'For {name} the agent chose "{chosen}"; the user asked for "{asked}", which was offered.'
    pressed = [act.step for act in evidence.acts if lowered(act.argument) == lowered(worse[0].chosen)]
    shown = quote_action(evidence, worse[0].chosen, pressed[-1]) if pressed else quote_option(worse[0].chosen, evidence)
    return Finding(1.0, sentence, (name,), _option_line(worse[0], shown, evidence))


def options_left(evidence: Evidence) -> Finding | None:
    """Find groups of options without a choice. The finding changes only the score."""
    left = [choice.name for choice in _choices(evidence) if not choice.chosen]
    return Finding(min(1.0, len(left) / 2)) if left else None


def option_chosen(evidence: Evidence) -> Finding | None:
    """Find choices that the user asked for. The finding counts in favour of the agent."""
    right = [choice.chosen for choice in _choices(evidence) if choice.chosen and choice.asked == choice.chosen]
    return Finding(min(1.0, len(right) / 2)) if right else None


def stated_missing(evidence: Evidence) -> Finding | None:
    """Find stated terms that neither the product's pages nor its options mention."""
    missing = evidence.by_state[TermState.MISSING] if evidence.buys else ()
    if not evidence.purchase or not missing:
        return None
    told = [term for term in missing if term.kind not in WORDS] + _phrases(missing, evidence)
    phrases = [one if isinstance(one, str) else _whole(one, evidence) for one in told]
    unopened = " or ".join(", ".join(name.capitalize() for name in evidence.purchase.unopened).rsplit(", ", 1))
    where = f"; the agent did not open {unopened}" if unopened else ""
    sentence = f"The chosen page does not show {quoted(phrases[:_MOST_WORDS], _MOST_WORDS)}{where}."
    return Finding(len(missing) / len(evidence.wanted), sentence if phrases else "", tuple(map(lowered, phrases)))


def figures_missing(evidence: Evidence) -> Finding | None:
    """Find missing or unchosen sizes, quantities, colours and materials. The finding changes only the score."""
    open_ = (*evidence.by_state[TermState.MISSING], *evidence.by_state[TermState.OFFERED]) if evidence.purchase else ()
    exact = [term for term in open_ if term.kind in EXACT]
    return Finding(min(1.0, 0.5 + len(exact) / 4)) if exact else None


def _choices(evidence: Evidence) -> tuple[Choice, ...]:
    return evidence.purchase.choices if evidence.purchase else ()


def _phrases(missing: Sequence[Term], evidence: Evidence) -> list[str]:
    """Return the missing words as phrases: join adjacent words and add the words that complete them.

    A single missing word between two found words is omitted, because the page may use a shorter name.
    """
    text, found = evidence.checkpoint.instruction, list[tuple[int, int]]()
    plain = sorted((term for term in missing if term.kind in WORDS), key=lambda term: term.start)
    for term in plain:
        if found and text[found[-1][1] : term.start] in _JOINING:
            found[-1] = (found[-1][0], term.end)
        else:
            found.append((term.start, term.end))
    told = [term for term, state in evidence.states.items() if state is not TermState.MISSING]
    starts, ends = {term.start for term in told}, {term.end for term in told}
    found = [(start, end) for start, end in found if not (start - 1 in ends and end + 1 in starts)]
    found = [(start, end) for start, end in found if not _is_tail(start, end, evidence)]
    return [text[slice(*_complete_phrase(start, end, evidence))] for start, end in found]


def _is_tail(start: int, end: int, evidence: Evidence) -> bool:
    """Return whether [start, end) is a word after one that the product's pages contain (`room` of `living room`)."""
    text = evidence.checkpoint.instruction
    before = re.search(r"([^\W\d_]{3,})[ -]$", text[:start])
    is_one = not re.search(r"[ -]", text[start:end])
    return (
        is_one
        and before is not None
        and lowered(before[1]) not in FUNCTION_WORDS | GENERIC | _QUALIFYING
        and (lowered(before[1]) in evidence.read)
    )


def _complete_phrase(start: int, end: int, evidence: Evidence) -> tuple[int, int]:
    """Return [start, end) of a phrase, extended by a general noun after it and a qualifying word before it."""
    text = evidence.checkpoint.instruction
    after = _COMPLETING.match(text, end) or _PURPOSE.match(text, end)
    before = re.search(r"([a-z]+|\d+[a-z]*)(?:( to )| |-)$", text[:start], re.IGNORECASE)
    known = before is not None and (before[1][0].isdigit() or lowered(before[1]) in _QUALIFYING)
    is_before = known or (before is not None and before[2] is not None and lowered(before[1]) not in FUNCTION_WORDS)
    return (before.start(1) if before and is_before else start), after.end() if after else end


_PURPOSE = re.compile(r" to [a-z]+\b")
"""The words after an adjective such as `ready`."""


def _whole(term: Term, evidence: Evidence) -> str:
    """Return the term as the instruction writes it, with the rest of a hyphenated word (`5-shelf`)."""
    after = re.match(r"-[a-z]+", evidence.checkpoint.instruction[term.end :])
    return term.text + (after[0] if after else "")


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


def list_purchase_lines(evidence: Evidence, found: Sequence[Quote]) -> Iterator[Line]:
    """Yield the lines of a purchase: the price, the chosen options and the terms that `found` does not quote."""
    shown = evidence.purchase
    if shown is None:
        return
    for term in evidence.terms:
        if term.kind is TermKind.PRICE_MAX and shown.high <= float(term.value):
            asked = _of_term(RequirementKind.LIMIT, "price", term, evidence)
            yield Line(asked, Standing.MET, quote_price(shown.high, evidence))
    told = {term for term in evidence.states if any(_is_within(term, quote) for quote in found)}
    for choice in shown.choices:
        if choice.chosen and choice.chosen == choice.asked:
            said = terms_of_option(choice.chosen, evidence)
            for quote in dict.fromkeys(quote_beside(term, said, evidence) for term in said):
                asked = Requirement(RequirementKind.OPTION, choice.name, quote.text, quote)
                yield Line(asked, Standing.MET, quote_option(choice.chosen, evidence), PRODUCT)
                told |= {term for term in evidence.states if _is_within(term, quote)}
    for group in _group_terms([term for term in list(evidence.states)[:_MOST_TERMS] if term not in told], evidence):
        yield from _product_lines(group, evidence)


def _group_terms(stated: Sequence[Term], evidence: Evidence) -> Iterator[list[Term]]:
    """Yield the terms in the order of the request, with adjacent terms of the same state in one list."""
    text, group = evidence.checkpoint.instruction, list[Term]()
    for term in sorted(stated, key=lambda term: term.start):
        last = group[-1] if group else None
        joins = last and text[last.end : term.start] in _ADJACENT and evidence.states[last] is evidence.states[term]
        if group and not joins:
            yield group
        group = [*group, term] if joins else [term]
    if group:
        yield group


_ADJACENT = frozenset({" ", "-"})


def _product_lines(group: Sequence[Term], evidence: Evidence) -> Iterator[Line]:
    """Yield one line for a phrase of the request, or one line per term if the product's pages separate the terms."""
    start, end = group[0].start, max(term.end for term in group)
    state = evidence.states[group[0]]
    if state is TermState.FOUND and all(term.kind is TermKind.WORD for term in group):
        # One word of a phrase says too little: "open" of "open toe".
        start, end = _whole_phrase(group, start, end, evidence)
    elif state is TermState.MISSING and group[-1].kind is TermKind.WORD:
        start, end = _complete_phrase(start, end, evidence)
    text = evidence.checkpoint.instruction[start:end]
    is_one = (start, end) == (group[0].start, group[0].end)
    whole = group[0]
    if not is_one:
        whole = replace(whole, kind=TermKind.WORD, value=lowered(text), text=text, start=start, end=end)
    kind = next((_KINDS.get(term.kind) for term in group if term.kind not in EXACT), None) or RequirementKind.ATTRIBUTE
    asked = _of_term(kind, "product", whole, evidence)
    if state is TermState.MISSING:
        if group[-1].kind is TermKind.WORD and _is_tail(start, end, evidence):
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
