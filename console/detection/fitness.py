"""Fitness of a model: the detectors that can use the model, tested on a small checkpoint."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from console.detection.detectors import DETECTORS, Detector
from console.detection.detectors.shared.query_cache import Models, QueryCache
from console.detection.detectors.verdict import NO_REPLY
from console.llm import LLM, ClientOptions
from console.llm.errors import ModelError
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind

_PATIENCE_S = 120.0
_SHOP = Checkpoint(
    environment="webshop",
    instruction="a green kettle, 1.5 litres, price lower than 30.00 dollars",
    opening="",
    steps=(
        Step("I look for it.", "search[green kettle]", "[Back to Search] [B001] Kettle, steel $89.00"),
        Step("The first one.", "click[B001]", "Kettle, steel. color [green] [red] Price: $89.00 [Buy Now]"),
    ),
    index=2,
    kind=CheckpointKind.ACTION,
    thought="I buy it.",
    action="click[Buy Now]",
)
_BASES = {
    "top_logprobs": "by the probabilities of its tokens",
    "complement": "by the probability of the token that answers",
    "samples": "by the share of five sampled answers, since it returns no probabilities",
}


@dataclass(frozen=True, slots=True)
class Fitness:
    """The result for one detector: whether it can use the model, the way of use, and the usage of one checkpoint."""

    detector: str
    serves: bool
    how: str
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


async def measure_fitness(model: str) -> list[Fitness]:
    """Return the model's fitness for every detector that uses models, without cached replies."""
    async with LLM(model, ClientOptions(timeout_s=_PATIENCE_S, deadline_s=_PATIENCE_S, retries=1)) as llm:
        cache = QueryCache(_SHOP, Models(llm, llm))
        asking = [judge for judge in DETECTORS.values() if judge.ask]
        return await asyncio.gather(*(_try_detector(judge, cache) for judge in asking))


async def _try_detector(judge: Detector, cache: QueryCache) -> Fitness:
    if judge.ask is None:
        raise LookupError(f"the detector {judge.name} does not use a model")
    try:
        verdict = await judge.ask(cache)
    except ModelError as failure:
        return Fitness(judge.name, False, str(failure))
    used = (verdict.spent.requests, verdict.spent.prompt_tokens, verdict.spent.completion_tokens)
    if verdict.unparsed:
        return Fitness(judge.name, False, verdict.rationale.removesuffix(", so a person has to decide."), *used)
    basis = str(verdict.parameters.get("basis", ""))
    if "identical_samples" in verdict.parameters:
        return Fitness(judge.name, True, "its samples are identical, so their share is not informative", *used)
    return Fitness(judge.name, NO_REPLY not in verdict.parameters, _BASES.get(basis, "its replies can be read"), *used)
