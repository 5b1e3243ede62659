"""Findings of checks, quotes in their sentences, and the requirement lines that they break."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from console.environments.evidence import Evidence
from console.environments.webshop.purchase import EXACT, LEFT_OUT, PRICE_SHOWN
from console.trajectory.provenance import WORD_PARTS
from console.trajectory.requirements import Line, Quote, QuotePlace, Requirement, RequirementKind, Standing, text_at
from console.trajectory.strict_yaml import Pattern, read_data
from console.trajectory.terms import Term, lowered, mentions

PATTERNS = read_data(files(__package__) / "patterns.yaml", dict[str, Pattern])
"""The regular expressions of the checks, by file and name."""
NOT_FOUND = Quote("", -1, -1)
"""The quote of a text that the checkpoint does not contain; a line with this quote is never verified."""
_LONGEST_QUOTE = 200
MONEY = re.compile(r"[$€£]\s?(\d[\d,]*(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: its strength in [0, 1], a sentence for people, and the facts that the sentence mentions.

    Only a finding with a broken `line` flags; any other finding affects only the rank. Facts that stronger findings
    mention are not repeated.
    """

    strength: float
    sentence: str = ""
    facts: tuple[str, ...] = ()
    line: Line | None = None


def broken(kind: RequirementKind, about: str, stated: Quote, shown: Quote) -> Line:
    """Return the line of a requirement that the quoted part of a step breaks."""
    return Line(Requirement(kind, about, stated.text, stated), Standing.BROKEN, shown)


def quote_user(evidence: Evidence, text: str) -> Quote:
    """Return the first quote of a text, ignoring case, from the request, the user's first message or a reply."""
    for place, step, whole, start in evidence.user_texts:
        if found := _find(whole, text, place, step, start):
            return found
    return NOT_FOUND


def find_quotes(form: re.Pattern[str], evidence: Evidence, *, lower: bool = False) -> Iterator[Quote]:
    """Yield the user's words that match a regular expression, which reads them in lower case if `lower`."""
    for place, step, whole, start in evidence.user_texts:
        for match in form.finditer(lowered(whole) if lower else whole, start):
            yield Quote(whole[match.start() : match.end()], *match.span(), place, step)


def words_before(quote: Quote, evidence: Evidence, limit: int = 40) -> str:
    """Return the characters directly before a quote, in lower case."""
    whole = text_at(evidence.checkpoint, quote.place, quote.step) or ""
    return lowered(whole[max(0, quote.start - limit) : quote.start])


def words_after(quote: Quote, evidence: Evidence, limit: int = 40) -> str:
    """Return the characters directly after a quote, in lower case."""
    whole = text_at(evidence.checkpoint, quote.place, quote.step) or ""
    return lowered(whole[quote.end : quote.end + limit])


def quote_request(evidence: Evidence) -> Quote:
    """Return the request itself, up to its first 200 characters."""
    for place, step, whole, start in evidence.user_texts:
        text = whole[start:].strip()[:_LONGEST_QUOTE].strip()
        if text:
            at = whole.index(text, start)
            return Quote(text, at, at + len(text), place, step)
    return NOT_FOUND


def quote_action(evidence: Evidence, text: str, step: int | None = None) -> Quote:
    """Return the first quote of a text, as plain text or JSON, from an action (default: the pending action)."""
    at = step or evidence.pending.step
    whole = text_at(evidence.checkpoint, QuotePlace.ACTION, at) or ""
    for written in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        if found := _find(whole, written[:_LONGEST_QUOTE], QuotePlace.ACTION, at):
            return found
    return NOT_FOUND


def quote_result(evidence: Evidence, text: str, step: int) -> Quote:
    """Return the first quote of a text, ignoring case, from the result of a step."""
    whole = text_at(evidence.checkpoint, QuotePlace.OBSERVATION, step) or ""
    return _find(whole, text[:_LONGEST_QUOTE], QuotePlace.OBSERVATION, step) or NOT_FOUND


def _find(whole: str, text: str, place: QuotePlace, step: int | None, start: int = 0) -> Quote | None:
    wanted = text.strip()
    plain, at = lowered(whole), whole.find(wanted, start) if wanted else -1
    if wanted and (at < 0 or _is_within_word(plain, at, at + len(wanted))):
        # `lowered` keeps each character's position.
        places = (match.start() for match in re.finditer(re.escape(lowered(wanted)), plain[start:]))
        apart = (
            place + start for place in places if not _is_within_word(plain, place + start, place + start + len(wanted))
        )
        at = next(apart, -1 if len(wanted) <= _SHORT else plain.find(lowered(wanted), start))
    return Quote(whole[at : at + len(wanted)], at, at + len(wanted), place, step) if at >= 0 else None


def _is_within_word(text: str, start: int, end: int) -> bool:
    """Return whether a letter or digit continues a word of text[start:end] before or after it."""
    return any(WORD_PARTS.fullmatch(text[at - 1 : at + 1]) for at in (start, end) if at)


_SHORT = 3
"""The number of characters up to which a text is quoted as a whole word only."""


def quote_price(price: float, evidence: Evidence) -> Quote:
    """Return the last quote of this price in a result."""
    for act in reversed(evidence.acts):
        for match in (*PRICE_SHOWN.finditer(act.observation), *MONEY.finditer(act.observation)):
            if any(figure and float(figure.replace(",", "")) == price for figure in match.groups()):
                return Quote(match[0], *match.span(), QuotePlace.OBSERVATION, act.step)
    return NOT_FOUND


def quote_term(term: Term, evidence: Evidence) -> Quote:
    """Return the quote of a term from the request."""
    return Quote(evidence.checkpoint.instruction[term.start : term.end], term.start, term.end)


def terms_of_option(option: str, evidence: Evidence) -> list[Term]:
    """Return the user's terms that an option states, exact terms first."""
    text = lowered(option)
    said = [term for term in evidence.terms if term.kind not in LEFT_OUT and mentions(term, text)]
    return sorted(said, key=lambda term: term.kind not in EXACT)


def quote_option(option: str, evidence: Evidence) -> Quote:
    """Return the last quote of an option from the page that offered it."""
    quotes = (quote_result(evidence, option, act.step) for act in reversed(evidence.acts))
    return next((quote for quote in quotes if quote.end > 0), NOT_FOUND)


def quote_beside(first: Term, said: Sequence[Term], evidence: Evidence) -> Quote:
    """Return the quote of a term with the terms directly before and after it."""
    text, start, end = evidence.checkpoint.instruction, first.start, first.end
    for term in sorted(said, key=lambda term: abs(term.start - first.start)):
        if text[end : term.start].isspace():
            end = term.end
        elif text[term.end : start].isspace():
            start = term.start
    large = re.search(r"(?<!\w)(?:x{1,4}|\d{1,2}x)-\s?$", text[:start], re.IGNORECASE)
    start = large.start() if large else start
    return Quote(text[start:end], start, end)


def quoted(texts: Sequence[str], limit: int = 4) -> str:
    """Return the first few texts in quotation marks."""
    shown = ", ".join(f'"{one_line(text, 60)}"' for text in texts[:limit])
    return shown + (f" and {len(texts) - limit} more" if len(texts) > limit else "")


def one_line(text: str, limit: int) -> str:
    """Return the text on one line, cut with an ellipsis at `limit` characters."""
    flat = " ".join(text[: limit * 8].split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
