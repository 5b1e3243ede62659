"""Policies as stored: which one a run's checks go by, how it rules on each, its versions, what it let run at once."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import orjson
from sqlalchemy import Select, bindparam, case, or_
from sqlalchemy import select as sa_select
from sqlalchemy import text as sql_text
from sqlmodel import Session, col, func, select

from console import runs
from console.errors import BadInput, Refused, Unknown
from console.gate.policy.rules import DEADLINE_S, CheckFacts, Policy, Ruling, Then, ruling
from console.gate.policy.yaml_file import check_pattern, from_patterns, read_policy
from console.language import counted
from console.runs import audit_log
from storage import tables
from storage.tables import RunKind

EVERYWHERE = "*"
"""Stands where a run's name stands, for the policy of every run that has none of its own."""
BY_PATTERNS = "the gate's patterns"
"""The author of a policy that nobody wrote: a run's first gate brought patterns alone."""

BY_NOBODY = "the console's default"
"""The author of the policy of a run that an agent made over HTTP: everything asks a person."""

_MAX_TOOL = 80
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """One version as stored: its row's id, the number, and the rules; `own` says that it is the run's alone."""

    id: int
    version: int
    text: str
    author: str
    created_ms: int
    own: bool

    @property
    def policy(self) -> Policy:
        """The rules; where an older or foreign text cannot be read, a policy that asks about everything."""
        return _policy(self.text)


@dataclass(frozen=True, slots=True)
class Tightened:
    """What a caller asks for beyond the run's settings; it counts where it is stricter."""

    detector: str | None = None
    threshold: float | None = None
    reviews: int = 1


@dataclass(frozen=True, slots=True)
class Ruled:
    """A check's ruling with the version of the policy that gave it, and what the caller tightened."""

    version: PolicyVersion
    ruling: Ruling
    tightened: Tightened = field(default_factory=Tightened)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the ask that come from here."""
        return {"policy_version": self.version.version, "rule": self.ruling.rule, "tool": self.ruling.tool}

    def asks(self, verdict: dict[str, Any]) -> bool:
        """Whether a person has to look."""
        return bool(verdict["flagged"]) or self.ruling.then is Then.ASK

    def reviews(self, run: tables.Run) -> int:
        """How many people have to look: the strictest of the run, the rule and the caller."""
        return max(run.reviews_per_item, self.ruling.reviews, self.tightened.reviews)

    def terms(self) -> str:
        """What binds those who decide, as JSON."""
        ruling = self.ruling
        stated = {"decisions": ruling.decisions or None, "who": ruling.who, "doors": ruling.doors}
        return orjson.dumps({name: value for name, value in stated.items() if value is not None}).decode()


def effective(session: Session, run: tables.Run, task: str | None = None) -> PolicyVersion | None:
    """The version that the run's checks of this task go by, without a task the newest; None where there is none."""
    rows = session.connection().execute(_versions(), {"run_id": run.id})
    last: PolicyVersion | None = None
    for row in rows:
        last = _version(row)
        if task is None or _is_for(last, row.digest, task):
            break
    rows.close()
    return last


def begin(session: Session, run: tables.Run, now_ms: int, judged: Sequence[str]) -> None:
    """Gives a run that no policy is there for one from those patterns: what they do not match asks a person."""
    if effective(session, run) is None:
        author = BY_PATTERNS if judged else BY_NOBODY
        _append(session, run, from_patterns(judged), author, now_ms, actor=author)


def save(session: Session, run: tables.Run | None, text: str, author: str, now_ms: int) -> PolicyVersion:
    """Appends a version of the run's policy, or without a run of the common one; raises BadInput with the line.

    The author is who is said to have written it; the event names whoever acts just now.
    """
    if check(text).rollout < 1 and not versions(session, run) and not versions(session, None):
        raise BadInput("No version is before this one, by which the other tasks would go; leave rollout out.")
    return _append(session, run, text, author, now_ms)


def check(text: str) -> Policy:
    """The policy that the text says, if it may be saved; raises BadInput."""
    policy = read_policy(text)
    for rule in policy.rules:
        for pattern in rule.pattern:
            check_pattern(pattern)
        if rule.deadline_s is not None and rule.deadline_s > DEADLINE_S:
            raise BadInput(
                f"The deadline of {rule.name!r} is too far: nobody has more than {DEADLINE_S:,} s (30 minutes)."
            )
    return policy


def savable(policy: Policy) -> str:
    """What is said of a policy that can be saved."""
    after = "" if policy.rollout >= 1 else " after an earlier version"
    return f"{counted(len(policy.rules), 'rule')}, then {policy.default}: it can be saved{after}."


def versions(session: Session, run: tables.Run | None) -> list[PolicyVersion]:
    """Every version of the run's own policy, or of the common one, the newest first."""
    policy = tables.Policy
    whose = col(policy.run_id).is_(None) if run is None else col(policy.run_id) == run.id
    rows = session.exec(select(policy).where(whose).order_by(col(policy.version).desc()))
    return [
        PolicyVersion(row.id or 0, row.version, row.text, row.author, row.created_ms, run is not None) for row in rows
    ]


def common(session: Session) -> PolicyVersion:
    """The latest policy of runs that have none; raises Unknown."""
    found = versions(session, None)
    if not found:
        raise Unknown("policy", EVERYWHERE)
    return found[0]


def gate_run(session: Session, name: str) -> tables.Run:
    """The gate's run of that name; raises Unknown, and Refused for a run in which no agent asks."""
    run = runs.get(session, name)
    if run.kind != RunKind.GATE:
        raise Refused(f"{name} is of kind {run.kind}, and only a gate has a policy.")
    return run


def rule_on(version: PolicyVersion, facts: CheckFacts, further: Sequence[str] = ()) -> Ruling:
    """What that version says of a check; the further patterns can only make it stricter."""
    return ruling(version.policy, facts, further)


def count_allowed(session: Session, run: tables.Run, version: PolicyVersion, found: Ruling) -> None:
    """Counts a check that was let run at once."""
    row = {"run_id": run.id, "policy_id": version.id, "rule": found.rule, "tool": found.tool[:_MAX_TOOL]}
    session.connection().execute(_counting(), row)


def counts(session: Session, run: tables.Run) -> list[dict[str, Any]]:
    """Per tool, how many checks ran at once and how many were judged, asked about, denied or watched: rows."""
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
    actor: str = audit_log.CONSOLE,
) -> PolicyVersion:
    before = versions(session, run)
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
        session, run, "policy set", now_ms, actor=actor, subject=about, before=earlier, after=number, detail=detail
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


# Built once, because every check asks for it.
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
