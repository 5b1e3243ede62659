"""Simulated review: a simulated reviewer decides a run's pending items in an inspection order, within the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, func, select

from console import runs
from console.auth.audit_log import Door
from console.database import now_ms, reading, review_queue
from console.errors import BadInput, ConsoleError, Unknown
from console.review import decisions
from console.review.simulated import INSPECTION_ORDERS, Noise, ReviewCase, SimulatedAnswer, get_reviewer
from console.review.simulated.orders import Candidate
from console.runs import costs, run_options
from console.runs.trajectory_rows import task_spec
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from storage import tables
from storage.queue import Claim, NoClaimReason, Queue
from storage.tables import DecisionKind, RunKind

Progress = Callable[[int, int], None]
"""A callback with the arguments (items processed, pending items)."""

RULE = "rule"
"""The `annotator_kind` of a decision that no person made."""

_KINDS = {Label.ALIGNED: DecisionKind.APPROVE, Label.MISALIGNED: DecisionKind.REJECT, None: DecisionKind.RESPOND}


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """The plan of a simulated review: the reviewer, the inspection order and the noise.

    `wordings` is a folder that replaces prompts/feedback; `model` is the model that plays the user.
    """

    reviewer: str = "oracle"
    order: str = "priority"
    noise: Noise = field(default_factory=Noise)
    seed: int = 0
    wordings: Path | None = None
    model: str | None = None


@dataclass(slots=True)
class SimulationResult:
    """The counts of a simulated review; `left` counts items beyond the budget. `cost_usd` is None if unknown."""

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
    """Decide every pending item within the budget of its trial.

    Raise Unknown if a name does not exist, and BadInput if the noise is invalid or the gold target is missing.
    """
    plan = plan or SimulationPlan()
    if plan.order not in INSPECTION_ORDERS:
        raise Unknown("policy", plan.order, INSPECTION_ORDERS)
    _check(plan.noise)
    with reading() as session:
        run = runs.get(session, run_name)
        waiting = _judged(session, run, plan)
        session.expunge(run)
    # A rule undoes nothing, so its decisions need not wait.
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
            raise BadInput(f"The {name} rate {rate:g} is invalid. Give a number from 0 to 1.")
    if noise.seconds_per_item < 0:
        raise BadInput(f"{noise.seconds_per_item:g} seconds per item are invalid. Give 0 or more.")


def _judged(session: Session, run: tables.Run, plan: SimulationPlan) -> list[_Waiting]:
    item, record, task, body, verdict = (
        tables.Item,
        tables.Trajectory,
        tables.Task,
        tables.TrajectoryBody,
        tables.Verdict,
    )
    statement = (
        select(item, task, body.body, func.coalesce(verdict.probability, verdict.score))
        .join(record, col(record.id) == item.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .join(body, col(body.trajectory_id) == col(record.id))
        .join(verdict, col(verdict.id) == item.verdict_id, isouter=True)
        .where(item.run_id == run.id, item.open_slots > 0)
        .order_by(col(item.trial), col(item.id))
    )
    judge, stated = get_reviewer(plan.reviewer).judge, run_options(run).costs
    earlier = _list_earlier_feedback(session, run)
    found = []
    for waiting, asked, text, chance in session.exec(statement).all():
        session.expunge(waiting)
        case = _case(run, waiting, asked, text, plan)
        case = replace(
            case, earlier=tuple(words for trial, words in earlier.get(asked.id, ()) if trial < waiting.trial)
        )
        worth = None if chance is None else chance * costs.cost(stated, case.checkpoint)
        found.append(_Waiting(waiting, case, judge(case, plan.noise), worth))
    return found


def _list_earlier_feedback(session: Session, run: tables.Run) -> dict[int | None, list[tuple[int, str]]]:
    item, record, decision = tables.Item, tables.Trajectory, tables.Decision
    statement = (
        select(record.task_id, item.trial, decision.feedback_text)
        .join(item, col(item.id) == decision.item_id)
        .join(record, col(record.id) == item.trajectory_id)
        .where(item.run_id == run.id, decision.feedback_text != "")
        .order_by(col(item.trial), col(decision.id))
    )
    feedback: dict[int | None, list[tuple[int, str]]] = {}
    for task_id, trial, words in session.exec(statement):
        feedback.setdefault(task_id, []).append((trial, words))
    return feedback


_LOGGED = (RunKind.ARCHIVE, RunKind.REPLAY)
"""Runs whose trajectories have their own labels, without a world to try an action in."""


def _case(run: tables.Run, item: tables.Item, asked: tables.Task, text: str, plan: SimulationPlan) -> ReviewCase:
    record, spec = from_json(text), task_spec(asked)
    logged = run.kind in _LOGGED
    spec = replace(spec, gold={**record.gold, **spec.gold}) if logged else spec
    if not spec.gold and not logged:
        raise BadInput(
            f"Task {asked.task_key!r} has no gold target, so a simulated reviewer cannot judge it. Import a log with "
            "gold targets."
        )
    seen = checkpoint_at(record, item.step, CheckpointKind(item.kind))
    recorded = record.label if logged else None
    return ReviewCase(spec, seen, item.trial, plan.seed, plan.wordings, logged, recorded)


def _ordered(waiting: Sequence[_Waiting], plan: SimulationPlan) -> list[_Waiting]:
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
    decided = to_review_decision(answer, run.feedback_mode)
    decisions.submit(queue, run, claimed, plan.reviewer, decided, decided_ms)
    result.inspected += 1
    result.approved += decided.decision == DecisionKind.APPROVE
    result.rejected += decided.decision == DecisionKind.REJECT
    result.responded += decided.decision == DecisionKind.RESPOND
    result.seconds += found.answer.seconds


def _in_words(run: tables.Run, found: _Waiting, plan: SimulationPlan, result: SimulationResult) -> SimulatedAnswer:
    """Return the decision; replace its feedback with a model's if a model plays the user and the run accepts text."""
    words = get_reviewer(plan.reviewer).words
    if words is None or run.feedback_mode == "binary" or found.answer.label is Label.ALIGNED:
        return found.answer
    said = words(found.case, plan.model)
    result.requests += said.requests
    if said.cost_usd is not None:
        result.cost_usd = (result.cost_usd or 0.0) + said.cost_usd
    return replace(found.answer, words=said.text)


def to_review_decision(answer: SimulatedAnswer, feedback_mode: str) -> decisions.ReviewDecision:
    """Convert the simulated reviewer's decision to a ReviewDecision; omit the text if the run accepts none."""
    words = "" if feedback_mode == "binary" else answer.words
    return decisions.ReviewDecision(_KINDS[answer.label], words, annotator_kind=RULE, door=Door.PYTHON)


def as_dict(result: SimulationResult) -> dict[str, Any]:
    """Return the result in the shape of `review simulate --json`, which calls the inspection order `policy`."""
    names = SimulationResult.__dataclass_fields__
    return {"policy" if name == "order" else name: getattr(result, name) for name in names}
