"""Kinds of buildings: universities, stadiums, bridges."""

from __future__ import annotations

from console.environments.hotpotqa.schema import EntityKind, Relation

UNIVERSITY = EntityKind(
    "university",
    10,
    "universities",
    "{x}",
    "university",
    ("{x} is a university with a long tradition in law and navigation.", "{x} is a public university."),
    (
        "Its students wear green gowns on the first day of term.",
        "The botanical garden is open to everyone.",
        "A rowing race against its rivals is held each May.",
        "Its press prints maps and dictionaries.",
        "The main hall has a painted ceiling.",
        "Evening courses have been given for a century.",
    ),
    (
        Relation(
            "town",
            "In which town is {x}?",
            "town",
            ("{x} is in the town of {v}.", "The town of {v} is its home."),
            target="town",
            noun="the town in which {x} is",
            trap="It runs a field station near {o}.",
        ),
        Relation(
            "founded",
            "In what year was {x} founded?",
            "founded",
            ("It was founded in {v}.", "The year in which it was founded is {v}."),
            numbers=range(1590, 1860),
            first="Which university is older, {a} or {b}?",
        ),
        Relation(
            "architect",
            "Who designed the library of {x}?",
            "library",
            ("The new library of {x} was designed by {v}.", "Its library is a design of {v}."),
            target="architect",
            noun="the architect of the library of {x}",
            deep=True,
        ),
    ),
)

STADIUM = EntityKind(
    "stadium",
    18,
    "stadiums",
    "the stadium {x}",
    "stadium",
    ("{x} is a football ground.", "{x} is a stadium used for football and concerts."),
    (
        "The pitch lies three metres below the street.",
        "Its floodlights were given by supporters.",
        "A small museum is kept under the north stand.",
        "The roof lets rain through in the cheaper rows.",
        "Trams stop at the main gate on match days.",
        "The ground was used for harvest shows in bad years.",
    ),
    (
        Relation(
            "opened",
            "In what year was {x} opened?",
            "opened",
            ("It was opened in {v}.", "{x} opened its gates in {v}."),
            numbers=range(1976, 2001),
            first="Which stadium was opened first, {a} or {b}?",
        ),
        Relation(
            "capacity",
            "How many people does {x} hold?",
            "people",
            ("{x} holds {v} people.", "There is room for {v} people."),
            numbers=range(3200, 41000, 70),
            first="Which stadium holds more people, {a} or {b}?",
            larger=True,
        ),
        Relation(
            "architect",
            "Who designed {x}?",
            "designed",
            ("{x} was designed by {v}.", "It was designed in a single summer by {v}."),
            target="architect",
            noun="the architect of {x}",
            trap="An earlier plan by {o} was not built.",
            same="Were {a} and {b} designed by the same architect?",
        ),
    ),
)

BRIDGE = EntityKind(
    "bridge",
    14,
    "bridges",
    "{x}",
    "bridge",
    ("{x} is a road bridge.", "{x} is a bridge of steel and pale concrete."),
    (
        "Pedestrians have a path of their own on the southern side.",
        "It is painted again every nine years.",
        "Swifts nest in its expansion joints.",
        "Lorries over twenty tonnes may not use it.",
        "A toll was taken during its first decade.",
        "Its lamps were copied from a much older bridge.",
    ),
    (
        Relation(
            "river",
            "Which river does {x} cross?",
            "crosses",
            ("It crosses {v}.", "{x} crosses {v} in three arches."),
            target="river",
            noun="the river that {x} crosses",
            trap="Stone for it was shipped along {o}.",
        ),
        Relation(
            "opened",
            "In what year was {x} opened to traffic?",
            "opened",
            ("{x} was opened to traffic in {v}.", "It was opened in {v}, a year later than planned."),
            numbers=range(1979, 2006),
            first="Which bridge was opened first, {a} or {b}?",
        ),
        Relation(
            "architect",
            "Who designed {x}?",
            "design",
            ("Its designer was {v}.", "{x} was designed by {v}."),
            target="architect",
            noun="the designer of {x}",
            deep=True,
            same="Were {a} and {b} designed by the same person?",
        ),
    ),
)

BUILDINGS = (UNIVERSITY, STADIUM, BRIDGE)
