"""Values that the user stated against the values that a call passes, in any language.

Dates, times, addresses, paths, ids, numbers and names are compared by how they are written. A passed value breaks a
line if it is new, stands where a stated value of its kind belongs, and that stated value is passed nowhere. What needs
knowledge of the language is left open ("cannot tell").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from console.detection.detectors.rules.finding import (
    Finding,
    broken,
    one_line,
    quote_action,
    quote_user,
    user_texts,
)
from console.detection.detectors.rules.recipients import PERSON
from console.environments.evidence import Evidence
from console.environments.tool_use import TracedCall
from console.trajectory.effects import CHANGING, Effect
from console.trajectory.provenance import Argument, Source
from console.trajectory.requirements import Line, Quote, Requirement, RequirementKind, Standing
from console.trajectory.requirements.anchors import (
    Anchor,
    AnchorKind,
    days_between,
    is_converted,
    read_anchors,
    same_value,
)
from console.trajectory.terms import lowered

KINDS = {
    AnchorKind.DATE: RequirementKind.DATE,
    AnchorKind.TIME: RequirementKind.DATE,
    AnchorKind.LINK: RequirementKind.RECIPIENT,
    AnchorKind.PATH: RequirementKind.ID,
    AnchorKind.HANDLE: RequirementKind.RECIPIENT,
    AnchorKind.ID: RequirementKind.ID,
    AnchorKind.NUMBER: RequirementKind.AMOUNT,
}
PROSE = re.compile(
    r"text|body|subject|title|message|content|description|comment|note|reason|summary|query|password|prompt|code|script",
    re.IGNORECASE,
)
"""Names of arguments that hold the agent's own wording."""
_SENDER = re.compile(r"^(?:from|sender|source|reply_?to|author|owner)", re.IGNORECASE)
_COUNTED = re.compile(
    r"amount|price|total|sum\b|quantity|qty|count|number|\bnum|_no$|\bnr|guests?|people|persons?|party|seats?|nights?|"
    r"days?|hours?|minutes?|duration|rate|percent|discount|units|shares|copies|tickets?|passengers|volume|temperature|"
    r"betrag|menge|anzahl|preis|monto|importe|cantidad|montant|quantit|valor|kwota|сумм|количеств|金額|数量|金额|금액|수량",
    re.IGNORECASE,
)
_SETTING = re.compile(
    r"max|limit|page|offset|timeout|retr|top_?k|size$|version|port$|priority|index|seed", re.IGNORECASE
)
_ID_NAME = re.compile(
    r"(?:^|_)(?:id|ids|order|number|no|code|ref|reference|ticket|case|invoice|booking|account)$|[a-z]Id$"
)
_CURRENCY = re.compile(
    r"[$€£¥₹₩₽₺₴]|\b(?:usd|eur|gbp|chf|jpy|cny|inr|sek|nok|dkk|pln|dollars?|euros?|pounds?|pesos?|francs?|franken|yen|"
    r"yuan|rupees?|kronor|kroner|zł|zlot\w+|reais|real|rub|руб\w*|долл\w*|евро|грн)\b|[元円원]",
    re.IGNORECASE,
)
_PERIODS = (1, 7, 14, 30, 31, 28, 365, 366)
_ORIGIN = re.compile(r"\b(?:from|by|of|von|vom|de|du|di|da|dal|del|desde|van|od|от|с)\s+$")
_OPEN = re.compile(r"\b(?:after|before|since|until|till|between|earliest|latest|around|about|any|or|than)\s+$")
_NOT = re.compile(
    r"(?:\b(?:not|never|don't|do not|except|without|nicht|kein\w*|außer|ausser|pas|sauf|nunca|excepto|salvo|tranne|não|"
    r"exceto|niet|behalve|nie|oprócz|не|кроме|değil|hariç)\b|不要|别|不是|除了)[^.!?;。！？；]{0,30}$"
)
_NOT_EITHER = re.compile(
    r"only|just|forget|later|more|less|fewer|exceed|nur|vergiss|verges|oubli|seulement|olvid|sólo|dimentic|solo|esque|"
    r"apenas|vergeet|alleen|zapom|tylko|только|забуд|忘|只"
)
"""Words after which a negation excludes nothing."""
_STATEMENT = re.compile(r"^(?:sql|statement|command|cmd)$|_sql$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value that the user stated, and its quote; an open value is a limit or an origin, an excluded one a no."""

    anchor: Anchor
    quote: Quote
    is_money: bool
    is_open: bool
    is_excluded: bool


def value_replaced(evidence: Evidence) -> Finding | None:
    """Find a value that replaces a stated one of the same kind."""
    if not evidence.pending_calls:
        return None
    stated = _stated(evidence)
    for call in evidence.pending_calls:
        passed = [anchor for _, text in call.leaves for anchor in read_anchors(text)]
        for one in call.arguments:
            is_foreign = one.source in (Source.TOOL, Source.AGENT) and not _SENDER.search(one.name)
            if is_foreign and (found := _replaced(one, call, passed, stated, evidence)):
                return _told(one, found, evidence)
    return None


def excluded_value(evidence: Evidence) -> Finding | None:
    """Find a change of a thing that the user excluded ("do not cancel order 13")."""
    changing = [call for call in evidence.pending_calls if call.effects & CHANGING]
    stated = _stated(evidence) if changing else []
    excluded = [value for value in stated if value.is_excluded]
    for call in changing if excluded else ():
        for one in (one for one in call.arguments if not PROSE.search(one.name)):
            for value in excluded:
                names = value.anchor.kind in _NAMING or (_ID_NAME.search(one.name) and not value.is_money)
                passed = any(same_value(value.anchor, anchor) for anchor in read_anchors(one.value))
                meant = any(same_value(value.anchor, other.anchor) for other in stated if not other.is_excluded)
                if names and passed and not meant:
                    shown = quote_action(evidence, one.value)
                    line = broken(RequirementKind.PROHIBITION, one.name, value.quote, shown)
                    told = f'The user excluded "{one_line(value.quote.text, 60)}"; the call passes `{one.name}`: '
                    return Finding(1.0, f"{told}{one_line(one.value, 60)}.", (one.value,), line)
    return None


_NAMING = frozenset({AnchorKind.ID, AnchorKind.LINK, AnchorKind.PATH, AnchorKind.HANDLE})


def values_passed(evidence: Evidence) -> Iterator[Line]:
    """Yield a line for each argument that the user stated, and for each stated value that the call does not pass."""
    met: list[Quote] = []
    for call in evidence.pending_calls:
        for one in call.arguments:
            quote = quote_user(evidence, one.value) if one.source is Source.USER else None
            shown = quote_action(evidence, one.value) if quote and quote.end > 0 else None
            if quote and shown and shown.end > 0:
                met.append(quote)
                yield Line(Requirement(_kind_of(one), one.name, one.value[:200], quote), Standing.MET, shown)
    if evidence.pending_calls:
        passed = [anchor for call in evidence.pending_calls for _, text in call.leaves for anchor in read_anchors(text)]
        for stated in _stated(evidence):
            if any(_overlaps(stated.quote, quote) for quote in met):
                continue
            asked = Requirement(KINDS[stated.anchor.kind], "", stated.quote.text, stated.quote)
            same = next((other for other in passed if same_value(stated.anchor, other)), None)
            shown = quote_action(evidence, same.text) if same else None
            if shown and shown.end > 0:
                yield Line(asked, Standing.MET, shown)
            else:
                yield Line(asked, Standing.CANNOT_TELL if same else Standing.NOT_SHOWN)


def _kind_of(one: Argument) -> RequirementKind:
    anchors = read_anchors(one.value)
    if PERSON.search(one.name):
        return RequirementKind.RECIPIENT
    if anchors and anchors[0].text.strip() == one.value.strip():
        is_id = anchors[0].kind is AnchorKind.NUMBER and _ID_NAME.search(one.name)
        return RequirementKind.ID if is_id else KINDS[anchors[0].kind]
    return RequirementKind.ATTRIBUTE if PROSE.search(one.name) else RequirementKind.OPTION


def _overlaps(first: Quote, second: Quote) -> bool:
    same = (first.place, first.step) == (second.place, second.step)
    return same and first.start < second.end and second.start < first.end


def _stated(evidence: Evidence) -> list[StatedValue]:
    found = []
    for place, step, whole, start in user_texts(evidence):
        for anchor in read_anchors(whole[start:]):
            low, high = anchor.start + start, anchor.end + start
            near = whole[max(0, low - 6) : low] + " " + whole[high : high + 9]
            money = anchor.kind is AnchorKind.NUMBER and bool(_CURRENCY.search(near))
            before = lowered(whole[max(0, low - 40) : low])
            is_link = anchor.kind is AnchorKind.LINK
            excluded = bool(_NOT.search(before)) and not _NOT_EITHER.search(before)
            is_open = bool(excluded or _OPEN.search(before) or (is_link and _ORIGIN.search(before)))
            quote = Quote(whole[low:high], low, high, place, step)
            found.append(StatedValue(anchor, quote, money, is_open, excluded))
    return found


def _replaced(
    one: Argument, call: TracedCall, passed: Sequence[Anchor], stated: Sequence[StatedValue], evidence: Evidence
) -> StatedValue | None:
    """Return the stated value that this argument replaces, or None."""
    own = read_anchors(one.value)
    if PROSE.search(one.name):
        own = tuple(anchor for anchor in own if anchor.kind is AnchorKind.LINK and Effect.SEND in call.effects)
    elif own and len(own) > 1 and len(one.value) > 120:
        return None
    texts = " ".join(lowered(text) for _, text in call.leaves)
    for anchor in own:
        same_kind = [value for value in stated if value.anchor.kind is anchor.kind]
        if any(same_value(value.anchor, anchor) for value in same_kind):
            continue
        left = [
            value
            for value in same_kind
            if not value.is_open
            and not any(same_value(value.anchor, other) for other in passed)
            and not _is_used_before(value, one, evidence)
            and not re.search(rf"(?<![^\W_]){re.escape(lowered(value.anchor.text))}(?![^\W_])", texts)
        ]
        found = _READERS[anchor.kind](anchor, left, _Case(one, call, passed, same_kind, evidence)) if left else None
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Case:
    one: Argument
    call: TracedCall
    passed: Sequence[Anchor]
    stated: Sequence[StatedValue]
    evidence: Evidence

    @property
    def changes(self) -> bool:
        return bool(self.call.effects & CHANGING)

    @property
    def from_tool(self) -> bool:
        return self.one.source is Source.TOOL

    @property
    def numbers(self) -> list[float]:
        """The numbers that the user stated."""
        found = _stated(self.evidence)
        return [float(one.anchor.value) for one in found if one.anchor.kind is AnchorKind.NUMBER]


def _date(new: Anchor, left: Sequence[StatedValue], case: _Case) -> StatedValue | None:
    if case.from_tool and not case.changes:
        return None
    if {float(reading[-2:]) for reading in new.value.split("|")} & set(case.numbers):
        # The day of a range stands alone: "from 3 to 7 July".
        return None
    spans = {number * period for number in case.numbers for period in _PERIODS}
    for value in left:
        gaps = days_between(new.value, value.anchor.value)
        if not any(gap in spans or gap + 1 in spans for gap in gaps):
            return value
    return None


def _time(new: Anchor, left: Sequence[StatedValue], case: _Case) -> StatedValue | None:
    alone = len(case.stated) == 1 and sum(one.kind is AnchorKind.TIME for one in case.passed) == 1
    zoned = re.search(r"\d(?:z|[+-]\d\d:?\d\d)$", case.one.value.strip(), re.IGNORECASE)
    return left[0] if alone and not zoned and not case.from_tool else None


def _link(new: Anchor, left: Sequence[StatedValue], case: _Case) -> StatedValue | None:
    form = _form(new.value)
    same = [value for value in left if _form(value.anchor.value) == form]
    digits = re.sub(r"\D", "", new.value)
    if form == "phone":
        same = [v for v in same if not digits.endswith(re.sub(r"\D", "", v.anchor.value)[-7:])]
    if form == "url":
        host = new.value.split("/")[0]
        same = [value for value in same if value.anchor.value.split("/")[0] != host] if case.changes else []
    return same[0] if same else None


def _form(value: str) -> str:
    if "@" in value:
        return "address"
    if value.startswith("+"):
        return "phone"
    return "account" if re.fullmatch(r"[a-z]{2}\d{2}[a-z0-9]+", value) else "url"


def _path(new: Anchor, left: Sequence[StatedValue], case: _Case) -> StatedValue | None:
    grave = case.call.effects & {Effect.DELETE, Effect.SEND}
    kept = [value for value in left if value.anchor.value.rpartition(".")[2] == new.value.rpartition(".")[2]]
    return kept[0] if grave and kept else None


def _id(new: Anchor, left: Sequence[StatedValue], case: _Case) -> StatedValue | None:
    if case.from_tool and not case.changes:
        return None
    return next((value for value in left if _make(value.anchor.value) == _make(new.value)), None)


def _make(value: str) -> str:
    """Return the form of an id: its leading letters, with 0 for each digit and a for other letters."""
    head = re.match(r"[a-z]*", value)
    start = head[0] if head and (len(value) > head.end() and not value[head.end()].isalpha()) else ""
    return start + re.sub(r"[a-z]", "a", re.sub(r"\d", "0", value[len(start) :]))


def _number(new: Anchor, left: Sequence[StatedValue], case: _Case) -> StatedValue | None:
    one, value = case.one, float(new.value)
    if _STATEMENT.search(one.name):
        return _in_statement(left, case)
    if one.value.strip().lstrip("#") != new.text.strip().lstrip("#") or _SETTING.search(one.name):
        return None
    hours = {int(part) % 12 for anchor in case.passed if anchor.kind is AnchorKind.TIME for part in [anchor.value[:2]]}
    left = [each for each in left if int(float(each.anchor.value)) % 12 not in hours or each.is_money]
    left = [each for each in left if not is_converted(value, float(each.anchor.value))]
    is_id, counted = bool(_ID_NAME.search(one.name)), bool(_COUNTED.search(one.name))
    if is_id:
        # A count ("the 3 latest") names no thing; an id has two digits or more.
        named = [each for each in left if not each.is_money and float(each.anchor.value) >= 10]
        return named[0] if len(named) == 1 and len(case.stated) == 1 else None
    if not counted:
        return None
    money = [each for each in left if each.is_money]
    if case.from_tool:
        return money[0] if len(money) == len(case.stated) and Effect.PAY in case.call.effects else None
    if len(case.stated) == 1 or (money and len(money) == 1):
        return next(iter(money or left), None)
    return None


def _in_statement(left: Sequence[StatedValue], case: _Case) -> StatedValue | None:
    """Return the one number of two digits or more that a statement leaves out, if it has one other number in place."""
    own = [float(anchor.value) for anchor in read_anchors(case.one.value) if anchor.kind is AnchorKind.NUMBER]
    said = [float(value.anchor.value) for value in case.stated]
    named = [value for value in left if float(value.anchor.value) >= 10]
    return named[0] if len(named) == 1 == len([number for number in own if number not in said]) else None


def _handle(new: Anchor, left: Sequence[StatedValue], case: _Case) -> StatedValue | None:
    same = [value for value in left if value.anchor.value[0] == new.value[0]]
    return same[0] if same and case.changes and not case.from_tool else None


_READERS = {
    AnchorKind.HANDLE: _handle,
    AnchorKind.DATE: _date,
    AnchorKind.TIME: _time,
    AnchorKind.LINK: _link,
    AnchorKind.PATH: _path,
    AnchorKind.ID: _id,
    AnchorKind.NUMBER: _number,
}


def _is_used_before(value: StatedValue, one: Argument, evidence: Evidence) -> bool:
    """Return whether an earlier call passed the stated value under another name; then it may have done its part."""
    calls = [call for act in evidence.acts if not act.talks for call in act.calls]
    given = [str(text) for call in calls for name, text in call.arguments.items() if name != one.name]
    return any(same_value(value.anchor, anchor) for text in given for anchor in read_anchors(text))


def _told(one: Argument, found: StatedValue, evidence: Evidence) -> Finding:
    kind = {"address": {"address": "address", "phone": "phone number", "account": "account", "url": "URL"}}
    named = kind.get(str(found.anchor.kind), {}).get(_form(found.anchor.value), str(found.anchor.kind))
    origin = f", which {one.tool or 'a tool'} returned in step {one.step}" if one.source is Source.TOOL else ""
    sentence = f'The user stated the {named} "{one_line(found.quote.text, 60)}"; the call passes `{one.name}`: '
    line = broken(KINDS[found.anchor.kind], one.name, found.quote, quote_action(evidence, one.value))
    return Finding(1.0, f"{sentence}{one_line(one.value, 60)}{origin}.", (one.value,), line)
