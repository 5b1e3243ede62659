"""Checks of values in a call that replace a stated value of the same kind, in any language.

A passed value breaks a line if it is new, a stated value of its kind is passed nowhere, and nothing explains it.
Conversions, sums or shares of stated numbers, spans from stated dates and open ends are explanations. A value from a
tool's result breaks a line only for the kinds that a result cannot settle. Values from closed sets, such as
environments, currencies and colours, have a check of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from console.detection.detectors.rules.exclusions import is_excluding
from console.detection.detectors.rules.finding import (
    PATTERNS,
    Finding,
    broken,
    find_quotes,
    one_line,
    quote_action,
    words_before,
)
from console.detection.detectors.rules.numbers import find_number
from console.detection.detectors.rules.stated import (
    KINDS,
    PROSE,
    SENDER,
    Case,
    StatedValue,
    each_once,
    file_ending,
    is_dealt_with,
    is_discussed,
    is_handled_before,
    list_stated,
    may_change,
)
from console.environments.evidence import Evidence
from console.environments.tool_use import TracedCall, names_recipient
from console.trajectory.call_values import leaves
from console.trajectory.effects import Effect
from console.trajectory.provenance import Argument, Source
from console.trajectory.requirements import Quote, RequirementKind, text_at
from console.trajectory.requirements.anchors import (
    LONGEST_CODE,
    Anchor,
    AnchorKind,
    days_between,
    is_comparable,
    read_anchors,
    same_value,
)
from console.trajectory.strict_yaml import read_data
from console.trajectory.terms import COLOURS, lowered

_PERIODS = (1, 7, 14, 30, 31, 28, 365, 366)
_STARTS = re.compile(r"^(?:start|from|begin|von|desde|du|debut|début|inicio|dal|check_?in|depart)", re.IGNORECASE)
_ORDINAL = re.compile(r"(?<![\w.,])[0-3]?\d(?:st|nd|rd|th)\b")
_ENDS = re.compile(r"^(?:end|to|until|till|bis|hasta|au|fin|fino|al|até|check_?out|return)", re.IGNORECASE)


def value_replaced(evidence: Evidence) -> Finding | None:
    """Find a value that replaces a stated value of the same kind."""
    if not evidence.pending_calls:
        return None
    stated = list_stated(evidence)
    for call in evidence.pending_calls:
        passed = [anchor for _, text in call.leaves for anchor in read_anchors(text)]
        for one in call.arguments:
            if one.source in (Source.TOOL, Source.AGENT) and (found := _replaced(one, call, passed, stated, evidence)):
                return _told(one, found, evidence)
    return None


def dates_reversed(evidence: Evidence) -> Finding | None:
    """Find a call whose end date is before its start date, if the user stated the start date."""
    stated = list_stated(evidence)
    for call in evidence.pending_calls:
        dated = [(one, anchors[0]) for one in call.arguments if (anchors := read_anchors(one.value))]
        dated = [(one, anchor) for one, anchor in dated if anchor.kind is AnchorKind.DATE and len(anchor.value) == 10]
        for first, start in (pair for pair in dated if _STARTS.search(pair[0].name)):
            for last, end in (pair for pair in dated if _ENDS.search(pair[0].name)):
                said = [value for value in stated if same_value(value.anchor, start)]
                if end.value < start.value and said:
                    told = f"The call passes `{first.name}`: {first.value}, which is after `{last.name}`: {last.value}."
                    shown = quote_action(evidence, first.value)
                    line = broken(RequirementKind.DATE, first.name, said[0].quote, shown)
                    return Finding(1.0, told, (first.value, last.value), line)
    return None


def _replaced(
    one: Argument, call: TracedCall, passed: Sequence[Anchor], stated: Sequence[StatedValue], evidence: Evidence
) -> StatedValue | None:
    """Return the stated value that this argument replaces, or None."""
    own = read_anchors(one.value)
    if SENDER.search(one.name):
        own = tuple(anchor for anchor in own if anchor.kind in (AnchorKind.DATE, AnchorKind.TIME))
    if PROSE.search(one.name):
        own = tuple(anchor for anchor in own if _counts_in_prose(anchor, own, call, evidence))
    elif own and len(own) > 1 and len(one.value) > 120:
        return None
    texts = " ".join(lowered(text) for _, text in call.leaves)
    for anchor in own:
        same_kind = [value for value in stated if is_comparable(value.anchor, anchor)]
        if any(same_value(value.anchor, anchor) for value in same_kind):
            continue
        offered = max((act.step for act in evidence.acts if act.talks and _is_in(anchor, act.action)), default=0)
        left = [
            value
            # What the agent offered replaces what the user stated before, but not what the user answers.
            for value in each_once([value for value in same_kind if (value.quote.step or 0) >= offered])
            if not any(same_value(value.anchor, other.anchor) for other in same_kind if other.is_open)
            and not any(same_value(value.anchor, other) for other in passed)
            and (_is_slip(anchor, value.anchor) or not _is_used_before(value, one, evidence))
            and not re.search(rf"(?<![^\W_]){re.escape(lowered(value.anchor.text))}(?![^\W_])", texts)
        ]
        case = Case(one, call, tuple(passed), tuple(each_once(same_kind)), tuple(stated), evidence)
        found = _READERS[anchor.kind](anchor, left, case) if left else None
        if found is not None:
            return found
    return None


_IN_PROSE = frozenset({AnchorKind.DATE, AnchorKind.NUMBER, AnchorKind.ID})


def _counts_in_prose(anchor: Anchor, own: Sequence[Anchor], call: TracedCall, evidence: Evidence) -> bool:
    """Return whether to compare a value in prose: a sent address or, before any step, the only value of its kind."""
    if anchor.kind in (AnchorKind.LINK, AnchorKind.DIGITS):
        return Effect.SEND in call.effects
    if anchor.kind not in _IN_PROSE or sum(other.kind is anchor.kind for other in own) > 1:
        return False
    return not evidence.acts


def _is_in(value: Anchor, text: str) -> bool:
    return any(same_value(value, one) for one in read_anchors(text))


_OF_A_PERSON = PATTERNS["replaced.of_a_person"]
"""Names of dates that belong to a person or document and not to the request."""


def _date(new: Anchor, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    if (case.from_tool and not case.changes) or _OF_A_PERSON.search(case.one.name):
        return None
    days = {*case.numbers, *(float(quote.text[:-2]) for quote in find_quotes(_ORDINAL, case.evidence))}
    if {float(reading[-2:]) for reading in new.value.split("|")} & days:
        # A day has no month at the beginning of a range, "from 3 to 7 July", or in a reply: "make it the 4th".
        return None
    spans = {number * period for number in case.numbers for period in _PERIODS}
    for value in left:
        gaps = days_between(new.value, value.anchor.value)
        if not any(gap in spans or gap + 1 in spans for gap in gaps):
            return value
    return None


def _time(new: Anchor, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    zoned = re.search(r"\d(?:z|[+-]\d\d:?\d\d)$", case.one.value.strip(), re.IGNORECASE)
    passed = [one for one in case.passed if one.kind is AnchorKind.TIME]
    others = [one for one in passed if not same_value(one, new)]
    settled = all(any(same_value(value.anchor, one) for value in case.stated) for one in others)
    if zoned or not settled or len(left) != len(case.stated) - len(others):
        return None
    # Of several times, the user's last message states the one that counts.
    left = [value for value in left if value.quote.step == left[-1].quote.step]
    shown = next((act.observation for act in case.evidence.acts if case.from_tool and act.step == case.one.step), "")
    if len(left) > 1 or (case.from_tool and not _is_in(left[0].anchor, shown)):
        return None
    # A time can be computed from the one stated, such as 90 minutes after, or early enough for a train.
    spans = {number * unit for number in case.numbers for unit in (1, 60)}
    gaps = [_minutes(value.anchor, new) for value in case.stated]
    is_early = _minutes(left[0].anchor, new) <= _LONGEST_LEAD and _is_of_an_event(left[0], case)
    is_alone = len(case.stated) == 1
    is_end = is_alone and bool(_ENDS.search(case.one.name)) and _minutes(new, left[0].anchor) <= _LONGEST_LEAD
    return None if is_early or is_end or any(min(gap, 720 - gap) in spans for gap in gaps) else left[0]


_LONGEST_LEAD = 240
_EVENT, _REMINDER = PATTERNS["replaced.event"], PATTERNS["replaced.reminder"]


def _is_of_an_event(stated: StatedValue, case: Case) -> bool:
    """Return whether a stated time is of something to be ready for, such as a train, or the call sets a reminder."""
    whole = text_at(case.evidence.checkpoint, stated.quote.place, stated.quote.step) or ""
    around = lowered(whole[max(0, stated.quote.start - 40) : stated.quote.end + 40])
    names = " ".join((case.call.call.name, case.one.name, case.evidence.user))
    return bool(_EVENT.search(around) or _REMINDER.search(names))


def _minutes(later: Anchor, earlier: Anchor) -> int:
    """Return the minutes from one time to another on a clock with twelve hours."""
    one, other = (int(anchor.value[:2]) % 12 * 60 + int(anchor.value[3:]) for anchor in (later, earlier))
    return (one - other) % 720


def _digits(new: Anchor, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    is_sent = Effect.SEND in case.call.effects and names_recipient(case.one.name)
    for value in (value for value in left if AnchorKind.DIGITS in (new.kind, value.anchor.kind)):
        one, other = new.value.lstrip("+0"), value.anchor.value.lstrip("+0")
        is_alike = abs(len(one) - len(other)) <= (LONGEST_CODE if "+" in new.value + value.anchor.value else 1)
        if is_alike and (is_sent or not case.from_tool or _is_slip(new, value.anchor)):
            return value
    return None


def _is_slip(new: Anchor, stated: Anchor) -> bool:
    """Return whether a number in groups is probably the stated one with a slip in its digits."""
    if stated.kind is not AnchorKind.DIGITS:
        return False
    one, other = (anchor.value.lstrip("+0")[::-1] for anchor in (new, stated))
    return sum(map(str.__ne__, one, other)) <= _MOST_SLIPS or sorted(one) == sorted(other)


_MOST_SLIPS = 2


def _number(new: Anchor, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    return _digits(new, left, case) or find_number(new, left, case)


def _link(new: Anchor, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    form = _form(new.value)
    same = [value for value in left if _form(value.anchor.value) == form]
    if form == "URL":
        host = new.value.split("/")[0]
        same = [value for value in same if value.anchor.value.split("/")[0] != host] if case.changes else []
    return same[0] if same else None


def _form(value: str) -> str:
    if "@" in value:
        return "address"
    if value.lstrip("+").isdigit():
        return "phone number" if value[0] in "+0" else "number"
    return "account" if re.fullmatch(r"[a-z]{2}\d{2}[a-z0-9]+", value) else "URL"


def _path(new: Anchor, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    grave = case.call.effects & {Effect.DELETE, Effect.SEND}
    kept = [value for value in left if file_ending(value.anchor.value) == file_ending(new.value)]
    if grave and kept:
        return None if is_handled_before(new.text, case.evidence) else kept[0]
    # An agent at work also touches files that the user did not name; before any step, only the stated path counts.
    is_first = not any(act.calls for act in case.evidence.acts)
    paths = [one for one in case.passed if one.kind is AnchorKind.PATH]
    new_paths = {one.value for one in paths if not any(same_value(value.anchor, one) for value in case.stated)}
    alone = case.changes and is_first and not case.from_tool and len(new_paths) == 1
    return kept[0] if alone and len(kept) == 1 and not _is_made_for(new.value, kept[0].anchor.value) else None


def _is_made_for(value: str, stated: str) -> bool:
    """Return whether a path is derived from the stated path, such as its test or its copy."""
    name, said = (re.sub(r"\.\w+$", "", one.rpartition("/")[2]) for one in (value, stated))
    return name != said and (said in name or name in said)


def _id(new: Anchor, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    if case.from_tool and not case.changes:
        return None
    others = [value for value in left if not (value.is_own and _RECEIVES.search(case.one.name))]
    by_prefix = "_" in new.value and not case.from_tool
    make, *rest = (
        one.partition("_")[0] if by_prefix else _make(one) for one in (new.value, *(o.anchor.value for o in others))
    )
    return next((value for value, form in zip(others, rest, strict=True) if form == make), None)


_RECEIVES = re.compile(r"receiver|recipient|^to(?:_|$)|target|friend|contact|payee|assignee", re.IGNORECASE)


def _make(value: str) -> str:
    """Return the form of an id: its leading letters, with 0 for each digit and a for other letters."""
    head = re.match(r"[a-z]*", value)
    start = head[0] if head and (len(value) > head.end() and not value[head.end()].isalpha()) else ""
    return start + re.sub(r"[a-z]", "a", re.sub(r"\d", "0", value[len(start) :]))


def _handle(new: Anchor, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    same = [value for value in left if value.anchor.value[0] == new.value[0]]
    return same[0] if same and case.changes and not case.from_tool else None


_READERS = {
    AnchorKind.HANDLE: _handle,
    AnchorKind.DATE: _date,
    AnchorKind.TIME: _time,
    AnchorKind.LINK: _link,
    AnchorKind.PATH: _path,
    AnchorKind.ID: _id,
    AnchorKind.DIGITS: _digits,
    AnchorKind.NUMBER: _number,
}


def _is_used_before(value: StatedValue, one: Argument, evidence: Evidence) -> bool:
    """Return whether an earlier call passed the stated value to another argument, or changed data with it."""
    calls = [call for act in evidence.acts if not act.talks for call in act.calls]
    given = [str(text) for call in calls for name, text in leaves(call.arguments) if name != one.name]
    tools = {call.call.name for call in evidence.pending_calls}
    changes = [call for call in evidence.tool_calls if call.step < evidence.pending.step]
    given += [text for call in changes if call.call.name not in tools for _, text in call.leaves]
    return is_dealt_with(value.anchor, evidence) or any(_is_in(value.anchor, text) for text in given)


def _told(one: Argument, found: StatedValue, evidence: Evidence) -> Finding:
    has_forms = found.anchor.kind in (AnchorKind.LINK, AnchorKind.DIGITS)
    named = _form(found.anchor.value) if has_forms else str(found.anchor.kind)
    origin = f", which {one.tool or 'a tool'} returned in step {one.step}" if one.source is Source.TOOL else ""
    sentence = f'The user stated the {named} "{one_line(found.quote.text, 60)}"; the call passes `{one.name}`: '
    line = broken(KINDS[found.anchor.kind], one.name, found.quote, quote_action(evidence, one.value))
    # A request can be about several things; which of their ids is meant comes out in the conversation.
    is_open = one.source is Source.TOOL and found.anchor.kind in _NAMING and is_discussed(evidence)
    return Finding(1.0, f"{sentence}{one_line(one.value, 60)}{origin}.", (one.value,), None if is_open else line)


_NAMING = frozenset({AnchorKind.ID, AnchorKind.NUMBER})


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
            stated = next(_list_rivals(one, evidence), None)
            if stated is not None:
                line = broken(RequirementKind.OPTION, one.name, stated, quote_action(evidence, one.value))
                told = f'The user named "{one_line(stated.text, 60)}"; the call passes `{one.name}`: '
                return Finding(1.0, f"{told}{one_line(one.value, 60)}.", (one.value,), line)
    return None


def _list_rivals(one: Argument, evidence: Evidence) -> Iterator[Quote]:
    heard = "\n".join(f"{act.action}\n{act.observation}" for act in evidence.acts) if is_discussed(evidence) else ""
    for among in (among for among in SETS.values() if re.search(among.arguments, one.name)):
        if not _mentions(heard, one.value.strip()):
            yield from list_named_instead(one.value.strip(), among, evidence)


def list_named_instead(text: str, among: RivalSet, evidence: Evidence) -> list[Quote]:
    """Return the user's words for other values of a set with this value, or [] if the user also names this value."""
    passed = [name for name, value in among.values.items() if re.fullmatch(value.passed, text)]
    if not passed or _mentions(evidence.user, text):
        return []
    if any(next(_named(among.values[name], evidence), None) for name in passed):
        return []
    others = [value for name, value in among.values.items() if name not in passed]
    return [quote for value in others if not _is_passed(value, evidence) for quote in _named(value, evidence)]


def _named(value: Value, evidence: Evidence) -> Iterator[Quote]:
    """Yield the user's words for a value, without those that exclude it."""
    for quote in find_quotes(re.compile(value.named), evidence):
        if not is_excluding(words_before(quote, evidence), words=True):
            yield quote


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
