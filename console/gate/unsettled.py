"""Values that a judging detector cannot settle: the call passes one that the user did not state, and leaves out one of
the same kind that the user did state. A gate asks a person about such a call, even if no detector flags it.

Kinds are compared by how values are written, in any language; what the argument is called does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from console.environments.evidence import Evidence, evidence_of
from console.environments.tool_use import TracedCall
from console.trajectory.checkpoints import Checkpoint
from console.trajectory.effects import is_verb
from console.trajectory.provenance import Argument, Source
from console.trajectory.terms import COUNTS, FUNCTION_WORDS, TermKind, lowered, terms

_DIGIT = re.compile(r"\d")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"(?<!\d)(?:[01]?\d|2[0-3]):[0-5]\d(?!\d)")
_LINK = re.compile(
    r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}|(?:https?://|www\.)[^\s\"'<>,;)]{3,200}[^\s\"'<>,;).!?]|"
    r"\b[a-z]{2}\d{2}[a-z0-9]{10,30}\b|\+\d[\d ()-]{6,18}\d",
    re.IGNORECASE,
)
"""E-mail addresses, URLs, account numbers (IBAN) and phone numbers."""
_PATH = re.compile(
    r"(?<![\w@:/.])(?:~|\.{1,2}|[\w*?-]{1,80})?(?:/[\w.*?-]{0,79}[\w*?-]){1,12}|"
    r"(?<![\w@:/.-])[\w*?-]{1,80}\.[a-z]{2,4}\b(?!\.?\w)",
    re.IGNORECASE,
)
_GRAVE_FLAG = re.compile(r"force|public|recursive|overwrite|everyone|skip|hard|permanent|unsafe|admin", re.IGNORECASE)
_ID = re.compile(r"\b[a-z]{1,6}[-_#]\d[\w-]{0,20}|\b(?=[a-z0-9]*\d)(?=[a-z0-9]*[a-z])[a-z0-9]{4,20}\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,-])#?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,15}(?:[.,]\d{1,6})?)(?![\w-])")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[^\W\d_a-zß-öø-ÿ][^\W\d_]{2,30}\b")
_PLAIN = re.compile(r"[^\W\d_][\w .'’&-]{1,60}")
_PROSE = re.compile(
    r"text|body|subject|title|message|content|description|comment|note|reason|summary|query|password", re.IGNORECASE
)
_LIMITS = (TermKind.PRICE_MAX, TermKind.PRICE_MIN)
NOT_BY_A_DETECTOR = "No detector flagged this action; the gate asks because one of its values could not be checked."
_FOREIGN = (Source.TOOL, Source.AGENT)
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class _Values:
    """Values by kind, in the form in which they are compared."""

    dates: frozenset[str]
    times: frozenset[str]
    links: frozenset[str]
    paths: frozenset[str]
    ids: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]

    def by_kind(self) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield each kind, as people call it, with its values."""
        yield "date", self.dates
        yield "time", self.times
        yield "address", self.links
        yield "path", self.paths
        yield "id", self.ids
        yield "number", self.numbers
        yield "name", self.names


def find_unsettled(checkpoint: Checkpoint) -> str | None:
    """Return a sentence about the first value that only a person can settle, or None if there is none."""
    evidence = evidence_of(checkpoint)
    stated = _values(checkpoint.instruction[:_LONGEST], _limits(evidence))
    for traced in evidence.pending_calls:
        passed = _values(" ".join(text for _, text in traced.leaves), frozenset())
        checks = (
            *(_left_out(name, value, stated, passed) for name, value in _compared(traced)),
            *(_replaced(one, evidence, stated, passed) for one in traced.arguments if one.source in _FOREIGN),
            *_added(traced, evidence),
        )
        found = next((sentence for sentence in checks if sentence), None)
        if found is not None:
            return found
    return None


def _compared(traced: TracedCall) -> Iterator[tuple[str, str]]:
    """Yield (argument, text) of the values that are compared: links everywhere, other kinds outside of prose."""
    for one in traced.arguments:
        if _PROSE.search(one.name):
            yield from ((one.name, link) for link in _LINK.findall(one.value))
        elif one.source in _FOREIGN or _PATH.fullmatch(one.value.strip()):
            yield one.name, one.value


def _left_out(name: str, value: str, stated: _Values, passed: _Values) -> str | None:
    """Return a sentence if the call passes a new value of a kind of which it leaves out a stated one."""
    own, given = _values(value, frozenset()), dict(passed.by_kind())
    for (kind, said), (_, held) in zip(stated.by_kind(), own.by_kind(), strict=True):
        new = [each for each in held if not any(_is_within(each, other) for other in said)]
        left = [each for each in said if not any(_is_within(other, each) for other in given[kind])]
        is_known = kind != "name" or said & given[kind]
        if new and left and is_known:
            return _sentence(f'stated the {kind} "{sorted(left)[0]}"', name, value)
    return None


def _replaced(one: Argument, evidence: Evidence, stated: _Values, passed: _Values) -> str | None:
    """Return a sentence if a word stands for a stated address, or for the word that the user put beside its noun."""
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
    """Yield a sentence for a recipient beside the user's own, and for a grave flag, that the user did not mention."""
    for name, value in traced.call.arguments.items():
        if value is True and _GRAVE_FLAG.search(name) and lowered(name).split("_")[0] not in evidence.user:
            yield f"The call sets `{name}`, which the user did not ask for."
    names = [one.name for one in traced.arguments if one.source is Source.USER]
    for one in traced.arguments:
        if one.source in _FOREIGN and one.name in names and _LINK.search(one.value):
            yield _sentence(f"named another value for `{one.name}`", one.name, one.value)


def _sentence(said: str, name: str, value: str) -> str:
    return f"The user {said}; the call passes `{name}`: {' '.join(value.split())[:60]}, which the user did not state."


def _is_within(value: str, said: str) -> bool:
    """Return whether `value` equals `said`, or is a path that ends in `/said` or lies in the folder `said`."""
    return value == said or ("/" in value and (value.endswith(f"/{said}") or value.startswith(f"{said}/")))


def _limits(evidence: Evidence) -> frozenset[str]:
    """Return the numbers that are limits, which a call need not pass."""
    return frozenset(_figure(str(term.value)) for term in evidence.terms if term.kind in _LIMITS)


def _values(text: str, apart: frozenset[str]) -> _Values:
    """Read the values in a text, without the numbers `apart`."""
    found = [term for term in terms(text) if term.kind is TermKind.DATE] if _DIGIT.search(text) else []
    dates = frozenset((*(str(term.value) for term in found), *_DATE.findall(text)))
    links = frozenset(map(_key, _LINK.findall(text)))
    rest = _LINK.sub(" ", text)
    paths = frozenset(_key(path) for path in _PATH.findall(rest))
    rest = _PATH.sub(" ", rest)
    times = frozenset(time.zfill(5) for time in _TIME.findall(rest))
    rest = _TIME.sub(" ", _DATE.sub(" ", rest))
    for term in found:
        rest = rest.replace(term.text, " ")
    ids = frozenset(map(_key, _ID.findall(rest)))
    rest = _ID.sub(" ", rest)
    numbers = frozenset(map(_figure, _NUMBER.findall(rest))) | _spelled(rest)
    names = frozenset(map(lowered, _NAME.findall(f"- {rest}")))
    return _Values(dates, times, links, paths, ids, numbers - apart, names)


def _spelled(text: str) -> frozenset[str]:
    """Return the numbers from two to twelve that a text spells."""
    words = re.findall(r"[a-z]+", lowered(text))
    return frozenset(str(COUNTS.index(word)) for word in words if word in COUNTS[2:] and word not in FUNCTION_WORDS)


def _key(text: str) -> str:
    return re.sub(r"[\s()]", "", lowered(text)).rstrip("/.")


def _figure(text: str) -> str:
    plain = text.strip("#")
    plain = plain.replace(",", "") if re.search(r",\d{3}(?!\d)", plain) else plain.replace(",", ".")
    return f"{float(plain):g}"
