"""Verdicts of detectors about checkpoints, stored once for each detector and checkpoint, and reports of a detection."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson
from sqlalchemy import insert, update
from sqlmodel import Session, col, select

from console.detection.detectors import UNPARSED, Detector, Verdict, detector
from console.detection.detectors.shared.model_clients import Clients, ModelOptions
from console.detection.detectors.verdict import NO_REPLY, REFUSED, TABLE, ReplyCost
from console.detection.routing import is_locked, routing_name
from console.llm import ClientUsage
from console.llm.errors import Deferred, ModelError
from console.trajectory.checkpoints import Checkpoint
from storage import tables


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup of a verdict: model, prompts, and a digest of all its inputs except the checkpoint."""

    digest: str
    model: str | None = None
    prompt_fingerprint: str | None = None


def find_setup(judge: Detector, asking: ModelOptions, environment: str, seed: int) -> Setup:
    """Return the setup of the detector's verdicts in that environment."""
    parts: list[object] = [judge.version, seed if judge.seeded else None]
    if judge.ask is None:
        return Setup(_digest(parts))
    model, prompt, inputs = asking.inputs(judge, environment)
    return Setup(_digest([*parts, *inputs]), model, prompt)


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:16]


def judge_by_routing(run: tables.Run, trajectory_id: int, checkpoint: Checkpoint, at_ms: int) -> dict[str, Any]:
    """Return the routing detector's verdict as a row to insert; raise the detector's errors."""
    judge = detector(routing_name(run))
    bar = judge.threshold if run.threshold is None else run.threshold
    return judge_as_row(run, judge, bar, trajectory_id, checkpoint, at_ms)


def store_verdict(
    session: Session, run: tables.Run, trajectory_id: int, checkpoint: Checkpoint, row: dict[str, Any]
) -> tables.Verdict:
    """Store the routing detector's verdict unless one is already stored; return the stored verdict."""
    if find_verdict(session, run, trajectory_id, checkpoint) is None:
        session.execute(insert(tables.Verdict), [row])
    found = find_verdict(session, run, trajectory_id, checkpoint)
    if found is None:
        raise LookupError("the stored verdict cannot be read. Run `inferact db check`")
    return found


def judge_as_row(
    run: tables.Run, judge: Detector, bar: float, trajectory_id: int, checkpoint: Checkpoint, at_ms: int
) -> dict[str, Any]:
    """Return one detector's verdict about one checkpoint as a row to insert, using the models in the settings."""
    asking = ModelOptions()
    if judge.judge is not None:
        started = time.perf_counter()
        verdict = judge.judge(checkpoint, run.seed)
        verdict = replace(verdict, spent=ReplyCost(latency_ms=(time.perf_counter() - started) * 1_000))
    else:
        verdict = _await_verdict(_ask(judge, checkpoint, run.seed, asking, bar))
    setup = find_setup(judge, asking, checkpoint.environment, run.seed)
    return build_row(run, judge, bar, trajectory_id, checkpoint, verdict, setup, at_ms)


def build_row(
    run: tables.Run,
    judge: Detector,
    bar: float,
    trajectory_id: int,
    checkpoint: Checkpoint,
    verdict: Verdict,
    setup: Setup,
    at_ms: int,
) -> dict[str, Any]:
    """Return a verdict as a row; its parameters contain the digest of `setup`, to detect stale verdicts."""
    parameters = {name: value for name, value in verdict.parameters.items() if name != TABLE}
    table = verdict.parameters.get(TABLE)
    return {
        "run_id": run.id,
        "trajectory_id": trajectory_id,
        "step": checkpoint.index,
        "kind": str(checkpoint.kind),
        "detector": judge.name,
        "score": None if verdict.parameters.get(REFUSED) else verdict.score,
        "probability": verdict.probability,
        "threshold": bar,
        "flagged": verdict.score > bar or bool(parameters.get(UNPARSED)),
        "inferred_task": verdict.inferred_task,
        "rationale": verdict.rationale,
        "model": setup.model,
        "prompt_fingerprint": setup.prompt_fingerprint,
        "parameters": orjson.dumps({**parameters, "setup": setup.digest}).decode(),
        "seed": run.seed,
        "raw": verdict.raw,
        **asdict(verdict.spent),
        "created_ms": at_ms,
        "requirements": None if table is None else orjson.dumps(table).decode(),
    }


def store_verdicts(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store verdicts in the rows of earlier verdicts, so that items still refer to them; keep locked verdicts."""
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
    async with Clients(asking) as clients:
        (cache,) = clients.open_caches([judge], checkpoint, seed).values()
        return await asking.verdict(judge, cache, bar)


def _await_verdict(question: Coroutine[Any, Any, Verdict]) -> Verdict:
    """Await the verdict, in a thread of its own if an event loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(question)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, question).result()


@dataclass(slots=True)
class DetectionReport:
    """The counts of one detector; `excluded` trajectories have no critical action.

    `unparsed` verdicts come from unreadable replies and are flagged. `refused` verdicts among them have no score,
    because the model refused to answer. `errors` counts checkpoints without a verdict, for the reasons in `problems`,
    and `waiting` checkpoints in an open batch. Usage covers new verdicts; each detector that shares a reply counts it.
    """

    run: str
    detector: str
    threshold: float
    model: str | None = None
    judged: int = 0
    cached: int = 0
    checkpoints: int = 0
    flagged: int = 0
    unparsed: int = 0
    refused: int = 0
    errors: int = 0
    problems: dict[str, int] = field(default_factory=dict)
    last_problem: str = ""
    last_silence: str = ""
    waiting: int = 0
    halted: int = 0
    excluded: int = 0
    queued: int = 0
    routing: bool = False
    mode: str = "console"
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None

    def note(self, row: dict[str, Any]) -> None:
        """Count a new verdict."""
        parameters = orjson.loads(row["parameters"])
        self.judged += 1
        self.flagged += row["flagged"]
        self.unparsed += bool(parameters.get(UNPARSED))
        self.refused += bool(parameters.get(REFUSED))
        if NO_REPLY in parameters:
            self.last_silence = str(parameters[NO_REPLY])
        self.requests += row["requests"]
        self.prompt_tokens += row["prompt_tokens"]
        self.completion_tokens += row["completion_tokens"]
        if row["cost_usd"] is not None:
            self.cost_usd = (self.cost_usd or 0.0) + row["cost_usd"]

    def fail(self, failure: ModelError) -> None:
        """Count a checkpoint without a verdict, or with a question in an open batch."""
        if isinstance(failure, Deferred):
            self.waiting += 1
            return
        name = type(failure).__name__
        self.errors += 1
        self.last_problem = str(failure)
        self.problems[name] = self.problems.get(name, 0) + 1


@dataclass(frozen=True, slots=True)
class DetectionUsage:
    """The usage of all models, and the features that each model's endpoint lacks, by model."""

    tally: ClientUsage = field(default_factory=ClientUsage)
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def explain_lacking(self, *, paper: bool) -> tuple[str, ...]:
        """Return a sentence for each model whose endpoint lacks a feature, with the replacement."""
        instead = _INSTEAD | (_INSTEAD_IN_PAPER if paper else {})
        sentences = []
        for model, names in sorted(self.lacking.items()):
            told = [f"no {name}" + (f" ({instead[name]})" if name in instead else "") for name in names]
            sentences.append(f"{model} gives {', '.join(told)}.")
        return tuple(sentences)


_INSTEAD = {
    "logprobs": "probabilities are shares of sampled answers",
    "n": "samples are requested one by one",
    "temperature": "replies use its own temperature",
    "seed": "samples cannot be repeated",
    "response_format": "replies are read from plain lines",
    "reasoning_effort": "it uses its own reasoning effort",
}
_INSTEAD_IN_PAPER = {"logprobs": "without them the reference code has no probability"}


@dataclass(frozen=True, slots=True)
class Detection:
    """The reports, the usage of models, a sentence per lacking endpoint, and the reason for an empty queue, or ""."""

    reports: list[DetectionReport]
    asked: DetectionUsage
    lacking: tuple[str, ...] = ()
    queue_note: str = ""
