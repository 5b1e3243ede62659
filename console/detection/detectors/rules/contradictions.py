"""Checks of arguments that contradict the user's statement about the same thing, whatever a tool returned; or that
touch a thing that the user excluded or wanted to keep ("do not cancel order 13").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from console.detection.detectors.rules.exclusions import is_leaving, is_unwanted, latest
from console.detection.detectors.rules.finding import (
    PATTERNS,
    Finding,
    broken,
    find_quotes,
    one_line,
    quote_action,
    quote_result,
    quote_user,
    words_before,
)
from console.detection.detectors.rules.stated import (
    ID_NAME,
    PROSE,
    StatedValue,
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
from console.trajectory.effects import CHANGING, Effect, is_verb
from console.trajectory.provenance import Argument, Source, figure_value, is_figure
from console.trajectory.requirements import Line, Quote, RequirementKind
from console.trajectory.requirements.anchors import AnchorKind, read_anchors, same_value
from console.trajectory.terms import FUNCTION_WORDS, MONEY, Term, TermKind, lowered
from console.trajectory.tools import list_words

_FORMS = {
    "address": re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}"),
    "URL": re.compile(r"(?:https?://|www\.)[^\s\"'<>,;){}]{3,200}[^\s\"'<>,;).!?{}]"),
    "account": re.compile(r"\b[a-z]{2}\d{2}[a-z0-9]{10,30}\b"),
    "path": re.compile(
        r"(?<![\w@:/.])(?:~|\.{1,2})?(?:/[\w.-]{0,79}[\w-]){2,12}|(?<![\w@:/.-])[\w-]{1,80}\.[a-z]{2,4}\b(?!\.?\w)"
    ),
    "date": re.compile(r"\b\d{4}-\d{2}-\d{2}\b"),
    "street": re.compile(r"\b\d{1,5} [a-z]{2,20}(?: [a-z]{2,20}){0,3}(?:, [a-z]{2,30})?"),
    "id": re.compile(r"\b[a-z]{1,5}[-_#]\d{2,12}\b"),
}
"""The written form of a value of each kind, in lower case."""
_RECEIVES = PATTERNS["contradictions.receives"]
"""The words before a stated recipient; an address without these words may not be a recipient."""
_IS_OPEN = re.compile(r"\b(?:after|before|since|until|till|between|from|by|earliest|latest|around|about|any|or)\s+$")
_SUM = re.compile(r"amount|refund|payment$|value$|^sum$|deposit|donation", re.IGNORECASE)
_PRICE = re.compile(r"price|total|cost|fee|amount|sum\b|rate$", re.IGNORECASE)
_COUNT = re.compile(r"quantity|qty|count$|^number_of_|^num_|shares|copies|tickets|guests|passengers", re.IGNORECASE)
_PAID = PATTERNS["contradictions.paid"]
_DELIVERED = re.compile(r"\b(?:deliver|ship|send|bring)\b[^.!?]{0,40}\bto\s+(?:the\s+)?$")
_PERSON = re.compile(r"^(?:to|cc|bcc|user(?:name)?)$|recipient|receiver|payee|beneficiary|friend|attendee|guest|member")
_NAME = re.compile(r"[^\W\d_][^\W\d_'’-]{1,30}(?: [^\W\d_][^\W\d_'’-]{1,30}){0,2}")
_TO_NAME = re.compile(r"\b(?:to|for)\s+([^\W\d_][^\W\d_'’-]{1,30})\b")


@dataclass(frozen=True, slots=True)
class _Stated:
    """A statement of the user that contradicts an argument: its kind (such as `amount`) and its text."""

    kind: str
    text: str


def contradicts_user(evidence: Evidence) -> Finding | None:
    """Find an argument from a tool's result although the user stated another value for the same thing."""
    for call in evidence.pending_calls:
        for one in call.arguments:
            if one.source is not Source.TOOL:
                continue
            for read in _READERS:
                stated = read(one, call, evidence)
                if stated is not None:
                    stated = replace(stated, text=quote_user(evidence, stated.text).text or stated.text)
                    # In a conversation the user speaks of sums that a call need not pass.
                    is_open = stated.kind == "amount" and is_discussed(evidence)
                    line = None if is_open else _line(one, stated, evidence)
                    return Finding(1.0, _sentence(one, stated), (one.value,), line)
    return None


def _line(one: Argument, stated: _Stated, evidence: Evidence) -> Line:
    shown = quote_result(evidence, one.value, one.step or 0)
    shown = shown if shown.end > 0 else quote_action(evidence, one.value)
    return broken(_KINDS.get(stated.kind, RequirementKind.OPTION), one.name, quote_user(evidence, stated.text), shown)


_KINDS = {
    "amount": RequirementKind.AMOUNT,
    "quantity": RequirementKind.AMOUNT,
    "limit": RequirementKind.LIMIT,
    "date": RequirementKind.DATE,
    "id": RequirementKind.ID,
    "path": RequirementKind.ID,
    **dict.fromkeys(("address", "URL", "account", "street", "recipient"), RequirementKind.RECIPIENT),
}


def _sentence(one: Argument, stated: _Stated) -> str:
    returned = f"{one.tool} returned" if one.tool else "was read"
    value = one_line(one.value, 60)
    return (
        f'The user stated the {stated.kind} "{one_line(stated.text, 60)}"; '
        f"the call passes `{one.name}`: {value}, which {returned} in step {one.step}."
    )


def _of_form(one: Argument, call: TracedCall, evidence: Evidence) -> _Stated | None:
    """Return a value that the user stated in the same form, if the call leaves it out or adds a recipient to it."""
    value, passed = lowered(one.value).strip(), _passed(call)
    is_compared = call.effects & _TOUCHES and not is_handled_before(one.value, evidence)
    if _FORMS["path"].fullmatch(value) and not is_compared:
        return None
    untouched = [
        one.anchor
        for one in list_stated(evidence)
        if one.is_excluded or one.is_kept or (one.is_open and one.anchor.kind is AnchorKind.DATE)
    ]
    for kind, form in _FORMS.items():
        if not form.fullmatch(value):
            continue
        receives = names_recipient(one.name) and kind in ("address", "URL", "account")
        if kind == "URL" and call.effects == {Effect.READ}:
            # A page may lead to others.
            return None
        for match in form.finditer(evidence.user):
            before = evidence.user[max(0, match.start() - 60) : match.start()]
            if _is_same(match[0], value) or _IS_OPEN.search(before):
                continue
            said = read_anchors(match[0])
            if any(same_value(one, other) for one in untouched for other in said):
                continue
            if any(is_dealt_with(other, evidence) for other in said):
                continue
            if kind == "path" and file_ending(match[0]) != file_ending(value):
                continue
            if kind == "street" and not _DELIVERED.search(before):
                continue
            if receives and is_handled_before(match[0], evidence):
                continue
            if receives and _RECEIVES.search(before):
                return _Stated(kind, match[0])
            if not receives and not any(_is_same(match[0], other) for other in passed):
                return _Stated(kind, match[0])
        return None
    return None


_TOUCHES = CHANGING - {Effect.RUN}


_TOTAL = re.compile(r"\b(?:total|altogether|overall)\b[^\w.!?]*$")
"""The words before a sum of several amounts."""


def _amount(one: Argument, call: TracedCall, evidence: Evidence) -> _Stated | None:
    if not is_figure(one.value) or not _PRICE.search(one.name):
        return None
    value = figure_value(one.value)
    limits = [term for term in evidence.terms if term.kind is TermKind.PRICE_MAX]
    for term in limits:
        if value > float(term.value):
            return _Stated("limit", term.text)
    if limits or not _SUM.search(one.name):
        return None
    of_name = [figure_value(text) for name, text in call.leaves if name == one.name and is_figure(text)]
    said = [(match[0], match.start()) for match in re.finditer(MONEY, evidence.user)]
    said += [(match[1], match.start(1)) for match in _PAID.finditer(evidence.user)]
    sums = [(text, figure_value(text)) for text, at in said if not _TOTAL.search(evidence.user[max(0, at - 20) : at])]
    passed = {figure_value(text) for text in _passed(call) if is_figure(text)} | {sum(of_name)}
    left = [text for text, figure in sums if figure not in passed]
    return _Stated("amount", left[0]) if left and len(left) == len(sums) else None


def _quantity(one: Argument, call: TracedCall, evidence: Evidence) -> _Stated | None:
    if not is_figure(one.value) or not _COUNT.search(one.name):
        return None
    stated: list[Term] = [term for term in evidence.terms if term.kind is TermKind.QUANTITY]
    passed = {figure_value(text) for text in _passed(call) if is_figure(text)}
    differs = stated and not any(float(term.value) in passed for term in stated)
    return _Stated("quantity", stated[0].text) if differs else None


def _recipient(one: Argument, call: TracedCall, evidence: Evidence) -> _Stated | None:
    """Return the recipient that the user named for a message or payment, if the call passes another name."""
    value = lowered(one.value).strip()
    if not _PERSON.search(one.name.lower()) or not _NAME.fullmatch(value):
        return None
    names = [name for name in _TO_NAME.findall(evidence.user) if _is_person(name, call, evidence)]
    others = " ".join(_passed(call))
    left = [name for name in names if name not in others and name not in value]
    return _Stated("recipient", left[0]) if left and len(left) == len(names) else None


def _is_person(word: str, call: TracedCall, evidence: Evidence) -> bool:
    """Return whether a word can name a person: not a verb, not a word of a tool's name, and written like a name."""
    between_others = rf"(?:\bfrom \w+|['’]s (?:\w+ )?\w+) to {word}\b"
    if word in FUNCTION_WORDS or is_verb(word) or re.search(between_others, evidence.user):
        return False
    tools = {call.call.name, *(act.name for act in evidence.acts), *(tool.name for tool in evidence.checkpoint.tools)}
    if any(word in list_words(name) for name in tools):
        return False
    name = re.compile(rf"\b(?:[Tt]o|[Ff]or)\s+{re.escape(word.capitalize())}(?![\w'’])")
    said = [whole[start:] for _, _, whole, start in evidence.user_texts]
    # Some people write without capitals.
    return any(map(name.search, said)) or not any(c.isupper() for text in said for c in text)


def _named_value(one: Argument, call: TracedCall, evidence: Evidence) -> _Stated | None:
    """Return the value that the user stated after the argument's own name (`the branch fix-login`)."""
    noun = lowered(one.name).replace("_", " ")
    if len(noun) < 3 or " " in noun or is_figure(one.value):
        return None
    pattern = rf"\b(?:the|as|role of|new)\s+{re.escape(noun)}\s+(?:called\s+|named\s+)?[\"']?([\w][\w./-]{{1,60}}[\w])"
    found = [
        word
        for word in re.findall(pattern, evidence.user)
        # A verb after the noun describes the thing (`the channel starting with`) and does not name it.
        if word not in FUNCTION_WORDS and not is_verb(word) and not re.fullmatch(r"[a-z]+(?:ing|ed)", word)
    ]
    # What an earlier call looked for is not what the agent makes now.
    passed = " ".join([*_passed(call), *map(lowered, _earlier_values(evidence))])
    left = [word for word in found if word not in passed]
    return _Stated(noun, left[0]) if left and len(left) == len(found) else None


_READERS: tuple[Callable[[Argument, TracedCall, Evidence], _Stated | None], ...] = (
    _of_form,
    _amount,
    _quantity,
    _recipient,
    _named_value,
)


def _earlier_values(evidence: Evidence) -> list[str]:
    """Return the values that earlier calls passed."""
    calls = (call for act in evidence.acts if not act.talks for call in act.calls)
    return [value for call in calls for _, value in leaves(call.arguments)]


def _passed(call: TracedCall) -> list[str]:
    return [lowered(value).strip() for _, value in call.leaves]


def _is_same(stated: str, value: str) -> bool:
    first, second = (re.sub(r"[\s()-]", "", text) for text in (stated, value))
    return first in second or second in first


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
            found = found or _switch_excluded(one, evidence)
            if found is not None:
                return _told(one, found, evidence)
    return None


def _switch_excluded(one: Argument, evidence: Evidence) -> Quote | None:
    """Return the user's words for what a switch turns on, if the user's last words on it exclude it."""
    words = list_words(one.name)
    names = [word for word in words if len(word) > _MOST_WORDS and not is_verb(word)] or words
    if lowered(one.value) not in ("true", "yes", "on") or not names or not _NEGATED.isdisjoint(words):
        return None
    said = latest(find_quotes(re.compile(rf"(?<![^\W_]){re.escape(names[-1])}"), evidence, lower=True))
    is_left = (is_unwanted(one, evidence, removes=False) or is_leaving(words_before(one, evidence)) for one in said)
    return said[0] if said and all(is_left) else None


_NEGATED = frozenset(
    {"no", "not", "non", "without", "skip", "exclude", "omit", "ignore", "disable", "decline", "remove"}
)


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
        if value.is_excluded and not meant and is_figure(one.value) and _is_left_out(others, call):
            return value.quote
    return None


def _is_left_out(stated: Sequence[StatedValue], call: TracedCall) -> bool:
    """Return whether a call leaves out a number that the user stated."""
    passed = [anchor for _, text in call.leaves for anchor in read_anchors(text)]
    numbers = [value for value in stated if value.anchor.kind is AnchorKind.NUMBER and not value.is_open]
    return any(not any(same_value(value.anchor, other) for other in passed) for value in numbers)


def _word_excluded(one: Argument, call: TracedCall, evidence: Evidence) -> Quote | None:
    """Return the user's word in a short argument if the user mentioned the word only to exclude or keep a thing."""
    value = lowered(one.value).strip()
    tokens = _WORD.findall(value)
    if not tokens or len(value.split()) > _MOST_WORDS or read_anchors(one.value):
        return None
    found: Quote | None = None
    removes = Effect.DELETE in call.effects
    for token in dict.fromkeys((value, *tokens)):
        if token in FUNCTION_WORDS:
            continue
        said = latest(find_quotes(re.compile(rf"(?<![^\W_]){re.escape(token)}"), evidence, lower=True))
        if not all(is_unwanted(quote, evidence, removes=removes) for quote in said):
            return None
        found = found or next(iter(said), None)
        if found and token == value:
            break
    return found if found and one.value not in _earlier_values(evidence) else None
