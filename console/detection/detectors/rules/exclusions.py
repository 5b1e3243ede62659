"""Words of the user that exclude a thing, keep it, or leave it for another one, in many languages."""

from __future__ import annotations

import re
from collections.abc import Iterable

from console.detection.detectors.rules.finding import PATTERNS, words_after, words_before
from console.environments.evidence import Evidence
from console.trajectory.requirements import Quote

_NOT = PATTERNS["exclusions.not"]
_NOT_AFTER = PATTERNS["exclusions.not_after"]
_NOT_EITHER = PATTERNS["exclusions.not_either"]
"""Words after which a negation excludes nothing."""
_STATEMENT = PATTERNS["exclusions.statement"]
"""Words after which a negation describes a fact and does not make a request."""
_AND = re.compile(
    r"\s(?:and|und|et|y|e|en(?= (?:de|het|een|mijn|ook|dan|niet) )|i|и|but|aber|mais|pero|ma|then)\s|[和而]"
)
_BUT = re.compile(r"\s(?:but|rather|sino|sondern|bensì|lecz|utan)\s")
_KEEP = PATTERNS["exclusions.keep"]
_STAYS = PATTERNS["exclusions.stays"]
_LEAVES, _SWAPS = PATTERNS["exclusions.leaves"], PATTERNS["exclusions.swaps"]
_LEAVE = re.compile(r"leave|spare|don't touch|do not touch|lass|laisse|deja|lascia|deixe|留着|別動|别动|оставь")


def is_excluding(before: str, *, words: bool = False) -> bool:
    """Return whether a lower-case text ends in a negation of the next words; if `words`, stop at an "and"."""
    found = _NOT.search(before)
    if found is None or _STATEMENT.search(before[: found.start()]):
        return False
    scope = before[found.start() :]
    return not (_NOT_EITHER.search(scope) or _BUT.search(scope) or (words and _AND.search(scope)))


def is_keeping(before: str, *, words: bool = False, removes: bool = True) -> bool:
    """Return whether a lower-case text ends in a wish to keep the next words; if `words`, stop at an "and".

    "Keep" forbids only removals, because a change can keep an attribute. "Leave" forbids any change.
    """
    found = _KEEP.search(before)
    if found is None or (words and _AND.search(found[0])):
        return False
    return removes or bool(_LEAVE.match(found[0]))


def is_unwanted(quote: Quote, evidence: Evidence, *, removes: bool) -> bool:
    """Return whether the words around a quote exclude it or keep it; "keep" counts only if the call `removes`."""
    before, after = words_before(quote, evidence), words_after(quote, evidence)
    is_kept = is_keeping(before, words=True, removes=removes) or (removes and bool(_STAYS.search(after)))
    # Some languages have the verb, and its negation, at the end.
    return is_kept or is_excluding(before, words=True) or bool(_NOT_AFTER.search(after))


def latest(quotes: Iterable[Quote]) -> list[Quote]:
    """Return the quotes from the last message among them: the user's last word on a thing counts."""
    found = list(quotes)
    last = max((quote.step or 0 for quote in found), default=0)
    return [quote for quote in found if (quote.step or 0) == last]


def is_leaving(before: str) -> bool:
    """Return whether a lower-case text ends in a wish to leave the next words, or to swap them for others."""
    return bool(_LEAVES.search(before)) or is_swapping(before)


def is_swapping(before: str) -> bool:
    """Return whether a lower-case text ends in a wish to swap the next words for others ("exchange room")."""
    return _SWAPS.search(before) is not None
