"""The words in which the embedded world is written down: kinds of things and the facts that each of them has.

In every text `{x}` is the thing itself, `{v}` the value of the fact and `{o}` some other thing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relation:
    """One fact that each thing of a kind has exactly once: another thing (`target`), a number or a word.

    `keyword` is what a lookup finds in each of `tells`, whatever the case.
    `deep` facts stand below what a search shows, and so does a fifth of the others; `trap` then takes their place
    above with something that is true of another thing. `noun` names the value in a question about it. `first` asks
    which of `{a}` and `{b}` is ahead (the larger number if `larger`), `same` whether both agree.
    """

    name: str
    asks: str
    keyword: str
    tells: tuple[str, ...]
    target: str = ""
    numbers: range | None = None
    words: tuple[str, ...] = ()
    noun: str = ""
    deep: bool = False
    trap: str = ""
    first: str = ""
    larger: bool = False
    same: str = ""


@dataclass(frozen=True, slots=True)
class EntityKind:
    """A kind of thing: how many there are, what questions call one, and how a page about it opens and goes on.

    `names` is the entry of NAMES that its names come from; `mark` stands in the title where two things share a name.
    """

    name: str
    count: int
    names: str
    called: str
    mark: str
    opens: tuple[str, ...]
    fillers: tuple[str, ...]
    relations: tuple[Relation, ...]
