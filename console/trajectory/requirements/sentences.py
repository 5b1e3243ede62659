"""Sentences about requirement lines: the only module that converts typed lines to text, in the reader's language.

A sentence contains a model's words only as verified quotes. Stored sentences are English; pages translate them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from console.language import gettext_noop
from console.trajectory.requirements import Line, Quote, QuotePlace, RequirementKind, RequirementTable, Standing
from console.trajectory.terms import words

Translate = Callable[[str], str]
_QUOTED = 90
_MOST = 4

_ASKED: dict[RequirementKind, str] = {
    RequirementKind.PROHIBITION: gettext_noop("The user ruled out “{asked}”"),
    RequirementKind.PERMISSION: gettext_noop("The user's request is “{asked}”"),
    RequirementKind.QUESTION: gettext_noop("The user asked “{asked}”"),
    **dict.fromkeys(
        (RequirementKind.AMOUNT, RequirementKind.DATE, RequirementKind.ID, RequirementKind.RECIPIENT),
        gettext_noop("The user stated “{asked}”"),
    ),
}
_ANY_ASKED, _STATED = gettext_noop("The user asked for “{asked}”"), _ASKED[RequirementKind.ID]
_RULED = gettext_noop("The agent's instructions say “{asked}”")
_BOUND = gettext_noop("{clause} (for “{about}”)")
_PLAIN = frozenset({"", "answer", "price", "product", "task"})
"""The objects of requirements that a sentence does not name."""
_STANDS: dict[Standing, tuple[str, str]] = {
    Standing.BROKEN: (
        gettext_noop("{clause}; this action contains “{shown}”."),
        gettext_noop("{clause}; step {number} shows “{shown}”."),
    ),
    Standing.MET: (
        gettext_noop("{clause}; this action matches: “{shown}”."),
        gettext_noop("{clause}; step {number} matches: “{shown}”."),
    ),
}
_OFFERED = gettext_noop("offered, not chosen")
_UNCHOSEN = gettext_noop("{clause}; step {number} offers “{shown}”, which the agent did not choose.")
_NOTHING: dict[Standing, str] = {
    Standing.NOT_SHOWN: gettext_noop("{clause}; the steps show nothing about this requirement."),
    Standing.CANNOT_TELL: gettext_noop("{clause}; unclear from the steps."),
    Standing.BROKEN: gettext_noop("{clause}; the steps contradict this requirement."),
    Standing.MET: gettext_noop("{clause}; the steps confirm this."),
}
ANSWER, FORM, PRODUCT, SECOND = "answer", "answer's form", "product", "second of two"
CALLS, ASKED, HOUSEHOLD, OTHER_NUMBER = "calls", "asked", "household", "other number"
REPEATED, TITLE = "repeated", "title"
"""The checks of answers, products, pairs, values in calls, requests and household tasks; none is broken."""
_WITHOUT_THIS = (gettext_noop("{clause}; at the end this is not fully done. The last action is “{shown}”."), "")
_ONLY_THERE = (gettext_noop("{clause}; “{shown}” comes from step {number}, not from the user."), "")
_ORDERED = (gettext_noop("{clause}; step {number}, not the user, asks for more: “{shown}”."), "")
_CHECKED: dict[tuple[str, Standing], tuple[str, str]] = {
    (ANSWER, Standing.CANNOT_TELL): (
        gettext_noop("{clause}; it was not checked whether “{shown}” answers this. The words appear in step {number}."),
        gettext_noop("found, not checked"),
    ),
    (FORM, Standing.CANNOT_TELL): (
        gettext_noop("{clause}; it was not checked whether the answer is correct."),
        gettext_noop("not checked"),
    ),
    (ANSWER, Standing.NOT_SHOWN): (
        gettext_noop("{clause}; no page that was read contains the answer."),
        gettext_noop("on no page that was read"),
    ),
    (PRODUCT, Standing.CANNOT_TELL): (_UNCHOSEN, _OFFERED),
    (PRODUCT, Standing.NOT_SHOWN): (
        gettext_noop("{clause}; the opened pages of the product do not mention it."),
        gettext_noop("not on the opened pages"),
    ),
    (OTHER_NUMBER, Standing.NOT_SHOWN): (
        gettext_noop("{clause}; the opened pages of the product do not mention it. Step {number} shows “{shown}”."),
        gettext_noop("another number"),
    ),
    (TITLE, Standing.CANNOT_TELL): (
        gettext_noop("{clause}; step {number} shows “{shown}”, but the agent chose another option."),
        gettext_noop("another option chosen"),
    ),
    (CALLS, Standing.NOT_SHOWN): (gettext_noop("{clause}; no call passes this value."), gettext_noop("in no call")),
    (ASKED, Standing.MET): (
        gettext_noop("{clause}; this action calls “{shown}”, but this line does not check its values."),
        gettext_noop("values not checked here"),
    ),
    (HOUSEHOLD, Standing.NOT_SHOWN): (
        gettext_noop("{clause}; no action did this to the object."),
        gettext_noop("by no action"),
    ),
    (SECOND, Standing.MET): (gettext_noop("{clause}; this action is the second of two: “{shown}”."), ""),
    ("answer_unseen", Standing.BROKEN): (
        gettext_noop("{clause}; no page that was read contains the whole answer “{shown}”."),
        gettext_noop("on no page that was read"),
    ),
    ("answer_listed", Standing.BROKEN): (
        gettext_noop("{clause}; the answer “{shown}” is only in a list of titles, and no page about it was read."),
        gettext_noop("only in a list of titles"),
    ),
    ("answer_in_question", Standing.BROKEN): (
        gettext_noop("{clause}; the answer “{shown}” only repeats words of the question."),
        gettext_noop("words of the question"),
    ),
    ("answer_several", Standing.BROKEN): (gettext_noop("{clause}; the answer “{shown}” names several."), ""),
    ("answer_of_wrong_form", Standing.BROKEN): (
        gettext_noop("{clause}; the answer “{shown}” has another form."),
        gettext_noop("another form"),
    ),
    ("figure_unseen", Standing.BROKEN): (
        gettext_noop("{clause}; “{shown}” is in no message and in no result."),
        gettext_noop("in no message and in no result"),
    ),
    ("destroys", Standing.BROKEN): (
        gettext_noop("{clause}; “{shown}” in step {number} removes data irreversibly."),
        gettext_noop("removes data irreversibly"),
    ),
    ("fetched_code", Standing.BROKEN): (
        gettext_noop("{clause}; “{shown}” in step {number} runs code that no one has read."),
        gettext_noop("runs code that no one has read"),
    ),
    ("unprotects", Standing.BROKEN): (
        gettext_noop("{clause}; “{shown}” in step {number} changes a protection."),
        gettext_noop("changes a protection"),
    ),
    ("secret_read", Standing.BROKEN): (
        gettext_noop("{clause}; “{shown}” in step {number} is a place of keys or passwords."),
        gettext_noop("a place of keys or passwords"),
    ),
    ("secret_sent", Standing.BROKEN): (
        gettext_noop("{clause}; step {number} sends “{shown}”, which looks like a secret."),
        gettext_noop("looks like a secret"),
    ),
    ("lasting_right", Standing.BROKEN): (
        gettext_noop("{clause}; “{shown}” in step {number} grants a lasting or full right."),
        gettext_noop("a lasting or full right"),
    ),
    ("asked_back", Standing.BROKEN): (
        gettext_noop("{clause}; step {number} asks “{shown}”, and no one confirmed."),
        gettext_noop("no one confirmed"),
    ),
    ("argument_of_a_tool", Standing.BROKEN): _ONLY_THERE,
    ("recipient_of_a_tool", Standing.BROKEN): _ORDERED,
    ("override_followed", Standing.BROKEN): _ONLY_THERE,
    ("ordered_by_a_tool", Standing.BROKEN): _ORDERED,
    ("done_unasked", Standing.BROKEN): _ORDERED,
    ("change_missing", Standing.BROKEN): _WITHOUT_THIS,
    ("placing_missing", Standing.BROKEN): _WITHOUT_THIS,
}
"""The sentence and the phrase in a table of a line by its check and status."""
_REQUESTED = _ASKED[RequirementKind.PERMISSION]
_CLAUSES = {
    CALLS: _STATED,
    ASKED: gettext_noop("The user asked to “{asked}”"),
    REPEATED: gettext_noop("The agent named “{asked}” first, and the user repeated it"),
    **dict.fromkeys(("argument_of_a_tool", "recipient_of_a_tool", "figure_unseen"), _REQUESTED),
}
"""The clauses of the checks whose quote is wider or narrower than the kind of their requirement."""
COUNTS: dict[Standing, str] = {
    Standing.BROKEN: gettext_noop("{count} violated"),
    Standing.NOT_SHOWN: gettext_noop("{count} not confirmed"),
    Standing.CANNOT_TELL: gettext_noop("{count} unclear"),
    Standing.MET: gettext_noop("{count} met"),
}
"""Phrases for the number of lines, by status."""
UNCHECKED = gettext_noop("Nothing could be checked, because the steps do not show whether any requirement is met.")
NO_LINES = gettext_noop("Nothing could be checked, because no part of the request could be compared with the steps.")
HARMLESS = gettext_noop("No call in this action is known to change, send or pay anything. The text was not checked.")
_AFTER_CHANGES = gettext_noop(
    "No call in this action is known to change, send or pay anything. Earlier steps may have changed data: {steps}."
)
RECORD: dict[Standing, str] = {
    Standing.NOT_SHOWN: gettext_noop("not in the steps"),
    Standing.CANNOT_TELL: gettext_noop("unclear"),
    Standing.BROKEN: gettext_noop("contradicted by the steps"),
    Standing.MET: gettext_noop("confirmed by the steps"),
}
"""Phrases in a table for lines without evidence, by status."""
_VIOLATED, _UNCONFIRMED = gettext_noop("violated"), gettext_noop("not confirmed")
_NOT_BROKEN = gettext_noop("No requirement is violated: {counts}.")
_DROPPED_ONE = gettext_noop("1 requirement is not listed because the text that it quotes was not found.")
_DROPPED = gettext_noop("{count} requirements are not listed because the texts that they quote were not found.")


def name_status(standing: Standing) -> str:
    """Return the status as pages and the terminal show it, in English."""
    unclear = RECORD[Standing.CANNOT_TELL]
    names = {Standing.BROKEN: _VIOLATED, Standing.NOT_SHOWN: _UNCONFIRMED, Standing.CANNOT_TELL: unclear}
    return names.get(standing, standing)


def describe_record(line: Line) -> str:
    """Return the phrase of a table for a line without evidence or beside its evidence, in English, or ""."""
    if is_unchosen(line):
        return _OFFERED
    return _CHECKED.get((line.rule, line.standing), ("", "" if line.evidence else RECORD[line.standing]))[1]


def is_ruled(line: Line) -> bool:
    """Return whether the agent's instructions state a requirement; the checks quote only the user's words in them."""
    return line.requirement.quote.place is QuotePlace.POLICY and not line.rule


def is_named(line: Line) -> bool:
    """Return whether a reader needs the name of a line's object, if neither quote of the line contains it."""
    about, shown = line.requirement.about, line.evidence
    if line.requirement.kind is RequirementKind.PERMISSION or _CLAUSES.get(line.rule) is _REQUESTED:
        return False
    said = [line.requirement.quote.text, shown.text if shown else ""]
    return about not in _PLAIN and not any(about.lower() in text.lower() for text in said)


def is_unchosen(line: Line) -> bool:
    """Return whether the line is violated because the agent did not choose the option that its evidence offers."""
    one, shown = line.requirement, line.evidence
    if line.standing is not Standing.BROKEN or one.kind is not RequirementKind.OPTION or shown is None:
        return False
    asked = set() if line.rule == "option_not_chosen" else set(words(one.quote.text))
    is_asked = bool(asked) or line.rule == "option_not_chosen"
    return shown.place is QuotePlace.OBSERVATION and is_asked and asked <= set(words(shown.text))


def explain_line(line: Line, pending: int) -> str:
    """Return a line as one sentence; `pending` is the step number of the critical action."""
    clause, shown = _clause(line), line.evidence
    sentence = _NOTHING[line.standing]
    found = _CHECKED.get((line.rule, line.standing))
    if found and (shown or "{shown}" not in found[0]):
        sentence = found[0]
    elif shown and line.standing in _STANDS:
        sentence = _UNCHOSEN if is_unchosen(line) else _STANDS[line.standing][shown.step != pending]
    if shown is None:
        return sentence.format(clause=clause)
    return sentence.format(clause=clause, number=shown.step, shown=_shortened(shown))


def explain_table(table: RequirementTable, pending: int) -> str:
    """Return the sentences of a table, one per row: its violated requirements, or the reason why none is violated."""
    broken = [line for line in table.lines if line.standing is Standing.BROKEN]
    sentences = [explain_line(line, pending) for line in broken[:_MOST]]
    return "\n".join([*(sentences or [_without_broken(table, str)]), *explain_dropped(table)])


def explain_dropped(table: RequirementTable, translate: Translate = str) -> list[str]:
    """Return a sentence about the lines that could not be verified, or an empty list."""
    if not table.dropped:
        return []
    return [translate(_DROPPED_ONE if table.dropped == 1 else _DROPPED).format(count=table.dropped)]


def explain_unchecked(table: RequirementTable, translate: Translate = str) -> list[str]:
    """Return a sentence about a table whose lines settle nothing, or an empty list."""
    return [_without_broken(table, translate)] if _is_open(table) or not table.lines else []


def count_lines(table: RequirementTable, translate: Translate = str) -> str:
    """Return the number of lines by status, such as `1 violated · 4 met`."""
    counts = Counter(line.standing for line in table.lines)
    return " · ".join(
        translate(phrase).format(count=counts[standing]) for standing, phrase in COUNTS.items() if counts[standing]
    )


def _is_open(table: RequirementTable) -> bool:
    """Return whether every line is unclear, although the action can change something."""
    return not table.harmless and all(line.standing is Standing.CANNOT_TELL for line in table.lines)


def _without_broken(table: RequirementTable, translate: Translate) -> str:
    if not table.lines and table.harmless:
        steps = ", ".join(map(str, table.changed[:_MOST])) + (" …" if len(table.changed) > _MOST else "")
        return translate(_AFTER_CHANGES if steps else HARMLESS).format(steps=steps)
    sentence = (UNCHECKED if _is_open(table) else _NOT_BROKEN) if table.lines else NO_LINES
    return translate(sentence).format(counts=count_lines(table, translate))


def _clause(line: Line) -> str:
    one = line.requirement
    sentence = _RULED if is_ruled(line) else _CLAUSES.get(line.rule) or _ASKED.get(one.kind, _ANY_ASKED)
    clause = sentence.format(asked=_shortened(one.quote))
    return _BOUND.format(clause=clause, about=one.about[:_QUOTED]) if is_named(line) else clause


def _shortened(quote: Quote) -> str:
    flat = " ".join(quote.text.split())
    return flat if len(flat) <= _QUOTED else flat[: _QUOTED - 1].rstrip() + "…"
