"""Stored policies: their versions, the version for a check, and counts of allowed checks.

The policies of a database that a restore replaced also apply to a run until a person chooses the run's policy.
"""

from __future__ import annotations

import difflib
import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from typing import Any

from sqlalchemy import Select, bindparam, case, or_
from sqlalchemy import select as sa_select
from sqlalchemy import text as sql_text
from sqlmodel import Session, col, delete, func, select, update

from console import runs
from console.auth import audit_log
from console.errors import BadInput, Refused, Unknown
from console.gate.policy.expression import result_tools
from console.gate.policy.rules import CheckFacts, Policy, PolicyMode, Ruling, ruling, strictest
from console.gate.policy.yaml_file import from_patterns, read_policy
from console.language import counted
from console.runs import iso
from console.runs.maintenance import select_held
from storage import tables
from storage.tables import RunKind

EVERYWHERE = "*"
"""The key of the common policy in place of a run's name."""


def list_replaced(session: Session, run: str) -> list[list[tables.ReplacedPolicy]]:
    """Return the replaced versions that also apply to a run, one list for each restore.

    A list has the run's own versions, newest first, then the common versions.
    """
    row = tables.ReplacedPolicy
    common = col(row.run) == EVERYWHERE
    statement = select(row).where(col(row.run).in_((run, EVERYWHERE)))
    found = session.exec(statement.order_by(col(row.epoch), common, col(row.version).desc()))
    lists = [list(rows) for _, rows in groupby(found, lambda one: one.epoch)]
    unchosen = [rows for rows in lists if not any(one.run == run and one.chosen_ms is not None for one in rows)]
    return [kept for rows in unchosen if (kept := [one for one in rows if one.chosen_ms is None])]


def has_undecided(session: Session) -> bool:
    """Return whether a person must still choose between the policies of a restored and a replaced database."""
    row = tables.ReplacedPolicy
    return session.exec(select(row.id).where(col(row.chosen_ms).is_(None)).limit(1)).first() is not None


def choose(session: Session, run: str, now_ms: int) -> None:
    """Record that a person chose the policy of this run, so that no replaced policy applies to the run now."""
    row = tables.ReplacedPolicy
    session.execute(update(row).where(col(row.run) == run, col(row.chosen_ms).is_(None)).values(chosen_ms=now_ms))
    known = select(row.epoch).where(row.run == run)
    if run != EVERYWHERE:
        # The run used the common policy of these databases, which still applies to other runs.
        for epoch in session.exec(select(row.epoch).where(col(row.epoch).not_in(known)).distinct()):
            mark = row(
                epoch=epoch, run=run, version=0, text="", digest="", author="", created_ms=now_ms, chosen_ms=now_ms
            )
            session.add(mark)


BY_PATTERNS = "the gate's patterns"
"""The author of a policy that comes from the patterns of a run's first gate."""

BY_NOBODY = "the console's default"
"""The author of a run's first policy without patterns, which asks a person about every action."""

_MAX_TOOL = 80
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """A stored version: its row's id, its number and its rules; `own` is true if the version belongs to one run.

    `also` holds the versions of databases that a restore replaced; they also apply until a person chooses a policy.
    """

    id: int
    version: int
    text: str
    author: str
    created_ms: int
    own: bool
    also: tuple[PolicyVersion, ...] = ()

    @property
    def policy(self) -> Policy:
        """The rules; if the text is invalid, a policy that asks a person about every action."""
        return _policy(self.text)

    @property
    def is_shadow(self) -> bool:
        """True if all policies that apply are in shadow mode."""
        return all(one.policy.mode is PolicyMode.SHADOW for one in (self, *self.also))

    @property
    def reads_results(self) -> bool:
        """True if a condition of the policies that apply reads earlier results."""
        return any(result_tools(rule.when) for one in (self, *self.also) for rule in one.policy.rules)

    def rule_on(self, facts: CheckFacts, further: Sequence[str] = ()) -> Ruling:
        """Return the strictest ruling of all policies that apply.

        A policy in shadow mode counts only if all policies are in shadow mode.
        """
        enforced = [one for one in (self, *self.also) if one.policy.mode is PolicyMode.ENFORCE]
        return strictest([ruling(one.policy, facts, further) for one in enforced or [self]])


def effective_version(session: Session, run: tables.Run, task: str | None = None) -> PolicyVersion | None:
    """Return the policy version for the task, or the newest if no task is given; None if no policy exists."""
    rows = session.connection().execute(_versions(), {"run_id": run.id})
    found = _first_for(rows, task)
    rows.close()
    if found is None:
        return None
    also = _replaced(session, run.name, task, found.text) if found.has_replaced else ()
    return PolicyVersion(
        found.id, found.version, found.text, found.author, found.created_ms, found.run_id is not None, also
    )


def _first_for(rows: Iterable[Any], task: str | None) -> Any:
    """Return the first row whose version applies to the task, else the last row, or None without rows."""
    found = None
    for found in rows:
        if task is None or _is_for(found, task):
            break
    return found


def _replaced(session: Session, run: str, task: str | None, text: str) -> tuple[PolicyVersion, ...]:
    """Return the version of each replaced database for the task, except versions with the same text."""
    found = [_first_for(rows, task) for rows in list_replaced(session, run)]
    return tuple(
        PolicyVersion(one.id, one.version, one.text, one.author, one.created_ms, one.run != EVERYWHERE)
        for one in found
        if one.text != text
    )


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
        raise BadInput("No earlier version exists for the other tasks. Remove `rollout`.")
    choose(session, run.name if run else EVERYWHERE, now_ms)
    return _append(session, run, text, author, now_ms)


def describe_savable(policy: Policy) -> str:
    """Return a sentence that describes a valid policy, which can be saved."""
    after = "" if policy.rollout >= 1 else " after an earlier version"
    return f"{counted(len(policy.rules), 'rule')}, then {policy.default}: it can be saved{after}."


def describe_difference(before: str, after: str) -> str:
    """Return the lines that differ as a unified diff with three lines around each; "" if the texts are equal."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    # Without the two lines that name files.
    return "\n".join(list(lines)[2:])


def list_versions(session: Session, run: tables.Run | None) -> list[PolicyVersion]:
    """Return all versions of the run's own policy, or of the common policy if no run is given, newest first."""
    policy = tables.Policy
    whose = col(policy.run_id).is_(None) if run is None else col(policy.run_id) == run.id
    rows = session.exec(select(policy).where(whose).order_by(col(policy.version).desc()))
    return [
        PolicyVersion(row.id or 0, row.version, row.text, row.author, row.created_ms, run is not None) for row in rows
    ]


def common_version(session: Session) -> PolicyVersion:
    """Return the latest common policy; raise Unknown if it does not exist."""
    found = list_versions(session, None)
    if not found:
        raise Unknown("policy", EVERYWHERE)
    return replace(found[0], also=_replaced(session, EVERYWHERE, None, found[0].text))


def get_gate_run(session: Session, name: str) -> tables.Run:
    """Return the gate run of that name; raise Unknown if there is none, or Refused if the run is of another kind."""
    run = runs.get(session, name)
    if run.kind != RunKind.GATE:
        raise Refused(f"{name} is of kind {run.kind}, but only a gate's run has a policy. Name a gate's run.")
    return run


def store_allowed(
    session: Session, run: tables.Run, version: PolicyVersion, found: Ruling, action: str, agent: str, now_ms: int
) -> None:
    """Store and count a check whose action the policy allowed at once; the row has only the action's digest."""
    row = {"run_id": run.id, "policy_id": version.id, "rule": found.rule, "tool": found.tool[:_MAX_TOOL]}
    digest = hashlib.sha256(action.encode("utf-8", "surrogatepass")).hexdigest()
    check = {"version": version.version, "digest": digest, "agent": agent, "at_ms": now_ms}
    session.connection().execute(_counting(), row)
    session.connection().execute(_storing(), row | check)


def prune_allowed(session: Session, before_ms: int) -> None:
    """Delete the allowed checks before this time, but keep their counts, and all checks of runs on legal hold."""
    checked = tables.AllowedCheck
    session.execute(delete(checked).where(col(checked.at_ms) < before_ms, col(checked.run_id).not_in(select_held())))


def list_allowed(session: Session, run: tables.Run, rule: str | None = None, most: int = 200) -> list[dict[str, Any]]:
    """Return up to `most` checks that the run's policy allowed at once, newest first; only `rule`'s if given."""
    checked = tables.AllowedCheck
    statement = select(checked).where(checked.run_id == run.id).order_by(col(checked.id).desc()).limit(most)
    found = session.exec(statement if rule is None else statement.where(checked.rule == rule))
    return [
        {
            "at": iso(one.at_ms),
            "agent": one.agent,
            "tool": one.tool or "no tool",
            "rule": one.rule,
            "version": one.policy_version,
            "action_digest": one.action_digest,
        }
        for one in found
    ]


def list_allowing_rules(session: Session, run: tables.Run) -> list[str]:
    """Return the names of the rules that allowed the stored checks of the run."""
    checked = tables.AllowedCheck
    return list(session.exec(select(checked.rule).where(checked.run_id == run.id).distinct().order_by(checked.rule)))


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
    session: Session, run: tables.Run | None, text: str, author: str, now_ms: int, *, by: str | None = None
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


def _is_for(row: Any, task: str) -> bool:
    share = _policy(row.text).rollout
    drawn = int(hashlib.sha256(f"{row.digest} {task}".encode("utf-8", "surrogatepass")).hexdigest()[:8], 16) / 2**32
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
    policy, kept = (tables.Table.metadata.tables[name].c for name in ("policy", "replaced_policy"))
    return (
        sa_select(
            policy.id,
            policy.run_id,
            policy.version,
            policy.text,
            policy.digest,
            policy.author,
            policy.created_ms,
            sa_select(kept.id).where(kept.chosen_ms.is_(None)).exists().label("has_replaced"),
        )
        .where(or_(policy.run_id == bindparam("run_id"), policy.run_id.is_(None)))
        .order_by(policy.run_id.is_(None), policy.version.desc())
    )


@cache
def _counting() -> Any:
    return sql_text(
        "INSERT INTO allowed (run_id, policy_id, rule, tool, checks) VALUES (:run_id, :policy_id, :rule, :tool, 1) "
        "ON CONFLICT (run_id, policy_id, rule, tool) DO UPDATE SET checks = allowed.checks + 1"
    )


@cache
def _storing() -> Any:
    return sql_text(
        "INSERT INTO allowed_check (run_id, tool, action_digest, rule, policy_version, agent, at_ms) "
        "VALUES (:run_id, :tool, :digest, :rule, :version, :agent, :at_ms)"
    )
