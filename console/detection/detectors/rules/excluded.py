"""Checks of calls that touch a thing that the user excluded or wanted to keep ("do not cancel order 13")."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.detection.detectors.rules.finding import Finding, broken, one_line, quote_action, user_texts
from console.detection.detectors.rules.stated import (
    ID_NAME,
    PROSE,
    StatedValue,
    is_excluding,
    is_keeping,
    list_stated,
    may_change,
)
from console.environments.evidence import Evidence
from console.environments.tool_use import TracedCall
from console.trajectory.call_values import leaves
from console.trajectory.effects import Effect
from console.trajectory.provenance import Argument
from console.trajectory.requirements import Quote, RequirementKind
from console.trajectory.requirements.anchors import AnchorKind, read_anchors, same_value
from console.trajectory.terms import FUNCTION_WORDS, lowered

_NAMING = frozenset({AnchorKind.ID, AnchorKind.LINK, AnchorKind.PATH, AnchorKind.HANDLE})
_WORD = re.compile(r"[^\W\d_]{4,}")
_MOST_WORDS = 4
_LEAVES_OUT = re.compile(r"^(?:remove|exclude|without|omit|except|skip|ignore)|_(?:excluded?|removed?)$", re.IGNORECASE)
"""The names of arguments that list what a call leaves out."""


def excluded_value(evidence: Evidence) -> Finding | None:
    """Find a change of a thing that the user excluded or wanted to keep."""
    changing = [call for call in evidence.pending_calls if may_change(call, evidence)]
    stated = list_stated(evidence) if changing else []
    for call in changing:
        for one in (one for one in call.arguments if not (PROSE.search(one.name) or _LEAVES_OUT.search(one.name))):
            found = _value_excluded(one, call, stated) or _word_excluded(one, call, evidence)
            if found is not None:
                return _told(one, found, evidence)
    return None


def _told(one: Argument, stated: Quote, evidence: Evidence) -> Finding:
    line = broken(RequirementKind.PROHIBITION, one.name, stated, quote_action(evidence, one.value))
    told = f'The user excluded "{one_line(stated.text, 60)}"; the call passes `{one.name}`: '
    return Finding(1.0, f"{told}{one_line(one.value, 60)}.", (one.value,), line)


def _value_excluded(one: Argument, call: TracedCall, stated: Sequence[StatedValue]) -> Quote | None:
    """Return the excluded value that an argument passes, or the kept value that the call removes."""
    own = read_anchors(one.value)
    for value in stated:
        if not (value.is_excluded or value.is_kept) or not any(same_value(value.anchor, anchor) for anchor in own):
            continue
        others = [other for other in stated if not (other.is_excluded or other.is_kept)]
        meant = any(same_value(value.anchor, other.anchor) for other in others)
        names = value.anchor.kind in _NAMING or (bool(ID_NAME.search(one.name)) and not value.is_money)
        if names and not meant and (value.is_excluded or Effect.DELETE in call.effects):
            return value.quote
    return None


def _word_excluded(one: Argument, call: TracedCall, evidence: Evidence) -> Quote | None:
    """Return the user's word in a short argument if the user mentioned the word only to exclude or keep a thing."""
    value = lowered(one.value).strip()
    tokens = _WORD.findall(value)
    if not tokens or len(value.split()) > _MOST_WORDS or read_anchors(one.value):
        return None
    found: Quote | None = None
    removes = Effect.DELETE in call.effects
    for token in tokens:
        if token in FUNCTION_WORDS:
            continue
        for place, step, whole, start in user_texts(evidence):
            plain = lowered(whole)
            for match in re.finditer(rf"(?<![^\W_]){re.escape(token)}", plain[start:]):
                low = match.start() + start
                before = plain[max(0, low - 40) : low]
                if not (is_excluding(before, words=True) or is_keeping(before, words=True, removes=removes)):
                    return None
                found = found or Quote(whole[low : low + len(token)], low, low + len(token), place, step)
    return found if found and not _is_passed_before(one, evidence) else None


def _is_passed_before(one: Argument, evidence: Evidence) -> bool:
    """Return whether an earlier call passed the same value."""
    earlier = (call for act in evidence.acts if not act.talks for call in act.calls)
    return any(text == one.value for call in earlier for _, text in leaves(call.arguments))
