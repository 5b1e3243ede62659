"""Sentences about requirement lines: the only module that converts typed lines to text, in the reader's language.

A sentence contains a model's words only as verified quotes. Stored sentences are English; pages translate them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from console.language import gettext_noop
from console.trajectory.requirements.lines import (
    Line,
    Quote,
    QuotePlace,
    Requirement,
    RequirementKind,
    RequirementTable,
    Standing,
)
from console.trajectory.terms import words

Translate = Callable[[str], str]
_QUOTED = 90
_MOST = 4

_ASKED: dict[RequirementKind, str] = {
    RequirementKind.PROHIBITION: gettext_noop("The user ruled out “{asked}”"),
    RequirementKind.PERMISSION: gettext_noop("The user's permission is about “{asked}”"),
    RequirementKind.QUESTION: gettext_noop("The user wanted to know “{asked}”"),
}
_ANY_ASKED = gettext_noop("The user asked for “{asked}”")
_RULED = gettext_noop("The rules say “{asked}”")
_BOUND = gettext_noop("{clause} (for “{about}”)")
_STANDS: dict[Standing, tuple[str, str]] = {
    Standing.BROKEN: (
        gettext_noop("{clause}; the critical action has “{shown}”."),
        gettext_noop("{clause}; step {number} has “{shown}”."),
    ),
    Standing.MET: (
        gettext_noop("{clause}; the critical action agrees: “{shown}”."),
        gettext_noop("{clause}; step {number} agrees: “{shown}”."),
    ),
}
_UNCHOSEN = gettext_noop("{clause}; step {number} offers “{shown}”, which the agent did not choose.")
_NOTHING: dict[Standing, str] = {
    Standing.NOT_SHOWN: gettext_noop("{clause}; the record shows nothing about this requirement."),
    Standing.CANNOT_TELL: gettext_noop("{clause}; unclear from the record."),
    Standing.BROKEN: gettext_noop("{clause}; the record contradicts this requirement."),
    Standing.MET: gettext_noop("{clause}; the record agrees."),
}
COUNTS: dict[Standing, str] = {
    Standing.BROKEN: gettext_noop("{count} violated"),
    Standing.NOT_SHOWN: gettext_noop("{count} not shown"),
    Standing.CANNOT_TELL: gettext_noop("{count} unclear"),
    Standing.MET: gettext_noop("{count} met"),
}
"""Phrases for the number of lines, by status."""
UNCHECKED = gettext_noop("Nothing could be checked: the record does not show whether any requirement is met.")
NO_LINES = gettext_noop("Nothing could be checked: no requirement was found in the request.")
HARMLESS = gettext_noop("The action changes nothing.")
RECORD: dict[Standing, str] = {
    Standing.NOT_SHOWN: gettext_noop("not in the record"),
    Standing.CANNOT_TELL: gettext_noop("unclear"),
    Standing.BROKEN: gettext_noop("contradicted by the record"),
    Standing.MET: gettext_noop("confirmed by the record"),
}
"""Phrases in a table for lines without evidence, by status."""
_VIOLATED = gettext_noop("violated")
_KINDS_OF_OBJECT = frozenset({"answer", "price", "product", "task"})
_NOT_BROKEN = gettext_noop("No requirement is violated: {counts}.")
_DROPPED_ONE = gettext_noop("1 line was left out because the record does not contain its quote.")
_DROPPED = gettext_noop("{count} lines were left out because the record does not contain their quotes.")


def name_status(standing: Standing) -> str:
    """Return the status as pages and the terminal show it, in English."""
    return {Standing.BROKEN: _VIOLATED, Standing.CANNOT_TELL: RECORD[Standing.CANNOT_TELL]}.get(standing, standing)


def name_object(one: Requirement) -> str:
    """Return the object of a requirement; return "" if the rules give no object and name only its kind."""
    return "" if one.about in _KINDS_OF_OBJECT else one.about


def is_unchosen(line: Line) -> bool:
    """Return whether the line is violated because the agent did not choose the option that its evidence offers."""
    one, shown = line.requirement, line.evidence
    if line.standing is not Standing.BROKEN or one.kind is not RequirementKind.OPTION or shown is None:
        return False
    asked = set(words(one.quote.text))
    return shown.place is QuotePlace.OBSERVATION and bool(asked) and asked <= set(words(shown.text))


def explain_line(line: Line, pending: int, translate: Translate = str) -> str:
    """Return a line as one sentence; `pending` is the step number of the critical action."""
    clause, shown = _clause(line.requirement, translate), line.evidence
    if shown is None or line.standing not in _STANDS:
        return translate(_NOTHING[line.standing]).format(clause=clause)
    at_action, at_step = _STANDS[line.standing]
    sentence = _UNCHOSEN if is_unchosen(line) else at_action if shown.step == pending else at_step
    return translate(sentence).format(clause=clause, number=shown.step, shown=_shortened(shown))


def explain_table(table: RequirementTable, pending: int, translate: Translate = str) -> str:
    """Return the sentences of a table, one per line of text: its broken lines, or the reason why no line is broken."""
    broken = table.having(Standing.BROKEN)
    sentences = [explain_line(line, pending, translate) for line in broken[:_MOST]]
    if not broken:
        sentences = [translate(_without_broken(table)).format(counts=count_lines(table, translate))]
    return "\n".join([*sentences, *explain_dropped(table, translate)])


def explain_dropped(table: RequirementTable, translate: Translate = str) -> list[str]:
    """Return a sentence about the lines that could not be verified, or an empty list."""
    if not table.dropped:
        return []
    return [translate(_DROPPED_ONE if table.dropped == 1 else _DROPPED).format(count=table.dropped)]


def explain_unchecked(table: RequirementTable, translate: Translate = str) -> list[str]:
    """Return a sentence about a table without a met or broken line, or an empty list."""
    return [translate(_without_broken(table))] if table.is_unchecked or not table.lines else []


def count_lines(table: RequirementTable, translate: Translate = str) -> str:
    """Return the number of lines by status, such as `1 violated · 4 met`."""
    counts = Counter(line.standing for line in table.lines)
    return " · ".join(
        translate(phrase).format(count=counts[standing]) for standing, phrase in COUNTS.items() if counts[standing]
    )


def _without_broken(table: RequirementTable) -> str:
    if not table.lines:
        return HARMLESS if table.harmless else NO_LINES
    if table.is_unchecked:
        return UNCHECKED
    return _NOT_BROKEN


def _clause(one: Requirement, translate: Translate) -> str:
    sentence = _RULED if one.quote.place is QuotePlace.POLICY else _ASKED.get(one.kind, _ANY_ASKED)
    clause = translate(sentence).format(asked=_shortened(one.quote))
    about = name_object(one)[:_QUOTED]
    return translate(_BOUND).format(clause=clause, about=about) if about else clause


def _shortened(quote: Quote) -> str:
    flat = " ".join(quote.text.split())
    return flat if len(flat) <= _QUOTED else flat[: _QUOTED - 1].rstrip() + "…"
