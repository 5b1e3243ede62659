"""Checks of items and options in a call against the values that a tool's result lists beside them, in any language.

If the user named some items of a list, the call adds no others. If a result lists the option that the user named and
the option that the call passes, the call must pass the user's option.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from console.detection.detectors.rules.exclusions import is_leaving
from console.detection.detectors.rules.finding import (
    PATTERNS,
    Finding,
    broken,
    one_line,
    quote_action,
    quote_user,
    words_before,
)
from console.detection.detectors.rules.replaced import RivalSet, Value, list_named_instead
from console.detection.detectors.rules.stated import (
    PERSON,
    PROSE,
    is_handled_before,
    is_new_name,
    is_offered,
    list_stated,
    may_change,
    runs_code,
)
from console.environments.evidence import Evidence
from console.environments.tool_use import TracedCall
from console.trajectory.call_values import leaves
from console.trajectory.provenance import Argument, Source, is_figure
from console.trajectory.requirements import Quote, RequirementKind
from console.trajectory.requirements.anchors import AnchorKind
from console.trajectory.terms import lowered

_ALL = PATTERNS["records.all"]
_OF_A_STATE, _COUNTED = PATTERNS["listed.of_a_state"], PATTERNS["numbers.counted"]
_LABELS = PATTERNS["listed.labels"]
_LONGEST_LIST, _MOST_LISTED, _LONGEST_OPTION = 60_000, 60, 60
_APART = re.compile(r"\s*[,;|\n\[\]]\s*|:\s+")


def item_added(evidence: Evidence) -> Finding | None:
    """Find an item of a list in a call that the user did not name beside the items that the user named."""
    if _ALL.search(evidence.user):
        return None
    for call in evidence.pending_calls:
        if not may_change(call, evidence) or runs_code(call):
            continue
        for items in _list_items(call):
            named = [one for one in items if one.source is Source.USER and quote_user(evidence, one.value).end > 0]
            added = [one for one in items if _is_added(one, named, evidence)]
            if named and added and not _is_counted(len(items), evidence):
                return _told_item(added[0], named[0], evidence)
    return None


def _list_items(call: TracedCall) -> Iterator[list[Argument]]:
    """Yield the arguments of each list in a call, without the agent's wording and labels."""
    found: dict[str, list[Argument]] = defaultdict(list)
    for one in call.arguments:
        if (one.name, one.value) in call.leaves:
            found[one.name].append(one)
    for name, items in found.items():
        if len(items) > 1 and not (PROSE.search(name) or _LABELS.search(name)):
            yield items


def _is_added(one: Argument, named: Sequence[Argument], evidence: Evidence) -> bool:
    """Return whether an item comes from the agent, or from a result that also lists an item that the user named."""
    if one.source not in (Source.TOOL, Source.AGENT) or (is_figure(one.value) and len(one.value) < _LEAST_FIGURE):
        return False
    if is_handled_before(one.value, evidence) or is_offered(one.value, evidence) or _is_between(one, named):
        return False
    if one.source is Source.TOOL:
        shown = lowered(_shown(one, evidence))
        return any(lowered(other.value) in shown for other in named)
    return bool(re.search(r"\d|@", one.value)) or bool(PERSON.search(one.name) and is_new_name(one, evidence))


_LEAST_FIGURE = 3


def _is_between(one: Argument, named: Sequence[Argument]) -> bool:
    """Return whether an item has a number between the numbers of two items that the user named, as in a range."""
    numbers = [int(found[0]) for other in named if (found := re.findall(r"\d{1,9}", other.value)[-1:])]
    own = re.findall(r"\d{1,9}", one.value)[-1:]
    return bool(own and numbers) and min(numbers) < int(own[0]) < max(numbers)


def _is_counted(count: int, evidence: Evidence) -> bool:
    """Return whether the user stated the number of the items."""
    numbers = (one.anchor for one in list_stated(evidence) if one.anchor.kind is AnchorKind.NUMBER)
    return any(float(one.value) == count for one in numbers)


def _shown(one: Argument, evidence: Evidence) -> str:
    """Return the result that gave an argument, up to its longest length to compare, or ""."""
    return next((act.observation for act in evidence.acts if act.step == one.step), "")[:_LONGEST_LIST]


def _told_item(one: Argument, named: Argument, evidence: Evidence) -> Finding:
    stated = quote_user(evidence, named.value)
    told = f'The user named "{one_line(stated.text, 60)}"; the call also passes `{one.name}`: '
    line = broken(RequirementKind.THING, one.name, stated, quote_action(evidence, one.value))
    return Finding(1.0, f"{told}{one_line(one.value, 60)}, which the user did not name.", (one.value,), line)


def option_replaced(evidence: Evidence) -> Finding | None:
    """Find an option from a tool's result if the user named another option that the result lists beside it."""
    for call in (call for call in evidence.pending_calls if may_change(call, evidence)):
        for one in call.arguments:
            if one.source is not Source.TOOL or PROSE.search(one.name) or is_offered(one.value, evidence):
                continue
            among = RivalSet("", {text: _value_of(text) for text in _list_options(one, evidence)})
            named = list_named_instead(one.value.strip(), among, evidence)
            stated = next((quote for quote in named if not _is_left(quote, evidence)), None)
            if stated is not None:
                line = broken(RequirementKind.OPTION, one.name, stated, quote_action(evidence, one.value))
                told = f'The user named "{one_line(stated.text, 60)}", which step {one.step} lists; '
                told += f"the call passes `{one.name}`: {one_line(one.value, 60)}."
                return Finding(1.0, told, (one.value,), line)
    return None


def _is_left(quote: Quote, evidence: Evidence) -> bool:
    """Return whether the user names an option to leave it, such as the folder from which to move a thing."""
    return is_leaving(words_before(quote, evidence))


def _value_of(text: str) -> Value:
    plain = re.escape(text)
    return Value(f"(?i){plain}", rf"(?i)(?<![^\W_]){plain}(?![^\W_])")


def _list_options(one: Argument, evidence: Evidence) -> list[str]:
    """Return the values that a result lists beside an argument's value, and this value; [] if it lists no others."""
    value = one.value.strip()
    is_count = is_figure(value) and (not _CODE.fullmatch(value) or bool(_COUNTED.search(one.name)))
    if _OF_A_STATE.search(one.name) or is_count or not 1 < len(value) <= _LONGEST_OPTION:
        return []
    shown = _shown(one, evidence)
    try:
        document = json.loads(shown)
    except (ValueError, RecursionError):
        lists = [_APART.split(line) for line in shown.splitlines()]
    else:
        found: dict[str, list[str]] = defaultdict(list)
        for name, text in leaves(document if isinstance(document, dict) else {"": document}):
            found[name].append(text)
        lists = list(found.values())
    held = next((texts for texts in lists if value in texts and len(texts) <= _MOST_LISTED), [])
    texts = (text for text in dict.fromkeys(held) if 1 < len(text) <= _LONGEST_OPTION)
    return [text for text in texts if _CODE.fullmatch(text) or not is_figure(text)]


_CODE = re.compile(r"\d{4,12}")
"""The digits of a code, such as the last four of a card."""
