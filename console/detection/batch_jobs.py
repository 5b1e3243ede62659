"""Batch jobs: a detection whose requests go through the endpoint's Batch API, round by round.

A request that depends on another reply is sent in the next round. Running the same command again continues a batch,
also in another process.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from console.detection import batch
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.verdicts import Detection
from console.llm import ClientUsage
from console.llm.batch_api import BatchQueue
from console.llm.endpoint import BatchState, Endpoint
from console.settings import settings

Tell = Callable[[str], None]


def detect(
    run_name: str, methods: Sequence[str], asking: ModelOptions, *, every_s: float, tell: Tell, **options: Any
) -> Detection:
    """Run a detection until all its batches are done; raise the same errors as `run_detection`."""
    batches = BatchQueue(settings().data_dir / "cache")
    asking = replace(asking, transport=batches.transport)
    rounds: list[Detection] = []
    while True:
        _wait(batches, every_s, tell)
        rounds.append(batch.run_detection(run_name, methods, asking=asking, **options))
        posted = asyncio.run(batches.post())
        if posted:
            tell(f"{posted:,} requests are posted as a batch. You can stop now; the same command continues the batch.")
        elif not batches.under_way():
            return _combine(rounds)


_SUMMED = ("judged", "requests", "prompt_tokens", "completion_tokens")


def _combine(rounds: Sequence[Detection]) -> Detection:
    """Return all rounds as one detection: the last round's reports, with the counts of every round."""
    last = rounds[-1]
    for report, *others in zip(last.reports, *(earlier.reports for earlier in rounds[:-1]), strict=True):
        # What an earlier round judged is known already to the last one.
        report.cached -= sum(other.judged for other in others)
        for name in _SUMMED:
            setattr(report, name, getattr(report, name) + sum(getattr(other, name) for other in others))
        costs = [other.cost_usd for other in (report, *others) if other.cost_usd is not None]
        report.cost_usd = sum(costs) if costs else None
        report.queued += sum(other.queued for other in others)
    tally = sum((each.asked.tally for each in rounds), ClientUsage())
    return replace(last, asked=replace(last.asked, tally=tally))


def _wait(batches: BatchQueue, every_s: float, tell: Tell) -> None:
    told = ""
    while states := asyncio.run(batches.collect(Endpoint())):
        if (now := " ".join(map(_describe, states))) != told:
            tell(now)
            told = now
        time.sleep(every_s)


def _describe(state: BatchState) -> str:
    counted = f", {state.done:,} of {state.total:,} done" if state.total else ""
    return f"Batch {state.id}: {state.status.replace('_', ' ')}{counted}."
