"""Values that the user stated, in any language, and the requirement lines of values that a call passes or omits.

Dates, times, addresses, paths, ids, numbers and names are compared by their written form. Values that need knowledge of
the language get the status `cannot tell`. A recipient that the agent named in place of the user's breaks a line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from console.detection.detectors.rules.exclusions import is_excluding, is_keeping
from console.detection.detectors.rules.finding import (
    PATTERNS,
    Finding,
    broken,
    one_line,
    quote_action,
    quote_request,
    quote_user,
)
from console.environments.evidence import Evidence
from console.environments.tool_use import COMMAND, TracedCall, find_requests, is_place
from console.trajectory.call_values import leaves
from console.trajectory.calls import SHELLS
from console.trajectory.effects import CHANGING, Effect, Kind
from console.trajectory.provenance import Argument, Source, is_switch
from console.trajectory.requirements import Line, Quote, QuotePlace, Requirement, RequirementKind, Standing
from console.trajectory.requirements.anchors import Anchor, AnchorKind, read_anchors, same_value
from console.trajectory.requirements.sentences import ASKED, CALLS, REPEATED
from console.trajectory.terms import lowered

KINDS = {
    AnchorKind.DATE: RequirementKind.DATE,
    AnchorKind.TIME: RequirementKind.DATE,
    AnchorKind.LINK: RequirementKind.RECIPIENT,
    AnchorKind.PATH: RequirementKind.ID,
    AnchorKind.DIGITS: RequirementKind.ID,
    AnchorKind.HANDLE: RequirementKind.RECIPIENT,
    AnchorKind.ID: RequirementKind.ID,
    AnchorKind.NUMBER: RequirementKind.AMOUNT,
}
PROSE = PATTERNS["stated.prose"]
"""Names of arguments with the agent's own wording."""
ID_NAME = PATTERNS["stated.id_name"]
_CURRENCY = PATTERNS["stated.currency"]
_ORIGIN = re.compile(r"\b(?:from|by|of|von|vom|de|du|di|da|dal|del|desde|van|od|от|с)\s+$")
_OPEN = PATTERNS["stated.open"]
_TODAY = PATTERNS["stated.today"]
"""The words before the date of the request itself, from which other dates are counted."""
_OWN = PATTERNS["stated.own"]
"""The words before a value that the user states as their own."""
_POST_CODE = re.compile(r"\d{4,5} [A-ZÄÖÜ][a-zäöüß]{2,}")
_NAMES = PATTERNS["stated.names"]
"""The nouns before a number that names a thing, such as an invoice."""


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value that the user stated, and its quote.

    A value with `is_open` is a limit or an origin. A value with `is_excluded` must not be used, a value with `is_kept`
    must not change, a value with `is_own` belongs to the user, and a number with `is_name` names a thing. A number with
    `is_post_code` stands before a town.
    """

    anchor: Anchor
    quote: Quote
    is_money: bool
    is_open: bool
    is_excluded: bool
    is_kept: bool = False
    is_own: bool = False
    is_name: bool = False
    is_post_code: bool = False

    @property
    def number(self) -> float:
        """The stated number."""
        return float(self.anchor.value)


def is_discussed(evidence: Evidence) -> bool:
    """Return whether the user answered the agent, and can thus have agreed to a tool's result."""
    return any(act.talks for act in evidence.acts)


def is_offered(value: str, evidence: Evidence) -> bool:
    """Return whether a message of the agent contains a value, which the user can have accepted."""
    return is_offered_since(value, 0, evidence)


def is_offered_since(value: str, step: int, evidence: Evidence) -> bool:
    """Return whether a message of the agent after a step, to which the user replied, contains a value."""
    said = re.compile(rf"(?<![^\W_]){re.escape(lowered(value))}(?![^\W_])")
    return any(said.search(lowered(act.action)) for act in evidence.acts if act.talks and act.step > step)


def may_change(call: TracedCall, evidence: Evidence) -> bool:
    """Return whether a call changes data, or its effect is unknown."""
    is_unknown = not call.effects and evidence.pending.kind is Kind.UNKNOWN
    return bool(call.effects & CHANGING) or (is_unknown and call.step == evidence.pending.step)


def runs_code(call: TracedCall) -> bool:
    """Return whether a call runs a command or code, which is one of many steps to what the user asked for."""
    runs = Effect.RUN in call.effects or call.call.name.lower() in _RUNNING
    return (runs and any(COMMAND.match(name) for name, _ in call.leaves)) or call.call.name.lower() in SHELLS


_RUNNING = frozenset({"run", "execute", "exec"})


def file_ending(path: str) -> str:
    """Return the file extension of a path, such as `py`, or ""."""
    last = path.rpartition("/")[2]
    return last.rpartition(".")[2] if "." in last else ""


def is_handled_before(value: str, evidence: Evidence) -> bool:
    """Return whether an earlier call that changes data passed this value, such as a file that the agent made."""
    earlier = (call for call in evidence.tool_calls if call.step < evidence.pending.step)
    return any(lowered(value) in lowered(text) for call in earlier for _, text in call.leaves)


def is_dealt_with(stated: Anchor, evidence: Evidence) -> bool:
    """Return whether a call that changed something passed a stated value before the user's last message.

    The value belongs to that call, and the next one can be about another thing.
    """
    last = max((act.step for act in evidence.acts if act.talks), default=0)
    done = (act for act in evidence.acts if act.step < last and act.kind in _CHANGES and not act.failed)
    calls = (call for act in done for call in act.calls)
    passed = (anchor for call in calls for _, text in leaves(call.arguments) for anchor in read_anchors(str(text)))
    return any(same_value(stated, other) for other in passed)


_CHANGES = frozenset({Kind.CHANGING, Kind.PAYING, Kind.SENDING, Kind.DELETING})


def list_stated(evidence: Evidence) -> list[StatedValue]:
    """Return the values in all texts of the user, with repetitions."""
    found: list[StatedValue] = []
    for place, step, whole, start in evidence.user_texts:
        for anchor in read_anchors(whole[start:]):
            low, high = anchor.start + start, anchor.end + start
            near = whole[max(0, low - 6) : low] + " " + whole[high : high + 9]
            money = anchor.kind is AnchorKind.NUMBER and bool(_CURRENCY.search(near))
            before = lowered(whole[max(0, low - 40) : low])
            is_link = anchor.kind in (AnchorKind.LINK, AnchorKind.DIGITS)
            quote = Quote(whole[low:high], low, high, place, step)
            kept = is_keeping(before)
            excluded = is_excluding(before)
            is_open = bool(excluded or kept or _OPEN.search(before) or (is_link and _ORIGIN.search(before)))
            is_open |= anchor.kind is AnchorKind.DATE and bool(_TODAY.search(before))
            own = bool(_OWN.search(before))
            names = anchor.kind is AnchorKind.NUMBER and not money and bool(_NAMES.search(before))
            code = anchor.kind is AnchorKind.NUMBER and not money and bool(_POST_CODE.match(whole, low))
            found.append(StatedValue(anchor, quote, money, is_open, excluded, kept, own, names, code))
    return found


def each_once(values: Sequence[StatedValue]) -> list[StatedValue]:
    """Return the values without those that the user repeats, in the same or in a later text."""
    return [one for at, one in enumerate(values) if not any(same_value(one.anchor, by.anchor) for by in values[:at])]


def list_call_lines(evidence: Evidence) -> Iterator[Line]:
    """Yield the lines of the values that the pending calls pass, and of the user's words for their effects."""
    yield from _values_passed(evidence)
    for call in evidence.pending_calls:
        if call.effects & CHANGING and not runs_code(call):
            yield from _permission(call, evidence)


def _permission(call: TracedCall, evidence: Evidence) -> Iterator[Line]:
    """Yield the line with the user's own words for a call's effect, if the user wrote a known word for it."""
    shown = quote_action(evidence, call.call.name)
    found: list[tuple[int, Quote]] = []
    for place, step, whole, start in evidence.user_texts:
        for rank, low, high in find_requests(call.call, call.effects, whole[start:]):
            if not is_excluding(lowered(whole[max(0, start + low - 40) : start + low]), words=True):
                found.append((rank, Quote(whole[start + low : start + high], start + low, start + high, place, step)))
    if found:
        quote = min(found, key=lambda one: one[0])[1]
        asked = Requirement(RequirementKind.PERMISSION, call.call.name, quote.text, quote)
        yield Line(asked, Standing.MET, shown, ASKED)


def _values_passed(evidence: Evidence) -> Iterator[Line]:
    """Yield a line for each argument that the user stated, and for each stated value that the call does not pass.

    Of a call that runs code, only files, folders and addresses are compared.
    """
    met: list[Quote] = []
    for call in evidence.pending_calls:
        for one in call.arguments:
            named = one.source is Source.USER and not is_switch(one.value)
            quote = quote_user(evidence, one.value) if named else None
            is_said = quote is not None and quote.end > 0
            is_said = is_said and (is_place(one.value) or not runs_code(call))
            shown = quote_action(evidence, one.value) if is_said else None
            if quote and shown and shown.end > 0:
                met.append(quote)
                yield Line(
                    Requirement(_kind_of(one), one.name, one.value[:200], quote),
                    Standing.MET,
                    shown,
                    _rule_of(quote, evidence),
                )
    if evidence.pending_calls and not any(map(runs_code, evidence.pending_calls)):
        yield from _other_values(met, evidence)


def _other_values(met: Sequence[Quote], evidence: Evidence) -> Iterator[Line]:
    """Yield the lines of stated values that no line in `met` quotes."""
    passed = [anchor for call in evidence.pending_calls for _, text in call.leaves for anchor in read_anchors(text)]
    all_stated = list_stated(evidence)
    for stated in all_stated:
        plain = lowered(stated.quote.text)
        if not _is_figured(stated) or any(_overlaps(stated.quote, one) or plain in lowered(one.text) for one in met):
            continue
        kind = RequirementKind.THING if stated.is_post_code else KINDS[stated.anchor.kind]
        asked = Requirement(kind, "", stated.quote.text, stated.quote)
        alike = [one for one in all_stated if one.anchor.kind is stated.anchor.kind]
        same = next((other for other in passed if _passes(other, stated.anchor)), None)
        shown = quote_action(evidence, same.text) if same else None
        if shown and shown.end > 0:
            yield Line(asked, Standing.MET, shown, _rule_of(stated.quote, evidence))
        elif same or is_discussed(evidence) or any(_passes(other, one.anchor) for one in alike for other in passed):
            continue
        elif is_due(stated, evidence) and not (stated.is_open or lowered(stated.quote.text) in evidence.read_before):
            yield Line(asked, Standing.NOT_SHOWN, rule=CALLS)


def _rule_of(quote: Quote, evidence: Evidence) -> str:
    """Return REPEATED if the user's reply contains a value that a message of the agent contained before, else CALLS."""
    if quote.place is not QuotePlace.OBSERVATION or quote.step is None:
        return CALLS
    said = re.compile(rf"(?<![^\W_]){re.escape(lowered(quote.text))}(?![^\W_])")
    before = (act for act in evidence.acts if act.talks and act.step <= (quote.step or 0))
    return REPEATED if any(said.search(lowered(act.action)) for act in before) else CALLS


def _passes(passed: Anchor, stated: Anchor) -> bool:
    """Return whether a call passes a stated value; a folder does not pass the files in it."""
    return same_value(stated, passed) and not (
        stated.kind is AnchorKind.PATH and f"/{stated.value}".rpartition("/")[0].startswith(f"/{passed.value}")
    )


def _is_figured(stated: StatedValue) -> bool:
    """Return whether a stated value is not a number with a single digit."""
    is_small = stated.anchor.kind is AnchorKind.NUMBER and not re.search(r"\d\D*\d", stated.quote.text)
    return not is_small


def is_due(stated: StatedValue, evidence: Evidence) -> bool:
    """Return whether a pending change should pass a stated value: no earlier call passed the value, and the user did
    not exclude or keep the thing, or state the value as their own. Return False for a single digit.
    """
    if stated.is_excluded or stated.is_kept or stated.is_own:
        return False
    if not any(may_change(call, evidence) for call in evidence.pending_calls):
        return False
    said = lowered(stated.quote.text).strip("@#")
    return not any(said in lowered(act.action) for act in evidence.acts if not act.talks)


def _kind_of(one: Argument) -> RequirementKind:
    anchors = read_anchors(one.value)
    if PERSON.search(one.name):
        return RequirementKind.RECIPIENT
    if anchors and anchors[0].text.strip() == one.value.strip():
        is_id = anchors[0].kind is AnchorKind.NUMBER and ID_NAME.search(one.name)
        return RequirementKind.ID if is_id else KINDS[anchors[0].kind]
    return RequirementKind.ATTRIBUTE if PROSE.search(one.name) else RequirementKind.OPTION


def _overlaps(first: Quote, second: Quote) -> bool:
    same = (first.place, first.step) == (second.place, second.step)
    return same and first.start < second.end and second.start < first.end


@dataclass(frozen=True, slots=True)
class Case:
    """An argument with a new value, its call, all passed values, the stated values of its kind, and all stated
    values.
    """

    one: Argument
    call: TracedCall
    passed: tuple[Anchor, ...]
    stated: tuple[StatedValue, ...]
    all_stated: tuple[StatedValue, ...]
    evidence: Evidence

    @property
    def changes(self) -> bool:
        """True if the call changes data, or its effect is unknown."""
        return may_change(self.call, self.evidence)

    @property
    def from_tool(self) -> bool:
        """True if a tool returned the value."""
        return self.one.source is Source.TOOL

    @property
    def numbers(self) -> list[float]:
        """The numbers that the user stated."""
        return [float(one.anchor.value) for one in self.all_stated if one.anchor.kind is AnchorKind.NUMBER]


PERSON = PATTERNS["stated.person"]
"""The names of arguments for a person."""
SENDER = re.compile(r"^(?:from|sender|source|reply_?to|author|owner)", re.IGNORECASE)
"""The names of arguments for a sender or an origin."""
_WITHOUT_CAPITALS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0590-\u06ff\u0e00-\u0e7f\u0900-\u097f]")
_CAPITAL_WORD = re.compile(
    r"(?<![.!?:;\n]\s)(?<!^)(?<![^\W_])[^\W\d_](?:[^\W\d_]|['’-](?=[^\W\d_])){1,30}(?!-?\w)", re.M
)
_LATIN, _CODE = re.compile(r"[a-z]"), re.compile(r"[A-Z]{2,4}")
"""A short name in capitals, such as an airport code or a country code, which users seldom write."""
_NAME = re.compile(r"[^\W\d_][^\d_@#/\\:;,(){}\[\]<>=*\"]{1,40}")


def recipient_replaced(evidence: Evidence) -> Finding | None:
    """Find a recipient, or a full name in any argument, that the agent named instead of the one that the user named."""
    for call in evidence.pending_calls:
        for one in call.arguments:
            stated = find_name_left_out(one, call, evidence)
            is_full = stated is not None and " " in stated.text and " " in one.value.strip()
            if stated is not None and (is_full or PERSON.search(one.name)):
                told = f'The user named "{one_line(stated.text, 60)}"; the call passes `{one.name}`: '
                line = broken(RequirementKind.RECIPIENT, one.name, stated, quote_action(evidence, one.value))
                return Finding(1.0, f"{told}{one_line(one.value, 60)}.", (one.value,), line)
    return None


_CHOSEN = (Source.AGENT,)


def find_name_left_out(
    one: Argument, call: TracedCall, evidence: Evidence, sources: Sequence[Source] = _CHOSEN
) -> Quote | None:
    """Return the name that the user stated and no call passes, if an entirely different name comes from `sources`."""
    value, said = one.value.strip(), evidence.said
    if not is_new_name(one, evidence, sources):
        return None
    if has_no_capitals(value) and has_no_capitals(said):
        is_person = PERSON.search(one.name) and call.effects & {Effect.PAY, Effect.SEND}
        return quote_request(evidence) if is_person else None
    passed = "\n".join([*(text for _, text in call.leaves), *(act.action for act in evidence.acts if not act.talks)])
    names, end = list[str](), -1
    for word in (
        word for word in _CAPITAL_WORD.finditer(said) if word[0][0].isupper() and not _CODE.fullmatch(word[0])
    ):
        names[-1:] = [f"{names[-1]} {word[0]}"] if said[end : word.start()] == " " else [*names[-1:], word[0]]
        end = word.end()
    # A full name is a person's sooner than a single word, such as a month.
    own = (name for name in names if bool(_LATIN.search(_folded(name))) == bool(_LATIN.search(_folded(value))))
    left = sorted((name for name in own if not has_word_of(name, passed)), key=lambda name: " " in name)
    return quote_user(evidence, left[-1]) if left else None


def is_new_name(one: Argument, evidence: Evidence, sources: Sequence[Source] = _CHOSEN) -> bool:
    """Return whether an argument's value comes from `sources` and is a name of which the user wrote no word."""
    value = one.value.strip()
    is_name = bool(_NAME.fullmatch(value)) and (value[0].isupper() or has_no_capitals(value))
    is_chosen = one.source in sources and not (PROSE.search(one.name) or _CODE.fullmatch(value))
    return is_name and is_chosen and not has_word_of(value, evidence.said)


def has_no_capitals(text: str) -> bool:
    """Return whether a text is in a script without capital letters, at least in part."""
    return _WITHOUT_CAPITALS.search(text) is not None


def has_word_of(value: str, text: str) -> bool:
    """Return whether a text has a word of a value in any form: a word that begins alike, up to the last two letters."""
    start, least = ("", 2) if has_no_capitals(value) else (r"(?<![^\W_])", 3)
    tokens: list[str] = re.findall(r"[^\W\d_]{2,}", _folded(value))
    stems = (token[: max(least if len(token) > 3 else 2, len(token) - 2)] for token in tokens)
    return any(re.search(start + stem, _folded(text)) for stem in stems)


@lru_cache(maxsize=256)
def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in plain if unicodedata.category(c)[0] != "M").replace("ß", "ss")
