"""Kinds of people, told apart by what they do."""

from __future__ import annotations

from console.environments.hotpotqa.schema import EntityKind, Relation

_LIFE = (
    "Friends remember a dry sense of humour and very bad handwriting.",
    "A street and two schools carry the family name.",
    "In later years there were few public appearances.",
    "An illness put an end to long journeys.",
    "Interviews were given rarely, and only by letter.",
    "A collection of walking sticks was left to a museum.",
    "Both parents worked on the railway.",
    "The early work was little noticed at the time.",
)

_PERSON = (
    Relation(
        "birthplace",
        "In which town was {x} born?",
        "born",
        ("{x} was born in {v}.", "The family lived in {v}, where {x} was born."),
        target="town",
        noun="the town where {x} was born",
        trap="{x} has lived in {o} for most of a long career.",
        same="Were {a} and {b} born in the same town?",
    ),
    Relation(
        "born",
        "In what year was {x} born?",
        "born",
        ("{x} was born in the winter of {v}.", "The parish book gives {v} as the year in which {x} was born."),
        numbers=range(1925, 1956),
        first="Who was born first, {a} or {b}?",
    ),
    Relation(
        "university",
        "At which university did {x} study?",
        "studied",
        ("{x} studied at {v}.", "After school {x} went to {v} and studied there for four years."),
        target="university",
        noun="the university where {x} studied",
        deep=True,
        trap="{o} made {x} an honorary fellow.",
        same="Did {a} and {b} study at the same university?",
    ),
    Relation(
        "instrument",
        "Which instrument does {x} play?",
        "plays",
        ("{x} plays the {v}.", "At home {x} plays the {v} every evening."),
        words=("viola", "accordion", "oboe", "zither", "cello", "bassoon", "mandolin", "harmonium"),
        deep=True,
    ),
)


def _person(name: str, count: int, opens: str) -> EntityKind:
    return EntityKind(
        name,
        count,
        "people",
        f"the {name} {{x}}",
        name,
        (f"{{x}} is a {name}, {opens}.", f"{{x}}, a {name}, is {opens}."),
        _LIFE,
        _PERSON,
    )


PEOPLE = (
    _person("film director", 20, "known for long shots and short dialogues"),
    _person("novelist", 22, "read mostly for quiet stories about neighbours"),
    _person("stage actor", 18, "seen on nearly every stage of the Union"),
    _person("singer", 24, "recognised by a low and grainy voice"),
    _person("composer", 10, "whose music is often played by brass bands"),
    _person("record producer", 10, "credited with a plain and close sound"),
    _person("architect", 12, "fond of brick and round windows"),
    _person("merchant", 16, "remembered for paying debts early"),
    _person("football coach", 14, "respected for patience with young players"),
)
