"""Checks of values from closed sets, such as environments, currencies and colours: the user named one, another is
passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

from console.detection.detectors.rules.finding import Finding, broken, one_line, quote_action, user_texts
from console.detection.detectors.rules.stated import is_discussed, is_excluding, may_change
from console.environments.evidence import Evidence
from console.trajectory.call_values import leaves
from console.trajectory.provenance import Argument, Source
from console.trajectory.requirements import Quote, QuotePlace, RequirementKind
from console.trajectory.strict_yaml import read_data
from console.trajectory.terms import COLOURS, lowered


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a set: regular expressions for what a call passes as a whole, and for how a user names the value."""

    passed: str
    named: str


@dataclass(frozen=True, slots=True)
class RivalSet:
    """The values of a set, which exclude each other, and a regular expression for the names of its arguments."""

    arguments: str
    values: Mapping[str, Value]


_SPELLINGS = {"gray": "gr[ae]y", "grey": "gr[ae]y", "gold": "gold(?:en)?", "golden": "gold(?:en)?"}
_SHORT = 3
# A colour with a capital is often part of a name, such as "Blue Mountain".
_COLOURS = {
    colour: Value(f"(?i){one}", rf"\b{one}\b")
    for colour, one in ((colour, _SPELLINGS.get(colour, colour)) for colour in sorted(COLOURS))
}
SETS = dict(read_data(files(__package__) / "rivals.yaml", dict[str, RivalSet]))
SETS["colour"] = RivalSet("(?i)colou?r|farbe|couleur|colore|^cor$|kleur", _COLOURS)


def rival_passed(evidence: Evidence) -> Finding | None:
    """Find a value from a closed set in a call that changes data, if the user named only other values of the set."""
    for call in (call for call in evidence.pending_calls if may_change(call, evidence)):
        for one in (one for one in call.arguments if one.source is not Source.USER):
            stated = next(_stated_instead(one, evidence), None)
            if stated is not None:
                line = broken(RequirementKind.OPTION, one.name, stated, quote_action(evidence, one.value))
                told = f'The user named "{one_line(stated.text, 60)}"; the call passes `{one.name}`: '
                return Finding(1.0, f"{told}{one_line(one.value, 60)}.", (one.value,), line)
    return None


def _stated_instead(one: Argument, evidence: Evidence) -> Iterator[Quote]:
    """Yield the user's words for another value of each set with the argument's value, unless they name it as well."""
    text = one.value.strip()
    for among in (among for among in SETS.values() if re.search(among.arguments, one.name)):
        passed = [name for name, value in among.values.items() if re.fullmatch(value.passed, text)]
        heard = "\n".join(f"{act.action}\n{act.observation}" for act in evidence.acts) if is_discussed(evidence) else ""
        if not passed or _mentions(evidence.user, text) or _mentions(heard, text):
            continue
        if any(next(_named(among.values[name], evidence), None) for name in passed):
            continue
        others = [value for name, value in among.values.items() if name not in passed]
        found = [quote for value in others if not _is_passed(value, evidence) for quote in _named(value, evidence)]
        yield from found[:1]


def _named(value: Value, evidence: Evidence) -> Iterator[Quote]:
    """Yield the user's words for a value, without those that exclude it."""
    for place, step, whole, start in user_texts(evidence):
        for match in re.finditer(value.named, whole[start:]) if place is not QuotePlace.POLICY else ():
            low, high = match.start() + start, match.end() + start
            if not is_excluding(lowered(whole[max(0, low - 40) : low]), words=True):
                yield Quote(whole[low:high], low, high, place, step)


def _mentions(text: str, value: str) -> bool:
    """Return whether a text has the value or, from four letters, a word that begins with it."""
    end = r"(?![^\W_])" if len(value) <= _SHORT else ""
    return re.search(rf"(?<![^\W_]){re.escape(lowered(value))}{end}", lowered(text)) is not None


def _is_passed(value: Value, evidence: Evidence) -> bool:
    """Return whether an earlier call or another argument of the pending call passes a value."""
    calls = [call for act in evidence.acts if not act.talks for call in act.calls]
    earlier = [text for call in calls for _, text in leaves(call.arguments)]
    pending = [text for call in evidence.pending_calls for _, text in call.leaves]
    return any(re.fullmatch(value.passed, str(text).strip()) for text in (*earlier, *pending))
