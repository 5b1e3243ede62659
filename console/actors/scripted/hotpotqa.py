"""The scripted Actor on the pages of HotPotQA.

The Actor searches for the entities of the question. The Actor follows the name in the best matching sentence to a
second page, and answers with the best match there. The question determines the Actor's weaknesses: the Actor trusts the
first paragraph, overlooks a namesake, stops at the first page, or only searches for a missing page. Feedback in the
memory corrects these weaknesses. After "read further" the Actor looks up keywords. After a hint at a namesake, the
Actor searches for the name with its kind. After "that is only half of it", the Actor reads the second page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from console.actors.move import ActorView, Move, Reflection
from console.actors.scripted.english_text import (
    ParsedQuestion,
    count_relations,
    find_names,
    find_values,
    list_stems,
    parse_question,
    split_sentences,
)
from console.actors.scripted.hints import Advice, read_advice
from console.trajectory import Step

_PATIENCE = 6
_REFUSED = re.compile(r'(?:answer|said|answered|finish\w*) "([^"]{1,120})"', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReadingCare:
    """The Actor's reading habits, and the answers that feedback refused."""

    looks_further: bool
    minds_namesakes: bool
    goes_on: bool
    searches_stubbornly: bool
    refused: frozenset[str]


@dataclass(frozen=True, slots=True)
class PageFind:
    """The best match on a page: the sentence, its score and the possible answers in the sentence."""

    sentence: str
    fit: int
    values: Sequence[str]


def move(view: ActorView) -> Move:
    """Return the next move in HotPotQA."""
    question, advice = parse_question(view.instruction), read_advice(view.memory)
    care, pages = _care(view, advice), list_opened_pages(view.steps)
    left = _PATIENCE - len(view.steps)
    if not pages:
        first = question.entities[0] if question.entities else view.instruction.rstrip("?")
        return Move("I search what the question names.", f"Search[{first}]")
    if care.searches_stubbornly and not pages[-1].seen:
        return Move("It must be there; I search it once more.", f"Search[{pages[-1].searched}]")
    if left <= 1:
        return Move("My steps are spent; I answer as well as I can.", f"Finish[{_last_guess(question, pages, care)}]")
    current = pages[-1]
    if not current.seen:
        return _not_found(question, care, pages)
    other = _of_namesake(current, question)
    if care.minds_namesakes and other and other not in {page.searched for page in pages} and left > 2:
        return Move("This page is about a namesake.", f"Search[{other}]")
    if question.compares:
        return _compare(question, care, advice, pages, left)
    return _bridge(question, care, advice, pages, left)


def plan(reflection: Reflection) -> str:
    """Write the plan after a rejection: give another answer, and sometimes read further."""
    rng = Random(f"plan {reflection.instruction} {len(reflection.memory)}")
    call = CALL.match(reflection.rejected_action)
    if not call:
        return "I lost my steps on a page that could not be found. Next time I search a similar title."
    lesson = (
        "I will read further down the pages before I answer." if rng.random() < 0.35 else "I will give another answer."
    )
    return f'My answer "{call["argument"]}" was refused. {lesson}'


def _care(view: ActorView, advice: Advice) -> ReadingCare:
    rng = Random(f"reader {view.instruction}" + " again" * view.take)
    lazy, blind, hasty, stubborn = (rng.random() for _ in range(4))
    return ReadingCare(
        looks_further=lazy > 0.6 or advice.about("further"),
        minds_namesakes=blind > 0.4 or advice.about("namesake"),
        goes_on=hasty > 0.2 or advice.about("next page"),
        searches_stubbornly=stubborn < 0.3 and not view.memory,
        refused=_refused(advice, view.instruction),
    )


def _refused(advice: Advice, instruction: str) -> frozenset[str]:
    answers = {answer.lower() for answer in _REFUSED.findall(advice.raw)}
    names = {name.lower() for name in find_names(advice.raw) if name not in instruction and advice.refuses(name)}
    return frozenset(answers | names)


def _not_found(question: ParsedQuestion, care: ReadingCare, pages: list[OpenedPage]) -> Move:
    current = pages[-1]
    titles = [title for title in current.similar if title not in {page.searched for page in pages}]
    if care.minds_namesakes:
        titles.sort(key=lambda title: -_fits(title, current.searched, question))
    if titles:
        return Move("That page is not there; I try the nearest title.", f"Search[{titles[0]}]")
    return Move("I cannot find it.", f"Finish[{_last_guess(question, pages, care)}]")


def _fits(title: str, name: str, question: ParsedQuestion) -> int:
    """Score the fit of a title to a name that was not found: by the name, then by the kind in the question."""
    mark = title.partition("(")[2].rstrip(")")
    kind = dict(zip(question.entities, question.kinds, strict=True)).get(name, "")
    named = 2 * title.lower().startswith(name.lower())
    return named + bool(mark) * (mark == kind if kind else count_relations(mark, question.near) > 0)


def _of_namesake(page: OpenedPage, question: ParsedQuestion) -> str:
    """Return the title to search for if the page is about a namesake of another kind, else an empty string."""
    kind = dict(zip(question.entities, question.kinds, strict=True)).get(page.searched, "")
    return f"{page.searched} ({kind})" if kind and page.seen and kind not in page.first else ""


def _find(page: OpenedPage, relations: Sequence[str], form: str, known: Sequence[str], care: ReadingCare) -> PageFind:
    """Return the sentence of the page that mentions the most relations and contains a value of this type."""
    best = PageFind("", 0, ())
    for sentence in page.seen:
        held = [value for value in find_values(sentence, form, known) if value.lower() not in care.refused]
        fit = count_relations(sentence, relations)
        if held and (fit > best.fit or not (best.sentence or form == "word")):
            best = PageFind(sentence, fit, held)
    return best


def _keyword(page: OpenedPage, relations: Sequence[str], advice: Advice) -> str | None:
    """Return the next word to look up: the last word if it recurs, else a relation, preferably an advised relation."""
    if page.more:
        return page.looked_up[-1]
    ordered = sorted(relations, key=lambda word: not advice.names(word))
    keywords = [stem for word in ordered for stem in list_stems(word)[:1]]
    return next((word for word in keywords if word not in page.looked_up), None)


def _further(
    page: OpenedPage, relations: Sequence[str], best: PageFind, care: ReadingCare, advice: Advice
) -> Move | None:
    keyword = _keyword(page, relations, advice)
    if care.looks_further and best.fit <= len(relations) and keyword and len(page.looked_up) < 2:
        return Move("The first paragraph does not say; I look further down.", f"Lookup[{keyword}]")
    return None


def _bridge(question: ParsedQuestion, care: ReadingCare, advice: Advice, pages: list[OpenedPage], left: int) -> Move:
    opened = [page for page in pages if page.seen]
    known = [*question.entities, *(page.searched for page in opened)]
    page, last = opened[-1], len(opened) > 1 or not question.entities
    relations = (question.far if last else question.near) or question.relations
    form = question.form if last else "name"
    best = _find(page, relations, form, known, care)
    further = _further(page, relations, best, care, advice)
    if further and left > (1 if last else 2):
        return further
    if last:
        return Move("That should be the answer.", f"Finish[{_pick(best, page, known, care)}]")
    if not care.goes_on:
        early = _find(page, question.relations, question.form, known, care)
        return Move("The page says it already.", f"Finish[{_pick(early, page, known, care)}]")
    middle = best.values[0] if best.values else next(iter(_names(page, known)), "")
    if not middle:
        return Move("I see nothing to follow.", f"Finish[{_last_guess(question, pages, care)}]")
    return Move(f"This leads to {middle}.", f"Search[{middle}]")


def _compare(question: ParsedQuestion, care: ReadingCare, advice: Advice, pages: list[OpenedPage], left: int) -> Move:
    opened = [page for page in pages if page.seen]
    form = "name" if question.form == "yes" else "number"
    best = _find(opened[-1], question.relations, form, question.entities, care)
    further = _further(opened[-1], question.relations, best, care, advice)
    missing = 2 - len(opened)
    if further and left > 1 + missing:
        return further
    if missing > 0:
        return Move("Now the other one.", f"Search[{question.entities[1]}]")
    return Move("I have read both.", f"Finish[{_compared(question, opened[-2:], care)}]")


def _compared(question: ParsedQuestion, pages: Sequence[OpenedPage], care: ReadingCare) -> str:
    form = "name" if question.form == "yes" else "number"
    finds = [_find(page, question.relations, form, question.entities, care) for page in pages]
    if question.form == "yes":
        same = bool({value.lower() for value in finds[0].values} & {value.lower() for value in finds[1].values})
        guess = "yes" if same else "no"
        return ("no" if same else "yes") if guess in care.refused else guess
    amounts = [float(find.values[-1].replace(",", "")) if find.values else 0.0 for find in finds]
    larger = any(word in question.relations for word in ("more", "longer", "larger", "later", "people", "inhabitants"))
    ahead = int((amounts[1] > amounts[0]) is larger)
    if question.entities[ahead].lower() in care.refused:
        ahead = 1 - ahead
    return question.entities[ahead]


def _pick(best: PageFind, page: OpenedPage, known: Sequence[str], care: ReadingCare) -> str:
    if best.values:
        return best.values[0]
    names = [name for name in _names(page, known) if name.lower() not in care.refused]
    return names[0] if names else "unknown"


def _names(page: OpenedPage, known: Sequence[str]) -> list[str]:
    return [name for sentence in page.seen for name in find_values(sentence, "name", known)]


def _last_guess(question: ParsedQuestion, pages: Sequence[OpenedPage], care: ReadingCare) -> str:
    opened = [page for page in pages if page.seen]
    if not opened:
        return "unknown"
    if question.compares and len(opened) > 1:
        return _compared(question, opened[-2:], care)
    known = [*question.entities, *(page.searched for page in opened)]
    best = _find(opened[-1], question.relations, question.form, known, care)
    return _pick(best, opened[-1], known, care)


CALL = re.compile(r"^\s*(?P<name>\w+)\[(?P<argument>.*)\]\s*$", re.DOTALL)
_SIMILAR = re.compile(r"Similar: \[(?P<titles>.*)\]")
_RESULT = re.compile(r"^\(Result (\d+) / (\d+)\) ")


@dataclass(slots=True)
class OpenedPage:
    """A page opened by a search: the sentences seen, the words looked up, and whether the last word occurs again."""

    searched: str
    first: str = ""
    seen: list[str] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)
    more: bool = False
    similar: list[str] = field(default_factory=list)


def list_opened_pages(steps: Sequence[Step]) -> list[OpenedPage]:
    """List the pages searched so far, in order; on each page, lookup results come before the first paragraph."""
    pages: list[OpenedPage] = []
    for step in steps:
        call = CALL.match(step.action)
        name = call["name"].lower() if call else ""
        if call and name == "search":
            pages.append(_opened(call["argument"], step.observation))
        elif call and name == "lookup" and pages:
            pages[-1].looked_up.append(call["argument"].lower())
            result = _RESULT.match(step.observation)
            pages[-1].more = bool(result and result[1] != result[2])
            if result:
                pages[-1].seen.insert(0, _RESULT.sub("", step.observation).strip())
    return pages


def _opened(searched: str, observation: str) -> OpenedPage:
    if not observation.startswith("Could not find"):
        found = split_sentences(observation)
        return OpenedPage(searched, found[0], found)
    similar = _SIMILAR.search(observation)
    titles = re.findall(r"'([^']+)'|\"([^\"]+)\"", similar["titles"]) if similar else []
    return OpenedPage(searched, similar=[one or other for one, other in titles])
