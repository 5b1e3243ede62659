"""Cost estimate of a detection: a rehearsal counts every request, and a few real checkpoints scale the counts.

Tokenizers and reply lengths differ between models. The replies for the real checkpoints are cached, so they are paid
for only once.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from console import runs
from console.database import reading
from console.detection.batch import PendingCheckpoints
from console.detection.concurrent import Job
from console.detection.detectors import detector
from console.detection.detectors.shared.model_clients import Clients, ModelOptions
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.verdict import ReplyCost, sum_costs
from console.detection.verdicts import DetectionReport
from console.language import WERE, counted
from console.llm import ClientUsage
from console.llm.transport import Rehearsal
from storage import tables

_SAMPLE, _FEW = 3, 12
_REHEARSED = 300
"""The maximum number of rehearsed checkpoints; each other checkpoint counts as their average."""


@dataclass(frozen=True, slots=True)
class ModelCost:
    """The requests, tokens and cost of one model; `cost_usd` is None if its price is unknown."""

    model: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class MethodCost:
    """The requests and tokens of one method; a reply that several methods share counts for each of them."""

    method: str
    requests: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The cost of judging `checkpoints`, by model, including the `sampled` checkpoints judged for the estimate.

    `methods` is the cost of each method alone, cached replies included.
    """

    checkpoints: int
    sampled: int
    models: tuple[ModelCost, ...]
    methods: tuple[MethodCost, ...] = ()

    @property
    def requests(self) -> int:
        """The number of requests to all models."""
        return sum(one.requests for one in self.models)

    @property
    def cost_usd(self) -> float | None:
        """The cost of all models in USD, or None if a price is unknown."""
        costs = [one.cost_usd for one in self.models]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def in_words(self) -> str:
        """Return the estimate as sentences."""
        if not self.requests:
            return "No request is needed: every answer is cached."
        sentences = []
        for one in self.models:
            money = "price unknown" if one.cost_usd is None else f"about {one.cost_usd:.2f} USD"
            sentences.append(_in_words(one.model, one, money))
        if len(self.methods) > 1:
            sentences += [_in_words(f"Method {one.method}", one, "counted alone") for one in self.methods]
        if self.sampled:
            were = WERE[self.sampled != 1]
            sentences.append(f"{self.sampled:,} of them {were} judged for this estimate; their cost is included.")
        return f"{counted(self.checkpoints, 'checkpoint')} to judge. " + " ".join(sentences)


def _in_words(name: str, one: ModelCost | MethodCost, end: str) -> str:
    tokens = f"{one.prompt_tokens:,} tokens in, {one.completion_tokens:,} out"
    return f"{name}: about {counted(one.requests, 'request')}, {tokens}, {end}."


def asks_models(methods: Iterable[str]) -> bool:
    """Return whether any of the detectors uses a model."""
    return any(detector(name).ask for name in methods)


def estimate_cost(
    run_name: str, methods: Sequence[str], *, asking: ModelOptions | None = None, seed: int | None = None
) -> CostEstimate:
    """Estimate the cost of judging a run's pending checkpoints; raise NoModel or ModelError if a model is unusable."""
    asking = asking or ModelOptions()
    judges = [judge for judge in map(detector, dict.fromkeys(methods)) if judge.ask]
    with reading() as session:
        run = runs.get(session, run_name)
        session.expunge(run)
    run.seed = run.seed if seed is None else seed
    reports = {judge.name: DetectionReport(run.name, judge.name, judge.threshold) for judge in judges}
    backlog = PendingCheckpoints(run, asking, reports)
    jobs = [job for page in (backlog.pages() if judges else []) for job in backlog.jobs(page, judges)]
    return asyncio.run(_scale(run, asking, jobs)) if jobs else CostEstimate(0, 0, ())


Tally = dict[str, ClientUsage]
"""The usage of each model; a cached reply counts only in measured checkpoints."""
Methods = dict[str, ReplyCost]
"""The usage of each method, cached replies included."""


async def _scale(run: tables.Run, asking: ModelOptions, jobs: Sequence[Job]) -> CostEstimate:
    rehearsed = _spread(jobs, _REHEARSED)
    methods: Methods = {}
    async with Clients(asking, Rehearsal, keep=False) as clients:
        totals, prices = await _count_usage(run, clients, rehearsed, methods, known=False), clients.prices()
    sample = _sample(jobs) if totals else []
    rehearsal: Methods = {}
    async with Clients(asking, Rehearsal, keep=False, cached=False) as clients:
        guessed = await _count_usage(run, clients, sample, rehearsal, known=True)
    measured: Methods = {}
    async with Clients(asking) as clients:
        real = await _count_usage(run, clients, sample, measured, known=True)
        sent = clients.tally.requests
    share = len(jobs) / len(rehearsed)
    found = []
    for model, total in sorted(totals.items()):
        by = _ratios(guessed.get(model), real.get(model))
        whole = {name: getattr(total, name) * share * ratio for name, ratio in by.items()}
        cost_usd = whole.pop("cost_usd") if prices[model] else None
        counts = {name: round(whole[name]) for name in ("requests", "prompt_tokens", "completion_tokens")}
        found.append(ModelCost(model, **counts, cost_usd=cost_usd))
    alone = tuple(_method_cost(name, methods[name], share, rehearsal, measured) for name in methods)
    return CostEstimate(len(jobs), len(sample) if sent else 0, tuple(found), alone)


def _method_cost(name: str, cost: ReplyCost, share: float, rehearsal: Methods, measured: Methods) -> MethodCost:
    counts = {}
    for one in ("requests", "prompt_tokens", "completion_tokens"):
        guessed, real = (getattr(of.get(name, ReplyCost()), one) for of in (rehearsal, measured))
        counts[one] = round(getattr(cost, one) * share * (real / guessed if guessed and real else 1.0))
    return MethodCost(name, **counts)


def _ratios(guessed: ClientUsage | None, real: ClientUsage | None) -> Mapping[str, float]:
    names = ("requests", "prompt_tokens", "completion_tokens", "cost_usd")
    if guessed is None or real is None:
        return dict.fromkeys(names, 1.0)
    return {name: getattr(real, name) / (getattr(guessed, name) or 1) for name in names}


async def _count_usage(
    run: tables.Run, clients: Clients, jobs: Sequence[Job], methods: Methods, *, known: bool
) -> Tally:
    """Return the usage for judging the jobs, and add each method's usage; if `known`, also count cached answers."""
    tally: Tally = defaultdict(ClientUsage)
    for caches in await asyncio.gather(*(_judge_sample(run, clients, job, methods) for job in jobs)):
        for call in (call for cache in caches for call in cache.calls if known or not call.reply.cached):
            used, price = tally[call.model], clients.prices()[call.model]
            used.requests += call.reply.requests
            used.prompt_tokens += call.reply.usage.prompt_tokens
            used.completion_tokens += call.reply.usage.completion_tokens
            used.cost_usd += price.cost_usd(call.reply.usage) if price else 0.0
    return tally


async def _judge_sample(run: tables.Run, clients: Clients, job: Job, methods: Methods) -> Iterable[QueryCache]:
    asking, caches = clients.asking, clients.open_caches(job.judges, job.checkpoint, run.seed)
    judged = (asking.verdict(one, caches[asking.names(one)], one.threshold) for one in job.judges)
    for one, verdict in zip(job.judges, await asyncio.gather(*judged), strict=True):
        methods[one.name] = sum_costs([methods.get(one.name, ReplyCost()), verdict.spent])
    return caches.values()


def _sample(jobs: Sequence[Job]) -> list[Job]:
    """Return a few checkpoints of short, medium and long records, or only one if there are few."""
    ordered = sorted(jobs, key=_length)
    count = _SAMPLE if len(jobs) > _FEW else 1
    return [ordered[(2 * at + 1) * len(ordered) // (2 * count)] for at in range(count)]


def _spread(jobs: Sequence[Job], most: int) -> list[Job]:
    if len(jobs) <= most:
        return list(jobs)
    ordered = sorted(jobs, key=_length)
    return [ordered[at * len(jobs) // most] for at in range(most)]


def _length(job: Job) -> int:
    return sum(len(step.observation) + len(step.action) for step in job.checkpoint.steps)
