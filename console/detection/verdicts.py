"""Verdicts of detectors about checkpoints, and the review items of those that are flagged.

Live and gate runs judge each action before it runs. Their routing detector is locked: no later detection changes how it
judges, or what it judged. For other runs `enqueue` brings the review queue up to the verdicts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from random import Random
from typing import Any

import orjson
from sqlalchemy import insert, update
from sqlmodel import Session, col, select

from console import runs
from console.database import now_ms, reading, review_queue
from console.detection.detectors import Detector, Verdict, detector
from console.detection.detectors.shared.model_clients import Asking, Clients, Setup
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.verdict import Spent
from console.errors import Refused
from console.runs import costs
from console.runs.options import run_options
from console.trajectory import Outcome, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at
from storage import tables
from storage.queue import HALTED, NewItem
from storage.tables import ItemStatus, RunKind

_HALTED_PRIORITY = -1.0
"""Below every score: halted trials rank after all judged ones."""

BEFOREHAND = (RunKind.LIVE, RunKind.GATE)
"""In the other kinds there is nothing left to stop, and a detection judges and queues after the fact."""


def judges_beforehand(run: tables.Run) -> bool:
    """Whether the run's actions wait for its routing detector's verdict."""
    return run.kind in BEFOREHAND


OWN_DETECTOR = "rules"
"""The console's own: in a gate's run it judges too where a policy says `judge`, since callers name the other one."""


def routing_name(run: tables.Run) -> str:
    """The name of the detector that flags and ranks in the run."""
    return run.detector or OWN_DETECTOR


def is_locked(run: tables.Run, name: str) -> bool:
    """Whether that detector's verdicts in the run stay as they are, since actions ran or were held because of them."""
    own = OWN_DETECTOR if run.kind == RunKind.GATE else None
    return judges_beforehand(run) and name in (routing_name(run), own)


def refuse_changes(
    run: tables.Run, methods: Sequence[str], threshold: float | None, seed: int | None, route: str | None
) -> None:
    """Raises Refused where a detection asks for another routing detector, or for another threshold or seed of it."""
    routing = detector(routing_name(run))
    if route is not None and detector(route).name != routing.name:
        raise Refused(
            f"Run {run.name!r} is {run.kind}: {routing.name} judges its actions before they run, so --route cannot "
            "name another detector; leave it out, or start another run."
        )
    bar = routing.threshold if run.threshold is None else run.threshold
    if routing.name in methods and (threshold not in (None, bar) or seed not in (None, run.seed)):
        raise Refused(
            f"Run {run.name!r} is {run.kind}: {routing.name} judges its actions before they run, with threshold "
            f"{bar:g} and seed {run.seed}; leave --threshold and --seed out, or leave {routing.name} out."
        )


def routing_verdict(run: tables.Run, trajectory_id: int, checkpoint: Checkpoint) -> dict[str, Any]:
    """What the run's routing detector says of a checkpoint, ready to insert; its errors go up."""
    judge = detector(routing_name(run))
    bar = judge.threshold if run.threshold is None else run.threshold
    return verdict_row(run, judge, bar, trajectory_id, checkpoint)


def keep_verdict(
    session: Session, run: tables.Run, trajectory_id: int, checkpoint: Checkpoint, row: dict[str, Any]
) -> tables.Verdict:
    """Stores the routing detector's verdict, once; the one that was there first stands."""
    if stored_verdict(session, run, trajectory_id, checkpoint) is None:
        session.execute(insert(tables.Verdict), [row])
    found = stored_verdict(session, run, trajectory_id, checkpoint)
    if found is None:
        raise LookupError("the verdict was written and cannot be read back")
    return found


def flagged_item(
    run: tables.Run, trial: int, verdict: tables.Verdict, checkpoint: Callable[[], Checkpoint], at_ms: int
) -> NewItem:
    """The review item of a flagged checkpoint, which is read only where the run states costs to rank by."""
    stated, priority = run_options(run).costs, verdict.score
    if stated:
        priority = costs.priority(stated, checkpoint(), verdict.score, verdict.probability)
    return NewItem(
        run_id=run.id or 0,
        trial=trial,
        trajectory_id=verdict.trajectory_id,
        step=verdict.step,
        kind=verdict.kind,
        priority=priority,
        reviews_required=run.reviews_per_item,
        verdict_id=verdict.id,
        created_ms=at_ms,
    )


def is_audited(run: tables.Run, task_key: str, trial: int) -> bool:
    """Whether that trial's action waits for a review though nothing flags it: a draw by the run's seed, task and trial.

    The draw is the same in every copy of the task.
    """
    share = run_options(run).audited
    return share > 0 and Random(f"{run.seed} audit {task_key} {trial}").random() < share


def halted_item(run: tables.Run, trial: int, trajectory_id: int, step: int, at_ms: int) -> NewItem:
    """The review item of a trial that halted after `step` steps: no detector judged it."""
    return NewItem(
        run_id=run.id or 0,
        trial=trial,
        trajectory_id=trajectory_id,
        step=step,
        kind=HALTED,
        priority=_HALTED_PRIORITY,
        reviews_required=run.reviews_per_item,
        verdict_id=None,
        created_ms=at_ms,
    )


def verdict_row(
    run: tables.Run, judge: Detector, bar: float, trajectory_id: int, checkpoint: Checkpoint
) -> dict[str, Any]:
    """The verdict of one detector about one checkpoint, ready to insert; models are those of the settings."""
    asking = Asking()
    if judge.judge is not None:
        started = time.perf_counter()
        verdict = judge.judge(checkpoint, run.seed)
        verdict = replace(verdict, spent=Spent(latency_ms=(time.perf_counter() - started) * 1_000))
    else:
        verdict = _waited(_asked(judge, checkpoint, run.seed, asking, bar))
    setup = asking.setup(judge, checkpoint.environment, run.seed)
    return row_of(run, judge, bar, trajectory_id, checkpoint, verdict, setup)


def row_of(
    run: tables.Run,
    judge: Detector,
    bar: float,
    trajectory_id: int,
    checkpoint: Checkpoint,
    verdict: Verdict,
    setup: Setup,
) -> dict[str, Any]:
    """A verdict as a row; `setup` among its parameters is what tells later whether it is stale."""
    return {
        "run_id": run.id,
        "trajectory_id": trajectory_id,
        "step": checkpoint.index,
        "kind": str(checkpoint.kind),
        "detector": judge.name,
        "score": verdict.score,
        "probability": verdict.probability,
        "threshold": bar,
        "flagged": verdict.score > bar or verdict.unparsed,
        "inferred_task": verdict.inferred_task,
        "rationale": verdict.rationale,
        "model": setup.model,
        "prompt_fingerprint": setup.prompt_fingerprint,
        "parameters": orjson.dumps({**verdict.parameters, "setup": setup.digest}).decode(),
        "seed": run.seed,
        "raw": verdict.raw,
        **asdict(verdict.spent),
        "created_ms": now_ms(),
    }


def keep_verdicts(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Stores verdicts; one that stands in another's place takes over its row, so that items still point to it.

    Where an action ran or was held because of the verdict that is there, that one stays.
    """
    verdict, run = tables.Verdict, tables.Run
    ids = {row["trajectory_id"] for row in rows}
    statement = select(verdict, run).join(run, col(run.id) == verdict.run_id).where(col(verdict.trajectory_id).in_(ids))
    found = list(session.exec(statement))
    there = {(one.trajectory_id, one.step, one.kind, one.detector): one.id for one, _ in found}
    kept = {one.id for one, of_run in found if is_locked(of_run, one.detector)}
    known = [(there.get((row["trajectory_id"], row["step"], row["kind"], row["detector"])), row) for row in rows]
    if fresh := [row for id, row in known if id is None]:
        session.execute(insert(verdict), fresh)
    if again := [row | {"id": id} for id, row in known if id is not None and id not in kept]:
        session.execute(update(verdict), again)


def stored_verdict(
    session: Session, run: tables.Run, trajectory_id: int, checkpoint: Checkpoint
) -> tables.Verdict | None:
    """The routing detector's verdict of that checkpoint, None where there is none yet."""
    verdict = tables.Verdict
    statement = select(verdict).where(
        verdict.trajectory_id == trajectory_id,
        verdict.step == checkpoint.index,
        verdict.kind == str(checkpoint.kind),
        verdict.detector == routing_name(run),
    )
    found = session.exec(statement).first()
    if found is not None:
        session.expunge(found)
    return found


async def _asked(judge: Detector, checkpoint: Checkpoint, seed: int, asking: Asking, bar: float) -> Verdict:
    if judge.ask is None:
        raise LookupError(f"the detector {judge.name} has nothing to judge with")
    async with Clients(asking) as clients:
        return await asking.verdict(judge, QueryCache(checkpoint, clients.models(asking.names(judge)), seed), bar)


def _waited(question: Coroutine[Any, Any, Verdict]) -> Verdict:
    """The verdict, awaited; from within an event loop in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(question)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, question).result()


def enqueue(run: tables.Run) -> int:
    """Queues what is flagged or halted, withdraws what waits and is neither; returns how many items are new."""
    queue = review_queue()
    with reading() as session:
        wanted = runs.cap(session, run)
        items = [*_flagged_items(session, run), *_halted_items(session, run)]
        withdrawn = _no_longer_flagged(session, run, items)
        trials = {item.trial for item in items}
        if run.kind != RunKind.LIVE:  # The engine opens those of live runs.
            of_run = select(tables.Trajectory.trial).where(tables.Trajectory.run_id == run.id)
            trials |= set(session.exec(of_run.distinct()))
    if withdrawn:
        queue.cancel(item_ids=withdrawn, now_ms=now_ms())
    runs.open_budgets(queue, _id(run), sorted(trials), wanted)
    return queue.put(items)


def _flagged_items(session: Session, run: tables.Run) -> Iterator[NewItem]:
    """The first flagged checkpoint of each trajectory; where none is and it is audited, the first of all."""
    verdict, record, task = tables.Verdict, tables.Trajectory, tables.Task
    statement = (
        select(verdict, record.trial, task.task_key)
        .join(record, col(record.id) == verdict.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(verdict.run_id == run.id, verdict.detector == run.detector)
        .order_by(col(verdict.trajectory_id), col(verdict.flagged).desc(), col(verdict.step))
    )
    if not run_options(run).audited:
        statement = statement.where(col(verdict.flagged).is_(True))
    previous, at_ms = None, now_ms()
    narrowed = run_options(run).narrowed
    for found, trial, key in session.exec(statement):
        if found.trajectory_id != previous and not (narrowed and _is_past(session, run, found)):
            previous = found.trajectory_id
            if not (found.flagged or is_audited(run, key, trial)):
                continue
            yield flagged_item(run, trial, found, partial(_checkpoint, session, found), at_ms)


def _is_past(session: Session, run: tables.Run, verdict: tables.Verdict) -> bool:
    """Whether the verdict is about an action that the run's patterns do not match any longer."""
    body = session.get_one(tables.TrajectoryBody, verdict.trajectory_id).body
    now = {(found.index, str(found.kind)) for found in runs.run_checkpoints(run, from_json(body))}
    return (verdict.step, verdict.kind) not in now


def _checkpoint(session: Session, verdict: tables.Verdict) -> Checkpoint:
    body = session.get_one(tables.TrajectoryBody, verdict.trajectory_id).body
    return checkpoint_at(from_json(body), verdict.step, CheckpointKind(verdict.kind))


def _halted_items(session: Session, run: tables.Run) -> Iterator[NewItem]:
    record = tables.Trajectory
    statement = select(record.id, record.trial, record.n_steps).where(
        record.run_id == run.id, col(record.carried_over).is_(False), record.recorded_outcome == Outcome.HALTED
    )
    at_ms = now_ms()
    for trajectory_id, trial, n_steps in session.exec(statement.order_by(col(record.id))):
        yield halted_item(run, trial, trajectory_id or 0, n_steps, at_ms)


def _no_longer_flagged(session: Session, run: tables.Run, items: Sequence[NewItem]) -> list[int]:
    wanted = {(item.trajectory_id, item.step, item.kind) for item in items}
    item = tables.Item
    statement = select(item).where(item.run_id == run.id, item.status == ItemStatus.PENDING)
    return [row.id or 0 for row in session.exec(statement) if (row.trajectory_id, row.step, row.kind) not in wanted]


def _id(run: tables.Run) -> int:
    return run.id or 0
