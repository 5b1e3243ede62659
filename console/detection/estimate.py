"""The estimate of what a detection will cost: every request is rehearsed, and a few are really asked to scale by.

Tokenizers differ, and so does how much models say. A rehearsal counts each request in tokens of its own; the same
checkpoints really judged tell how the endpoint counts them. Their replies are kept, so nothing is paid for twice.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from console import runs
from console.database import reading
from console.detection.batch import DetectionReport, PendingCheckpoints
from console.detection.concurrent import Job
from console.detection.detectors import Detector, detector
from console.detection.detectors.shared.model_clients import Asking, Clients
from console.detection.detectors.shared.query_cache import QueryCache
from console.llm import ClientUsage
from console.llm.rehearsal import Rehearsal
from storage import tables

_SAMPLE, _FEW = 3, 12
_REHEARSED = 300
"""So many checkpoints are rehearsed at most; the others count as much as these on average."""


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What one model will be asked; `cost_usd` is None where its price is not known."""

    model: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What judging `checkpoints` will take, by model; it includes the `sampled` ones that were really judged for it."""

    checkpoints: int
    sampled: int
    models: tuple[ModelCost, ...]

    @property
    def requests(self) -> int:
        """The requests to all models."""
        return sum(one.requests for one in self.models)

    @property
    def cost_usd(self) -> float | None:
        """What all models cost together, None where a price is not known."""
        costs = [one.cost_usd for one in self.models]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def in_words(self) -> str:
        """The estimate as sentences."""
        if not self.requests:
            return "No model has to be asked: every answer is known already."
        sentences = [_in_words(one) for one in self.models]
        if self.sampled:
            counted = "1 of them was" if self.sampled == 1 else f"{self.sampled} of them were"
            sentences.append(f"{counted} judged to count this; what that took is included.")
        return f"{self.checkpoints:,} checkpoints to judge. " + " ".join(sentences)


def _in_words(one: ModelCost) -> str:
    money = "price unknown" if one.cost_usd is None else f"about {one.cost_usd:.2f} USD"
    tokens = f"{one.prompt_tokens:,} tokens in, {one.completion_tokens:,} out"
    return f"{one.model}: about {one.requests:,} requests, {tokens}, {money}."


def asks_models(methods: Iterable[str]) -> bool:
    """Whether any of the detectors asks a model."""
    return any(detector(name).ask for name in methods)


def estimate(
    run_name: str, methods: Sequence[str], *, asking: Asking | None = None, seed: int | None = None
) -> CostEstimate:
    """What judging the run's pending checkpoints by those detectors will cost; changes nothing in the run.

    Raises NoModel, SpendingCapReached, and ModelError where the endpoint cannot be asked.
    """
    asking = asking or Asking()
    judges = [judge for judge in map(detector, dict.fromkeys(methods)) if judge.ask]
    with reading() as session:
        run = runs.get(session, run_name)
        session.expunge(run)
    run.seed = run.seed if seed is None else seed
    jobs = _pending(run, asking, judges)
    return asyncio.run(_estimated(run, asking, jobs)) if jobs else CostEstimate(0, 0, ())


def _pending(run: tables.Run, asking: Asking, judges: Sequence[Detector]) -> list[Job]:
    reports = {judge.name: DetectionReport(run.name, judge.name, judge.threshold) for judge in judges}
    backlog = PendingCheckpoints(run, asking, reports)
    return [job for page in (backlog.pages() if judges else []) for job in backlog.jobs(page, judges)]


Tally = dict[str, ClientUsage]
"""What each model was asked; a reply that was known already counts only where it is measured."""


async def _estimated(run: tables.Run, asking: Asking, jobs: Sequence[Job]) -> CostEstimate:
    rehearsed = _spread(jobs, _REHEARSED)
    async with Clients(asking, Rehearsal, keep=False) as clients:
        totals, prices = await _counted(run, clients, rehearsed, known=False), clients.prices()
    sample = _sample(jobs) if totals else []
    async with Clients(asking, Rehearsal, keep=False, cached=False) as clients:
        guessed = await _counted(run, clients, sample, known=True)
    async with Clients(asking) as clients:
        real = await _counted(run, clients, sample, known=True)
        sent = clients.tally.requests
    share = len(jobs) / len(rehearsed)
    found = []
    for model, total in sorted(totals.items()):
        by = _ratios(guessed.get(model), real.get(model))
        found.append(
            ModelCost(
                model=model,
                requests=round(total.requests * share * by["requests"]),
                prompt_tokens=round(total.prompt_tokens * share * by["prompt_tokens"]),
                completion_tokens=round(total.completion_tokens * share * by["completion_tokens"]),
                cost_usd=total.cost_usd * share * by["cost_usd"] if prices[model] else None,
            )
        )
    return CostEstimate(len(jobs), len(sample) if sent else 0, tuple(found))


def _ratios(guessed: ClientUsage | None, real: ClientUsage | None) -> Mapping[str, float]:
    names = ("requests", "prompt_tokens", "completion_tokens", "cost_usd")
    if guessed is None or real is None:
        return dict.fromkeys(names, 1.0)
    return {name: getattr(real, name) / (getattr(guessed, name) or 1) for name in names}


async def _counted(run: tables.Run, clients: Clients, jobs: Sequence[Job], *, known: bool) -> Tally:
    """What judging the jobs takes; with `known` also the answers that need not be asked for any more."""
    tally: Tally = defaultdict(ClientUsage)
    for caches in await asyncio.gather(*(_judged(run, clients, job) for job in jobs)):
        for call in (call for cache in caches for call in cache.calls if known or not call.reply.cached):
            used, price = tally[call.model], clients.prices()[call.model]
            used.requests += call.reply.requests
            used.prompt_tokens += call.reply.usage.prompt_tokens
            used.completion_tokens += call.reply.usage.completion_tokens
            used.cost_usd += price.cost_usd(call.reply.usage) if price else 0.0
    return tally


async def _judged(run: tables.Run, clients: Clients, job: Job) -> Iterable[QueryCache]:
    caches: dict[tuple[str, str], QueryCache] = {}
    waiting = []
    for one in job.judges:
        names = clients.asking.names(one)
        if names not in caches:
            caches[names] = QueryCache(job.checkpoint, clients.models(names), run.seed)
        waiting.append(clients.asking.verdict(one, caches[names], one.threshold))
    await asyncio.gather(*waiting)
    return caches.values()


def _sample(jobs: Sequence[Job]) -> list[Job]:
    """A few checkpoints, short, middling and long ones; of few only one."""
    ordered = sorted(jobs, key=_length)
    count = _SAMPLE if len(jobs) > _FEW else 1
    return [ordered[(2 * at + 1) * len(ordered) // (2 * count)] for at in range(count)]


def _spread(jobs: Sequence[Job], most: int) -> list[Job]:
    """So many of the jobs at most, evenly from short to long."""
    if len(jobs) <= most:
        return list(jobs)
    ordered = sorted(jobs, key=_length)
    return [ordered[at * len(jobs) // most] for at in range(most)]


def _length(job: Job) -> int:
    return sum(len(step.observation) + len(step.action) for step in job.checkpoint.steps)
