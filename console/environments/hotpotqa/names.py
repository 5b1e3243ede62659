"""Invented names: two lists whose every combination is one name, so that many look alike."""

from __future__ import annotations

import random
from itertools import product

_STEMS = (
    "Vell",
    "Corr",
    "Ostr",
    "Tamb",
    "Hask",
    "Bren",
    "Quill",
    "Marl",
    "Feld",
    "Dray",
    "Lorn",
    "Sill",
    "Wex",
    "Thar",
)
_FIRST_NAMES = (
    *("Aldis", "Brenna", "Corvin", "Delphie", "Edric", "Fenella", "Garrow", "Hesper", "Idony", "Jorin", "Kestrel"),
    *("Lisbet", "Merrin", "Nolwen", "Osric", "Perrin", "Quenby", "Rowena", "Sorrel", "Tamsin", "Ulric", "Verity"),
)
_FAMILY_NAMES = (
    *("Abbermoor", "Bexhollow", "Cawdle", "Dunmarrow", "Ellacroft", "Fossgrave", "Gilderthorpe", "Hobkirrin"),
    *("Innisby", "Jessamer", "Kelderow", "Larkbarrow", "Mossington", "Nettlefoss", "Orrinvale", "Penhallick"),
    *("Quarrendon", "Rushmere-Tow", "Skerrow", "Tolliver-Wick", "Umberleigh"),
)
_QUALITIES = (
    *("Tin", "Salt", "Paper", "Borrowed", "Crooked", "Silent", "Amber", "Ninth", "Hollow", "Painted", "Slow", "Winter"),
)
_OBJECTS = (
    *("Heron", "Ferry", "Orchard", "Ladder", "Lantern", "Postman", "Kettle", "Harbour", "Piano", "Meadow", "Almanac"),
)
_PLAYERS = ("Weathervanes", "Sparrows", "Cartographers", "Lodgers", "Ferrymen", "Telegraphs")
_CROSSINGS = ("Tinker's", "St. Orla", "Old Toll", "New Toll", "Weaver's", "Queen Idony", "Pilot")
_LABELS = ("Porchlight", "Porchswing", "Tallow", "Gannet", "Snowmelt", "Cobble", "Dovetail")

NAMES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "provinces": ("{} {}", ("Averlund", "Corrmark", "Estwold", "Haskeney", "Norrach", "Tambria"), ("Province",)),
    "rivers": ("{1} {0}en", _STEMS[:12], ("River",)),
    "towns": ("{}{}", _STEMS, ("mouth", "wick", "stead")),
    "universities": ("{}ham {}", _STEMS[2:12], ("University",)),
    "stadiums": ("{} {}", ("Gasworks", "Orchard", "Lower", "Upper", "Tanner", "Mill"), ("Lane", "Park", "Field")),
    "bridges": ("{} {}", _CROSSINGS, ("Bridge", "Crossing")),
    "people": ("{} {}", _FIRST_NAMES, _FAMILY_NAMES),
    "labels": ("{} {}", _LABELS, ("Records",)),
    "publishers": ("{} & {}", _FAMILY_NAMES[:7], ("Daughters",)),
    "makers": ("{}ard {}", _STEMS[:7], ("Works", "Brothers")),
    "clubs": ("{}by {}", _STEMS[:9], ("Rovers", "Athletic")),
    "bands": ("{} {}", ("The Tin", "The Gravel", "Uncle", "Seven"), _PLAYERS),
    "titles": ("The {} {}", _QUALITIES, _OBJECTS),
    "awards": ("{} {} Award", ("Bronze", "Silver"), ("Oar", "Quill", "Lantern", "Heron")),
}


def names(source: str) -> list[str]:
    """Every name of that list, mixed, in an order that never changes."""
    pattern, first, second = NAMES[source]
    found = [pattern.format(a, b) for a, b in product(first, second)]
    return random.Random(f"names {source}").sample(found, len(found))
