"""Simulated review: a reviewer by rule works through a run's queue, within its budget, in an inspection order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, func, select

from console import runs
from console.auth.origin import Door
from console.database import now_ms, reading, review_queue
from console.errors import BadInput, Unknown
from console.review import decisions
from console.review.simulated import INSPECTION_ORDERS, Noise, ReviewCase, SimulatedAnswer, reviewer
from console.review.simulated.orders import Candidate
from console.runs import costs
from console.runs.options import run_options
from console.runs.trajectory_rows import task_spec
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from storage import tables
from storage.queue import Claim, NoClaimReason, Queue
from storage.tables import DecisionKind

Progress = Callable[[int, int], None]
"""Called with (items looked at, items that wait)."""

RULE = "rule"
"""`annotator_kind` of a decision that no person made."""

_KINDS = {Label.ALIGNED: DecisionKind.APPROVE, Label.MISALIGNED: DecisionKind.REJECT, None: DecisionKind.RESPOND}


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """The plan of a simulated review: who reviews, in which inspection order, how well.

    `wordings` is a folder that takes the place of prompts/feedback.
    """

    reviewer: str = "oracle"
    order: str = "priority"
    noise: Noise = field(default_factory=Noise)
    seed: int = 0
    wordings: Path | None = None


@dataclass(slots=True)
class SimulationResult:
    """The result of a simulated review, counted; `left` are the items that the budget did not reach."""

    run: str
    reviewer: str
    order: str
    waiting: int = 0
    inspected: int = 0
    approved: int = 0
    rejected: int = 0
    responded: int = 0
    left: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Waiting:
    item: tables.Item
    answer: SimulatedAnswer
    expected_cost: float | None


def simulate(run_name: str, plan: SimulationPlan | None = None, progress: Progress | None = None) -> SimulationResult:
    """Decides every waiting item that the budget of its trial allows; raises Unknown, and BadInput without gold."""
    plan = plan or SimulationPlan()
    if plan.order not in INSPECTION_ORDERS:
        raise Unknown("policy", plan.order, INSPECTION_ORDERS)
    _check(plan.noise)
    with reading() as session:
        run = runs.get(session, run_name)
        waiting = _judged(session, run, plan)
        session.expunge(run)
    # A rule takes nothing back, so its decisions need not wait for an undo.
    run.undo_ms = 0
    result = SimulationResult(run_name, plan.reviewer, plan.order, waiting=len(waiting))
    for done, found in enumerate(_ordered(waiting, plan), 1):
        _inspect(review_queue(), run, found, plan, result)
        if progress:
            progress(done, len(waiting))
    return result


def _check(noise: Noise) -> None:
    for name, rate in (("false-accept", noise.false_accept), ("false-reject", noise.false_reject)):
        if not 0 <= rate <= 1:
            raise BadInput(f"The {name} rate lies between 0 and 1, not {rate:g}.")
    if noise.seconds_per_item < 0:
        raise BadInput(f"Nobody reviews in {noise.seconds_per_item:g} seconds; give 0 or more.")


def _judged(session: Session, run: tables.Run, plan: SimulationPlan) -> list[_Waiting]:
    item, record, task, body, verdict = (
        tables.Item, tables.Trajectory, tables.Task, tables.TrajectoryBody, tables.Verdict,
    )  # fmt: skip
    statement = (
        select(item, task, body.body, func.coalesce(verdict.probability, verdict.score))
        .join(record, col(record.id) == item.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .join(body, col(body.trajectory_id) == col(record.id))
        .join(verdict, col(verdict.id) == item.verdict_id, isouter=True)
        .where(item.run_id == run.id, item.open_slots > 0)
        .order_by(col(item.trial), col(item.id))
    )
    judge, stated = reviewer(plan.reviewer).judge, run_options(run).costs
    found = []
    for waiting, asked, text, chance in session.exec(statement).all():
        session.expunge(waiting)
        case = _case(waiting, asked, text, plan)
        worth = None if chance is None else chance * costs.cost(stated, case.checkpoint)
        found.append(_Waiting(waiting, judge(case, plan.noise), worth))
    return found


def _case(item: tables.Item, asked: tables.Task, text: str, plan: SimulationPlan) -> ReviewCase:
    spec = task_spec(asked)
    if not spec.gold:
        raise BadInput(f"Task {asked.task_key!r} has no gold, so no simulated reviewer can judge it.")
    seen = checkpoint_at(from_json(text), item.step, CheckpointKind(item.kind))
    return ReviewCase(spec, seen, item.trial, plan.seed, plan.wordings)


def _ordered(waiting: Sequence[_Waiting], plan: SimulationPlan) -> list[_Waiting]:
    """Trial by trial in the order of the plan."""
    ordered: list[_Waiting] = []
    for trial in sorted({found.item.trial for found in waiting}):
        of_trial = [found for found in waiting if found.item.trial == trial]
        candidates = [Candidate(one.item.priority, one.answer.label, one.expected_cost) for one in of_trial]
        ordered += [of_trial[at] for at in INSPECTION_ORDERS[plan.order](candidates, plan.seed)]
    return ordered


def _inspect(queue: Queue, run: tables.Run, found: _Waiting, plan: SimulationPlan, result: SimulationResult) -> None:
    decided_ms = now_ms()
    claimed = queue.claim(
        run_id=found.item.run_id,
        trial=found.item.trial,
        reviewer=plan.reviewer,
        now_ms=decided_ms - round(1_000 * found.answer.seconds),
        lease_ms=max(run.lease_ms, round(2_000 * found.answer.seconds)),
        item_id=found.item.id,
        halted_free=run.halted_free,
    )
    if not isinstance(claimed, Claim):
        result.left += claimed.reason == NoClaimReason.BUDGET_SPENT
        return
    decided = answer_to(found.answer, run.feedback_mode)
    decisions.submit(queue, run, claimed, plan.reviewer, decided, decided_ms)
    result.inspected += 1
    result.approved += decided.decision == DecisionKind.APPROVE
    result.rejected += decided.decision == DecisionKind.REJECT
    result.responded += decided.decision == DecisionKind.RESPOND
    result.seconds += found.answer.seconds


def answer_to(answer: SimulatedAnswer, feedback_mode: str) -> decisions.Answer:
    """The simulated answer as one that no person gave; without words where the run takes none."""
    words = "" if feedback_mode == "binary" else answer.words
    return decisions.Answer(_KINDS[answer.label], words, annotator_kind=RULE, door=Door.PYTHON)


def as_dict(result: SimulationResult) -> dict[str, Any]:
    """The result as `review simulate --json` prints it: the inspection order is called policy there."""
    names = SimulationResult.__dataclass_fields__
    return {"policy" if name == "order" else name: getattr(result, name) for name in names}
