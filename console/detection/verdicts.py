"""Verdicts of detectors about checkpoints: computing verdicts, and storing one for each detector and checkpoint."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

import orjson
from sqlalchemy import insert, update
from sqlmodel import Session, col, select

from console.database import now_ms
from console.detection.detectors import Detector, Verdict, detector
from console.detection.detectors.shared.model_clients import Clients, ModelOptions, Setup
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.verdict import ReplyCost
from console.detection.routing import is_locked, routing_name
from console.trajectory.checkpoints import Checkpoint
from storage import tables


def judge_by_routing(run: tables.Run, trajectory_id: int, checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the routing detector's verdict as a row to insert; raise the detector's errors."""
    judge = detector(routing_name(run))
    bar = judge.threshold if run.threshold is None else run.threshold
    return judge_as_row(run, judge, bar, trajectory_id, checkpoint)


def store_verdict(
    session: Session, run: tables.Run, trajectory_id: int, checkpoint: Checkpoint, row: dict[str, Any]
) -> tables.Verdict:
    """Store the routing detector's verdict unless one is already stored; return the stored verdict."""
    if find_verdict(session, run, trajectory_id, checkpoint) is None:
        session.execute(insert(tables.Verdict), [row])
    found = find_verdict(session, run, trajectory_id, checkpoint)
    if found is None:
        raise LookupError("the verdict was written and cannot be read back")
    return found


def judge_as_row(
    run: tables.Run, judge: Detector, bar: float, trajectory_id: int, checkpoint: Checkpoint
) -> dict[str, Any]:
    """Return one detector's verdict about one checkpoint as a row to insert, using the models in the settings."""
    asking = ModelOptions()
    if judge.judge is not None:
        started = time.perf_counter()
        verdict = judge.judge(checkpoint, run.seed)
        verdict = replace(verdict, spent=ReplyCost(latency_ms=(time.perf_counter() - started) * 1_000))
    else:
        verdict = _await_verdict(_ask(judge, checkpoint, run.seed, asking, bar))
    setup = asking.setup(judge, checkpoint.environment, run.seed)
    return build_row(run, judge, bar, trajectory_id, checkpoint, verdict, setup)


def build_row(
    run: tables.Run,
    judge: Detector,
    bar: float,
    trajectory_id: int,
    checkpoint: Checkpoint,
    verdict: Verdict,
    setup: Setup,
) -> dict[str, Any]:
    """Return a verdict as a row; its parameters contain the digest of `setup`, to detect stale verdicts."""
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


def store_verdicts(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store verdicts in the rows of old ones, so that items still refer to them; locked verdicts are not replaced."""
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


def find_verdict(
    session: Session, run: tables.Run, trajectory_id: int, checkpoint: Checkpoint
) -> tables.Verdict | None:
    """Return the routing detector's verdict of that checkpoint, or None if there is none yet."""
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


async def _ask(judge: Detector, checkpoint: Checkpoint, seed: int, asking: ModelOptions, bar: float) -> Verdict:
    if judge.ask is None:
        raise LookupError(f"the detector {judge.name} has nothing to judge with")
    async with Clients(asking) as clients:
        return await asking.verdict(judge, QueryCache(checkpoint, clients.models(asking.names(judge)), seed), bar)


def _await_verdict(question: Coroutine[Any, Any, Verdict]) -> Verdict:
    """Await the verdict, in a thread of its own if an event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(question)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, question).result()
