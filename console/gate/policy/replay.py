"""A policy tried on recorded actions: how many it would have allowed, let a detector judge, asked about, denied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
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
    """Counts of checks: what the policy would have done, in all and by rule and tool, and what is asked about today."""

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
        """The outcome in words."""
        return (
            f"would have asked {self.asked} of {self.checks} (today {self.asked_today}), denied {self.denied}, "
            f"let a detector judge {self.judged}, allowed {self.allowed}"
        )

    def to_dict(self) -> dict[str, Any]:
        """As `policy test --json` prints it."""
        return asdict(self)


def replay_policy(session: Session, run: tables.Run, policy: Policy) -> PolicyTest:
    """The policy on every action that the run recorded, whether it ran or waited; those only counted are not there.

    Today's figure: the actions that the run's patterns call critical; for a gate, those for which it queued an item.
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
    """Every action with the trajectory that it stands in and the agent that asked there; each pending one once."""
    body, record, ask = tables.TrajectoryBody, tables.Trajectory, tables.Ask
    asked = select(ask.trajectory_id, ask.asker).where(ask.run_id == run.id)
    askers = {trajectory: asker for trajectory, asker in session.exec(asked) if asker}
    statement = select(record.id, body.body).join(record, col(record.id) == body.trajectory_id)
    for record_id, text in session.exec(statement.where(record.run_id == run.id).order_by(col(record.id))):
        trajectory, agent = from_json(text), askers.get(record_id or 0, run.actor or "")
        taken = [step.action for step in trajectory.steps if step.action.strip()]
        for action in taken:
            yield action, trajectory, agent
        # A gate's trajectory names an action only while it waits; one from a log may name a step of its own.
        if trajectory.critical_action and (run.kind == RunKind.GATE or trajectory.critical_action not in taken):
            yield trajectory.critical_action, trajectory, agent
