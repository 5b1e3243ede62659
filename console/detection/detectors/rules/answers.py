"""A question is about to be answered: does anything that was read support the answer?"""

from __future__ import annotations

import re

from console.detection.detectors.rules.finding import Finding, one_line, quoted
from console.environments.evidence import Evidence
from console.environments.hotpotqa.reading import Reading, plain
from console.trajectory.terms import COUNTS, TermKind, lowered, words

_WANTS_FIGURE = re.compile(r"\b(?:what year|which year|when (?:was|did|is|were)|how (?:many|much|old|tall|long))\b")
_CHOICE = re.compile(r"\b(?:or|which of|who of|between)\b")
_UNSURE = re.compile(
    r"\b(?:not (?:clear|sure|certain|mention\w*|specif\w*|found|stated|listed)|unclear|unable|"
    r"cannot|can't|couldn't|could not|assum\w+|guess\w*|probably|perhaps|presumably|no information|"
    r"does not (?:say|mention|provide|state))\b",
    re.IGNORECASE,
)
_NO_ANSWER = frozenset({"", "unknown", "n/a", "none", "not found", "no answer", "unclear"})
_NUMBER_WORDS = frozenset((*COUNTS, "hundred", "thousand", "million"))
_NEAR, _TOP = 250, 300


def answer_unseen(evidence: Evidence) -> Finding | None:
    """An answer that no page said."""
    reading = _answered(evidence)
    if not reading or reading.saying:
        return None
    known = set(words(evidence.instruction)) | set(plain(evidence.read).split())
    apart = all(word in known for word in plain(reading.answer).split())
    if not reading.pages:
        return Finding(1.0, f"No page was read before the answer {quoted([reading.answer])}.", ("answer",))
    told = f"None of the pages read says {quoted([reading.answer])}"
    if apart:
        return Finding(0.5, f"{told}; its words only stand apart.", ("answer",))
    return Finding(1.0, f"{told}.", ("answer",))


def answer_not_last_read(evidence: Evidence) -> Finding | None:
    """An answer that is not on the page read last, or only far down on it; predicts without being an argument."""
    reading = _answered(evidence)
    if not reading or not evidence.acts:
        return None
    at = lowered(evidence.acts[-1].observation).find(lowered(reading.answer))
    return None if 0 <= at < _TOP else Finding(0.5 if at > 0 else 1.0)


def answer_out_of_context(evidence: Evidence) -> Finding | None:
    """An answer from pages that speak of nothing else that the question names."""
    reading = _answered(evidence)
    if not reading or not reading.saying:
        return None
    asked = set(words(evidence.instruction)) - set(words(reading.answer))
    text, given = lowered("\n".join(page.text for page in reading.saying)), lowered(reading.answer)
    places = [match.start() for match in re.finditer(re.escape(given), text)][:20]
    near = max((_shared(text[max(0, at - _NEAR) : at + _NEAR], asked) for at in places), default=1.0)
    return Finding(1.0 - 2 * near) if near < 0.5 else None


def subject_elsewhere(evidence: Evidence) -> Finding | None:
    """An answer whose pages mention none of the question's names."""
    reading = _answered(evidence)
    if not reading or not reading.saying:
        return None
    names = [term.text for term in evidence.terms if term.kind is TermKind.NAME and term.text not in reading.unread]
    text = plain("\n".join(f"{page.title} {page.text}" for page in reading.saying))
    told = [name for name in names if any(word in text for word in plain(name).split() if len(word) > 3)]
    if told or not names:
        return None
    where = ", ".join(str(page.step) for page in reading.saying)
    many = "pages" if len(reading.saying) > 1 else "page"
    sentence = f"The only {many} that say{'' if many == 'pages' else 's'} {quoted([reading.answer])} (step {where}) "
    return Finding(0.5, sentence + f"does not mention {quoted(names)}.".replace("does", "do" if many == "pages" else "does"))


def answer_several(evidence: Evidence) -> Finding | None:
    """An answer that lists several things; predicts without being an argument."""
    reading = _answered(evidence)
    if not reading or not re.search(r",\s|\band\b|\bor\b", lowered(reading.answer)):
        return None
    return Finding(1.0)


def answer_wordy(evidence: Evidence) -> Finding | None:
    """A long answer where a name, a figure or a few words would do; predicts without being an argument."""
    count = len(words(evidence.reading.answer)) if evidence.reading else 0
    return Finding(min(1.0, (count - 2) / 4)) if count > 2 else None


def answer_of_wrong_form(evidence: Evidence) -> Finding | None:
    """An answer without a figure to a question for a year or a number, or no answer at all."""
    if not evidence.reading:
        return None
    given = evidence.reading.answer
    if lowered(given) in _NO_ANSWER:
        return Finding(1.0, f"The agent gives up: its answer is {quoted([given])}.", ("answer",))
    wants = _WANTS_FIGURE.search(evidence.instruction)
    if not wants or re.search(r"\d", given) or _NUMBER_WORDS & set(words(given)):
        return None
    return Finding(1.0, f'The question asks "{wants[0]}"; the answer {quoted([given])} has no figure.', ("form",))


def answer_in_question(evidence: Evidence) -> Finding | None:
    """An answer that only repeats words of a question that offers no choice."""
    reading = _answered(evidence)
    if not reading or _CHOICE.search(evidence.instruction):
        return None
    if f" {plain(reading.answer)} " not in f" {plain(evidence.instruction)} ":
        return None
    return Finding(1.0, f"The answer {quoted([reading.answer])} only repeats words of the question.", ("answer",))


def subject_unread(evidence: Evidence) -> Finding | None:
    """Names in the question that no page ever spoke of."""
    if not evidence.reading or not evidence.reading.unread:
        return None
    unread, names = evidence.reading.unread, [term for term in evidence.terms if term.kind is TermKind.NAME]
    sentence = f"The question names {quoted(unread)}; nothing that was read speaks of it."
    return Finding(len(unread) / len(names), sentence, tuple(map(plain, unread)))


def search_failed(evidence: Evidence) -> Finding | None:
    """Searches that found no page, for what the question names."""
    missed = evidence.reading.not_found if evidence.reading else ()
    asked = [title for title in missed if plain(title) and plain(title) in plain(evidence.instruction)]
    if not asked:
        return None
    return Finding(0.3, f"No page was found for {quoted(asked)}, which the question names.", tuple(map(plain, asked)))


def unsure(evidence: Evidence) -> Finding | None:
    """The agent's own doubt, in its last thought before an answer."""
    doubt = _UNSURE.search(evidence.thought[:5_000]) if evidence.reading else None
    if not doubt:
        return None
    before = re.split(r"(?<=[.!?])\s", evidence.thought[: doubt.start()])[-1]
    after = re.split(r"(?<=[.!?])(?:\s|$)", evidence.thought[doubt.start() : 5_000])[0]
    return Finding(1.0, f'The agent itself writes: "{one_line(before + after, 200)}"', ("doubt",))


def many_searches(evidence: Evidence) -> Finding | None:
    """An answer after more searches than one or two facts need; predicts without being an argument."""
    count = evidence.reading.searches if evidence.reading else 0
    return Finding(min(1.0, (count - 2) / 4)) if count > 2 else None


def _answered(evidence: Evidence) -> Reading | None:
    """The reading, where the answer is one that a page could say."""
    reading = evidence.reading
    if not reading or not plain(reading.answer) or lowered(reading.answer) in _NO_ANSWER:
        return None
    if lowered(reading.answer).strip(" .") in ("yes", "no") or _is_choice(reading.answer, evidence):
        return None
    return reading


def _shared(text: str, asked: set[str]) -> float:
    return len(asked & set(words(text))) / len(asked) if asked else 1.0


def _is_choice(given: str, evidence: Evidence) -> bool:
    """Whether the question itself offers the answer, as in `which came first, A or B`."""
    return plain(given) in plain(evidence.instruction) and bool(_CHOICE.search(evidence.instruction))
