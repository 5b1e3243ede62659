"""Rules suggested from decisions: actions that reviewers approve so reliably that a rule could allow them.

A candidate names one tool, and at most one number among its arguments. Candidates depend on the calls and not on the
labels. The bounds of all candidates hold together (Bonferroni), so that the best candidate may be chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml
from sqlmodel import Session, col, select

from console import runs
from console.analysis.statistics.uninspected import proportion_at_least
from console.gate.policy import policy_store
from console.gate.policy.expression import names_tool
from console.gate.policy.replay import replay_policy
from console.gate.policy.rules import Policy, Rule, Then
from console.language import counted
from console.runs import is_current
from console.trajectory import Label, from_json
from console.trajectory.calls import Call, name_suffixes, read_strictly
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from storage import tables

LEVEL = 0.95
AT_MOST = 0.05
DAYS = 30
FEWEST = 20
"""The smallest number of decisions for which a rule is suggested."""
_SHARES = (0.5, 0.75, 0.9, 1.0)
"""The shares of a tool's calls that the tried limits of a number cover."""


@dataclass(frozen=True, slots=True)
class DecidedCall:
    """A call that reviewers decided; `is_wrong` is true if one of the reviewers called it misaligned."""

    call: Call
    is_wrong: bool

    @property
    def tool(self) -> str:
        """The last name of the tool."""
        return name_suffixes(self.call.name)[-1]

    @property
    def numbers(self) -> list[tuple[str, float]]:
        """The arguments that are numbers."""
        return list(_numbers(self.call.arguments))


@dataclass(frozen=True, slots=True)
class SuggestedRule:
    """A rule that would have saved `saved` reviews, `wrong` of which found a misaligned action.

    With probability `level`, at most the share `bound` of such actions is misaligned, if later actions are like these.
    """

    tool: str
    argument: str
    least: float
    most: float | None
    saved: int
    wrong: int
    bound: float
    level: float
    expires: str

    @property
    def limits(self) -> str:
        """The limits of the number as a condition, without the expiry; "" if the rule matches every call."""
        if self.most is None:
            return ""
        return f"args.{self.argument} >= {self.least:.15g} && args.{self.argument} <= {self.most:.15g}"

    @property
    def condition(self) -> str:
        """The rule's condition: its limits, if there are any, and its expiry."""
        return " && ".join(filter(None, (self.limits, f'date <= "{self.expires}"')))

    @property
    def sentence(self) -> str:
        """The suggestion in one sentence."""
        limit = "" if self.most is None else f" with {self.argument} from {self.least:g} to {self.most:g}"
        return (
            f"Allow {self.tool}{limit}: would have saved {counted(self.saved, 'review')} and let through at most "
            f"{100 * self.bound:.1f}% misaligned ({100 * self.level:.4g}%; {self.wrong:,} found)."
        )

    @property
    def rule(self) -> str:
        """The rule as YAML for a policy; the rule does not match after its expiry."""
        name = f"{self.tool} by decisions until {self.expires}"
        because = f"{self.saved} decisions, {self.wrong} misaligned; bound {100 * self.bound:.1f}% ({self.level:.4g})."
        written = {"name": name, "tool": self.tool, "when": self.condition, "then": "allow", "because": because}
        text: str = yaml.safe_dump([written], sort_keys=False, allow_unicode=True, width=1_000)
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the suggestion in the shape of `policy suggest --json`."""
        told = {
            name: getattr(self, name)
            for name in ("tool", "argument", "least", "most", "saved", "wrong", "bound", "level")
        }
        return told | {"expires": self.expires, "sentence": self.sentence, "rule": self.rule}


def suggest_rules(
    session: Session, run: tables.Run, at_ms: int, *, at_most: float = AT_MOST, level: float = LEVEL, days: int = DAYS
) -> list[SuggestedRule]:
    """Return for each tool the rule that saves the most reviews within the bound, the most useful first.

    The policy stays unchanged: a person has to add the rule.
    """
    decided = list_decided_calls(session, run)
    candidates = list(_candidates(decided))
    expires = (datetime.fromtimestamp(at_ms / 1_000, UTC) + timedelta(days=days)).date().isoformat()
    best: dict[str, SuggestedRule] = {}
    for tool, argument, most in candidates:
        matched = [one for one in decided if _matches(one, tool, argument, most)]
        wrong = sum(one.is_wrong for one in matched)
        bound = 1 - proportion_at_least(len(matched) - wrong, len(matched), (1 - level) / len(candidates))
        known = best.get(tool)
        if bound <= at_most and (known is None or len(matched) > known.saved):
            least = min((value for one in matched for name, value in one.numbers if name == argument), default=0.0)
            best[tool] = SuggestedRule(tool, argument, least, most, len(matched), wrong, bound, level, expires)
    return sorted(best.values(), key=lambda one: (-one.saved, one.tool))


def try_on_log(session: Session, run: tables.Run, one: SuggestedRule) -> tuple[int, int]:
    """Return the numbers of recorded actions that the policy asks about, without and with the suggested rule.

    The rule is tried before the first rule that does not deny, without its expiry.
    """
    version = policy_store.effective_version(session, run)
    policy = Policy() if version is None else version.policy
    place = next((at for at, rule in enumerate(policy.rules) if rule.then is not Then.DENY), len(policy.rules))
    rule = Rule("suggested", Then.ALLOW, tool=(one.tool,), when=one.limits)
    tried = replace(policy, rules=(*policy.rules[:place], rule, *policy.rules[place:]))
    before, after = (replay_policy(session, run, each, 0) for each in (policy, tried))
    return before.asked, after.asked


def list_decided_calls(session: Session, run: tables.Run) -> list[DecidedCall]:
    """Return the run's decided actions that are one call; an action is wrong if any decision calls it misaligned."""
    item, decision, body = tables.Item, tables.Decision, tables.TrajectoryBody
    labels: defaultdict[int, set[str]] = defaultdict(set)
    made = select(decision.item_id, decision.label).join(item, col(item.id) == col(decision.item_id))
    for item_id, label in session.exec(made.where(item.run_id == run.id, is_current())):
        if label is not None:
            labels[item_id].add(label)
    rows = session.exec(
        select(item, body.body)
        .join(body, col(body.trajectory_id) == col(item.trajectory_id))
        .where(item.run_id == run.id, item.kind == str(CheckpointKind.ACTION), ~runs.IS_SEEDED)
        .order_by(col(item.id))
    )
    found = []
    for row, text in rows:
        given = labels.get(row.id or 0)
        if given:
            parts = read_strictly(checkpoint_at(from_json(text), row.step, CheckpointKind.ACTION).action)
            if len(parts) == 1 and parts[0].call is not None:
                found.append(DecidedCall(parts[0].call, Label.MISALIGNED in given))
    return found


def _candidates(decided: Sequence[DecidedCall]) -> Iterator[tuple[str, str, float | None]]:
    """Yield (tool, argument, limit) of each candidate rule that enough calls match."""
    by_tool: defaultdict[str, list[DecidedCall]] = defaultdict(list)
    for one in decided:
        by_tool[one.tool].append(one)
    for tool, calls in sorted(by_tool.items()):
        if len(calls) < FEWEST:
            continue
        yield tool, "", None
        numbers: defaultdict[str, list[float]] = defaultdict(list)
        for one in calls:
            for name, value in one.numbers:
                numbers[name].append(value)
        for name, values in sorted(numbers.items()):
            ordered = sorted(values)
            limits = {ordered[int(share * (len(ordered) - 1))] for share in _SHARES}
            for limit in sorted(limits):
                if sum(value <= limit for value in ordered) >= FEWEST:
                    yield tool, name, limit


def _numbers(arguments: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in arguments.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name.isidentifier():
            yield name, float(value)


def _matches(one: DecidedCall, tool: str, argument: str, most: float | None) -> bool:
    if not names_tool(one.call.name, tool):
        return False
    if most is None:
        return True
    return any(name == argument and value <= most for name, value in one.numbers)
