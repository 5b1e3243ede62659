"""Checks of numbers in a call that replace a number stated by the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from console.detection.detectors.rules.finding import (
    PATTERNS,
    Finding,
    broken,
    find_quotes,
    one_line,
    quote_action,
    quote_user,
    words_after,
)
from console.detection.detectors.rules.stated import (
    ID_NAME,
    PROSE,
    Case,
    StatedValue,
    is_discussed,
    is_offered,
    is_offered_since,
    list_stated,
    may_change,
)
from console.environments.evidence import Evidence
from console.trajectory.effects import Effect
from console.trajectory.provenance import Argument, Source, figure_value, is_figure
from console.trajectory.requirements import Quote, RequirementKind, text_at
from console.trajectory.requirements.anchors import Anchor, AnchorKind, is_converted, read_anchors, same_value
from console.trajectory.terms import lowered
from console.trajectory.tools import fold_letters

_COUNTED = PATTERNS["numbers.counted"]
_SETTING = PATTERNS["numbers.setting"]
_STATEMENT = re.compile(r"^(?:sql|statement|command|cmd)$|_sql$", re.IGNORECASE)
_SUMS = PATTERNS["numbers.sums"]
_SHARES = PATTERNS["numbers.shares"]
_MOST_SHARES = 12


def find_number(new: Anchor, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    """Return the stated number that a new number replaces, or None."""
    one, value = case.one, float(new.value)
    if _STATEMENT.search(one.name):
        return _in_statement(left, case)
    is_prose = bool(PROSE.search(one.name))
    if not is_prose and one.value.strip().lstrip("#") != new.text.strip().lstrip("#"):
        return None
    listed = sum(name == one.name for name, _ in case.call.leaves) > 1
    if listed or _SETTING.search(one.name):
        return None
    if not (is_prose or ID_NAME.search(one.name)):
        left = [each for each in left if not each.is_name]
    hours = {int(part) % 12 for anchor in case.passed if anchor.kind is AnchorKind.TIME for part in [anchor.value[:2]]}
    left = [each for each in left if int(each.number) % 12 not in hours or each.is_money]
    # The first day of a range has no month: "from 3 to 7 July".
    dates = [one.quote for one in case.all_stated if one.anchor.kind is AnchorKind.DATE]
    left = [each for each in left if not any(_begins_range(each.quote, one, case.evidence) for one in dates)]
    left = [each for each in left if not (_is_in_other_unit(value, each) or _is_of_another_kind(each, case))]
    if _SUMS.search(one.name) and any(_is_percentage(each, case) for each in case.stated):
        # What the percentage is of may be known to the agent alone.
        left = [each for each in left if is_mistaken(value, each.number)]
    if is_discussed(case.evidence):
        # What was said in an earlier turn is about what was done then, unless it is the same figure with a slip.
        left = [each for each in left if each.is_money or is_mistaken(value, each.number) or _is_about_call(each, case)]
    if _is_derived(value, case) or (0 < value < 1 and any(abs(value * 100 - said) < 1e-6 for said in case.numbers)):
        # A share of 0.05 is the stated 5%.
        return None
    if is_prose:
        alike = [each for each in left if each.number >= 10 and is_mistaken(value, each.number)]
        return alike[0] if len(alike) == 1 == len(left) else None
    if ID_NAME.search(one.name):
        # A count ("the 3 latest") names no thing; an id has two digits or more, and a post code not those of an order.
        named = [each for each in left if not each.is_money and each.number >= 10]
        named = [each for each in named if abs(len(each.anchor.value) - len(new.value)) <= 1]
        is_sure = len(case.stated) == 1 or (named and is_mistaken(value, named[0].number))
        return named[0] if len(named) == 1 and is_sure else None
    return _counted(value, left, case)


def _begins_range(number: Quote, day: Quote, evidence: Evidence) -> bool:
    """Return whether only a word such as "to" stands between a number and a date, so that it begins a range of days."""
    is_near = (number.place, number.step) == (day.place, day.step) and 0 < day.start - number.end < _LONGEST_GAP
    return is_near and _TO.fullmatch(words_after(number, evidence, day.start - number.end)) is not None


def _is_of_another_kind(stated: StatedValue, case: Case) -> bool:
    """Return whether a stated number is a person's age, part of a fraction, or a percentage of a passed sum."""
    after = words_after(stated.quote, case.evidence, _LONGEST_GAP)
    is_age = _OLD.match(after) and not _AGE.search(case.one.name)
    return bool(is_age or _FRACTION.match(after) or (_SUMS.search(case.one.name) and _is_percentage(stated, case)))


def _is_percentage(stated: StatedValue, case: Case) -> bool:
    """Return whether a stated number is a percentage that the argument's name does not ask for."""
    after = words_after(stated.quote, case.evidence, _LONGEST_GAP).lstrip()
    return bool(_PERCENT.match(after)) and not _RATE.search(case.one.name)


_OLD, _AGE, _FRACTION, _RATE = (PATTERNS[f"numbers.{name}"] for name in ("old", "age", "fraction", "rate"))


def _is_about_call(stated: StatedValue, case: Case) -> bool:
    """Return whether the user's last message states a value, or an earlier one, if the call passes its other values.

    A message before a change is about that change.
    """
    evidence, said_in = case.evidence, stated.quote.step or 0
    if said_in == max(act.step for act in evidence.acts if act.talks):
        return True
    if any(said_in < call.step < evidence.pending.step for call in evidence.tool_calls):
        return False
    named = (quote_user(evidence, one.value) for one in case.call.arguments if one.source is Source.USER)
    passed = (one.quote for one in case.all_stated if any(same_value(one.anchor, other) for other in case.passed))
    return any(quote.end > 0 and (quote.step or 0) == said_in for quote in (*named, *passed))


def _counted(value: float, left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    one = case.one
    money = [each for each in left if each.is_money]
    if _COUNTED.search(one.name):
        if case.from_tool:
            return money[0] if len(money) == len(case.stated) and Effect.PAY in case.call.effects else None
        if len(case.stated) == 1 or len(money) == 1:
            others = [each for each in left if not each.is_money]
            return others[0] if len(others) == 1 and not _SUMS.search(one.name) else next(iter(money or left), None)
    if case.from_tool or not case.changes:
        return None
    read = {other.value.strip() for other in case.call.arguments if other.source is Source.TOOL}
    numbers = [anchor for anchor in case.passed if anchor.kind is AnchorKind.NUMBER and anchor.text not in read]
    new = {anchor.value for anchor in numbers if not any(same_value(each.anchor, anchor) for each in case.all_stated)}
    if len(left) != 1 or len(new) != 1:
        return None
    is_same = _COUNTED.search(one.name) or is_mistaken(value, left[0].number) or _is_bound(one.name, left[0], case)
    return left[0] if is_same else None


def is_mistaken(value: float, said: float) -> bool:
    """Return whether a number is probably a slip: swapped digits, an extra or missing digit, or a factor 10 to 1000."""
    if not value or not said:
        return False
    scale = max(value, said) / min(value, said)
    first, second = (f"{number:.10g}".replace(".", "") for number in (value, said))
    if any(abs(scale - ten) < 1e-9 for ten in (10.0, 100.0, 1000.0)) or sorted(first) == sorted(second):
        return True
    short, long = sorted((first, second), key=len)
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _is_bound(name: str, stated: StatedValue, case: Case) -> bool:
    """Return whether the argument's name contains the noun that follows the stated number."""
    place = text_at(case.evidence.checkpoint, stated.quote.place, stated.quote.step) or ""
    after = re.match(r"[\s-]*([^\W\d_]{4,30})", lowered(place[stated.quote.end : stated.quote.end + 40]))
    return after is not None and after[1].rstrip("s")[:6] in lowered(name)


def _is_in_other_unit(value: float, stated: StatedValue) -> bool:
    said = stated.number
    if not stated.is_money:
        return is_converted(value, said)
    low, high = sorted((abs(value), abs(said)))
    return bool(low) and abs(high / low - 100) < 1e-6


def _is_derived(value: float, case: Case) -> bool:
    """Return whether a number is the sum, difference, product or quotient of stated numbers. Return True also for an
    equal share of a stated number, or a stated number times a returned price.
    """
    said = list(dict.fromkeys(case.numbers))[:12]
    if is_priced(value, said, case.evidence.read_before):
        return True
    for first, second in combinations(said, 2):
        found = {first + second, abs(first - second), first * second}
        found |= {first / second} if second else set()
        found |= {second / first} if first else set()
        if _PERCENT.search(case.evidence.user):
            parts = {part for pair in ((first, second), (second, first)) for part in _percentages(*pair)}
            # Whole amounts are often rounded percentages.
            found |= {value for part in parts if value.is_integer() and abs(value - part) < 1} | parts
        if any(abs(value - each) < 0.005 for each in found):
            return True
    if not _SHARES.search(f"{lowered(case.one.name)} {lowered(case.evidence.user)}"):
        return False
    shares = range(2, _MOST_SHARES + 1)
    return any(abs(value - each / share) < 0.005 for each in said for share in shares)


def _percentages(share: float, whole: float) -> set[float]:
    """Return a share in percent of a number, the rest, the number with it, and the number and share without it."""
    return {
        whole * share / 100,
        whole * (100 - share) / 100,
        whole * (100 + share) / 100,
        whole * 100 / (100 + share),
        whole * share / (100 + share),
    }


_PERCENT = re.compile(r"%|％|\bper ?cent|prozent|por ?cento|por ciento|pour ?cent|per cento|процент|퍼센트|パーセント")
_LONGEST_GAP = 12
_TO = re.compile(
    r"\.?\s?(?:[-–—~]|to|until|through|bis|au?|al|até|à|do|tot|till|and|und|et|y|e|i|до|по|到|至|から)"
    r"\s?(?:(?:the|le|el|il|zum) )?"
)


def is_priced(value: float, counts: Sequence[float], read: str) -> bool:
    """Return whether a number is one of the counts times a figure that was read."""
    prices = (f"{round(value / count, 4):.10g}" for count in counts if count > 1)
    return any(re.search(rf"(?<![\d.]){re.escape(price)}(?![\d.])", read) for price in prices)


def number_repeated(evidence: Evidence) -> Finding | None:
    """Find two counts in a call with the same stated number if the user stated another number for one of them."""
    stated = [one for one in list_stated(evidence) if one.anchor.kind is AnchorKind.NUMBER]
    if is_discussed(evidence) or any(one.is_open or one.is_money or one.is_name for one in stated):
        return None
    said = [one.number for one in stated]
    for call in (call for call in evidence.pending_calls if may_change(call, evidence)):
        passed = [figure_value(text) for _, text in call.leaves if is_figure(text)]
        left = [one for one in stated if one.number not in passed]
        counts = [one for one in call.arguments if _COUNTED.search(one.name) and is_figure(one.value)]
        twice = [
            one for one in counts if said.count(figure_value(one.value)) == 1 < passed.count(figure_value(one.value))
        ]
        is_sum = any(2 * figure_value(one.value) == each.number for one in twice for each in left)
        if len(left) == 1 and len(twice) == 2 and len(stated) == 2 and not is_sum:
            names = " and ".join(f"`{one.name}`" for one in twice)
            line = broken(RequirementKind.AMOUNT, twice[0].name, left[0].quote, quote_action(evidence, twice[0].value))
            told = (
                f'The user also stated the number "{left[0].quote.text}"; the call passes {twice[0].value} as {names}.'
            )
            return Finding(1.0, told, (twice[0].value,), line)
    return None


def value_corrected(evidence: Evidence) -> Finding | None:
    """Find a value that the user stated first and corrected in a later message."""
    stated = list_stated(evidence) if is_discussed(evidence) else []
    for call in (call for call in evidence.pending_calls if may_change(call, evidence)):
        passed = [anchor for _, text in call.leaves for anchor in read_anchors(text)]
        for one in (one for one in call.arguments if one.source is Source.USER and not PROSE.search(one.name)):
            found = _correction(one.value, passed, stated, evidence)
            if found is not None:
                line = broken(RequirementKind.AMOUNT, one.name, found.quote, quote_action(evidence, one.value))
                told = f'The user corrected this to "{found.quote.text}"; the call passes `{one.name}`: {one.value}.'
                return Finding(1.0, told, (one.value,), line)
    return None


def _correction(
    value: str, passed: Sequence[Anchor], stated: Sequence[StatedValue], evidence: Evidence
) -> StatedValue | None:
    """Return the value of the user's only later message with words of correction, if it is like `value`, or None."""
    own = [anchor for anchor in read_anchors(value) if anchor.text == value.strip()]
    said = max((each.quote.step or 0 for each in stated if own and same_value(each.anchor, own[0])), default=None)
    if said is None:
        return None
    later = [each for each in stated if (each.quote.step or 0) > said and each.anchor.kind is own[0].kind]
    if len(later) != 1 or later[0].is_open or any(same_value(later[0].anchor, other) for other in passed):
        return None
    if is_offered_since(value, later[0].quote.step or 0, evidence):
        return None
    text = text_at(evidence.checkpoint, later[0].quote.place, later[0].quote.step) or ""
    is_alike = own[0].kind in _CLOCK or _is_misread(own[0].value, later[0].anchor.value)
    corrects = _CORRECTS.search(lowered(text)) and not _ADDS.search(lowered(text))
    return later[0] if is_alike and corrects else None


_CLOCK = frozenset({AnchorKind.DATE, AnchorKind.TIME})
_ADDS, _CORRECTS = PATTERNS["numbers.adds"], PATTERNS["numbers.corrects"]


def _is_misread(first: str, second: str) -> bool:
    """Return whether two texts of three characters or more have the same characters, or differ in one or two."""
    if len(first) < 3 or len(first) != len(second):
        return False
    return sorted(first) == sorted(second) or sum(map(str.__ne__, first, second)) <= 2


def text_within(evidence: Evidence) -> Finding | None:
    """Find a text in a call that is the user's own except for one number or one word of a name."""
    for call in (call for call in evidence.pending_calls if may_change(call, evidence)):
        texts = "\n".join(lowered(text) for _, text in call.leaves)
        for one in call.arguments:
            value = one.value.strip()
            is_own = one.source in (Source.TOOL, Source.AGENT) and " " in value and not PROSE.search(one.name)
            if is_own and len(value) <= _LONGEST and not is_offered(value, evidence):
                alike = [*_list_alike(lowered(value), evidence), *(_list_namesakes(one, evidence))]
                stated = next((quote for quote in alike if lowered(quote.text) not in texts), None)
                if stated is not None:
                    line = broken(RequirementKind.ID, one.name, stated, quote_action(evidence, one.value))
                    told = f'The user stated "{one_line(stated.text, 60)}"; the call passes `{one.name}`: '
                    return Finding(1.0, f"{told}{one_line(one.value, 60)}.", (one.value,), line)
    return None


def _list_alike(value: str, evidence: Evidence) -> Iterator[Quote]:
    """Yield the user's words that are a value except for one number, which is a slip beside fewer than two words."""
    parts, own = re.split(r"\d+", value), re.findall(r"\d+", value)
    if len(own) != 1 or not re.search(r"[^\W\d_]{3}", value):
        return
    is_long = len(re.findall(r"[^\W\d_]{3,}", value)) > 1
    form = re.compile(rf"(?<![^\W_]){re.escape(parts[0])}(\d{{1,15}}){re.escape(parts[1])}(?![^\W_])")
    for quote in find_quotes(form, evidence, lower=True):
        said = quote.text[len(parts[0]) : len(quote.text) - len(parts[1])]
        # The next number can be asked for, as that of a next version.
        is_other = is_long and abs(int(own[0]) - int(said)) > 1
        if own[0] != said and (is_other or is_mistaken(float(own[0]), float(said))):
            yield quote


def _list_namesakes(one: Argument, evidence: Evidence) -> Iterator[Quote]:
    """Yield the user's names that differ from the agent's name in one word."""
    words = one.value.split()
    if one.source is not Source.AGENT or not 1 < len(words) < _MOST_WORDS:
        return
    for at in (at for at, word in enumerate(words) if _NAMED.fullmatch(word)):
        if any(_NAMED.fullmatch(word) for word in words[:at] + words[at + 1 :]):
            before, after = (re.escape(" ".join([*words[:at], ""])), re.escape(" ".join(["", *words[at + 1 :]])))
            form = re.compile(rf"(?<![.!?:\n]\s)(?<!^)(?<![^\W_]){before}({_NAMED.pattern}){after}(?![^\W_])", re.M)
            quotes = find_quotes(form, evidence)
            yield from (one for one in quotes if not _is_inflected(one.text.split()[at], words[at]))


def _is_inflected(word: str, name: str) -> bool:
    """Return whether two words begin alike, as the forms of a name do in many languages."""
    return fold_letters(word)[:_ALIKE] == fold_letters(name)[:_ALIKE]


_ALIKE = 3
_NAMED = re.compile(r"[^\W\d_a-zß-ÿ][^\W\d_]{2,30}")
_MOST_WORDS = 6
_LONGEST = 120


def _in_statement(left: Sequence[StatedValue], case: Case) -> StatedValue | None:
    """Return the only stated number from 10 upwards that a statement leaves out, if one new number replaces it."""
    own = [float(anchor.value) for anchor in read_anchors(case.one.value) if anchor.kind is AnchorKind.NUMBER]
    said = [value.number for value in case.stated]
    named = [value for value in left if value.number >= 10]
    return named[0] if len(named) == 1 == len([number for number in own if number not in said]) else None
