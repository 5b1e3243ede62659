"""The models that detectors ask, and the clients that concurrent judging opens for them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType

import orjson

from console.detection.detectors.shared.explanation import explained
from console.detection.detectors.shared.query_cache import Models, QueryCache
from console.detection.detectors.verdict import MODE, PAPER_MODE, Detector, Verdict
from console.llm import LLM, ClientUsage, connect, prompts
from console.llm.budget import Price
from console.llm.endpoint import Endpoint
from console.llm.errors import NoModel
from console.llm.transport import Limits, Transport
from console.settings import settings

_READING = 2
"""Counts up with any change in what models are shown or in how replies are read: earlier verdicts are stale then."""
_PAPER_READING = 2
"""The same for what only paper mode shows and reads."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup of a verdict: model, prompts and, in the digest, all that it depends on besides its checkpoint.

    A verdict with another digest is stale.
    """

    digest: str
    model: str | None = None
    prompt_fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """How detectors ask their models; what is None comes from the settings. `concurrency` counts requests to one model.

    `infer_model` and `verify_model` take the place of `model` for the two halves of InferAct. The spending cap (USD)
    is that of one set of clients; with an `account` it outlives them. `paper` asks and reads as the reference code
    does; `explain` has InferAct say in a further call why it flags. Another `transport` answers in the endpoint's
    place.
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
        """The models that infer and verify for a detector; raises NoModel where none is named."""
        if judge.models:
            return judge.models[0], judge.models[-1]
        usual = self.model or settings().model
        infer, verify = self.infer_model or usual, self.verify_model or usual
        if not infer or not verify:
            raise NoModel(f"{judge.name} asks a model and none is named: set INFERACT_MODEL, or give --model.")
        return infer, verify

    def label(self, judge: Detector) -> str:
        """The model's name as a verdict tells it; both where inference and verification differ."""
        infer, verify = self.names(judge)
        return f"{infer}+{verify}" if explains(judge) and infer != verify else verify

    async def verdict(self, judge: Detector, cache: QueryCache, bar: float) -> Verdict:
        """What the detector says, with the why of a flag where that is asked for; the endpoint's errors go up."""
        if judge.ask is None:
            raise LookupError(f"the detector {judge.name} asks no model")
        verdict = await judge.ask(cache)
        if self.paper:
            return replace(verdict, parameters={**verdict.parameters, MODE: PAPER_MODE})
        flagged = verdict.score > bar or verdict.unparsed
        wanted = self.explain or settings().explain
        return await explained(cache, verdict) if wanted and flagged and explains(judge) else verdict

    def setup(self, judge: Detector, environment: str, seed: int) -> Setup:
        """What the detector's verdicts in that environment depend on."""
        parts: list[object] = [judge.version, seed if judge.seeded else None]
        if judge.ask is None:
            return Setup(_digest(parts))
        model, prompt = self.label(judge), _fingerprint(judge, environment)
        parts += [model, prompt, _READING, self.swap_labels, self.with_thoughts]
        parts += [
            self.paper and _PAPER_READING,
            self.reasoning_effort or settings().reasoning_effort,
            (self.explain or settings().explain) and explains(judge),
        ]
        return Setup(_digest(parts), model, prompt)


def explains(judge: Detector) -> bool:
    """Whether a detector can say why: it has inferred a task that may differ from the user's."""
    return any(step == "infer_task" for _, step in judge.prompts)


def _digest(parts: list[object]) -> str:
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:16]


def _fingerprint(judge: Detector, environment: str) -> str:
    """The fingerprint of the detector's prompt for an environment, one over all where it has several."""
    found = [prompts.fingerprint(prompts.name_for(method, environment, step)) for method, step in judge.prompts]
    return found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()


class Clients:
    """The clients of one concurrent judging, one for each model, opened when first needed.

    Another `transport` answers in the endpoint's place; without `keep` its replies do not enter the cache, without
    `cached` none comes from it.
    """

    def __init__(
        self,
        asking: Asking,
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

    async def __aenter__(self) -> Clients:
        return self

    async def __aexit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for llm in self._opened.values():
            await llm.aclose()

    def models(self, names: tuple[str, str]) -> Models:
        """The clients of the models that infer and verify."""
        infer, verify = map(self._client, names)
        asking = self.asking
        return Models(infer, verify, asking.swap_labels and not asking.paper, asking.with_thoughts, asking.paper)

    def prices(self) -> dict[str, Price | None]:
        """The price of each model that was asked for, None where nobody knows it."""
        return {model: llm.price for model, llm in self._opened.items()}

    def lacking(self) -> dict[str, tuple[str, ...]]:
        """By model what its endpoint did not give of what was wanted."""
        return {model: llm.lacking for model, llm in self._opened.items() if llm.lacking}

    @property
    def tally(self) -> ClientUsage:
        """What all clients together have done."""
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
