"""The catalogue of a household: rooms, receptacles, things, what fits where, and what can be done to what."""

from collections.abc import Mapping
from types import MappingProxyType


def _kinds(text: str) -> frozenset[str]:
    return frozenset(text.split())


FOOD = _kinds("apple bread egg lettuce potato tomato")
DISHES = _kinds("bowl cup mug plate")
CUTLERY = _kinds("butterknife fork knife ladle spatula spoon")
COOKWARE = _kinds("kettle pan pot")
BOTTLES = _kinds("glassbottle winebottle")
SPICES = _kinds("peppershaker saltshaker")
WASHING = _kinds("cloth dishsponge soapbar soapbottle spraybottle")
PAPER = _kinds("papertowelroll tissuebox toiletpaper")
READING = _kinds("book newspaper")
POCKET = _kinds("cd cellphone creditcard keychain pen pencil remotecontrol watch")
DECORATION = _kinds("candle houseplant statue vase")
DEVICES = _kinds("alarmclock laptop")

CLEANABLE = _kinds("apple bowl cloth cup dishsponge egg lettuce mug plate potato soapbar tomato") | CUTLERY | COOKWARE
HEATABLE = _kinds("apple bread cup egg mug plate potato tomato")
COOLABLE = FOOD | DISHES | _kinds("pan pot winebottle")
SLICEABLE = FOOD
KNIVES = _kinds("butterknife knife")
LAMPS = _kinds("desklamp")
FIXED = LAMPS | _kinds("houseplant")
HOLLOW = DISHES | _kinds("box pan pot")
"""Things that hold other things; an onlooker is told what is in them, not how they are."""

APPLIANCE: Mapping[str, str] = MappingProxyType({"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"})
TREATABLE: Mapping[str, frozenset[str]] = MappingProxyType({"clean": CLEANABLE, "heat": HEATABLE, "cool": COOLABLE})

_TABLE = READING | POCKET | DECORATION | DEVICES | DISHES | LAMPS | _kinds("box tissuebox")
_SEAT = READING | DEVICES | _kinds("box cellphone creditcard keychain pillow remotecontrol")
_KITCHEN_TOP = FOOD | DISHES | CUTLERY | COOKWARE | BOTTLES | SPICES

HOLDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "armchair": _SEAT,
        "bathtubbasin": _kinds("cloth dishsponge handtowel soapbar"),
        "bed": _kinds("book cellphone laptop pillow teddybear"),
        "cabinet": DISHES | COOKWARE | BOTTLES | SPICES | WASHING | _kinds("candle papertowelroll toiletpaper vase"),
        "coffeemachine": _kinds("mug"),
        "coffeetable": _TABLE,
        "countertop": _KITCHEN_TOP | WASHING | PAPER | READING | POCKET | DECORATION | _kinds("handtowel"),
        "desk": _TABLE - {"houseplant"},
        "diningtable": _KITCHEN_TOP | READING | POCKET | DECORATION | _kinds("box laptop papertowelroll"),
        "drawer": CUTLERY | SPICES | POCKET | _kinds("book candle cloth dishsponge soapbar soapbottle toiletpaper"),
        "dresser": _TABLE,
        "fridge": FOOD | DISHES | BOTTLES | _kinds("pan pot"),
        "garbagecan": FOOD | BOTTLES | WASHING | PAPER | _kinds("cd newspaper pen pencil"),
        "handtowelholder": _kinds("handtowel"),
        "laundryhamper": _kinds("cloth"),
        "microwave": HEATABLE | _kinds("bowl glassbottle"),
        "safe": _kinds("cd cellphone creditcard keychain statue vase watch"),
        "shelf": DISHES | BOTTLES | SPICES | WASHING | PAPER | READING | POCKET | DECORATION | _kinds("alarmclock"),
        "sidetable": _TABLE,
        "sinkbasin": FOOD | DISHES | CUTLERY | COOKWARE | _kinds("cloth dishsponge soapbar"),
        "sofa": _SEAT,
        "stoveburner": COOKWARE,
        "toaster": frozenset(),
        "toilet": WASHING | _kinds("candle tissuebox toiletpaper"),
        "toiletpaperhanger": _kinds("toiletpaper"),
        "towelholder": _kinds("towel"),
    }
)
"""Which things each kind of receptacle can hold."""

OPENABLE: Mapping[str, float] = MappingProxyType(
    {"cabinet": 0.75, "drawer": 1.0, "fridge": 1.0, "microwave": 1.0, "safe": 1.0}
)
"""How often a receptacle of that kind has a door; the others of the kind stand open for good."""

ADJOINING = _kinds("drawer stoveburner")
"""Receptacles of which two can be reached from one place."""

_KITCHEN = {"cabinet": (2, 5), "coffeemachine": (1, 1), "countertop": (1, 3), "diningtable": (0, 1), "drawer": (2, 4)}
_KITCHEN |= {"fridge": (1, 1), "garbagecan": (1, 1), "microwave": (1, 1), "shelf": (0, 3), "sinkbasin": (1, 1)}
_KITCHEN |= {"stoveburner": (2, 4), "toaster": (1, 1)}
_BATHROOM = {"bathtubbasin": (0, 1), "cabinet": (2, 4), "countertop": (1, 1), "drawer": (0, 2), "garbagecan": (1, 1)}
_BATHROOM |= {"handtowelholder": (1, 2), "shelf": (0, 2), "sinkbasin": (1, 2), "toilet": (1, 1)}
_BATHROOM |= {"toiletpaperhanger": (1, 1), "towelholder": (1, 1)}
_LIVING_ROOM = {"armchair": (1, 2), "cabinet": (0, 3), "coffeetable": (1, 1), "diningtable": (0, 1), "drawer": (1, 4)}
_LIVING_ROOM |= {"dresser": (0, 1), "garbagecan": (1, 1), "safe": (0, 1), "shelf": (1, 4), "sidetable": (1, 2)}
_LIVING_ROOM |= {"sofa": (1, 1)}
_BEDROOM = {"bed": (1, 1), "desk": (1, 2), "drawer": (2, 5), "dresser": (0, 1), "garbagecan": (1, 1)}
_BEDROOM |= {"laundryhamper": (0, 1), "safe": (0, 1), "shelf": (1, 4), "sidetable": (1, 2)}

FURNITURE: Mapping[str, Mapping[str, tuple[int, int]]] = MappingProxyType(
    {"bathroom": _BATHROOM, "bedroom": _BEDROOM, "kitchen": _KITCHEN, "livingroom": _LIVING_ROOM}
)
"""The least and the greatest number of receptacles of each kind in a room."""

THINGS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "bathroom": WASHING | _kinds("candle handtowel tissuebox toiletpaper towel"),
        "bedroom": POCKET
        | DEVICES
        | LAMPS
        | _kinds("book bowl box mug pillow statue teddybear vase") - _kinds("remotecontrol"),
        "kitchen": _KITCHEN_TOP
        | _kinds("book cellphone creditcard dishsponge houseplant papertowelroll soapbottle statue vase"),
        "livingroom": READING
        | LAMPS
        | _kinds("box cellphone creditcard houseplant keychain laptop pen pencil pillow plate remotecontrol")
        | _kinds("statue tissuebox vase watch"),
    }
)
"""Which things are found in which room."""
