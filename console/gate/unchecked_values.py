"""Values that a detector cannot check: a call passes a value that the user did not state, and leaves out a stated
value of the same kind. A gate asks a person about such a call, even if no detector flags the call. The kind of a
value depends on its spelling, in any language, and not on the name of the argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from console.environments.evidence import Evidence, evidence_of
from console.environments.tool_use import TracedCall
from console.trajectory.checkpoints import Checkpoint
from console.trajectory.effects import is_verb
from console.trajectory.provenance import Argument, Source
from console.trajectory.requirements import RequirementTable
from console.trajectory.requirements.anchors import LINK, PATH, Anchor, AnchorKind, read_anchors, same_value
from console.trajectory.requirements.sentences import UNCHECKED
from console.trajectory.terms import FUNCTION_WORDS, TermKind, lowered

_GRAVE_FLAG = re.compile(r"force|public|recursive|overwrite|everyone|skip|hard|permanent|unsafe|admin", re.IGNORECASE)
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[^\W\d_a-zß-öø-ÿ][^\W\d_]{2,30}\b")
_PLAIN = re.compile(r"[^\W\d_][\w .'’&-]{1,60}")
_PROSE = re.compile(
    r"text|body|subject|title|message|content|description|comment|note|reason|summary|query|password", re.IGNORECASE
)
_LIMITS = (TermKind.PRICE_MAX, TermKind.PRICE_MIN)
NOT_BY_A_DETECTOR = "No detector flagged this action; the gate asks because one of its values could not be checked."
_FOREIGN = (Source.TOOL, Source.AGENT)


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of a text that are compared: its anchors, and its names in lower case."""

    anchors: tuple[Anchor, ...]
    names: frozenset[str]

    @property
    def links(self) -> frozenset[str]:
        return frozenset(one.value for one in self.anchors if one.kind is AnchorKind.LINK)


def explain_unchecked_value(checkpoint: Checkpoint, verdicts: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the reason why only a person can judge an action that no verdict (row) flags, or None."""
    return describe_unchecked_value(checkpoint) or explain_unchecked_lines(row["requirements"] for row in verdicts)


def describe_unchecked_value(checkpoint: Checkpoint) -> str | None:
    """Return a sentence about the first value that only a person can check, or None if there is none."""
    evidence = evidence_of(checkpoint)
    stated = _values(checkpoint.instruction, _limits(evidence))
    for traced in evidence.pending_calls:
        passed = _values("\n".join(text for _, text in traced.leaves))
        checks = (
            *(_left_out(name, value, stated, passed) for name, value in _compared(traced)),
            *(_replaced(one, evidence, stated, passed) for one in traced.arguments if one.source in _FOREIGN),
            *_added(traced, evidence),
        )
        found = next((sentence for sentence in checks if sentence), None)
        if found is not None:
            return found
    return None


def explain_unchecked_lines(tables: Iterable[str | None]) -> str | None:
    """Return a sentence if no requirement table (JSON) has a line that is met or broken.

    An action that changes no data needs no line. Return None if a table settles the action, or if there is none.
    """
    read = [RequirementTable.from_dict(orjson.loads(table)) for table in tables if table is not None]
    return UNCHECKED if read and all(table.is_unchecked for table in read) else None


def _compared(traced: TracedCall) -> Iterator[tuple[str, str]]:
    """Yield (argument, text) for each link in prose, and for each path or foreign value in other arguments."""
    for one in traced.arguments:
        if _PROSE.search(one.name):
            yield from ((one.name, link) for link in LINK.findall(one.value))
        elif one.source in _FOREIGN or PATH.fullmatch(one.value.strip()):
            yield one.name, one.value


def _left_out(name: str, value: str, stated: _Values, passed: _Values) -> str | None:
    """Return a sentence if the call passes a new value and leaves out a stated value of the same kind."""
    own = _values(value)
    for kind in AnchorKind:
        said, held, given = ([one for one in of.anchors if one.kind is kind] for of in (stated, own, passed))
        new = [one for one in held if not any(same_value(one, other) for other in said)]
        left = [one for one in said if not any(same_value(one, other) for other in given)]
        if new and left:
            return _sentence(f'stated the {kind} "{left[0].text}"', name, value)
    missing = stated.names - passed.names
    if own.names - stated.names and missing and stated.names & passed.names:
        return _sentence(f'stated the name "{sorted(missing)[0]}"', name, value)
    return None


def _replaced(one: Argument, evidence: Evidence, stated: _Values, passed: _Values) -> str | None:
    """Return a sentence if the call passes a plain word and the user stated an address or another word, else None."""
    value = lowered(one.value).strip()
    if _PROSE.search(one.name) or not _PLAIN.fullmatch(value):
        return None
    left = stated.links - passed.links
    if left:
        return _sentence(f'stated the address "{sorted(left)[0]}"', one.name, one.value)
    for noun in re.findall(r"[a-z]{3,}", lowered(one.name)):
        beside = re.findall(rf"\b([^\W\d_]{{3,}}) {noun}\b", evidence.user)
        words = [word for word in beside if word not in FUNCTION_WORDS and not is_verb(word) and word not in value]
        if words:
            return _sentence(f'said "{words[0]} {noun}"', one.name, one.value)
    return None


def _added(traced: TracedCall, evidence: Evidence) -> Iterator[str]:
    """Yield a sentence for each dangerous flag and each additional recipient that the user did not mention."""
    for name, value in traced.call.arguments.items():
        if value is True and _GRAVE_FLAG.search(name) and lowered(name).split("_")[0] not in evidence.user:
            yield f"The call sets `{name}`, which the user did not ask for."
    names = [one.name for one in traced.arguments if one.source is Source.USER]
    for one in traced.arguments:
        if one.source in _FOREIGN and one.name in names and LINK.search(one.value):
            yield _sentence(f"named another value for `{one.name}`", one.name, one.value)


def _sentence(said: str, name: str, value: str) -> str:
    return f"The user {said}; the call passes `{name}`: {' '.join(value.split())[:60]}, which the user did not state."


def _limits(evidence: Evidence) -> frozenset[float]:
    """Return the numbers that are limits, which a call need not pass."""
    return frozenset(float(term.value) for term in evidence.terms if term.kind in _LIMITS)


def _values(text: str, apart: frozenset[float] = frozenset()) -> _Values:
    """Parse the values in a text, except the numbers in `apart`."""
    found, rest = read_anchors(text), text
    for one in found:
        rest = rest[: one.start] + " " * (one.end - one.start) + rest[one.end :]
    kept = tuple(one for one in found if one.kind is not AnchorKind.NUMBER or float(one.value) not in apart)
    return _Values(kept, frozenset(map(lowered, _NAME.findall(f"- {rest}"))))
