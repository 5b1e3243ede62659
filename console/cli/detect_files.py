"""The parts of `inferact detect` for files judged on other machines: `--engine dask`, and `--verdicts` to import."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from console.cli.output import emit, say
from console.detection.detectors import detector
from console.detection.detectors.shared.model_clients import ModelOptions
from console.errors import BadInput, Refused
from console.language import counted
from console.settings import settings

_ENDINGS = (".jsonl", ".parquet")


def judge(
    source: str,
    work: Mapping[str, Any],
    asking: ModelOptions,
    engine: str,
    cluster: tuple[str | None, int],
    out: Path | None,
    as_json: bool,
) -> None:
    """Judge the files at `source` on a cluster, given as (scheduler's address or None, number of local workers).

    `work` has the other fields of `distributed_judging.JudgingTask`.
    """
    # dask and pyarrow take long to load, and no other command needs them to start.
    from console.detection import distributed_judging

    task = distributed_judging.JudgingTask(asking=asking, **work)
    scheduler, workers = cluster
    if engine != "dask":
        raise BadInput(f"{engine!r} is not an engine. Use dask, or leave out --engine.")
    if out is None or out.suffix != ".parquet":
        raise BadInput("--engine needs a file for the verdicts: --out results.parquet.")
    if task.asking.spending_cap_usd is not None:
        raise BadInput("--cap-usd does not reach other machines. Remove it, or judge without --engine.")
    asks = any(detector(name).ask for name in task.methods)
    if asks and scheduler is not None and settings().cache_url is None:
        raise Refused("Workers on other machines need a common cache of replies. Set INFERACT_CACHE_URL for all.")
    paths = _find_files(Path(source))
    started = time.monotonic()
    with distributed_judging.open_client(scheduler, workers) as client:
        at_work = len(client.scheduler_info(n_workers=-1)["workers"]) or 1
        parts = distributed_judging.split_files(paths, at_work)
        done = distributed_judging.judge_files(parts, task, out, client, at_work)
        if scheduler is None:
            client.cluster.close()
    judged, flagged = (sum(row[name] for row in done.rows) for name in ("judged", "flagged"))
    facts = {"out": str(out), "partitions": len(parts), "workers": at_work, "judged": judged, "flagged": flagged}
    used = {"errors": done.errors, "requests": done.requests, "cached": done.cached}
    told = f"{counted(judged, 'verdict')}, {flagged} flagged, from {counted(len(parts), 'partition')}. "
    importing = f"Import them: inferact detect RUN --method {','.join(task.methods)} --verdicts {out}"
    emit(facts | used | {"seconds": round(time.monotonic() - started, 1)}, as_json, told + importing)
    if done.errors:
        raise Refused(
            f"{counted(done.errors, 'verdict')} missing. The last request failed: {done.problem.rstrip('.')}. Fix the "
            "problem, then run the same command again; replies that arrived are cached."
        )


def take_verdicts(run: str, path: Path) -> None:
    """Store the verdicts of a result file in the run before its detection, and say how many."""
    from console.detection.distributed_judging import import_verdicts

    stored, others = import_verdicts(run, path)
    say(f"Stored {counted(stored, 'verdict')} of {path}; {others} belong to trajectories that {run} lacks.")


def _find_files(source: Path) -> Sequence[Path]:
    if not source.exists():
        raise BadInput(f"{source} does not exist. Name a .jsonl or .parquet file, or a folder of them.")
    found = sorted(path for path in source.iterdir() if path.suffix in _ENDINGS) if source.is_dir() else [source]
    if not found:
        raise BadInput(f"{source} has no .jsonl or .parquet files. Export trajectories in one of these formats.")
    return found
