"""Values that a detector cannot check: a call passes a value that the user did not state, and leaves out a stated
value of the same kind. A gate asks a person about such a call, even if no detector flags the call. The kind of a
value depends on its spelling, in any language, and not on the name of the argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from console.detection.detectors.rules.stated import (
    find_name_left_out,
    has_no_capitals,
    is_new_name,
    list_stated,
    may_change,
)
from console.detection.detectors.rules.tool_calls import is_english
from console.environments.evidence import Evidence, evidence_of
from console.environments.tool_use import TracedCall
from console.trajectory.checkpoints import Checkpoint
from console.trajectory.effects import is_verb
from console.trajectory.provenance import Argument, Source
from console.trajectory.requirements import RequirementTable
from console.trajectory.requirements.anchors import (
    LINK,
    PATH,
    Anchor,
    AnchorKind,
    read_anchors,
    same_value,
)
from console.trajectory.requirements.sentences import UNCHECKED
from console.trajectory.terms import FUNCTION_WORDS, TermKind, lowered

_GRAVE_FLAG = re.compile(r"force|public|recursive|overwrite|everyone|skip|hard|permanent|unsafe|admin", re.IGNORECASE)
_PLAIN = re.compile(r"[^\W\d_][\w .'’&-]{1,60}")
_PROSE = re.compile(
    r"text|body|subject|title|message|content|description|comment|note|reason|summary|query|password", re.IGNORECASE
)
_LIMITS = (TermKind.PRICE_MAX, TermKind.PRICE_MIN)
NOT_BY_A_DETECTOR = "No detector flagged this action; the gate asks because one of its values could not be checked."
_FOREIGN = (Source.TOOL, Source.AGENT)


def explain_unchecked_value(checkpoint: Checkpoint, verdicts: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the reason why only a person can judge an action that no verdict (row) flags, or None."""
    return describe_unchecked_value(checkpoint) or explain_unchecked_lines(row["requirements"] for row in verdicts)


def describe_unchecked_value(checkpoint: Checkpoint) -> str | None:
    """Return a sentence about the first value that only a person can check, or None if there is none."""
    evidence = evidence_of(checkpoint)
    stated = [one.anchor for one in list_stated(evidence) if not _is_passed_before(one.anchor, evidence)]
    limits = {float(term.value) for term in evidence.terms if term.kind in _LIMITS}
    stated = [one for one in stated if one.kind is not AnchorKind.NUMBER or float(one.value) not in limits]
    for traced in evidence.pending_calls:
        passed = [anchor for _, text in traced.leaves for anchor in read_anchors(text)]
        checks = (
            *(_left_out(name, value, stated, passed) for name, value in _compared(traced)),
            *(_replaced(one, evidence, stated, passed) for one in traced.arguments if one.source in _FOREIGN),
            *(_renamed(one, traced, evidence) for one in traced.arguments),
            *_added(traced, evidence),
        )
        found = next((sentence for sentence in checks if sentence), None)
        if found is not None:
            return found
    return None


def _is_passed_before(stated: Anchor, evidence: Evidence) -> bool:
    """Return whether an earlier call passed a stated value, which a later call need not pass again."""
    said = lowered(stated.text).strip("@#")
    return any(said in lowered(act.action) for act in evidence.acts if not act.talks)


def explain_unchecked_lines(tables: Iterable[str | None]) -> str | None:
    """Return a sentence if no requirement table (JSON) has a line that is met or broken.

    An action that changes no data needs no line. Return None if a table settles the action, or if there is none.
    """
    read = [table for stored in tables if (table := RequirementTable.from_json(stored)) is not None]
    return UNCHECKED if read and all(table.is_unchecked for table in read) else None


def _compared(traced: TracedCall) -> Iterator[tuple[str, str]]:
    """Yield (argument, text) for each link in prose, and for each path or foreign value in other arguments."""
    for one in traced.arguments:
        if _PROSE.search(one.name):
            yield from ((one.name, link) for link in LINK.findall(one.value))
        elif one.source in _FOREIGN or PATH.fullmatch(one.value.strip()):
            yield one.name, one.value


def _left_out(name: str, value: str, stated: Sequence[Anchor], passed: Sequence[Anchor]) -> str | None:
    """Return a sentence if the call passes a new value and leaves out a stated value of the same kind."""
    for kind in AnchorKind:
        said, held, given = ([one for one in of if one.kind is kind] for of in (stated, read_anchors(value), passed))
        new = [one for one in held if not any(same_value(one, other) for other in said)]
        left = [one for one in said if not any(same_value(one, other) for other in given)]
        if new and left:
            return _sentence(f'stated the {kind} "{left[0].text}"', name, value)
    return None


def _renamed(one: Argument, traced: TracedCall, evidence: Evidence) -> str | None:
    """Return a sentence if a name may replace the user's; a result's name, only beside another name of the user."""
    named = any(other.source is Source.USER and other.value.strip()[:1].isupper() for other in traced.arguments)
    sources = _FOREIGN if named else (Source.AGENT,)
    if not (may_change(traced, evidence) and is_new_name(one, evidence, sources)):
        return None
    left = find_name_left_out(one, traced, evidence, sources)
    if left is not None:
        return _sentence(f'stated the name "{" ".join(left.text.split())[:60]}"', one.name, one.value)
    is_open = one.source is Source.AGENT and (has_no_capitals(one.value + evidence.said) or " " in one.value.strip())
    return f"Neither the user nor a tool's result gives `{one.name}`: {one.value[:60]}." if is_open else None


def _replaced(one: Argument, evidence: Evidence, stated: Sequence[Anchor], passed: Sequence[Anchor]) -> str | None:
    """Return a sentence if the call passes a plain word and the user stated an address or another word, else None."""
    value = lowered(one.value).strip()
    if _PROSE.search(one.name) or not _PLAIN.fullmatch(value):
        return None
    left = {one.value for one in stated if one.kind is AnchorKind.LINK} - {one.value for one in passed}
    if left:
        return _sentence(f'stated the address "{sorted(left)[0]}"', one.name, one.value)
    for noun in re.findall(r"[a-z]{3,}", lowered(one.name)) if is_english(evidence.user) else ():
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
