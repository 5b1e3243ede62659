"""Kinds of places: provinces, rivers, towns."""

from __future__ import annotations

from console.environments.hotpotqa.schema import EntityKind, Relation

PROVINCE = EntityKind(
    "province",
    6,
    "provinces",
    "{x}",
    "province",
    ("{x} is one of the six provinces of the Tessaly Union.", "Among the provinces of the Union, {x} is the quietest."),
    (
        "Its farms grow barley and a small blue plum.",
        "Most of its people live along the old post road.",
        "Winters are short and wet, and snow rarely lies for a week.",
        "The provincial assembly sits twice a year.",
        "Ferries were the usual way to travel before the railway came.",
        "A dialect with many words for fog is still spoken in the hills.",
        "Its borders have been the same since the Union was made.",
    ),
    (
        Relation(
            "flower",
            "Which flower stands on the arms of {x}?",
            "arms",
            ("The arms of {x} show a {v} on a white field.", "A {v} has stood on the provincial arms for centuries."),
            words=("marsh iris", "bell heather", "white clover", "sea thrift", "dog rose", "yellow rattle"),
            deep=True,
        ),
        Relation(
            "joined",
            "In what year did {x} join the Union?",
            "joined",
            ("{x} joined the Union in {v}.", "It was in {v} that {x} joined the Union."),
            numbers=range(1790, 1870),
            first="Which province joined the Union first, {a} or {b}?",
        ),
    ),
)

RIVER = EntityKind(
    "river",
    12,
    "rivers",
    "the {x}",
    "river",
    ("{x} is a river of the Tessaly Union.", "{x} is known for its brown, slow water."),
    (
        "Barges carried slate on it until the railway opened.",
        "Its banks are lined with alder and grey willow.",
        "Anglers come for its trout in spring.",
        "It floods the lower meadows in most years.",
        "Several mills along it have been turned into houses.",
        "Otters returned to the upper valley some time ago.",
        "A towpath follows the eastern bank for most of the way.",
    ),
    (
        Relation(
            "length",
            "How many kilometres long is {x}?",
            "kilometres",
            ("It is {v} kilometres long.", "From spring to mouth {x} measures {v} kilometres."),
            numbers=range(60, 640),
            first="Which river is longer, {a} or {b}?",
            larger=True,
        ),
        Relation(
            "source",
            "In which hills does {x} rise?",
            "rises",
            ("{x} rises in the {v}.", "It rises from three springs in the {v}."),
            words=("Cobble Hills", "Larch Hills", "Gannet Hills", "Sorrow Hills", "Tallow Hills", "Fenner Hills"),
            same="Do {a} and {b} rise in the same hills?",
        ),
        Relation(
            "mouth",
            "Into which body of water does {x} flow?",
            "flows",
            ("It flows into the {v} between two lighthouses.", "After a wide delta {x} flows into the {v}."),
            words=("Bay of Orme", "Lake Hesper", "Pewter Sea", "Gulf of Sarn"),
            deep=True,
            same="Do {a} and {b} flow into the same body of water?",
        ),
    ),
)

TOWN = EntityKind(
    "town",
    42,
    "towns",
    "{x}",
    "town",
    (
        "{x} is a market town.",
        "{x} is a town of slate roofs and narrow lanes.",
        "{x} is a small harbour and mill town.",
    ),
    (
        "Its town hall burned down once and was rebuilt in brick.",
        "A weekly market is held under the plane trees.",
        "Trains leave for the coast every hour.",
        "The old walls can still be walked in an afternoon.",
        "Its bakers are proud of a flat rye loaf.",
        "A theatre with three hundred seats opens in winter.",
        "Visitors come for the clock that runs backwards.",
        "Most of its work is in timber, paper and printing.",
    ),
    (
        Relation(
            "province",
            "In which province does {x} lie?",
            "province",
            ("{x} lies in {v}.", "It belongs to {v}."),
            target="province",
            noun="the province in which {x} lies",
            trap="Many families moved here from {o}.",
            same="Do {a} and {b} lie in the same province?",
        ),
        Relation(
            "river",
            "On which river does {x} stand?",
            "river",
            ("It stands on {v}.", "{v} runs through the middle of {x}."),
            target="river",
            noun="the river on which {x} stands",
            trap="A canal once linked it with {o}.",
            same="Do {a} and {b} stand on the same river?",
        ),
        Relation(
            "population",
            "How many inhabitants does {x} have?",
            "inhabitants",
            ("{x} has {v} inhabitants.", "At the last count it had {v} inhabitants."),
            numbers=range(4100, 98000, 37),
            first="Which town has more inhabitants, {a} or {b}?",
            larger=True,
        ),
        Relation(
            "founded",
            "In what year was {x} founded?",
            "founded",
            ("The town was founded in {v} by charter.", "{x} was founded in {v}, when a toll gate was set up here."),
            numbers=range(1120, 1490),
            deep=True,
            first="Which town was founded earlier, {a} or {b}?",
        ),
        Relation(
            "festival",
            "Which festival is held in {x} every year?",
            "festival",
            ("The {v} is the yearly festival of {x}.", "Its festival, the {v}, is held every year."),
            words=tuple(
                f"{what} {feast}"
                for what in ("Lantern", "Kite", "Herring", "Candle", "Plum", "Bell", "Straw")
                for feast in ("Fair", "Night", "Parade")
            ),
            deep=True,
        ),
    ),
)

PLACES = (PROVINCE, RIVER, TOWN)
