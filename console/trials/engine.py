"""One round of a live run, with its lock and budget: continue open trials, deliver decisions, learn and try again.

A percentage budget is frozen when every trajectory of trial 0 has stopped. Until then, the budget is a share of the
trajectories that are certain to count, so the budget only grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial
from shlex import quote
from typing import Any

from sqlalchemy import update
from sqlmodel import Session, col, func, or_, select

from console import runs
from console.actors.move import PROTOCOLS
from console.auth import audit_log
from console.database import now_ms, reading, review_queue, writing
from console.detection.routing import list_late_items
from console.errors import Refused
from console.runs import run_options, share_of
from console.runs.workers import lock_run
from console.settings import settings
from console.trajectory import Outcome
from console.trials import apply_decisions, store
from console.trials.memory import add_next_trials, carry_over_solved, store_memories
from console.trials.planning.versions import get_plan_texts
from console.trials.play import Approved, inspect_end, play_trial
from console.trials.round import NO_FEEDBACK, Advance, GroupCommit, RoundContext
from console.trials.start import ActorAndEnvironments, refuse_protocol
from console.trials.store import RELEASED
from storage import tables
from storage.errors import QueueRefusal
from storage.queue import HALTED
from storage.tables import ItemStatus, RunKind

Progress = Callable[[int, int], None]
"""A callback with the arguments (trials played, trials to play)."""

_JUDGES = 16
_UNHURRIED = 64
"""The number of simultaneous trials of an Actor that responds immediately."""


def advance(
    run_name: str,
    *,
    actor_and_environments: ActorAndEnvironments | None = None,
    concurrency: int | None = None,
    progress: Progress | None = None,
    onward: bool = True,
    retries: bool = True,
) -> Advance:
    """Play one round of a run; a later call continues it. Raise Refused if another process works on the run.

    Without `onward`, only continue open trials; without `retries`, deliver decisions but add no next trials.
    """
    run = get_live_run(run_name)
    actor_and_environments = actor_and_environments or ActorAndEnvironments.of(run)
    # An environment may have been embedded when the run started.
    refuse_protocol(run_options(run).protocol or PROTOCOLS[0], actor_and_environments, run.environment.split(","))
    limit = concurrency or (_UNHURRIED if actor_and_environments.actor.name == "scripted" else settings().concurrency)
    done = Advance()
    with lock_run(run), ThreadPoolExecutor(min(limit, _JUDGES), "judge") as pool:
        run = get_live_run(run_name)  # reload: another engine may have changed it
        with reading() as session:
            options = run_options(run)
            plans = get_plan_texts(session, options)
        commits = GroupCommit(lambda: raise_budget_cap(run))
        context = RoundContext(run, actor_and_environments, commits, pool, done, limit, options, plans)
        asyncio.run(_rounds(context, progress, onward, retries))
    return done


resume = partial(advance, onward=False)
"""The continuation of open trials after a crash or a model failure, without new trials."""


def get_live_run(run_name: str) -> tables.Run:
    """Return the live run with this name; raise Unknown if it does not exist, or Refused if stopped or not live."""
    with reading() as session:
        run = runs.get(session, run_name)
        session.expunge(run)
    if run.kind != RunKind.LIVE:
        raise Refused(f"Run {run_name!r} is of kind {run.kind}, which has no trials to run. Name a live run.")
    if run_options(run).stopped:
        raise Refused(f"Run {run_name!r} is stopped. Let it continue first: inferact run stop {quote(run_name)} --undo")
    return run


async def _rounds(context: RoundContext, progress: Progress | None, onward: bool, retries: bool) -> None:
    run, done = context.run, context.done
    apply_decisions.settle_unfinished_actions(run, context.actor_and_environments, done)
    if onward:
        apply_decisions.deliver_decisions(run, done)
    apply_decisions.undo_rejected(run, done)
    approved = apply_decisions.settle_trials(run, done)
    open_trial_budgets(run)
    with reading() as session:
        open_trials: list[tuple[int, Approved | None]] = [(id, None) for id in store.list_open_trials(session, run)]
    await _play_all(context, [*approved, *open_trials], progress)
    if run.feedback_mode != NO_FEEDBACK:
        with reading() as session:
            ended = store.load_trials(session, store.list_unjudged_ends(session, run))
        for trial in ended:
            await inspect_end(context, trial)
        freeze_budget_cap(run)
    started = []
    if onward and retries and not context.options.explores:
        await store_memories(context)
        started = add_next_trials(context)
        open_trial_budgets(run)
    carry_over_solved(run, done)
    await _play_all(context, [(id, None) for id in started], progress)
    with reading() as session:
        late = list_late_items(session, run, context.options, now_ms())
    done.queued += review_queue().put(late)


async def _play_all(
    context: RoundContext, todo: Sequence[tuple[int, Approved | None]], progress: Progress | None
) -> None:
    with reading() as session:
        trials = {trial.id: trial for trial in store.load_trials(session, [id for id, _ in todo])}
    limit, played = asyncio.Semaphore(context.limit), 0
    environments = {trial.task.environment: context.environment(trial) for trial in trials.values()}
    limits: dict[str, AbstractAsyncContextManager[None]] = {
        name: nullcontext() if one.most_worlds is None else asyncio.Semaphore(one.most_worlds)
        for name, one in environments.items()
    }

    async def one(id: int, approved: Approved | None) -> None:
        nonlocal played
        # The environment's limit first: its waiting trials take no place of another environment.
        async with limits[trials[id].task.environment], limit:
            await play_trial(context, trials[id], approved)
        played += 1
        if progress:
            progress(played, len(todo))

    try:
        async with asyncio.TaskGroup() as group:
            for id, approved in todo:
                group.create_task(one(id, approved))
    except ExceptionGroup as failures:
        # Trials share one database, so the first failure stands for all.
        raise failures.exceptions[0] from None


def open_trial_budgets(run: tables.Run) -> None:
    """Open the budget of every trial that the run has reached; later trials get the cap of trial 0."""
    if run.feedback_mode == NO_FEEDBACK:
        return
    queue, cap = review_queue(), run.budget_cap
    with reading() as session:
        trials = _trials(session, run)
    if run.budget_percent is not None:
        first = queue.budget(run_id=run.id or 0, trial=0)
        cap = first.cap if first else 0
    queue.open_budgets(run.id or 0, trials, cap)


def raise_budget_cap(run: tables.Run) -> None:
    """Raise a percentage cap, unless frozen, to its share of the trajectories of trial 0 that are certain to count."""
    if run.budget_percent is None or run_options(run).budget_frozen:
        return
    with reading() as session:
        cap = _share(session, run)
    found = review_queue().budget(run_id=run.id or 0, trial=0)
    if found is None or found.cap is None or found.cap < cap:
        review_queue().open_budgets(run.id or 0, [0], cap, again=True)


def freeze_budget_cap(run: tables.Run) -> None:
    """Freeze a percentage cap if no trajectory of trial 0 is still running."""
    if run.budget_percent is None or run_options(run).budget_frozen:
        return
    with reading() as session:
        running = session.exec(select(func.count()).where(*_first(run), _outcome() == Outcome.RUNNING)).one()
        cap, trials = _share(session, run), _trials(session, run)
    if running:
        return
    try:
        review_queue().open_budgets(run.id or 0, trials, cap, again=True)
    except QueueRefusal as refusal:
        raise Refused(f"The budget of {run.name!r} cannot be set: {refusal}") from refusal
    with writing() as session:
        stored = session.get_one(tables.Run, run.id)
        stored.options = replace(run_options(stored), budget_frozen=True).to_json()
        run.options = stored.options
        session.add(stored)


def _share(session: Session, run: tables.Run) -> int:
    """Return the share of the trajectories of trial 0, excluding trajectories that have halted or may still halt."""
    item = tables.Item
    flagged = select(item.id).where(item.trajectory_id == col(tables.Trajectory.id)).exists()
    ended = _outcome().in_([Outcome.SUCCEEDED, Outcome.FAILED, Outcome.REJECTED])
    counted = or_(ended, (_outcome() == Outcome.PAUSED) & flagged)
    n = session.exec(select(func.count()).where(*_first(run), counted)).one()
    return share_of((run.budget_percent or 0.0) / 100, n)


def _trials(session: Session, run: tables.Run) -> list[int]:
    trial = tables.Trajectory.trial
    return list(session.exec(select(trial).where(tables.Trajectory.run_id == run.id).distinct()))


def _first(run: tables.Run) -> tuple[Any, ...]:
    return col(tables.Trajectory.run_id) == run.id, col(tables.Trajectory.trial) == 0


def _outcome() -> Any:
    return col(tables.Trajectory.outcome)


def release_undecided(
    run_name: str,
    *,
    trial: int | None = None,
    actor_and_environments: ActorAndEnvironments | None = None,
    progress: Progress | None = None,
) -> Advance:
    """Run every held action without a decision and mark the action as released by the simulation (experiments only).

    If `trial` is given, release only the actions of this trial. Released trials are not inspected again and leave no
    memory. Raise Refused if an environment is not embedded, or if another process works on the run.
    """
    run = get_live_run(run_name)
    actor_and_environments = actor_and_environments or ActorAndEnvironments.of(run)
    real = [name for name in run.environment.split(",") if not actor_and_environments.environment(name).replayable]
    if real:
        raise Refused(
            f"Actions in {', '.join(real)} cannot be undone, so these actions never run without a decision. "
            "Review the actions instead."
        )
    with lock_run(run):
        released = _let_go(run, trial)
    done = resume(run_name, actor_and_environments=actor_and_environments, progress=progress)
    done.released = released
    return done


def _let_go(run: tables.Run, trial: int | None) -> int:
    """Mark the held trials as released and remove their items from the queue; skip items decided in the meantime."""
    item, record = tables.Item, tables.Trajectory
    undecided = (
        select(item.id, item.trajectory_id)
        .join(record, col(record.id) == item.trajectory_id)
        .where(item.run_id == run.id, record.run_id == run.id)
        .where(record.outcome == Outcome.PAUSED, item.kind != HALTED)
        .where(col(item.step) == col(record.n_steps))
        .where(col(item.status).not_in([ItemStatus.DECIDED, ItemStatus.DELIVERED]))
    )
    if trial is not None:
        undecided = undecided.where(item.trial == trial)
    with reading() as session:
        held = {item_id or 0: trajectory_id for item_id, trajectory_id in session.exec(undecided)}
    review_queue().cancel(item_ids=list(held), now_ms=now_ms())
    with writing() as session:
        gone = select(item.trajectory_id).where(col(item.id).in_(held), item.status == ItemStatus.CANCELLED)
        ids = list(session.exec(gone))
        session.execute(update(record).where(col(record.id).in_(ids)).values(released_by=RELEASED))
        audit_log.record(session, run, "released", now_ms(), detail={"trajectories": len(ids)})
    return len(ids)
