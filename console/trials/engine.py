"""One round of a live run: take up what is open, deliver decisions, learn, try again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from console import runs
from console.database import reading
from console.errors import Refused
from console.settings import settings
from console.trials import apply_decisions, budget, pending, store
from console.trials.group_commit import GroupCommit
from console.trials.memory import remember
from console.trials.next_trial import carry_over, next_trials
from console.trials.planning.versions import texts_of
from console.trials.play import Approved, look_at_end, play
from console.trials.round import NO_FEEDBACK, Advance, RoundContext
from console.trials.run_lock import alone
from console.trials.start import ActorAndEnvironments
from storage import tables
from storage.tables import RunKind

Progress = Callable[[int, int], None]
"""Called with (trials played, trials to play)."""

_JUDGES = 16
_UNHURRIED = 64
"""Trials at once where the Actor is a rule that answers in no time."""


def advance(
    run_name: str,
    *,
    actor_and_environments: ActorAndEnvironments | None = None,
    concurrency: int | None = None,
    progress: Progress | None = None,
) -> Advance:
    """Takes up what is open, delivers what is due, and runs the next trial of every task that got feedback.

    Raises Refused while another process works on the run. Killed at any point, it goes on when called again.
    """
    return _round(run_name, actor_and_environments, concurrency, progress, onward=True)


def resume(
    run_name: str,
    *,
    actor_and_environments: ActorAndEnvironments | None = None,
    concurrency: int | None = None,
    progress: Progress | None = None,
) -> Advance:
    """Takes up what is open, after a crash or a failing model, and starts nothing new; raises Refused as `advance`."""
    return _round(run_name, actor_and_environments, concurrency, progress, onward=False)


def _round(
    run_name: str,
    actor_and_environments: ActorAndEnvironments | None,
    concurrency: int | None,
    progress: Progress | None,
    *,
    onward: bool,
) -> Advance:
    run = live_run(run_name)
    actor_and_environments = actor_and_environments or ActorAndEnvironments.of(run)
    limit = concurrency or (_UNHURRIED if actor_and_environments.actor.name == "scripted" else settings().concurrency)
    done = Advance()
    with alone(run), ThreadPoolExecutor(min(limit, _JUDGES), "judge") as pool:
        run = live_run(run_name)  # as the engine before this one left it
        with reading() as session:
            plans = texts_of(session, run)
        context = RoundContext(
            run, actor_and_environments, GroupCommit(lambda: budget.grow(run)), pool, done, limit, plans
        )
        asyncio.run(_rounds(context, progress, onward))
    return done


def live_run(run_name: str) -> tables.Run:
    """The live run of that name; raises Unknown and Refused."""
    with reading() as session:
        run = runs.get(session, run_name)
        session.expunge(run)
    if run.kind != RunKind.LIVE:
        raise Refused(f"Run {run_name!r} is {run.kind}: no Actor of ours is at work in it.")
    return run


async def _rounds(context: RoundContext, progress: Progress | None, onward: bool) -> None:
    run, done = context.run, context.done
    apply_decisions.cut_off_unknown(run, done)
    if onward:
        apply_decisions.deliver(run, done)
    approved = apply_decisions.settle(run, done)
    _open_budgets(run)
    with reading() as session:
        open_trials: list[tuple[int, Approved | None]] = [(id, None) for id in pending.under_way(session, run)]
    await _play_all(context, [*approved, *open_trials], progress)
    if run.feedback_mode != NO_FEEDBACK:
        await _look_at_ends(context)
        budget.freeze(run)
    started = []
    if onward and not context.explores:
        await remember(context)
        started = next_trials(run, done)
        _open_budgets(run)
    carry_over(run, done)
    await _play_all(context, [(id, None) for id in started], progress)


def _open_budgets(run: tables.Run) -> None:
    if run.feedback_mode != NO_FEEDBACK:
        budget.open_all(run)


async def _play_all(
    context: RoundContext, todo: Sequence[tuple[int, Approved | None]], progress: Progress | None
) -> None:
    with reading() as session:
        trials = {trial.id: trial for trial in store.load(session, [id for id, _ in todo])}
    limit, played = asyncio.Semaphore(context.limit), 0

    async def one(id: int, approved: Approved | None) -> None:
        nonlocal played
        async with limit:
            await play(context, trials[id], approved)
        played += 1
        if progress:
            progress(played, len(todo))

    try:
        async with asyncio.TaskGroup() as group:
            for id, approved in todo:
                group.create_task(one(id, approved))
    except ExceptionGroup as failures:
        # Trials share one database: what stopped the first one stopped them all.
        raise failures.exceptions[0] from None


async def _look_at_ends(context: RoundContext) -> None:
    with reading() as session:
        trials = store.load(session, pending.unseen_ends(session, context.run))
    for trial in trials:
        await look_at_end(context, trial)
