"""What the agents noted, held against the database: what ran unapproved or twice, what was lost, what never ended."""

from __future__ import annotations

import json
import runpy
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sqlmodel import Session, col, func, select

from console.database import reading
from console.trajectory import Outcome, from_json
from storage import tables
from storage.tables import SlotStatus

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "console" / "gate" / "programs"
LETS_RUN = ("approve", "edit")

Line = dict[str, Any]

answer_to = runpy.run_path(str(PROGRAMS / "reviewer.py"))["answer_to"]


class GoAhead(NamedTuple):
    """A stored intent with what stands behind it: the decision of a person, or the verdict that nobody need look."""

    intent: tables.Intent
    decision: tables.Decision | None
    flagged: bool
    recorded: tuple[str, ...]
    outcome: str


def books(url: str, logs: Iterable[Path], asked: set[str]) -> dict[str, int]:
    """Counts over all agents; `asked` are the actions that must have come to an end."""
    lines = [json.loads(line) for log in logs if log.exists() for line in log.read_text().splitlines()]
    ran, told = [line for line in lines if "ran" in line], [line for line in lines if "reason" in line]
    with reading(url) as session:
        given = go_aheads(session)
        amiss = units_amiss(session)
    times = Counter(line["asked"] for line in ran)
    ends = {line["asked"]: line["reason"] for line in told}
    silent = [reason for action, reason in ends.items() if action not in times]
    return {
        "actions": len(asked),
        "executed": len(times),
        "of_them_unflagged": sum(given[action].decision is None for action in times if action in given),
        "rejected": silent.count("rejected"),
        "unknown": silent.count("already_handed_out"),
        "other_ends": len(silent) - silent.count("rejected") - silent.count("already_handed_out"),
        "without_approval": sum(not allowed(line, given.get(line["asked"])) for line in ran),
        "twice": sum(times.values()) - len(times),
        "not_ended": len(asked - set(ends)),
        "left_open": sum(one.intent.finished_ms is None and one.outcome != Outcome.ERROR for one in given.values()),
        "wrong_answers": sum(not own(line, given.get(line["asked"])) for line in told),
        "lost_results": sum(line["approved"] and not kept(line, given.get(line["asked"])) for line in told),
        "lost_before_begin": sum(
            reason == "already_handed_out" and action not in given for action, reason in ends.items()
        ),
        "units_amiss": amiss,
    }


def allowed(line: Line, given: GoAhead | None) -> bool:
    """Whether what ran is what was let run before: by the reviewer's rule, or by a verdict that did not flag it."""
    if given is None or given.intent.action != line["ran"] or given.intent.started_ms > line["at_ms"]:
        return False
    if given.decision is None:
        return not given.flagged and line["ran"] == line["asked"]
    said = given.decision
    stands = said.decision in LETS_RUN and not said.superseded and said.delivered_ms is not None
    return stands and said.decided_ms <= given.intent.started_ms and line["ran"] == by_rule(line["asked"])


def by_rule(asked: str) -> str | None:
    """What the reviewer lets run for an action: itself, its edited form, or nothing."""
    answer = answer_to(asked)
    return {"approve": asked, "edit": answer.edited_action, "reject": None}[answer.decision]


def own(told: Line, given: GoAhead | None) -> bool:
    """Whether the agent was told what was decided about this very action."""
    if given is None:
        words = f"do not {told['asked']}"
        return not told["approved"] and by_rule(told["asked"]) is None and told["feedback"] == words
    return told["action"] == given.intent.action and told["reason"] != "rejected"


def kept(told: Line, given: GoAhead | None) -> bool:
    """Whether the result that the agent reported is in the trajectory."""
    return given is not None and given.intent.finished_ms is not None and told["action"] in given.recorded


def go_aheads(session: Session) -> dict[str, GoAhead]:
    """Every intent by the action that was asked about, read from the tables alone."""
    intent, record, task, body = tables.Intent, tables.Trajectory, tables.Task, tables.TrajectoryBody
    statement = (
        select(intent, task.task_key, body.body, tables.Verdict.flagged, tables.Decision)
        .join(record, col(record.id) == intent.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .join(body, col(body.trajectory_id) == record.id)
        .join(tables.Verdict, (col(tables.Verdict.trajectory_id) == record.id) & (tables.Verdict.step == intent.step))
        .join(tables.Decision, col(tables.Decision.id) == intent.decision_id, isouter=True)
    )
    found = {}
    for row, key, text, flagged, decision in session.exec(statement):
        record = from_json(text)
        steps = tuple(step.action for step in record.steps)
        found[f"pay[{key}]"] = GoAhead(row, decision, flagged, steps, record.outcome)
    session.expunge_all()
    return found


def units_amiss(session: Session) -> int:
    """By how much budget, ledger, taken places and standing decisions differ; with no claim left they are one sum."""
    spent = session.exec(select(func.coalesce(func.sum(tables.Budget.used), 0))).one()
    ledger = session.exec(select(func.coalesce(func.sum(tables.LedgerEntry.units), 0))).one()
    standing = select(func.count()).where(col(tables.Decision.superseded).is_(False))
    claimed = select(func.count()).where(col(tables.Slot.status) == SlotStatus.CLAIMED)
    return abs(spent - ledger) + abs(spent - session.exec(standing).one()) + session.exec(claimed).one()
