"""Replay of recorded actions under a policy: how many it would have allowed, judged, asked about and denied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, col, select

from console.gate.policy.rules import CheckFacts, Policy, Then, ruling
from console.runs import patterns
from console.trajectory import Trajectory, from_json
from console.trajectory.checkpoints import is_critical
from storage import tables
from storage.tables import RunKind


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """Counts of checks under a policy by outcome, rule and tool; `asked_today` counts those asked about today."""

    checks: int
    asked_today: int
    allowed: int
    judged: int
    asked: int
    denied: int
    by_rule: dict[str, int] = field(default_factory=dict)
    by_tool: list[dict[str, Any]] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The counts as one sentence."""
        return (
            f"would have asked {self.asked} of {self.checks} (today {self.asked_today}), denied {self.denied}, "
            f"let a detector judge {self.judged}, allowed {self.allowed}"
        )


def replay_policy(session: Session, run: tables.Run, policy: Policy) -> PolicyTest:
    """Apply the policy to every recorded action of the run, executed or pending.

    Checks that were only counted are skipped. `asked_today` counts the actions that match the run's critical patterns;
    in a gate's run, it counts the actions with an item.
    """
    critical = patterns(run)
    word: Counter[Then] = Counter()
    by_rule: Counter[str] = Counter()
    by_tool: dict[str, Counter[Then]] = {}
    today = 0
    for action, record, agent in _actions(session, run):
        found = ruling(policy, CheckFacts(action, agent, run.environment or record.environment, record.instruction))
        word[found.then] += 1
        by_rule[found.rule] += 1
        by_tool.setdefault(found.tool or "no tool", Counter())[found.then] += 1
        today += is_critical(action, critical)
    if run.kind == RunKind.GATE:
        asked = select(tables.Ask.id).where(tables.Ask.run_id == run.id, col(tables.Ask.item_id).is_not(None))
        today = len(session.exec(asked).all())
    tools = [{"tool": tool, **{str(then): counts[then] for then in Then}} for tool, counts in sorted(by_tool.items())]
    return PolicyTest(
        checks=word.total(),
        asked_today=today,
        allowed=word[Then.ALLOW],
        judged=word[Then.JUDGE],
        asked=word[Then.ASK],
        denied=word[Then.DENY],
        by_rule=dict(by_rule),
        by_tool=tools,
    )


def _actions(session: Session, run: tables.Run) -> Iterator[tuple[str, Trajectory, str]]:
    """Yield every action with its trajectory and the agent that submitted it; yield each pending action once."""
    body, record, ask = tables.TrajectoryBody, tables.Trajectory, tables.Ask
    asked = select(ask.trajectory_id, ask.asker).where(ask.run_id == run.id)
    askers = {trajectory: asker for trajectory, asker in session.exec(asked) if asker}
    statement = select(record.id, body.body).join(record, col(record.id) == body.trajectory_id)
    for record_id, text in session.exec(statement.where(record.run_id == run.id).order_by(col(record.id))):
        trajectory, agent = from_json(text), askers.get(record_id or 0, run.actor or "")
        taken = [step.action for step in trajectory.steps if step.action.strip()]
        for action in taken:
            yield action, trajectory, agent
        # A gate's trajectory names only a pending action; one from a log may name one of its steps.
        if trajectory.critical_action and (run.kind == RunKind.GATE or trajectory.critical_action not in taken):
            yield trajectory.critical_action, trajectory, agent
