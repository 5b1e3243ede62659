"""Rules for English text: entities, word stems, sentences, and the type of answer that a question requires."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from console.trajectory.strict_yaml import Words, read_data

_NAME = r"[A-Z](?:[a-z]{0,2}\.(?= )|[\w'’-]*)"
_SPAN = re.compile(rf"{_NAME}(?: (?:&|of|the|of the|for) {_NAME}| {_NAME}| \d+)*(?: \([^()]{{1,40}}\))?")
_SENTENCE = re.compile(r"(?<=[a-z0-9\])]{3}[.!?]) +(?=[A-Z0-9])")
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d{2}\b")
_NUMBER = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b\d+\b")
_SMALL = re.compile(r"\b(?:plays?|shows?|makes?|[Aa]n?) (?:the |an? )?([a-z]{4,})")


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """Words that begin sentences, words to ignore, and the stems that a page may use for a question's words."""

    openers: Words
    plain: Words
    alike: dict[str, tuple[str, ...]]


_WORDS = read_data(files(__package__) / "english_text.yaml", QuestionWords)


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A parsed question: its entities, their kinds, and the words about them.

    `near` words lead from the first entity to another thing, and `far` words ask about this thing. Both start with the
    most informative word. `form` is the type of answer: year, number, word, person, yes or name.
    """

    entities: tuple[str, ...]
    kinds: tuple[str, ...]
    near: tuple[str, ...]
    far: tuple[str, ...]
    form: str
    compares: bool

    @property
    def relations(self) -> tuple[str, ...]:
        """All words of the question about its entities."""
        return (*self.near, *(word for word in self.far if word not in self.near))


@lru_cache(maxsize=1024)
def parse_question(text: str) -> ParsedQuestion:
    """Parse a question by rules."""
    entities = tuple(dict.fromkeys(find_names(text)))
    kinds = tuple(_kind(text, entity) for entity in entities)
    rest = text
    for entity, kind in zip(entities, kinds, strict=True):
        rest = rest.replace(f"the {kind} {entity}" if kind else entity, "#").replace(entity, "#")
    compares = len(entities) > 1 and bool(re.search(r"# (?:or|and) |\bboth\b|\bsame\b", rest))
    near, far = _parts(rest)
    return ParsedQuestion(entities, kinds, near, far, _form(text), compares)


def _parts(rest: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return `near` and `far` of `ParsedQuestion`; `#` stands for each entity in the question."""
    before, _, after = rest.partition("#")
    head, the, phrase = before.partition(" the ")
    related = re.search(r"\b(?:where|which|that|who|whose)\b", phrase)
    ending = _telling(after)
    if not the:
        return (), (*ending, *reversed(_telling(head)))
    if not related:
        return _telling(phrase), (*ending, *_telling(head))
    asks = re.search(r"\b(?:do|does|did|is|was|were)\b *$", head.rstrip()) and len(ending) > 1
    own, asked = (ending[:-1], ending[-1:]) if asks else (ending, ())
    return (*own, *_telling(phrase)), (*asked, *_telling(head))


def _telling(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in re.findall(r"\b[a-z]{3,}", text) if word not in _WORDS.plain))


def find_names(text: str) -> list[str]:
    """List the names in a text: runs of capitalised words, without a word that only begins a sentence."""
    return [name for match in _SPAN.finditer(text) if (name := _trimmed(match[0]))]


def split_sentences(text: str) -> list[str]:
    """Split a paragraph into sentences."""
    return _SENTENCE.split(text.strip())


def list_stems(word: str) -> tuple[str, ...]:
    """Return the stems to search for on a page for a word of the question."""
    plain = word[: max(4, len(word) - 2)] if len(word) > 5 else word[:4]
    return (*_WORDS.alike.get(word, ()), plain)


def count_relations(sentence: str, relations: Sequence[str]) -> int:
    """Score the relations that a sentence mentions; the first relation counts as much as all others together."""
    folded = sentence.lower()
    met = [any(stem in folded for stem in list_stems(word)) for word in relations]
    return sum(met) + len(met) * bool(met and met[0])


def find_values(sentence: str, form: str, known: Iterable[str]) -> list[str]:
    """List possible answers of this type in a sentence, without known names."""
    if form == "year":
        return _YEAR.findall(sentence)
    if form == "number":
        return _NUMBER.findall(sentence)
    if form == "word":
        return _SMALL.findall(sentence)
    taken = {_bare(name) for name in known}
    found = [name for name in find_names(sentence) if _bare(name) not in taken]
    found = [name for name in found if " " in name or not sentence.startswith(name)]
    return [name for name in found if not any(_bare(name) in other for other in taken)]


def _bare(name: str) -> str:
    return re.sub(r" \([^()]*\)$", "", name).lower()


def _trimmed(name: str) -> str:
    parts = name.split()
    while parts and parts[0] in _WORDS.openers and not (parts[0] == "The" and len(parts) > 1):
        parts = parts[1:]
    text = " ".join(parts).rstrip(".,")
    return re.sub(r"['’]s$", "", text) if len(parts) == 1 else text


def _kind(text: str, entity: str) -> str:
    before = text.partition(entity)[0]
    match = re.search(r"\bthe ((?:(?!of |in |on |by |same |same)[a-z]+ ){1,2})$", before)
    return match[1].strip() if match else ""


def _form(text: str) -> str:
    opening = text.lower()
    if re.match(r"(?:in|during) (?:what|which) year|when ", opening):
        return "year"
    if opening.startswith("how "):
        return "number"
    if re.match(r"(?:which|what) (?:instrument|flower|does .* make)|what does", opening):
        return "word"
    if re.match(r"(?:do|does|did|is|are|was|were|has|have|can) ", opening):
        return "yes"
    return "person" if opening.startswith("who") else "name"
