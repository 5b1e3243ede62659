"""The play of one trial: view, move, step, written as it happens; before a critical action it stops to be judged.

A world is brought back to where its trial stands by repeating the recorded steps in a fresh one. When a trial is over,
and as what, follows InferAct, section 4.1, and the reference loop's own limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from sqlmodel import Session

from console.actors import ActorView, Move
from console.database import now_ms
from console.environments.environment import Environment, TaskSpec, World
from console.environments.going_back import REFUSED, refusal, standing
from console.errors import Refused
from console.runs import trajectory_rows
from console.trajectory import Label, Outcome, Step, Trajectory
from console.trajectory.checkpoints import is_critical
from console.trials import store
from console.trials.round import RoundContext
from console.trials.start import STEP_CAP
from console.trials.store import Trial, storable

_IN_VAIN = "Nothing happens."


def at_cap(steps: Sequence[Step], capped: bool) -> Outcome | None:
    """Halted once the cap is reached: no purchase and no answer is no result."""
    return Outcome.HALTED if capped else None


def in_circles(steps: Sequence[Step], capped: bool) -> Outcome | None:
    """Halted where an action comes twice in a row or the cap ends in vain; at the cap otherwise failed."""
    if len(steps) > 1 and steps[-1].action == steps[-2].action:
        return Outcome.HALTED
    if not capped:
        return None
    return Outcome.HALTED if _IN_VAIN in steps[-1].observation else Outcome.FAILED


HALTING: dict[str, Callable[[Sequence[Step], bool], Outcome | None]] = {"alfworld": in_circles}
"""Environments whose trials halt in their own way; the others halt at their cap."""


def ending(
    environment: Environment,
    steps: Sequence[Step],
    ended: bool,
    capped: bool,
    info: Mapping[str, Any],
    cap: int | None = None,
) -> Outcome | None:
    """The outcome that the last step brought, or None where the trial goes on; `cap` is another than usual."""
    if ended:
        return Outcome.SUCCEEDED if info.get("success") else Outcome.FAILED
    return HALTING.get(environment.name, at_cap)(steps, capped or len(steps) >= (cap or environment.step_cap))


LABELS = {Outcome.SUCCEEDED: Label.ALIGNED, Outcome.FAILED: Label.MISALIGNED}
"""Ground truth of a trial that ran to its end; none where it halted or was stopped."""


def gold(outcome: Outcome, info: Mapping[str, Any]) -> dict[str, Any]:
    """What the environment tells of a finished trial."""
    label = LABELS.get(outcome)
    return {} if label is None else {"label": str(label), "score": info.get("score")}


def rebuild(environment: Environment, task: TaskSpec, record: Trajectory, seed: int) -> tuple[World, str]:
    """(the world, what the agent saw first); raises Refused where the world answers otherwise than recorded."""
    if environment.start is None or (record.steps and not environment.replayable):
        raise Refused(f"{environment.title} cannot repeat recorded steps, so the trial of {task.task_id} cannot go on.")
    world = environment.start(task)
    opening = storable(world.reset(seed=seed)[0])
    if record.opening and opening != record.opening:
        raise Refused(f"The first page of {task.task_id} is not the recorded one; the trial cannot go on safely.")
    for number, step in enumerate(record.steps, start=1):
        if REFUSED in step.extra:
            continue
        observation = storable(world.step(step.action)[0])
        if observation != step.observation:
            raise Refused(
                f"Step {number} of {task.task_id} ({step.action}) is answered otherwise than recorded; "
                "the trial cannot go on safely."
            )
    return world, opening


@dataclass(frozen=True, slots=True)
class Approved:
    """The action that the reviewers let run, and the decision that says so; `edited` where they wrote it."""

    action: str
    decision_id: int | None
    edited: bool = False


async def play(context: RoundContext, trial: Trial, approved: Approved | None = None) -> None:
    """Plays the trial from where it stands until it ends or is held; a model that fails leaves it to be taken up."""
    try:
        world, opening = rebuild(context.environment(trial), trial.task, trial.record, context.run.seed)
    except Refused as differs:
        await _stop(context, trial, Outcome.ERROR, str(differs))
        return
    trial.record = replace(trial.record, opening=opening)
    over = await _take_up(context, trial, world, approved)
    while not over:
        move = await _next_move(context, trial)
        if move is None:
            return
        over = await _face(context, trial, world, move)


async def _take_up(context: RoundContext, trial: Trial, world: World, approved: Approved | None) -> bool:
    """Goes on with the action that the trial was held at; True where there is nothing more to do."""
    move = store.pending_move(trial.record)
    if move is None:
        return False
    if approved is None:
        return await _face(context, trial, world, move)
    return await _run_critical(context, trial, world, move, approved)


async def _face(context: RoundContext, trial: Trial, world: World, move: Move) -> bool:
    """Runs the move if it may run; True where the trial is over or held."""
    if move.done is not None:
        return await _end_as_done(context, trial, move)
    if why := _not_gone_back(context, trial, move.action):
        step = Step(move.thought, move.action, f"Nothing was gone back on: {why}.", {**move.extra, REFUSED: True})
        return await _add(context, trial, step)
    if not is_critical(move.action, context.patterns):
        return await _run(context, trial, world, Step(move.thought, move.action, extra=move.extra), fulfils=False)
    if context.inspects(trial) and await _flagged(context, trial, move):
        return True
    return await _run_critical(context, trial, world, move, Approved(move.action, None))


async def _flagged(context: RoundContext, trial: Trial, move: Move) -> bool:
    trial.record = store.held(trial.record, move)
    try:
        return await context.judge(trial)
    except Exception as failure:
        # Whatever breaks in a detector, the action stays where it is.
        context.done.interrupt(f"The detector {context.run.detector} could not judge ({_words(failure)}).")
        return True


async def _run_critical(context: RoundContext, trial: Trial, world: World, move: Move, approved: Approved) -> bool:
    trial.record = store.moving(trial.record, critical_action=approved.action)
    await context.group_commit.write(lambda session: _intend(session, context, trial, approved))
    extra = dict(move.extra) if approved.decision_id is None else {**move.extra, "decision_id": approved.decision_id}
    if approved.edited:
        extra |= {"instead_of": move.action, "remedy": approved.action in move.extra.get("remedies", ())}
    return await _run(context, trial, world, Step(move.thought, approved.action, extra=extra), fulfils=True)


async def _run(context: RoundContext, trial: Trial, world: World, step: Step, *, fulfils: bool) -> bool:
    try:
        observation, _, ended, capped, info = world.step(step.action)
    except Exception as failure:
        # A critical action may have run all the same; nobody knows, so it is not tried again.
        reason = f"{store.UNKNOWN_EXECUTION if fulfils else 'the environment failed'} ({_words(failure)})"
        await _stop(context, trial, Outcome.ERROR, reason)
        return True
    step = replace(step, observation=store.storable(observation))
    return await _add(context, trial, step, fulfils=fulfils, ended=ended, capped=capped, info=info)


async def _add(
    context: RoundContext,
    trial: Trial,
    step: Step,
    *,
    fulfils: bool = False,
    ended: bool = False,
    capped: bool = False,
    info: Mapping[str, Any] = MappingProxyType({}),
) -> bool:
    """Writes the step and what it brought; True where the trial is over."""
    index, steps = len(trial.record.steps), (*trial.record.steps, step)
    cap = trial.task.options.get(STEP_CAP)
    outcome = ending(context.environment(trial), steps, ended, capped, info, cap)
    trial.record = _after(context, trial.record, steps, outcome, info)
    await context.group_commit.write(lambda session: _record(session, context, trial, index if fulfils else None))
    if outcome is not None:
        await look_at_end(context, trial)
    return outcome is not None


def _not_gone_back(context: RoundContext, trial: Trial, action: str) -> str | None:
    """Why the action may not go back, whatever the Actor thinks of it; None where it may, or does something else."""
    where, steps = context.environment(trial), trial.record.steps
    if not where.back or action != where.back:
        return None
    return refusal(where, steps, standing(where, steps)[:-1], context.patterns)


async def _end_as_done(context: RoundContext, trial: Trial, move: Move) -> bool:
    """Ends a trial that its Actor holds for done and that the environment did not end: it failed."""
    steps, failed = trial.record.steps, Outcome.FAILED
    record = _after(context, trial.record, steps, failed, {})
    said = {"reason": "the Actor held the task for done", "answer": move.done, "usage": move.extra.get("usage")}
    trial.record = replace(record, extra={**record.extra, **said})
    await context.group_commit.write(lambda session: _record(session, context, trial, None))
    await look_at_end(context, trial)
    return True


def _after(
    context: RoundContext, record: Trajectory, steps: tuple[Step, ...], outcome: Outcome | None, info: Mapping[str, Any]
) -> Trajectory:
    if outcome is None:
        return store.moving(record, steps=steps)
    critical = [step.action for step in steps if is_critical(step.action, context.patterns)]
    last = critical[-1] if critical else None
    return store.moving(record, steps=steps, outcome=outcome, critical_action=last, gold=gold(outcome, info))


async def look_at_end(context: RoundContext, trial: Trial) -> None:
    """Has the end of a trial judged or queued; where the detector fails, the next round looks again."""
    try:
        await context.inspect_end(trial)
    except Exception as failure:
        context.done.interrupt(f"The end of {trial.name} could not be judged ({_words(failure)}).")


async def _next_move(context: RoundContext, trial: Trial) -> Move | None:
    record, run = trial.record, context.run
    seed = run.seed * 1_009 + record.trial
    view = ActorView(
        record.environment,
        record.instruction,
        record.opening,
        record.steps,
        record.memory,
        seed,
        surroundings=context.environment(trial),
        critical=tuple(context.patterns),
        plan=context.plan(trial),
        explores=context.explores,
    )
    try:
        move = await context.actor.act(view)
        done = None if move.done is None else store.storable(move.done)
        extra = store.storable_extra(move.extra)
        return Move(store.storable(move.thought), store.storable(move.action), extra, done)
    except Exception as failure:
        # A model's endpoint may be back tomorrow: the trial stays as it is written.
        context.done.interrupt(f"The Actor {context.actor.name} could not go on ({_words(failure)}).")
        return None


def _intend(session: Session, context: RoundContext, trial: Trial, approved: Approved) -> None:
    step = len(trial.record.steps)
    trajectory_rows.intend(session, trial.id, step, approved.action, approved.decision_id, now_ms())
    trajectory_rows.write(session, trial.id, trial.record, context.patterns)


def _record(session: Session, context: RoundContext, trial: Trial, fulfilled: int | None) -> None:
    trajectory_rows.write(session, trial.id, trial.record, context.patterns)
    if fulfilled is not None:
        store.fulfil(session, trial.id, fulfilled, now_ms())


async def _stop(context: RoundContext, trial: Trial, outcome: Outcome, reason: str) -> None:
    await context.group_commit.write(lambda session: store.stop(session, context.run, trial, outcome, reason, now_ms()))


def _words(failure: Exception) -> str:
    return f"{type(failure).__name__}: {failure}"
