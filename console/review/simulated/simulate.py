"""Simulated review: a reviewer by rule works through a run's queue, within its budget, in an inspection order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, func, select

from console import runs
from console.auth.origin import Door
from console.database import now_ms, reading, review_queue
from console.errors import BadInput, ConsoleError, Unknown
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
from storage.tables import DecisionKind, RunKind

Progress = Callable[[int, int], None]
"""Called with (items looked at, items that wait)."""

RULE = "rule"
"""`annotator_kind` of a decision that no person made."""

_KINDS = {Label.ALIGNED: DecisionKind.APPROVE, Label.MISALIGNED: DecisionKind.REJECT, None: DecisionKind.RESPOND}


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """The plan of a simulated review: who reviews, in which inspection order, how well.

    `wordings` is a folder that takes the place of prompts/feedback; `model` plays the user where a model does.
    """

    reviewer: str = "oracle"
    order: str = "priority"
    noise: Noise = field(default_factory=Noise)
    seed: int = 0
    wordings: Path | None = None
    model: str | None = None


@dataclass(slots=True)
class SimulationResult:
    """The result of a simulated review, counted; `left` are the items that the budget did not reach.

    `cost_usd` is None where no model was asked, or at no known price.
    """

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
    requests: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class _Waiting:
    item: tables.Item
    case: ReviewCase
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
    told = _told_before(session, run)
    found = []
    for waiting, asked, text, chance in session.exec(statement).all():
        session.expunge(waiting)
        case = _case(run, waiting, asked, text, plan)
        case = replace(case, earlier=tuple(words for trial, words in told.get(asked.id, ()) if trial < waiting.trial))
        worth = None if chance is None else chance * costs.cost(stated, case.checkpoint)
        found.append(_Waiting(waiting, case, judge(case, plan.noise), worth))
    return found


def _told_before(session: Session, run: tables.Run) -> dict[int | None, list[tuple[int, str]]]:
    """By task the (trial, words) of the feedback so far, in order."""
    item, record, decision = tables.Item, tables.Trajectory, tables.Decision
    statement = (
        select(record.task_id, item.trial, decision.feedback_text)
        .join(item, col(item.id) == decision.item_id)
        .join(record, col(record.id) == item.trajectory_id)
        .where(item.run_id == run.id, decision.feedback_text != "")
        .order_by(col(item.trial), col(decision.id))
    )
    told: dict[int | None, list[tuple[int, str]]] = {}
    for task_id, trial, words in session.exec(statement):
        told.setdefault(task_id, []).append((trial, words))
    return told


_LOGGED = (RunKind.ARCHIVE, RunKind.REPLAY)
"""Runs whose trajectories carry their own labels: there is no world to try an action in."""


def _case(run: tables.Run, item: tables.Item, asked: tables.Task, text: str, plan: SimulationPlan) -> ReviewCase:
    record, spec = from_json(text), task_spec(asked)
    logged = run.kind in _LOGGED
    spec = replace(spec, gold={**record.gold, **spec.gold}) if logged else spec
    if not spec.gold and not logged:
        raise BadInput(f"Task {asked.task_key!r} has no gold, so no simulated reviewer can judge it.")
    seen = checkpoint_at(record, item.step, CheckpointKind(item.kind))
    recorded = record.label if logged else None
    return ReviewCase(spec, seen, item.trial, plan.seed, plan.wordings, logged, recorded)


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
    try:
        answer = _in_words(run, found, plan, result)
    except ConsoleError:
        queue.release(item_id=claimed.item_id, reviewer=plan.reviewer, token=claimed.token, now_ms=now_ms())
        raise
    decided = answer_to(answer, run.feedback_mode)
    decisions.submit(queue, run, claimed, plan.reviewer, decided, decided_ms)
    result.inspected += 1
    result.approved += decided.decision == DecisionKind.APPROVE
    result.rejected += decided.decision == DecisionKind.REJECT
    result.responded += decided.decision == DecisionKind.RESPOND
    result.seconds += found.answer.seconds


def _in_words(run: tables.Run, found: _Waiting, plan: SimulationPlan, result: SimulationResult) -> SimulatedAnswer:
    """The answer, its words by a model where that plays the user and words are wanted."""
    words = reviewer(plan.reviewer).words
    if words is None or run.feedback_mode == "binary" or found.answer.label is Label.ALIGNED:
        return found.answer
    said = words(found.case, plan.model)
    result.requests += said.requests
    if said.cost_usd is not None:
        result.cost_usd = (result.cost_usd or 0.0) + said.cost_usd
    return replace(found.answer, words=said.text)


def answer_to(answer: SimulatedAnswer, feedback_mode: str) -> decisions.Answer:
    """The simulated answer as one that no person gave; without words where the run takes none."""
    words = "" if feedback_mode == "binary" else answer.words
    return decisions.Answer(_KINDS[answer.label], words, annotator_kind=RULE, door=Door.PYTHON)


def as_dict(result: SimulationResult) -> dict[str, Any]:
    """The result as `review simulate --json` prints it: the inspection order is called policy there."""
    names = SimulationResult.__dataclass_fields__
    return {"policy" if name == "order" else name: getattr(result, name) for name in names}
