"""The lexicon that instructions are read by: function words, colours, units, months, figures.

Its words lie beside this file as YAML; here they become patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from console.trajectory.data_files import read_data


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words of the file; what is a regular expression stands in a group of its own."""

    function_words: frozenset[str]
    colours: frozenset[str]
    materials: frozenset[str]
    months: tuple[str, ...]
    counts: tuple[str, ...]
    units: dict[str, str]
    packs: str
    at_most: str
    at_least: str


_LEXICON = read_data(files(__package__) / "lexicon.yaml", Lexicon)
FUNCTION_WORDS, ATTRIBUTES = _LEXICON.function_words, _LEXICON.colours | _LEXICON.materials
MONTHS, COUNTS, UNITS, PACKS = _LEXICON.months, _LEXICON.counts, _LEXICON.units, _LEXICON.packs
AT_MOST, AT_LEAST = _LEXICON.at_most, _LEXICON.at_least
FIGURE = r"\d{1,3}(?:,\d{3}){1,3}(?:\.\d+)?|\d{1,12}(?:\.\d{1,6})?"
MONEY = rf"(?:[$€£]\s?(?:{FIGURE})|(?:{FIGURE})\s?(?:dollars?\b|usd\b|bucks?\b|euros?\b|pounds sterling\b|[€£]))"
UNIT = "(?:" + "|".join(UNITS.values()) + ")"
COUNT_WORD = "(?:" + "|".join(COUNTS[1:]) + ")"
MONTH = "(?:" + "|".join(f"{m[:3]}(?:{m[3:]})?" if m[3:] else m for m in MONTHS) + r")\b\.?"
