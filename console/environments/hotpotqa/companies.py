"""Kinds of companies, and football clubs."""

from __future__ import annotations

from console.environments.hotpotqa.schema import EntityKind, Relation

_COMPANY = (
    Relation(
        "founder",
        "Who founded {x}?",
        "found",
        ("{x} was founded by {v}.", "Its founder was {v}."),
        target="merchant",
        noun="the founder of {x}",
        deep=True,
        trap="{o} sat on its board for a while.",
        same="Were {a} and {b} founded by the same person?",
    ),
    Relation(
        "founded",
        "In what year was {x} founded?",
        "founded",
        ("It was founded in {v}.", "{x} goes back to {v}, when it was founded in a single room."),
        numbers=range(1957, 1975),
        first="Which company was founded first, {a} or {b}?",
    ),
    Relation(
        "seat",
        "In which town does {x} have its head office?",
        "head office",
        ("{x} has its head office in {v}.", "Its head office stands in {v}."),
        target="town",
        noun="the town where {x} has its head office",
        trap="A large warehouse in {o} also belongs to it.",
        same="Do {a} and {b} have their head offices in the same town?",
    ),
)
_BUSINESS = (
    "It has never had more than two hundred employees.",
    "Its letterhead has not changed since the first day.",
    "A fire in the archive destroyed most of the early papers.",
    "Shares of it are held by the staff.",
    "The yearly outing of the staff is a local event.",
    "It survived two lean decades by selling its delivery vans.",
    "The reception room shows a model of the first workshop.",
)


def _company(name: str, count: int, names: str, called: str, *more: Relation) -> EntityKind:
    opens = (f"{{x}} is a {name} of the Tessaly Union.", f"{{x}} is a small {name} with loyal customers.")
    return EntityKind(name, count, names, called, "company", opens, _BUSINESS, (*_COMPANY, *more))


COMPANIES = (
    _company("record label", 7, "labels", "the record label {x}"),
    _company("publishing house", 7, "publishers", "the publishing house {x}"),
    _company(
        "manufacturer",
        14,
        "makers",
        "the company {x}",
        Relation(
            "product",
            "What does {x} make?",
            "make",
            ("{x} makes {v}.", "The works make {v} and nothing else."),
            words=("bicycles", "umbrellas", "stoves", "ropes", "pencils", "church bells", "raincoats", "kettles"),
        ),
    ),
)

CLUB = EntityKind(
    "club",
    18,
    "clubs",
    "the football club {x}",
    "football club",
    ("{x} is a football club.", "{x} is a football club with more songs than trophies."),
    (
        "Its youth section trains on a field beside the gasworks.",
        "Members elect the board on the first Sunday of June.",
        "The shirts have had a thin diagonal stripe for decades.",
        "A brass band plays before each home match.",
        "It has gone up and down between two divisions.",
        "Its oldest song is sung only after defeats.",
    ),
    (
        Relation(
            "ground",
            "At which stadium does {x} play its home matches?",
            "home matches",
            ("{x} plays its home matches at {v}.", "Its home matches take place at {v}."),
            target="stadium",
            noun="the stadium where {x} plays its home matches",
            trap="Cup finals have taken it to {o}.",
        ),
        Relation(
            "founded",
            "In what year was {x} founded?",
            "founded",
            ("The club was founded in {v}.", "{x} was founded in {v} by dock workers."),
            numbers=range(1884, 1932),
            first="Which football club was founded first, {a} or {b}?",
        ),
        Relation(
            "coach",
            "Who coaches {x}?",
            "coach",
            ("{v} coaches {x}.", "The coach is {v}."),
            target="football coach",
            noun="the coach of {x}",
            deep=True,
            trap="{o} coached the youth team for a season.",
        ),
        Relation(
            "nickname",
            "What is the nickname of {x}?",
            "nickname",
            ("Supporters know the team by its nickname, the {v}.", "The nickname of {x} is the {v}."),
            words=tuple(
                f"{hue} {beast}"
                for hue in ("Grey", "Amber", "Dusty", "Iron")
                for beast in ("Herons", "Badgers", "Moths")
            ),
            deep=True,
        ),
    ),
)
