"""Checks of an answer to a question, and its requirement line: whether the pages that were read support the answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from console.detection.detectors.rules.finding import (
    PATTERNS,
    Finding,
    broken,
    one_line,
    quote_action,
    quote_request,
    quote_result,
    quote_user,
    quoted,
)
from console.environments.evidence import Evidence
from console.environments.hotpotqa.reading import Reading, is_said, normalise_words
from console.trajectory.requirements import Line, Requirement, RequirementKind, Standing
from console.trajectory.requirements.sentences import ANSWER, FORM
from console.trajectory.terms import COUNTS, FUNCTION_WORDS, TermKind, lowered, words

_WANTS_FIGURE = re.compile(r"\b(?:what year|which year|when (?:was|did|is|were)|how (?:many|much|old|tall|long))\b")
_ASKS_WHAT = re.compile(r"\s*(?:what|who|where|when|which|whose|how many|how much)\b(?!.* or )")
_DEMONYM = re.compile(r"^\w+(?:ican|pean|ian|ish|ese|eek|ench|utch)$")
_UNSURE = PATTERNS["answers.unsure"]
_NO_ANSWER = frozenset({"", "unknown", "n/a", "none", "not found", "no answer", "unclear"})
_NUMBER_WORDS = frozenset((*COUNTS, "hundred", "thousand", "million"))
_ASKS_FOR_ONE = PATTERNS["answers.asks_for_one"]
_YES_NO = frozenset({"yes", "no", "both", "neither", "and", "not"})
_LISTED = re.compile(r",\s*(?:and\s+|or\s+)?|\s+(?:and|or|to)\s+|\s*[;/]\s*|(?<=\d)\s*[-–]\s*(?=\d{4})")
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_TOP = 300


def answer_unseen(evidence: Evidence) -> Finding | None:
    """Find an answer that no page contains as a whole; ignore yes, no, offered choices, and lists of things read."""
    reading = _answered(evidence)
    if not reading or reading.saying or _all_said(reading) or answer_listed(evidence):
        return None
    line = question_line(reading.answer, evidence) if evidence.checkpoint.environment == _ASKED_OF_PAGES else None
    if not reading.pages:
        return Finding(1.0, f"No page was read before the answer {quoted([reading.answer])}.", ("answer",), line)
    told = f"None of the pages read contains {quoted([reading.answer])}"
    parts = set(normalise_words(reading.answer).split())
    read = set(normalise_words("\n".join(page.text for page in reading.pages)).split())
    if len(parts) > 1 and parts <= read:
        return Finding(0.5, f"{told}; its words occur only separately.", ("answer",), line)
    distinct = dict.fromkeys(re.findall(r"[^\W_]+", reading.answer)) if len(parts) > 1 else ()
    telling = [word for word in distinct if len(word) > 2 and word.lower() not in FUNCTION_WORDS]
    if there := [word for word in telling if normalise_words(word) in read]:
        return Finding(1.0, f"{told}; they contain only its words {quoted(there)}.", ("answer",), line)
    return Finding(1.0, f"{told}.", ("answer",), line)


def answer_listed(evidence: Evidence) -> Finding | None:
    """Find an answer that no page contains, but the list of titles of a failed search."""
    reading = _answered(evidence)
    if not reading or reading.saying or _all_said(reading):
        return None
    answer = f" {normalise_words(reading.answer)} "
    acts = (act for act in evidence.acts if act.failed and normalise_words(act.argument) != answer.strip())
    listed = next((act.step for act in acts if answer in f" {normalise_words(act.observation)} "), None)
    if listed is None:
        return None
    told = f"{quoted([reading.answer])} occurs only in the list of titles of step {listed}; no page about it was read."
    line = question_line(reading.answer, evidence) if evidence.checkpoint.environment == _ASKED_OF_PAGES else None
    return Finding(1.0, told, ("answer",), line)


def answer_seen(evidence: Evidence) -> Finding | None:
    """Find an answer that a page contains. The finding counts in favour of the agent."""
    reading = _answered(evidence)
    return Finding(1.0) if reading and reading.saying else None


_ASKED_OF_PAGES = "hotpotqa"
"""The environment in which a page contains every answer; in other environments, agents may compute answers."""


def question_line(answer: str, evidence: Evidence, asked: str = "") -> Line:
    """Return the broken line of a question, or of the part of it that names the answer's form."""
    stated = quote_user(evidence, asked) if asked else quote_request(evidence)
    return broken(RequirementKind.QUESTION, "answer", stated, quote_action(evidence, answer or evidence.pending.action))


def answer_not_last_read(evidence: Evidence) -> Finding | None:
    """Find an answer that is missing from the last page, or far down on it. The finding changes only the score."""
    reading = _answered(evidence)
    if not reading or not evidence.acts:
        return None
    at = lowered(evidence.acts[-1].observation).find(lowered(reading.answer))
    return None if 0 <= at < _TOP else Finding(0.5 if at > 0 else 1.0)


def answer_several(evidence: Evidence) -> Finding | None:
    """Find an answer that lists several things.

    The finding has a sentence only if the question asks for one thing, and pages contain the things only separately.
    """
    reading = _answered(evidence)
    if not reading or not re.search(r",\s|\band\b|\bor\b", lowered(reading.answer)):
        return None
    asks, parts = _ASKS_FOR_ONE.search(evidence.checkpoint.instruction), _parts(reading.answer)
    joined = re.search(r"\b(?:and|or)\b", lowered(reading.answer))
    if not asks or not joined or reading.saying or not _all_said(reading):
        return Finding(1.0)
    told = f'The question asks "{asks[0].strip()}"; the answer lists several: {quoted(parts)}.'
    return Finding(1.0, told, ("form",), question_line(reading.answer, evidence, asks[0].strip()))


def answer_wordy(evidence: Evidence) -> Finding | None:
    """Find an answer of more than two words. The finding changes only the score."""
    count = len(words(evidence.reading.answer)) if evidence.reading else 0
    return Finding(min(1.0, (count - 2) / 4)) if count > 2 else None


def answer_of_wrong_form(evidence: Evidence) -> Finding | None:
    """Find an answer of the wrong form: no figure, several years, a misplaced yes or no, or an agent that gives up."""
    if not evidence.reading:
        return None
    given = evidence.reading.answer
    if lowered(given) in _NO_ANSWER:
        if evidence.checkpoint.environment != _ASKED_OF_PAGES:
            return None
        told = f"The agent gives up: its answer is {quoted([given])}."
        return Finding(1.0, told, ("answer",), question_line(given, evidence))
    asks = _ASKS_WHAT.match(evidence.instruction)
    if asks and lowered(given).strip(" .") in ("yes", "no"):
        told = f'The question asks "{asks[0].strip()}"; the answer is {quoted([given])}.'
        return Finding(1.0, told, ("form",), question_line(given, evidence, asks[0].strip()))
    if {"yes", "no"} <= set(normalise_words(given).split()) <= _YES_NO:
        told = f"The question requires either yes or no; the answer is {quoted([given])}."
        return Finding(1.0, told, ("form",), question_line(given, evidence))
    year = re.search(r"\b(?:what|which) year\b(?!.*\byear)", evidence.instruction)
    if year and len(set(_YEAR.findall(given))) > 1:
        told = f'The question asks "{year[0]}"; the answer {quoted([given])} names several.'
        return Finding(1.0, told, ("form",), question_line(given, evidence, year[0]))
    wants = _WANTS_FIGURE.search(evidence.instruction)
    if not wants or re.search(r"\d", given) or _NUMBER_WORDS & set(words(given)):
        return None
    told = f'The question asks "{wants[0]}"; the answer {quoted([given])} contains no number.'
    return Finding(1.0, told, ("form",), question_line(given, evidence, wants[0]))


def answer_in_question(evidence: Evidence) -> Finding | None:
    """Find an answer that only repeats words of the question."""
    reading = _answered(evidence)
    if not reading or f" {normalise_words(reading.answer)} " not in f" {normalise_words(evidence.instruction)} ":
        return None
    told = f"The answer {quoted([reading.answer])} only repeats words of the question."
    return Finding(1.0, told, ("answer",), question_line(reading.answer, evidence))


def subject_unread(evidence: Evidence) -> Finding | None:
    """Find names in the question that no page mentions."""
    reading = evidence.reading
    if not reading or not reading.unread:
        return None
    names = [term for term in evidence.terms if term.kind is TermKind.NAME]
    told = [name for name in reading.unread if normalise_words(name) != normalise_words(reading.answer)]
    told = [name for name in told if not _DEMONYM.search(name)]
    it = "it" if len(told) < 2 else "them"
    sentence = f"The question names {quoted(told)}, but no page that was read mentions {it}."
    facts = tuple(map(normalise_words, told))
    return Finding(len(reading.unread) / len(names), sentence if told and reading.pages else "", facts)


def unsure(evidence: Evidence) -> Finding | None:
    """Find doubt in the agent's last thought before the answer."""
    doubt = _UNSURE.search(evidence.thought[:5_000]) if evidence.reading else None
    if not doubt:
        return None
    before = re.split(r"(?<=[.!?])\s", evidence.thought[: doubt.start()])[-1]
    after = re.split(r"(?<=[.!?])(?:\s|$)", evidence.thought[doubt.start() : 5_000])[0]
    return Finding(1.0, f'The agent writes: "{one_line(before + after, 200)}"', ("doubt",))


def many_searches(evidence: Evidence) -> Finding | None:
    """Find an answer after more searches than one or two facts need. The finding changes only the score."""
    count = evidence.reading.searches if evidence.reading else 0
    return Finding(min(1.0, (count - 2) / 4)) if count > 2 else None


def _answered(evidence: Evidence) -> Reading | None:
    """Return the reading if a page could contain the agent's answer, else None."""
    reading = evidence.reading
    if not reading or not normalise_words(reading.answer) or lowered(reading.answer) in _NO_ANSWER:
        return None
    if set(normalise_words(reading.answer).split()) <= _YES_NO or _is_choice(reading.answer, evidence):
        return None
    return reading


def _all_said(reading: Reading) -> bool:
    """Return whether an answer lists several things and each occurs on a page; a date is one thing."""
    parts = _parts(reading.answer)
    if len(parts) < 2 or re.fullmatch(r"[A-Za-z]+\.? \d{1,2},? \d{4}", reading.answer.strip()):
        return False
    return all(any(is_said(part, page) for page in reading.pages) for part in parts)


def _parts(answer: str) -> list[str]:
    return [part for part in _LISTED.split(answer) if normalise_words(part)]


def _is_choice(given: str, evidence: Evidence) -> bool:
    """Return whether the question offers the answer, as in `which came first, A or B`."""
    question, answer = f" {normalise_words(evidence.instruction)} ", f" {normalise_words(given)} "
    if answer not in question:
        return False
    listed = f"{answer}and " in question or f" and{answer}" in question
    which = bool(re.search(r" (?:which|who|what|whose) ", question))
    return " or " in question or answer in question.partition(" between ")[2] or (listed and which)


def list_answer_lines(evidence: Evidence, broken: Collection[RequirementKind]) -> Iterator[Line]:
    """Yield a line on whether a page contains the answer; no check can decide whether the answer is right."""
    reading = evidence.reading
    if reading is None or RequirementKind.QUESTION in broken or not normalise_words(reading.answer):
        return
    question = quote_request(evidence)
    asked = Requirement(RequirementKind.QUESTION, "answer", question.text, question)
    if _answered(evidence) is None:
        yield Line(asked, Standing.CANNOT_TELL, rule=FORM)
        return
    first = reading.saying[0].step if reading.saying else len(evidence.acts) + 1
    # The last page before the answer is the likelier source of a word that several pages contain.
    quotes = (quote_result(evidence, reading.answer, act.step) for act in reversed(evidence.acts) if act.step >= first)
    shown = next((quote for quote in quotes if quote.end > 0), None)
    standing = Standing.CANNOT_TELL if reading.saying else Standing.NOT_SHOWN
    yield Line(asked, standing, shown, ANSWER if shown or not reading.saying else FORM)
