"""Which further tools of a log look critical; a person confirms, nothing is applied by itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from console.trajectory.checkpoints import Call, calls, is_critical


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A pattern for actions that may not be undone, how often it occurs, and why it is proposed."""

    pattern: str
    count: int
    why: str


TELLING = {
    "spends or moves money": "pay buy purchase checkout order book refund charge transfer withdraw deposit invest bid",
    "takes something away": "delete remove cancel drop destroy terminate revoke purge erase wipe uninstall unsubscribe",
    "sends something out": "send email post publish submit share forward notify invite upload tweet broadcast sign",
    "runs or releases something": "execute run deploy install launch restart shutdown migrate merge push approve",
    "changes what is stored": "update modify edit change set write create add insert exchange return replace rename "
    "assign schedule reserve reset overwrite patch put save register enroll disable enable",
    "changes an object for good": "clean heat cool slice cut burn break pour",
    "ends the task with its answer": "finish conclude",
}
"""Why an action looks critical, and the words that tell it; the gravest first."""

READING = (
    "get list search find look lookup read think respond calculate fetch query show view describe check count browse "
    "open close go scroll examine inventory help wait say ask compare load print preview validate"
)
"""A call whose name starts so only reads or talks."""

REPORTS = "status details detail history info summary balance"
"""A call whose name ends so only reads."""

_RANKED = {word: (rank, why) for rank, (why, words) in enumerate(TELLING.items()) for word in words.split()}
_READING, _REPORTS = frozenset(READING.split()), frozenset(REPORTS.split())
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_HANDOVER = frozenset({"human", "agent", "agents", "operator", "supervisor"})
_LONGEST_CLICK = 60


def suggest(actions: Iterable[tuple[str, int]], patterns: Sequence[str] = ()) -> list[Suggestion]:
    """Patterns for what looks critical among action texts or tool names with their counts, the most telling first.

    What `patterns`, those of the run, already match is left out.
    """
    counts: Counter[str] = Counter()
    reasons: dict[str, tuple[int, str]] = {}
    for action, count in actions:
        for call in [] if is_critical(action, patterns) else calls(action):
            found = _judged(call)
            if found and not is_critical(call.name, patterns):
                counts[found[0]] += count
                reasons[found[0]] = found[1:]
    ranked = sorted(counts, key=lambda pattern: (reasons[pattern][0], -counts[pattern], pattern))
    return [Suggestion(pattern, counts[pattern], reasons[pattern][1]) for pattern in ranked]


def _judged(call: Call) -> tuple[str, int, str] | None:
    """The pattern, its rank (0 is the gravest) and the reason, or None where the call looks harmless."""
    words = [word.lower() for word in _WORDS.findall(call.name)]
    if "transfer" in words and _HANDOVER & set(words):
        return _literal(call.name), len(TELLING), f'"{call.name}" hands the conversation over to somebody else.'
    reads = not words or words[0] in _READING or words[-1] in _REPORTS
    if not reads and (found := _telling(words)):
        return _literal(call.name), found[0], f'"{found[1]}" {found[2]}.'
    pressed = str(call.arguments.get("argument", ""))
    if words[:1] in (["click"], ["press"], ["tap"]) and len(pressed) <= _LONGEST_CLICK:
        found = _telling([word.lower() for word in _WORDS.findall(pressed)][:1])
        return (_literal(f"{call.name}[{pressed}]"), found[0], f'"{pressed}" {found[2]}.') if found else None
    return None


def _telling(words: list[str]) -> tuple[int, str, str] | None:
    return next(((*_RANKED[word][:1], word, _RANKED[word][1]) for word in words if word in _RANKED), None)


def _literal(text: str) -> str:
    return text.replace("*", "?")
