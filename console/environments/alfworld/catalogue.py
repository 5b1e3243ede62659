"""The catalogue of a household: rooms, receptacles, things and treatments, from the YAML file that explains them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from console.trajectory.strict_yaml import read_data


@dataclass(frozen=True, slots=True)
class HouseholdCatalogue:
    """The tables of the YAML file; a word in capitals means all things in a group."""

    groups: dict[str, str]
    appliances: dict[str, str]
    holds: dict[str, str]
    openable: dict[str, float]
    furniture: dict[str, dict[str, tuple[int, int]]]
    things: dict[str, str]


def _kinds(text: str) -> frozenset[str]:
    words = text.split()
    members = [_kinds(_CATALOGUE.groups[word]) if word.isupper() else {word} for word in words]
    return frozenset().union(*members)


_CATALOGUE = read_data(files(__package__) / "catalogue.yaml", HouseholdCatalogue)
_GROUPS = {name: _kinds(text) for name, text in _CATALOGUE.groups.items()}

CLEANABLE, HEATABLE, COOLABLE = _GROUPS["CLEANABLE"], _GROUPS["HEATABLE"], _GROUPS["COOLABLE"]
SLICEABLE, KNIVES, LAMPS = _GROUPS["SLICEABLE"], _GROUPS["KNIVES"], _GROUPS["LAMPS"]
FIXED, HOLLOW, ADJOINING = _GROUPS["FIXED"], _GROUPS["HOLLOW"], _GROUPS["ADJOINING"]
APPLIANCE: Mapping[str, str] = _CATALOGUE.appliances
TREATABLE: Mapping[str, frozenset[str]] = {"clean": CLEANABLE, "heat": HEATABLE, "cool": COOLABLE}
HOLDS: Mapping[str, frozenset[str]] = {name: _kinds(text) for name, text in _CATALOGUE.holds.items()}
OPENABLE: Mapping[str, float] = _CATALOGUE.openable
FURNITURE: Mapping[str, Mapping[str, tuple[int, int]]] = _CATALOGUE.furniture
THINGS: Mapping[str, frozenset[str]] = {name: _kinds(text) for name, text in _CATALOGUE.things.items()}
