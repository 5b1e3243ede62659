"""Policies as YAML, parsed strictly: unknown, duplicate and invalid fields are refused with their line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationInfo,
    field_validator,
    model_validator,
)

from console.auth.audit_log import Door
from console.auth.people import Role
from console.errors import BadInput
from console.gate.policy.expression import check_expression
from console.gate.policy.rules import MAX_DEADLINE_S, UTC_NAME, Limit, Policy, PolicyMode, Rule, Then, Widen
from console.review.access import GROUP, ROLE
from console.trajectory.strict_yaml import WrittenScalar, read_yaml, refuse_at

MAX_TEXT = 65_536
"""The maximum number of characters of a policy."""
MAX_RULES = 200
MAX_UNDO_S = 3_600
MAX_AMOUNT = 10**12
COUNTERS = ("task", "agent", "run")
"""The units for which a limit counts separately."""
DECISIONS = ("approve", "reject", "edit")
"""Decisions that a rule may offer; `respond` and `escalate` never allow an action, so they are always available."""

DOORS = (str(Door.BROWSER), str(Door.CLI), str(Door.PYTHON))
"""The entry points of decisions: a page, a command, a program with access to the database."""

_WINDOWS_S = {"hour": 3_600, "day": 86_400, "week": 604_800}
_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_GLOB = re.compile(r"[\w.*?:/-]+")
_COMPARED = r"^\s*[\w.*?-]+\s*(?:[<>!]=|[<>]\s*[-+.]?\d[\d.,_]*\s*$)"
_SENSELESS = re.compile(rf"^\s*[!<>=^]|=\s*[<>!=]|{_COMPARED}|\[[!^]?\w-\w[^\[\]]*\]")


@lru_cache(maxsize=256)
def read_policy(text: str) -> Policy:
    """Parse a policy from YAML text; raise BadInput with the line and the reason if the text is invalid."""
    if len(text) > MAX_TEXT:
        raise BadInput(f"The policy has {len(text):,} characters. Use fewer than {MAX_TEXT:,}.")
    hint = "write at least `default: ask`"
    written = read_yaml(text, _WrittenPolicy, "The policy", hint=hint, aliases=False)
    rules = tuple(each.to_rule(place) for place, each in enumerate(written.rules, 1))
    return Policy(
        rules, written.default, written.mode, written.rollout, written.undo, written.timezone, written.hints_from
    )


def from_patterns(patterns: Sequence[str]) -> str:
    """Return a policy in YAML: a detector judges actions that match a pattern, a person is asked about all others."""
    rules = [{"pattern": pattern, "then": str(Then.JUDGE)} for pattern in dict.fromkeys(patterns) if pattern.strip()]
    written: str = yaml.safe_dump({"default": str(Then.ASK), "rules": rules}, sort_keys=False, allow_unicode=True)
    return written


def check_pattern(pattern: str) -> None:
    """Raise BadInput if the pattern is blank or looks like a comparison or a character class, which globs lack."""
    if not pattern.strip() or _SENSELESS.search(pattern):
        raise BadInput(
            f"The pattern {pattern!r} is empty or contains a comparison. Use only * and ?, and compare numbers in "
            "a policy (`when: args.amount > 100`)."
        )


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    if len(text) > 2_000 or not text.replace("\n", " ").isprintable():
        raise ValueError("must have at most 2,000 characters, all of them printable")
    return text.strip()


def _filled(texts: tuple[str, ...]) -> tuple[str, ...]:
    if not texts:
        raise ValueError("the list is empty, so the rule would never match. Leave the field out")
    return texts


def _tools(globs: tuple[str, ...]) -> tuple[str, ...]:
    for glob in globs:
        if not _GLOB.fullmatch(glob):
            raise ValueError(f"{glob!r} is not a valid tool name. Use letters, digits and . _ - : / with * and ?")
    return globs


def _patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        try:
            check_pattern(pattern)
        except BadInput as refused:
            raise ValueError(str(refused)) from None
    return patterns


def _condition(text: str) -> str:
    try:
        check_expression(text)
    except BadInput as refused:
        raise ValueError(str(refused)) from None
    return text


def _choice(allowed: Sequence[str], what: str) -> AfterValidator:
    def check(texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if text not in allowed:
                raise ValueError(f"{text!r} is not a valid {what}. Use {', '.join(allowed)}")
        return texts

    return AfterValidator(check)


def _reviews(value: object) -> int:
    text = str(value) if getattr(value, "tag", "") == "tag:yaml.org,2002:int" else ""
    if not text.isdecimal() or not 1 <= int(text) <= 20:
        raise ValueError("must be a whole number from 1 to 20")
    return int(text)


def _seconds(value: object) -> float | None:
    """Return a written time in seconds (`90`, `10m`, `4h`, `3d`), or None if it is not a valid time."""
    tags = [f"tag:yaml.org,2002:{kind}" for kind in ("int", "float")]
    is_number = isinstance(value, WrittenScalar) and value.tag in tags
    found = re.fullmatch(r"(\d+(?:\.\d+)?)" if is_number else r"(\d+(?:\.\d+)?)([smhd])", str(value))
    return float(found[1]) * (1 if is_number else _UNITS_S[found[2]]) if found else None


def _time_to(most_s: float, examples: str, *, above_s: float = -1.0) -> BeforeValidator:
    def check(value: object) -> float:
        seconds = _seconds(value)
        if seconds is None or not above_s < seconds <= most_s:
            raise ValueError(f"must be a time such as {examples}")
        return seconds

    return BeforeValidator(check)


_DEADLINE_TIME = _time_to(MAX_DEADLINE_S, "90 (seconds), 10m, 4h or 3d, more than 0 and at most 7d", above_s=0.0)
_UNDO_TIME = _time_to(MAX_UNDO_S, "0, 30 (seconds) or 2m, at most 1h")


def _people(entries: tuple[str, ...]) -> tuple[str, ...]:
    for entry in entries:
        kind, sign, name = entry.partition(":")
        if sign and kind in (GROUP[:-1], ROLE[:-1]) and not name.strip():
            raise ValueError(f"{entry!r} has no name. Write {kind}:NAME")
        if entry.startswith(ROLE) and name not in (Role.REVIEWER, Role.RESEARCHER, Role.ADMIN):
            raise ValueError(f"{entry!r} is not a role. Use role:reviewer, role:researcher or role:admin")
    return entries


def _limit_number(value: object) -> float:
    if not _is_number(value) or not 0 <= (found := float(str(value))) <= MAX_AMOUNT:
        raise ValueError(f"must be a number from 0 to {MAX_AMOUNT:,}")
    return found


def _argument(text: str) -> str:
    if not re.fullmatch(r"args\.[^\W\d]\w*", text):
        raise ValueError("must name an argument, such as args.amount")
    return text


def _window(value: object) -> int:
    if value not in _WINDOWS_S:
        raise ValueError(f"must be {', '.join(_WINDOWS_S)}")
    return _WINDOWS_S[str(value)]


def _counter(value: object) -> str:
    if value not in COUNTERS:
        raise ValueError(f"must be {', '.join(COUNTERS)}")
    return str(value)


def _is_number(value: object) -> bool:
    tags = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    return isinstance(value, WrittenScalar) and value.tag in tags and re.fullmatch(r"\d+(\.\d+)?", value) is not None


def _timezone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a known time zone. Write a time zone such as Europe/Berlin") from None
    return name


def _share(value: object) -> float:
    found = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*%", value) if isinstance(value, str) else None
    if not found or not 0 < float(found[1]) <= 100:
        raise ValueError("must be a share of the tasks, such as 25%")
    return float(found[1]) / 100


_Text = Annotated[str, AfterValidator(_text)]
_Texts = Annotated[
    tuple[_Text, ...],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    AfterValidator(_filled),
]


_People = Annotated[_Texts, AfterValidator(_people)]


class _WrittenWiden(BaseModel):
    """Further people who may decide, and the time after the check from which they may."""

    model_config = ConfigDict(extra="forbid")

    after: Annotated[float, _time_to(MAX_DEADLINE_S, "600 (seconds), 10m or 4h, at most 7d")]
    to: _People


class _WrittenLimit(BaseModel):
    """A limit as written in YAML: a count, or the sum of an argument, in a window of time."""

    model_config = ConfigDict(extra="forbid")

    count: Annotated[float | None, BeforeValidator(_limit_number)] = None
    sum: Annotated[str | None, AfterValidator(_argument)] = None
    most: Annotated[float | None, BeforeValidator(_limit_number)] = None
    per: Annotated[int, BeforeValidator(_window)]
    by: Annotated[str, BeforeValidator(_counter)] = "run"

    @model_validator(mode="after")
    def _is_one_limit(self) -> _WrittenLimit:
        if (self.count is None) == (self.sum is None) or (self.sum is None) != (self.most is None):
            raise ValueError("write either `count: 3`, or `sum: args.amount` with `most: 500`")
        return self

    def to_limit(self) -> Limit:
        argument = (self.sum or "").removeprefix("args.")
        return Limit(self.count or self.most or 0.0, self.per, self.by, argument)


class _WrittenRule(BaseModel):
    """A rule as written in YAML; `allow` and `deny` rules cannot have terms of a decision."""

    model_config = ConfigDict(extra="forbid")

    then: Then
    name: _Text | None = None
    tool: Annotated[_Texts, AfterValidator(_tools)] = ()
    pattern: Annotated[_Texts, AfterValidator(_patterns)] = ()
    agent: _Texts = ()
    environment: _Texts = ()
    when: Annotated[_Text, AfterValidator(_condition)] = ""
    because: _Text = ""
    reviews: Annotated[int, BeforeValidator(_reviews)] = 1
    decisions: Annotated[_Texts, _choice(DECISIONS, "decision")] = ()
    deadline: Annotated[float | None, _DEADLINE_TIME] = None
    who: _People = ()
    widen: _WrittenWiden | None = None
    doors: Annotated[_Texts, _choice(DOORS, "entry point")] = ()
    undo: Annotated[float | None, _UNDO_TIME] = None
    limit: _WrittenLimit | None = None

    @field_validator("limit", "reviews", "decisions", "deadline", "who", "widen", "doors", "undo")
    @classmethod
    def _applies(cls, value: Any, info: ValidationInfo) -> Any:
        then, is_limit = info.data.get("then"), info.field_name == "limit"
        if then is Then.DENY or then is (Then.ASK if is_limit else Then.ALLOW):
            which = "rules that let actions run" if is_limit else "rules that may ask a person"
            raise ValueError(f"applies only to {which}. Remove this field, because the rule has `then: {then}`")
        return value

    @field_validator("widen")
    @classmethod
    def _can_widen(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and not info.data.get("who"):
            raise ValueError("needs `who`, because without `who` every reviewer may decide")
        return value

    def to_rule(self, place: int) -> Rule:
        fields = self.model_dump(exclude={"name", "deadline", "undo", "widen", "limit"})
        fields |= {"deadline_s": self.deadline, "undo_s": self.undo}
        widen = None if self.widen is None else Widen(self.widen.after, self.widen.to)
        limit = None if self.limit is None else self.limit.to_limit()
        return Rule(name=self.name or f"rule {place}", widen=widen, limit=limit, **fields)


def _reachable(written: list[_WrittenRule]) -> list[_WrittenRule]:
    if len(written) > MAX_RULES:
        raise ValueError(f"there are {len(written)} rules, and the limit is {MAX_RULES}. Merge or remove rules")
    rules: list[Rule] = []
    for place, each in enumerate(written):
        rule = each.to_rule(place + 1)
        if rule.name in [other.name for other in rules] or rule.name == "default":
            refuse_at((place,), f"the name {rule.name!r} is taken. Choose another name")
        if rules and rules[-1].is_unconditional:
            refuse_at((place,), f"this rule is never reached, since {rules[-1].name!r} before it has no condition")
        rules.append(rule)
    return written


class _WrittenPolicy(BaseModel):
    """A policy as written in YAML."""

    model_config = ConfigDict(extra="forbid")

    default: Then = Then.ASK
    rules: Annotated[list[_WrittenRule], AfterValidator(_reachable)] = []
    mode: PolicyMode = PolicyMode.ENFORCE
    rollout: Annotated[float, BeforeValidator(_share)] = 1.0
    timezone: Annotated[_Text, AfterValidator(_timezone)] = UTC_NAME
    undo: Annotated[float | None, _UNDO_TIME] = None
    hints_from: _Texts = ()
