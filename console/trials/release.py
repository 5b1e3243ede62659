"""The release of undecided actions, which then run in the embedded environments, as the paper's results assume."""

from __future__ import annotations

from sqlalchemy import update
from sqlmodel import col, select

from console.database import now_ms, reading, review_queue, writing
from console.errors import Refused
from console.runs import audit_log
from console.trajectory import Outcome
from console.trials import engine
from console.trials.engine import lock_run
from console.trials.round import Advance
from console.trials.start import ActorAndEnvironments
from console.trials.store import RELEASED
from storage import tables
from storage.queue import HALTED
from storage.tables import ItemStatus


def release_undecided(
    run_name: str,
    *,
    trial: int | None = None,
    actor_and_environments: ActorAndEnvironments | None = None,
    progress: engine.Progress | None = None,
) -> Advance:
    """Run every held action without a decision and mark it as released by the simulation; for experiments only.

    If `trial` is given, release only the actions of this trial. Released trials are not inspected again and leave no
    memory. Raise Refused if an environment is not embedded, or if another process works on the run.
    """
    run = engine.get_live_run(run_name)
    actor_and_environments = actor_and_environments or ActorAndEnvironments.of(run)
    real = [name for name in run.environment.split(",") if not actor_and_environments.environment(name).replayable]
    if real:
        raise Refused(
            f"Actions in {', '.join(real)} cannot be undone, so they never run without a decision. Review them instead."
        )
    with lock_run(run):
        released = _let_go(run, trial)
    done = engine.resume(run_name, actor_and_environments=actor_and_environments, progress=progress)
    done.released = released
    return done


def _let_go(run: tables.Run, trial: int | None) -> int:
    """Mark the held trials as released and remove their items from the queue; skip items decided in the meantime."""
    item, record = tables.Item, tables.Trajectory
    undecided = (
        select(item.id, item.trajectory_id)
        .join(record, col(record.id) == item.trajectory_id)
        .where(item.run_id == run.id, record.outcome == Outcome.PAUSED, item.kind != HALTED)
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
