"""Policies as text: their stored versions, the version for a check, and YAML, in which they are written.

YAML is parsed strictly: unknown, duplicate and invalid fields are refused with their line.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationInfo, field_validator
from sqlalchemy import Select, bindparam, case, or_
from sqlalchemy import select as sa_select
from sqlalchemy import text as sql_text
from sqlmodel import Session, col, func, select

from console import runs
from console.auth import audit_log
from console.auth.audit_log import Door
from console.errors import BadInput, Refused, Unknown
from console.gate.policy.expression import check_expression
from console.gate.policy.rules import DEADLINE_S, Policy, PolicyMode, Rule, Ruling, Then
from console.language import counted
from console.trajectory.strict_yaml import WrittenScalar, read_yaml, refuse_at
from storage import tables
from storage.tables import RunKind

MAX_TEXT = 65_536
"""Maximum characters of a policy."""
MAX_RULES = 200
DECISIONS = ("approve", "reject", "edit")
"""Decisions that a rule may offer; `respond` and `escalate` never allow an action, so they are always available."""

DOORS = (str(Door.BROWSER), str(Door.CLI), str(Door.PYTHON))
"""The entry points of decisions: a page, a command, a program with access to the database."""

_GLOB = re.compile(r"[\w.*?:/-]+")
_COMPARED = r"^\s*[\w.*?-]+\s*(?:[<>!]=|[<>]\s*[-+.]?\d[\d.,_]*\s*$)"
_SENSELESS = re.compile(rf"^\s*[!<>=^]|=\s*[<>!=]|{_COMPARED}|\[[!^]?\w-\w[^\[\]]*\]")

EVERYWHERE = "*"
"""The name, given instead of a run's, of the common policy for runs without their own policy."""
BY_PATTERNS = "the gate's patterns"
"""The author of a policy created from the patterns of a run's first gate."""

BY_NOBODY = "the console's default"
"""The author of the policy of a run that an agent created over HTTP: a person is asked about everything."""

_MAX_TOOL = 80
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """A stored version: its row's id, its number and its rules; `own` is true if it belongs to one run."""

    id: int
    version: int
    text: str
    author: str
    created_ms: int
    own: bool

    @property
    def policy(self) -> Policy:
        """The rules; if the text cannot be parsed, a policy that asks a person about every action."""
        return _policy(self.text)


def effective_version(session: Session, run: tables.Run, task: str | None = None) -> PolicyVersion | None:
    """Return the policy version for the task, or the newest if no task is given; None if no policy exists."""
    rows = session.connection().execute(_versions(), {"run_id": run.id})
    last: PolicyVersion | None = None
    for row in rows:
        last = _version(row)
        if task is None or _is_for(last, row.digest, task):
            break
    rows.close()
    return last


def ensure_policy(session: Session, run: tables.Run, now_ms: int, judged: Sequence[str]) -> None:
    """Store a policy from these patterns if the run has none; the policy asks a person about all other actions."""
    if effective_version(session, run) is None:
        author = BY_PATTERNS if judged else BY_NOBODY
        _append(session, run, from_patterns(judged), author, now_ms, by=author)


def save(session: Session, run: tables.Run | None, text: str, author: str, now_ms: int) -> PolicyVersion:
    """Store a new version of the run's policy, or of the common policy if no run is given.

    Raise BadInput with the line number if the policy is invalid. `author` is stored as the author; the event records
    the person or agent who acts now.
    """
    if read_policy(text).rollout < 1 and not list_versions(session, run) and not list_versions(session, None):
        raise BadInput("No earlier version exists for the other tasks; remove `rollout`.")
    return _append(session, run, text, author, now_ms)


def describe_savable(policy: Policy) -> str:
    """Return a sentence that describes a valid policy, which can be saved."""
    after = "" if policy.rollout >= 1 else " after an earlier version"
    return f"{counted(len(policy.rules), 'rule')}, then {policy.default}: it can be saved{after}."


def list_versions(session: Session, run: tables.Run | None) -> list[PolicyVersion]:
    """Return all versions of the run's own policy, or of the common policy if no run is given, newest first."""
    policy = tables.Policy
    whose = col(policy.run_id).is_(None) if run is None else col(policy.run_id) == run.id
    rows = session.exec(select(policy).where(whose).order_by(col(policy.version).desc()))
    return [
        PolicyVersion(row.id or 0, row.version, row.text, row.author, row.created_ms, run is not None) for row in rows
    ]


def common_version(session: Session) -> PolicyVersion:
    """Return the latest common policy; raise Unknown if there is none."""
    found = list_versions(session, None)
    if not found:
        raise Unknown("policy", EVERYWHERE)
    return found[0]


def get_gate_run(session: Session, name: str) -> tables.Run:
    """Return the gate run of that name; raise Unknown if there is none, or Refused if the run is of another kind."""
    run = runs.get(session, name)
    if run.kind != RunKind.GATE:
        raise Refused(f"{name} is of kind {run.kind}; only a gate's run has a policy.")
    return run


def count_allowed(session: Session, run: tables.Run, version: PolicyVersion, found: Ruling) -> None:
    """Count a check whose action the policy allowed at once."""
    row = {"run_id": run.id, "policy_id": version.id, "rule": found.rule, "tool": found.tool[:_MAX_TOOL]}
    session.connection().execute(_counting(), row)


def count_by_tool(session: Session, run: tables.Run) -> list[dict[str, Any]]:
    """Return a row per tool with the numbers of checks allowed, judged, asked about, denied and watched."""
    allowed, ask = tables.Allowed, tables.Ask
    found: dict[str, dict[str, Any]] = {}
    told = select(allowed.tool, func.sum(allowed.checks)).where(allowed.run_id == run.id).group_by(allowed.tool)
    for tool, count in session.exec(told):
        _row(found, tool)["allowed"] += count
    kind = case(
        (col(ask.answer) == "denied", "denied"),
        (col(ask.answer) == "shadow", "watched"),
        (col(ask.item_id).is_not(None), "asked"),
        else_="judged",
    )
    stored = (
        select(func.coalesce(ask.tool, ""), kind, func.count()).where(ask.run_id == run.id).group_by(ask.tool, kind)
    )
    for tool, word, count in session.exec(stored):
        _row(found, tool)[word] += count
    return [found[tool] for tool in sorted(found)]


def _row(found: dict[str, dict[str, Any]], tool: str) -> dict[str, Any]:
    return found.setdefault(
        tool, {"tool": tool or "no tool", "allowed": 0, "judged": 0, "asked": 0, "denied": 0, "watched": 0}
    )


def _append(
    session: Session,
    run: tables.Run | None,
    text: str,
    author: str,
    now_ms: int,
    *,
    by: str | None = None,
) -> PolicyVersion:
    before = list_versions(session, run)
    number = before[0].version + 1 if before else 1
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    row = tables.Policy(
        run_id=run.id if run else None, version=number, text=text, digest=digest, author=author, created_ms=now_ms
    )
    session.add(row)
    session.flush()
    detail = {"version": number, "digest": digest, "author": author}
    about, earlier = f"policy {number}", number - 1 or None
    audit_log.record(
        session, run, "policy set", now_ms, by=by, subject=about, before=earlier, after=number, detail=detail
    )
    return PolicyVersion(row.id or 0, number, text, author, now_ms, run is not None)


def _version(row: Any) -> PolicyVersion:
    return PolicyVersion(row.id, row.version, row.text, row.author, row.created_ms, row.run_id is not None)


def _is_for(version: PolicyVersion, digest: str, task: str) -> bool:
    share = version.policy.rollout
    drawn = int(hashlib.sha256(f"{digest} {task}".encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) / 2**32
    return share >= 1.0 or drawn < share


@lru_cache(maxsize=256)
def _policy(text: str) -> Policy:
    try:
        return read_policy(text)
    except BadInput as unreadable:
        _log.error("A stored policy cannot be read, so everything asks a person: %s", unreadable)
        return Policy()


# Built once, because every check needs it.
@cache
def _versions() -> Select[Any]:
    policy = tables.Table.metadata.tables["policy"].c
    own_first = case((policy.run_id.is_(None), 1), else_=0)
    return (
        sa_select(
            policy.id, policy.run_id, policy.version, policy.text, policy.digest, policy.author, policy.created_ms
        )
        .where(or_(policy.run_id == bindparam("run_id"), policy.run_id.is_(None)))
        .order_by(own_first, policy.version.desc())
    )


@cache
def _counting() -> Any:
    return sql_text(
        "INSERT INTO allowed (run_id, policy_id, rule, tool, checks) VALUES (:run_id, :policy_id, :rule, :tool, 1) "
        "ON CONFLICT (run_id, policy_id, rule, tool) DO UPDATE SET checks = allowed.checks + 1"
    )


@lru_cache(maxsize=256)
def read_policy(text: str) -> Policy:
    """Parse a policy from YAML text; raise BadInput with the line and the reason if the text is invalid."""
    if len(text) > MAX_TEXT:
        raise BadInput(f"The policy has {len(text):,} characters; keep it under {MAX_TEXT:,}.")
    hint = "write at least `default: ask`"
    written = read_yaml(text, _WrittenPolicy, "The policy", hint=hint, aliases=False)
    rules = tuple(each.to_rule(place) for place, each in enumerate(written.rules, 1))
    return Policy(rules, written.default, written.mode, written.rollout)


def from_patterns(patterns: Sequence[str]) -> str:
    """Return a policy in YAML: a detector judges actions that match a pattern, a person is asked about all others."""
    rules = [{"pattern": pattern, "then": str(Then.JUDGE)} for pattern in dict.fromkeys(patterns) if pattern.strip()]
    written: str = yaml.safe_dump({"default": str(Then.ASK), "rules": rules}, sort_keys=False, allow_unicode=True)
    return written


def check_pattern(pattern: str) -> None:
    """Raise BadInput if the pattern is blank or looks like a comparison or a character class, which globs lack."""
    if not pattern.strip() or _SENSELESS.search(pattern):
        raise BadInput(
            f"The pattern {pattern!r} is empty or contains a comparison. Use only * and ?; compare numbers in a "
            "policy (`when: args.amount > 100`)."
        )


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("must be text, not nothing")
    if len(text) > 2_000 or not text.replace("\n", " ").isprintable():
        raise ValueError("is too long (over 2,000 characters) or has characters that cannot be shown")
    return text.strip()


def _filled(texts: tuple[str, ...]) -> tuple[str, ...]:
    if not texts:
        raise ValueError("the list is empty, so the rule would never match; leave the field out")
    return texts


def _tools(globs: tuple[str, ...]) -> tuple[str, ...]:
    for glob in globs:
        if not _GLOB.fullmatch(glob):
            raise ValueError(f"{glob!r} is not a valid tool name; use letters, digits and . _ - : / with * and ?")
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
                raise ValueError(f"{text!r} is not a valid {what}; use {', '.join(allowed)}")
        return texts

    return AfterValidator(check)


def _reviews(value: object) -> int:
    text = str(value) if getattr(value, "tag", "") == "tag:yaml.org,2002:int" else ""
    if not text.isdecimal() or not 1 <= int(text) <= 20:
        raise ValueError("must be a whole number from 1 to 20")
    return int(text)


def _deadline(value: object) -> float:
    is_number = isinstance(value, WrittenScalar) and value.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    try:
        seconds = float(str(value)) if is_number else -1.0
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= DEADLINE_S:
        raise ValueError("must be a number of seconds, more than 0 and at most 1,800 (30 minutes)")
    return seconds


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
    deadline: Annotated[float | None, BeforeValidator(_deadline)] = None
    who: _Texts = ()
    doors: Annotated[_Texts, _choice(DOORS, "entry point")] = ()

    @field_validator("reviews", "decisions", "deadline", "who", "doors")
    @classmethod
    def _may_ask(cls, value: Any, info: ValidationInfo) -> Any:
        then = info.data.get("then")
        if then in (Then.ALLOW, Then.DENY):
            raise ValueError(f"is for rules that may ask a person; a rule that says {then} asks no one")
        return value

    def to_rule(self, place: int) -> Rule:
        fields = self.model_dump(exclude={"name", "deadline"})
        return Rule(name=self.name or f"rule {place}", deadline_s=self.deadline, **fields)


def _reachable(written: list[_WrittenRule]) -> list[_WrittenRule]:
    if len(written) > MAX_RULES:
        raise ValueError(f"there are {len(written)} rules; a policy has at most {MAX_RULES}")
    rules: list[Rule] = []
    for place, each in enumerate(written):
        rule = each.to_rule(place + 1)
        if rule.name in [other.name for other in rules] or rule.name == "default":
            refuse_at((place,), f"the name {rule.name!r} is taken; choose another")
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
