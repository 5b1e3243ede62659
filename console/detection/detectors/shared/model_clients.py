"""The models of detectors, and the clients that concurrent detection opens for them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType

import orjson

from console.detection.detectors.rules import RULES
from console.detection.detectors.shared import reply_parsing
from console.detection.detectors.shared.query_cache import Models, QueryCache, TaskAnswers, user_message
from console.detection.detectors.shared.reply_parsing import read_form
from console.detection.detectors.shared.reply_verdict import verdict_from_replies
from console.detection.detectors.verdict import MODE, PAPER_MODE, Detector, Verdict, sum_costs
from console.llm import LLM, ClientUsage, chosen_model, connect, prompts
from console.llm.budget import Price
from console.llm.endpoint import Endpoint
from console.llm.errors import NoModel
from console.llm.transport import Limits, Transport
from console.settings import settings
from console.trajectory.checkpoints import Checkpoint

_READING = 3
"""The version of prompts and reply parsing; a new version makes earlier verdicts stale."""
_PAPER_READING = 3
"""The version of paper mode; a new version makes earlier verdicts of this mode stale."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Options for using models; None means the value in the settings. `concurrency` counts requests to one model.

    `infer_model` and `verify_model` replace `model` for the two halves of InferAct. The spending cap (USD) applies to
    one set of clients, or to all clients of the `account`. `paper` writes prompts and parses replies as the reference
    code does. `explain` adds a call in which InferAct gives a reason for a flag. `transport` replaces the endpoint.
    """

    model: str | None = None
    infer_model: str | None = None
    verify_model: str | None = None
    concurrency: int | None = None
    swap_labels: bool = False
    with_thoughts: bool = False
    spending_cap_usd: float | None = None
    account: str | None = None
    reasoning_effort: str | None = None
    paper: bool = False
    explain: bool = False
    transport: Callable[[Endpoint, Limits], Transport] = Transport

    def names(self, judge: Detector) -> tuple[str, str]:
        """Return the models that infer and verify for a detector; raise NoModel if no model is configured."""
        if judge.models:
            return judge.models[0], judge.models[-1]
        usual = self.model or chosen_model()
        infer, verify = self.infer_model or usual, self.verify_model or usual
        if not infer or not verify:
            raise NoModel(f"{judge.name} needs a model. Set INFERACT_MODEL, or name a model.")
        return infer, verify

    def label(self, judge: Detector) -> str:
        """Return the model's name for a verdict, or both names if inference and verification differ."""
        infer, verify = self.names(judge)
        return f"{infer}+{verify}" if can_explain(judge) and infer != verify else verify

    async def verdict(self, judge: Detector, cache: QueryCache, bar: float) -> Verdict:
        """Return the detector's verdict, with a reason for a flag if requested; raise the endpoint's errors."""
        if judge.ask is None:
            raise LookupError(f"the detector {judge.name} does not use a model")
        verdict = await judge.ask(cache)
        if self.paper:
            return replace(verdict, parameters={**verdict.parameters, MODE: PAPER_MODE})
        flagged = verdict.score > bar or verdict.unparsed
        wanted = self.explain or settings().explain
        return await _explain(cache, verdict) if wanted and flagged and can_explain(judge) else verdict

    def inputs(self, judge: Detector, environment: str) -> tuple[str, str, list[object]]:
        """Return the model, the fingerprint of the prompts in that environment, and all inputs of a verdict."""
        names = [prompts.name_for(method, environment, step) for method, step in judge.prompts]
        found = list(map(prompts.fingerprint, names))
        prompt = found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()
        model = self.label(judge)
        effort, explains = self.reasoning_effort or settings().reasoning_effort, self.explain or settings().explain
        options: list[object] = [model, prompt, _READING, self.swap_labels, self.with_thoughts]
        return model, prompt, [*options, self.paper and _PAPER_READING, effort, explains and can_explain(judge)]


def can_explain(judge: Detector) -> bool:
    """Return whether a detector can give a reason; a reason requires an inferred task."""
    return any(step == "infer_task" for _, step in judge.prompts)


class Clients:
    """The clients of one concurrent detection, one for each model, opened when first needed.

    `transport` replaces the endpoint; `keep` and `cached` are false if replies are not written to, or read from, the
    cache.
    """

    def __init__(
        self,
        asking: ModelOptions,
        transport: Callable[[Endpoint, Limits], Transport] | None = None,
        *,
        keep: bool = True,
        cached: bool = True,
    ) -> None:
        if asking.spending_cap_usd is not None and asking.account is None:
            # Two models under one cap need one account.
            asking = replace(asking, account=f"panel {secrets.token_hex(8)}")
        self.asking = asking
        self._transport, self._keep, self._cached = transport or asking.transport, keep, cached
        self._opened: dict[str, LLM] = {}
        self._per_task = TaskAnswers()

    async def __aenter__(self) -> Clients:
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for llm in self._opened.values():
            await llm.aclose()

    def models(self, names: tuple[str, str]) -> Models:
        """Return the clients of the models that infer and verify."""
        infer, verify = map(self._client, names)
        asking = self.asking
        return Models(infer, verify, asking.swap_labels and not asking.paper, asking.with_thoughts, asking.paper)

    def open_caches(
        self, judges: Sequence[Detector], checkpoint: Checkpoint, seed: int
    ) -> dict[tuple[str, str], QueryCache]:
        """Return a query cache of the checkpoint for each pair of models that the detectors use."""
        pairs = dict.fromkeys(map(self.asking.names, judges))
        return {names: QueryCache(checkpoint, self.models(names), seed, self._per_task) for names in pairs}

    def prices(self) -> dict[str, Price | None]:
        """Return the price of each model used, or None if the price is unknown."""
        return {model: llm.price for model, llm in self._opened.items()}

    def lacking(self) -> dict[str, tuple[str, ...]]:
        """Return the requested features that each model's endpoint lacks, by model."""
        return {model: llm.lacking for model, llm in self._opened.items() if llm.lacking}

    @property
    def tally(self) -> ClientUsage:
        """The usage of all clients together."""
        return sum((llm.tally for llm in self._opened.values()), ClientUsage())

    def _client(self, model: str) -> LLM:
        if model not in self._opened:
            asking = self.asking
            self._opened[model] = connect(
                model,
                concurrency=asking.concurrency,
                spending_cap_usd=asking.spending_cap_usd,
                account=asking.account,
                reasoning_effort=asking.reasoning_effort,
                transport=self._transport,
                keep=self._keep,
                cached=self._cached,
            )
        return self._opened[model]


_EXPLAIN = ("inferact", "explain")
_EXPLANATION_TOKENS = 200


async def _explain(cache: QueryCache, verdict: Verdict) -> Verdict:
    """Return the verdict with a reason, or unchanged if the inferred task or the reason is missing."""
    if not verdict.inferred_task:
        return verdict
    prompt = cache.prompt(*_EXPLAIN)
    form = read_form(prompt)
    chat = [user_message(cache.filled(prompt, cache.masked_view, inferred_task=verdict.inferred_task))]

    def read(text: str) -> str | None:
        return reply_parsing.read_label(text, form.reason, form.patterns.get("reason")) or None

    call = await cache.ask(cache.models.verify, prompt, chat, read, max_tokens=_EXPLANATION_TOKENS)
    told, also = read(call.reply.text), verdict_from_replies([call], 0.0, "")
    lines = [f"The model: {told}"] if told else []
    rules = RULES.judge(cache.checkpoint, cache.seed) if RULES.judge else Verdict(0.0)
    lines += [f"Rules: {line}" for line in rules.rationale.splitlines() if rules.score > RULES.threshold]
    return replace(
        verdict,
        rationale="\n".join([*lines, verdict.rationale]).strip(),
        parameters={**verdict.parameters, "explained": bool(told)},
        raw=orjson.dumps([*orjson.loads(verdict.raw or "[]"), *orjson.loads(also.raw or "[]")]).decode(),
        spent=sum_costs([verdict.spent, also.spent]),
    )
