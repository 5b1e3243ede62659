"""Masks for keys, tokens and passwords in logs: patterns find them, and masks replace them before storage.

A secret has the same mask in every log of an installation, so that equal values stay equal. The mask is a keyed hash,
so a reader cannot verify a guess.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from console.auth.kept_secrets import load_secret
from console.trajectory import Trajectory, from_dict
from console.trajectory.strict_yaml import Pattern, read_data

_KEY = "masks.secret"
_MASK = "[masked"
_ANY = "secret"
"""The kind of a secret without a specific pattern."""
_SECRET_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase)|pwd|secret|(?:api|access|account|private|signing|encryption|secret)[_-]?key|"
    r"(?:auth|access|refresh|bearer|session|id)[_-]?token|credentials?)\Z",
    re.IGNORECASE,
)
_REFERRING = re.compile(
    r"(?:\W*\Z|[$<{%]|[xX*.•]+\Z|(?:os|process|env|self|args|config|settings|options|request|this)\.|"
    r"(?:none|null|true|false|undefined|string|optional|required|redacted|example|changeme|placeholder)\b|your[-_ ]|"
    r"[\w.\-]*(?:password|passwd|secret|token|credential|api_?key)[\w.\-]*\Z|\[masked)",
    re.IGNORECASE,
)
"""Pattern for values after a secret's name that only refer to a secret: a variable, a type, a placeholder, a mask."""
_ELSEWHERE = re.compile(r"(?=.*\d)\S{6,}\Z|\S{12,}\Z")
"""Pattern for secrets that are masked at all their places in a file, even without a name beside them."""
_MOST, _LONGEST_NAME = 1_000, 20
_SHORTEST = 8
"""Minimum length in characters of a text that can contain a secret."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A pattern for secrets with the group `secret`; each match begins with one of the `hints` (lower case).

    `bare` is a looser pattern, which matches the secret or its beginning in JSON too, where escapes may be around it.
    """

    name: str
    hints: tuple[str, ...]
    pattern: Pattern
    bare: Pattern | None = None

    def may_be_in(self, body: str, lowered: str, hint: str) -> bool:
        """Return whether a JSON text may contain such a secret; `lowered` is the text in lower case."""
        at = lowered.find(hint)
        if self.bare is None or len(lowered) != len(body):
            return at >= 0
        while at >= 0:
            if self.bare.match(body, at):
                return True
            at = lowered.find(hint, at + 1)
        return False


_KINDS = read_data(files(__package__) / "secrets.yaml", tuple[_Kind, ...])
_Hint = tuple[_Kind, str]
_HINTS: tuple[_Hint, ...] = tuple((kind, hint) for kind in _KINDS for hint in kind.hints)
_RUN_CLASS = bytes.maketrans(
    bytes(range(256)), bytes(97 if chr(one).isalnum() or one > 127 or one in b"_-." else 32 for one in range(256))
)
_RUN = b"a" * 18
"""The shortest key of most services in `_RUN_CLASS`: letters, digits, `_`, `-` and `.` without a gap."""
_SIGNS = {"--": "--", "pass": "pass", "xox": "xox", "whsec_": "whsec_", "://": "@"}
"""The text in every match of the hints with these beginnings; a search for it is faster."""


def _group_hints() -> tuple[tuple[tuple[_Hint, ...], str], ...]:
    """Return (hints, text in every match of these hints); the text "" stands for a run of key characters."""
    groups: dict[str, list[_Hint]] = {}
    for kind, hint in _HINTS:
        own = "" if kind.name not in (_ANY, "private-key") else hint
        sign = next((sign for begins, sign in _SIGNS.items() if hint.startswith(begins)), own)
        groups.setdefault(sign, []).append((kind, hint))
    return tuple((tuple(hints), sign) for sign, hints in groups.items())


_GROUPS = _group_hints()
_TOKEN = re.compile(r"(?=.*\d)(?=.*[a-z])[\w.-]{16,}\Z")
"""Pattern for the value after the bare name `token`: at least 16 characters with letters and digits."""
_LETTERS = re.compile(r"[A-Za-z_.]+\Z")


def mask_of(secret: str) -> str:
    """Return the mask that replaces a secret, such as `[masked key 3f09ac12d4]`."""
    kind = next((one.name for one in _KINDS if one.name != _ANY and one.pattern.fullmatch(secret)), _ANY)
    digest = hmac.new(load_secret(_KEY).encode(), secret.encode(errors="surrogatepass"), "sha256").hexdigest()
    return f"{_MASK} {kind} {digest[:10]}]"


@dataclass(slots=True)
class Masker:
    """A masker for the secrets of one log; `masked` counts the places, and `found` holds the mask of each secret."""

    masked: int = 0
    found: dict[str, str] = field(default_factory=dict)
    _elsewhere: dict[str, str] = field(default_factory=dict)
    _hints: tuple[_Hint, ...] = _HINTS

    def mask_text(self, text: str) -> str:
        """Return the text with its secrets masked."""
        if len(text) >= _SHORTEST and (spans := sorted(_spans(text, self._hints))):
            parts, end = [], 0
            for start, stop in spans:
                if start >= end:
                    parts += [text[end:start], self._mask(text[start:stop])]
                    end = stop
            text = "".join([*parts, text[end:]])
        for secret, mask in self._elsewhere.items():
            if secret in text:
                self.masked += text.count(secret)
                text = text.replace(secret, mask)
        return text

    def mask_value(self, value: Any) -> Any:
        """Return a JSON value with the secrets in its texts masked; a text under a secret's name counts as a secret."""
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, Mapping):
            if value.keys() == {"key", "value"} and _is_secret_name(value["key"]):
                return {"key": value["key"], "value": self._mask_all(value["value"])}
            return {
                self.mask_text(key): self._mask_all(held) if _is_secret_name(key) else self.mask_value(held)
                for key, held in value.items()
            }
        return [self.mask_value(one) for one in value] if isinstance(value, (list, tuple)) else value

    def mask_record(self, record: Trajectory, body: str) -> Trajectory:
        """Return the trajectory with its secrets masked, or unchanged without secrets; `body` is its canonical JSON."""
        lowered = body.lower()
        # One text stands for a group of hints: most records have none of these texts, and each search takes time.
        has_run = _RUN in body.encode(errors="replace").translate(_RUN_CLASS)
        near = [one for hints, sign in _GROUPS if (sign in lowered if sign else has_run) for one in hints]
        self._hints = tuple(
            (kind, hint) for kind, hint in near if hint in lowered and kind.may_be_in(body, lowered, hint)
        )
        before, masked = self.masked, self.mask_value(record.to_dict()) if self._hints or self._elsewhere else None
        if masked is not None and self.masked > before:
            # A value that has its name only later in the record is masked in the second pass.
            record = from_dict(self.mask_value(masked))
        self._hints = _HINTS
        return record

    def _mask_all(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.mask_value(value) if len(value) < 4 or _REFERRING.match(value) else self._mask(value)
        if isinstance(value, Mapping):
            return {key: self._mask_all(held) for key, held in value.items()}
        return [self._mask_all(one) for one in value] if isinstance(value, (list, tuple)) else value

    def _mask(self, secret: str) -> str:
        self.masked += 1
        mask = self.found.get(secret)
        if mask is None:
            mask = self.found[secret] = mask_of(secret)
            if _ELSEWHERE.match(secret) and len(self._elsewhere) < _MOST:
                self._elsewhere[secret] = mask
        return mask


def _spans(text: str, hints: Iterable[_Hint]) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each secret that a pattern finds in a text; the spans may overlap."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(low if len(low := one.lower()) == 1 else one for one in text)
    for kind, hint in hints:
        at = lowered.find(hint)
        while at >= 0:
            match = kind.pattern.match(text, at)
            if match is not None and (span := _span(kind, match, text)):
                yield span
            at = lowered.find(hint, at + len(hint))


def _span(kind: _Kind, match: re.Match[str], text: str) -> tuple[int, int] | None:
    """Return (start, end) of the secret in a match, or None if the value only refers to a secret."""
    group = next(name for name, held in match.groupdict().items() if held is not None and name != "name")
    value = match[group]
    if kind.name == _ANY and (value.startswith(_MASK) or _REFERRING.match(value)):
        return None
    if "name" in kind.pattern.groupindex:
        name = text[max(0, match.start() - _LONGEST_NAME) : match.end("name")]
        if not _SECRET_NAME.search(name) and not (match["name"].lower() == "token" and _TOKEN.match(value)):
            return None
        if group == "secret" and _LETTERS.match(value) and not _is_assigned(match):
            return None
    return match.span(group)


def _is_assigned(match: re.Match[str]) -> bool:
    """Return whether a bare word follows `password=` without blanks; in other places it may be code or prose."""
    return (
        match["name"].lower().startswith("pass") and match.start("secret") == match.end("name") + 1 and "=" in match[0]
    )


def _is_secret_name(name: object) -> bool:
    return isinstance(name, str) and _ends_as_secret_name(name[-_LONGEST_NAME:]) is not None


_ends_as_secret_name = lru_cache(maxsize=4_096)(_SECRET_NAME.search)
