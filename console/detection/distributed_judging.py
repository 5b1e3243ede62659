"""Detection over files on the workers of dask.distributed, without a database; the verdicts go to a Parquet file.

A partition is a part of a file: lines of JSONL, or a row group of Parquet. If a worker is lost, another one judges its
partition again, and takes the replies that had arrived from the cache of replies, which all workers share.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from sqlmodel import col, select

from console import runs
from console.database import reading, writing
from console.detection.concurrent import ConcurrentJudge, Job, Row
from console.detection.detectors import detector
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.verdicts import find_setup, judge_as_row, store_verdicts
from console.errors import BadInput, Refused
from console.runs import run_checkpoints
from console.settings import settings
from console.trajectory import Outcome, from_json
from storage import tables

_LEAST_BYTES, _MOST_BYTES = 1 << 16, 1 << 22
_PARTS_A_WORKER = 32
_AT_ONCE = 500
_COLUMNS: dict[str, Any] = {
    "digest": pa.string(),
    "task_id": pa.string(),
    "trial": pa.int64(),
    "step": pa.int64(),
    "kind": pa.string(),
    "detector": pa.string(),
    "score": pa.float64(),
    "probability": pa.float64(),
    "threshold": pa.float64(),
    "flagged": pa.bool_(),
    "inferred_task": pa.string(),
    "rationale": pa.string(),
    "model": pa.string(),
    "prompt_fingerprint": pa.string(),
    "parameters": pa.string(),
    "seed": pa.int64(),
    "raw": pa.string(),
    "latency_ms": pa.float64(),
    "requests": pa.int64(),
    "prompt_tokens": pa.int64(),
    "completion_tokens": pa.int64(),
    "cost_usd": pa.float64(),
    "created_ms": pa.int64(),
    "requirements": pa.string(),
}
_RESULTS = pa.schema(list(_COLUMNS.items()))


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of a file: the bytes from `start` to `end` of JSONL, or the row group `start` of Parquet (`end` is -1)."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class JudgingTask:
    """The work of each worker on its partitions; `critical` are the patterns of critical actions."""

    methods: tuple[str, ...]
    critical: tuple[str, ...]
    asking: ModelOptions
    threshold: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdicts of a partition or of all, the checkpoints without a verdict, and the requests to models."""

    rows: list[Row]
    errors: int = 0
    problem: str = ""
    requests: int = 0
    cached: int = 0


def split_files(paths: Sequence[Path], workers: int) -> list[Partition]:
    """Return the partitions of JSONL and Parquet files; raise BadInput if a file has another ending."""
    parts = []
    for path in paths:
        where = str(path.resolve())
        if path.suffix == ".parquet":
            parts += [Partition(where, group, -1) for group in range(pq.ParquetFile(path).num_row_groups)]
        elif path.suffix == ".jsonl":
            whole = path.stat().st_size
            size = max(_LEAST_BYTES, min(_MOST_BYTES, -(-whole // (_PARTS_A_WORKER * workers))))
            ends = [*range(size, whole, size), whole]
            parts += [Partition(where, start, end) for start, end in zip([0, *ends], ends, strict=False)]
        else:
            raise BadInput(f"{path} is neither .jsonl nor .parquet. Export trajectories in one of these formats.")
    return parts


def read_lines(part: Partition) -> Iterator[bytes]:
    """Yield the trajectories of a partition as JSON; a line belongs to the partition in which it begins."""
    if part.end < 0:
        file = pq.ParquetFile(part.path)
        if "trajectory" not in file.schema_arrow.names:
            raise BadInput(f"{part.path} has no column 'trajectory' with canonical JSON. Add the column.")
        yield from map(str.encode, file.read_row_group(part.start, ["trajectory"])["trajectory"].to_pylist())
        return
    with Path(part.path).open("rb") as lines:
        if part.start:
            # The line in progress at the start belongs to the partition before.
            lines.seek(part.start - 1)
            lines.readline()
        while lines.tell() < part.end and (line := lines.readline()):
            if line.strip():
                yield line


def judge_partition(part: Partition, task: JudgingTask) -> Judged:
    """Judge each checkpoint of a partition with each detector; a worker runs this function."""
    critical = orjson.dumps(task.critical).decode()
    run = tables.Run(name="", kind="archive", environment="", created_ms=0, seed=task.seed, critical=critical)
    judges = [detector(name) for name in task.methods]
    bars = {judge.name: judge.threshold if task.threshold is None else task.threshold for judge in judges}
    offline, asking = [one for one in judges if one.ask is None], [one for one in judges if one.ask]
    found: dict[int, dict[str, Any]] = {}
    rows: list[Row] = []
    jobs = []
    for number, line in enumerate(read_lines(part)):
        record = from_json(line)
        found[number] = {"digest": record.content_digest(), "task_id": record.task_id, "trial": record.trial}
        if record.outcome in (Outcome.ERROR, Outcome.RUNNING, Outcome.HALTED):
            continue
        for checkpoint in run_checkpoints(run, record):
            at_ms = time.time_ns() // 1_000_000
            rows += [judge_as_row(run, one, bars[one.name], number, checkpoint, at_ms) for one in offline]
            if asking:
                jobs.append(Job(number, checkpoint, tuple(asking)))
    judged = _ask_models(run, jobs, bars, task.asking, rows) if jobs else Judged(rows)
    return replace(judged, rows=[found[row["trajectory_id"]] | row for row in judged.rows])


def _ask_models(
    run: tables.Run, jobs: Sequence[Job], bars: Mapping[str, float], asking: ModelOptions, rows: list[Row]
) -> Judged:
    failures: list[str] = []
    panel = ConcurrentJudge(
        run=run,
        bars=bars,
        asking=asking,
        setup=lambda judge, environment: find_setup(judge, asking, environment, run.seed),
        judged=lambda _judge, _row: None,
        failed=lambda _judge, failure: failures.append(str(failure)),
        over=lambda _job: None,
        keep=rows.extend,
    )
    used = asyncio.run(panel.judge([lambda: jobs])).tally
    return Judged(rows, len(failures), failures[-1] if failures else "", used.requests, used.cached)


def judge_files(parts: Sequence[Partition], task: JudgingTask, out: Path, client: Any, workers: int) -> Judged:
    """Judge all partitions on the workers of a `distributed.Client`, and write the verdicts to `out`, in order.

    All workers together send `asking.concurrency` requests to models at a time.
    """
    from distributed import wait  # an optional extra

    asks = any(detector(name).ask for name in task.methods)
    total = task.asking.concurrency or settings().concurrency
    # Without models, the next partitions wait at the workers; with models, each running partition has its own share.
    at_once = min(workers, total) if asks else 4 * workers
    task = replace(task, asking=replace(task.asking, concurrency=max(1, total // at_once) if asks else 1))
    waiting, early = iter(enumerate(parts)), {}
    done = Judged([])
    running: dict[Any, int] = {}
    written = 0
    fresh = out.with_name(f"{out.name}.part")
    with pq.ParquetWriter(fresh, _RESULTS) as writer:
        while True:
            for number, part in islice(waiting, at_once - len(running)):
                running[client.submit(judge_partition, part, task, pure=False)] = number
            if not running:
                break
            for future in wait(list(running), return_when="FIRST_COMPLETED").done:
                judged = future.result()
                early[running.pop(future)] = judged.rows
                done = Judged(
                    done.rows,
                    done.errors + judged.errors,
                    judged.problem or done.problem,
                    done.requests + judged.requests,
                    done.cached + judged.cached,
                )
            while written in early:
                if rows := early.pop(written):
                    writer.write_table(pa.Table.from_pylist(rows, _RESULTS))
                    done.rows.append({"judged": len(rows), "flagged": sum(row["flagged"] for row in rows)})
                written += 1
    fresh.replace(out)
    return done


def import_verdicts(run_name: str, path: Path) -> tuple[int, int]:
    """Store the verdicts of a result file in a run; return (stored verdicts, verdicts of other trajectories).

    Raise BadInput if the file is not a result file.
    """
    file = pq.ParquetFile(path)
    if missing := [name for name in _COLUMNS if name not in file.schema_arrow.names]:
        raise BadInput(f"{path} has no column {missing[0]!r}, so it is not a result of inferact detect --out.")
    stored = others = 0
    record = tables.Trajectory
    with reading() as session:
        run = runs.get(session, run_name)
        run_id = run.id or 0
        known = dict(session.exec(select(record.digest, record.id).where(col(record.run_id) == run_id)).all())
    for batch in file.iter_batches(_AT_ONCE, columns=list(_COLUMNS)):
        rows = batch.to_pylist()
        own = [
            {name: value for name, value in row.items() if name not in ("digest", "task_id", "trial")}
            | {"run_id": run_id, "trajectory_id": known[row["digest"]]}
            for row in rows
            if row["digest"] in known
        ]
        stored, others = stored + len(own), others + len(rows) - len(own)
        if own:
            with writing() as session:
                store_verdicts(session, own)
    return stored, others


def open_client(scheduler: str | None, workers: int) -> Any:
    """Return a client of this scheduler, or of a new cluster of local processes; raise Refused if dask is missing."""
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise Refused("dask is missing. Install it: pip install 'inferact-console[dask]'") from None
    if scheduler is not None:
        return Client(scheduler)
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0")
    return Client(cluster)
