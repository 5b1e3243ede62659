"""One trial: view, move, step, written as it happens; before a critical action it stops to be judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlmodel import Session

from console.actors import ActorView, Move
from console.database import now_ms
from console.environments.environment import World
from console.errors import Refused
from console.live import rows
from console.live.halting import ending, gold
from console.live.rebuilding import rebuild
from console.live.rows import Trial
from console.live.stage import Stage
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import is_critical


@dataclass(frozen=True, slots=True)
class Approved:
    """The action that the reviewers let run, and the decision that says so; `edited` where they wrote it."""

    action: str
    decision_id: int | None
    edited: bool = False


async def play(stage: Stage, trial: Trial, approved: Approved | None = None) -> None:
    """Plays the trial from where it stands until it ends or is held; a model that fails leaves it to be taken up."""
    try:
        world, opening = rebuild(stage.environment(trial), trial.task, trial.record, stage.run.seed)
    except Refused as differs:
        await _stop(stage, trial, Outcome.ERROR, str(differs))
        return
    trial.record = replace(trial.record, opening=opening)
    over = await _take_up(stage, trial, world, approved)
    while not over:
        move = await _next_move(stage, trial)
        if move is None:
            return
        over = await _face(stage, trial, world, move)


async def _take_up(stage: Stage, trial: Trial, world: World, approved: Approved | None) -> bool:
    """Goes on with the action that the trial was held at; True where there is nothing more to do."""
    record = trial.record
    if record.outcome is not Outcome.PAUSED or record.critical_action is None:
        return False
    move = Move(rows.pending_thought(record), record.critical_action)
    if approved is None:
        return await _face(stage, trial, world, move)
    return await _run_critical(stage, trial, world, move, approved)


async def _face(stage: Stage, trial: Trial, world: World, move: Move) -> bool:
    """Runs the move if it may run; True where the trial is over or held."""
    if not is_critical(move.action, stage.patterns):
        return await _run(stage, trial, world, Step(move.thought, move.action), fulfils=False)
    if stage.inspects(trial) and await _flagged(stage, trial, move):
        return True
    return await _run_critical(stage, trial, world, move, Approved(move.action, None))


async def _flagged(stage: Stage, trial: Trial, move: Move) -> bool:
    trial.record = rows.held(trial.record, move.thought, move.action)
    try:
        return await stage.judge(trial)
    except Exception as failure:
        # Whatever breaks in a detector, the action stays where it is.
        stage.done.interrupt(f"The detector {stage.run.detector} could not judge ({_words(failure)}).")
        return True


async def _run_critical(stage: Stage, trial: Trial, world: World, move: Move, approved: Approved) -> bool:
    trial.record = rows.moving(trial.record, critical_action=approved.action)
    await stage.journal.write(lambda session: _intend(session, stage, trial, approved))
    extra: dict[str, Any] = {} if approved.decision_id is None else {"decision_id": approved.decision_id}
    if approved.edited:
        extra["instead_of"] = move.action
    return await _run(stage, trial, world, Step(move.thought, approved.action, extra=extra), fulfils=True)


async def _run(stage: Stage, trial: Trial, world: World, step: Step, *, fulfils: bool) -> bool:
    index = len(trial.record.steps)
    try:
        observation, _, ended, capped, info = world.step(step.action)
    except Exception as failure:
        # A critical action may have run all the same; nobody knows, so it is not tried again.
        reason = f"{rows.UNKNOWN_EXECUTION if fulfils else 'the environment failed'} ({_words(failure)})"
        await _stop(stage, trial, Outcome.ERROR, reason)
        return True
    steps = (*trial.record.steps, replace(step, observation=rows.storable(observation)))
    outcome = ending(stage.environment(trial), steps, ended, capped, info)
    trial.record = _after(stage, trial.record, steps, outcome, info)
    await stage.journal.write(lambda session: _record(session, stage, trial, index if fulfils else None))
    if outcome is not None:
        await look_at_end(stage, trial)
    return outcome is not None


def _after(
    stage: Stage, record: Trajectory, steps: tuple[Step, ...], outcome: Outcome | None, info: Mapping[str, Any]
) -> Trajectory:
    if outcome is None:
        return rows.moving(record, steps=steps)
    critical = [step.action for step in steps if is_critical(step.action, stage.patterns)]
    last = critical[-1] if critical else None
    return rows.moving(record, steps=steps, outcome=outcome, critical_action=last, gold=gold(outcome, info))


async def look_at_end(stage: Stage, trial: Trial) -> None:
    """Has the end of a trial judged or queued; where the detector fails, the next round looks again."""
    try:
        await stage.inspect_end(trial)
    except Exception as failure:
        stage.done.interrupt(f"The end of {trial.name} could not be judged ({_words(failure)}).")


async def _next_move(stage: Stage, trial: Trial) -> Move | None:
    record, run = trial.record, stage.run
    seed = run.seed * 1_009 + record.trial
    view = ActorView(record.environment, record.instruction, record.opening, record.steps, record.memory, seed)
    try:
        move = await stage.players.actor.act(view)
        return Move(rows.storable(move.thought), rows.storable(move.action))
    except Exception as failure:
        # A model's endpoint may be back tomorrow: the trial stays as it is written.
        stage.done.interrupt(f"The Actor {stage.players.actor.name} could not go on ({_words(failure)}).")
        return None


def _intend(session: Session, stage: Stage, trial: Trial, approved: Approved) -> None:
    rows.intend(session, trial, approved.action, approved.decision_id, now_ms())
    rows.write(session, trial.id, trial.record, stage.patterns)


def _record(session: Session, stage: Stage, trial: Trial, fulfilled: int | None) -> None:
    rows.write(session, trial.id, trial.record, stage.patterns)
    if fulfilled is not None:
        rows.fulfil(session, trial.id, fulfilled, now_ms())


async def _stop(stage: Stage, trial: Trial, outcome: Outcome, reason: str) -> None:
    await stage.journal.write(lambda session: rows.stop(session, stage.run, trial, outcome, reason, now_ms()))


def _words(failure: Exception) -> str:
    return f"{type(failure).__name__}: {failure}"
