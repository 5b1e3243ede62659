"""Messages to a model, requests and replies, as values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from console.llm.refusals import CHAT, LENGTHS
from console.llm.responses_api import responses_body

Message = Mapping[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`."""

PROBE: Message = {
    "role": "user",
    "content": "Is water wet?\nA. True\nB. False\nReply with one letter, A or B, and nothing before or after it.",
}
"""What an endpoint is asked to find out what it takes and gives."""

_LATER = frozenset({"reasoning_effort", "schema", "top_p"})
_CUT = frozenset({"length", "max_tokens"})


@dataclass(frozen=True, slots=True)
class Token:
    """A generated token, its natural-log probability, and those of the alternatives that were asked for."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them, all choices and requests of one call together."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_prompt_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_prompt_tokens + other.cached_prompt_tokens,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """The texts of one call, one for each choice; `token_logprobs` has None for a choice without them.

    Usage, requests, latency and cost (USD, None where no price is known) are those of the call when it was really made;
    `cached` says that this time it cost nothing. `without` names what the endpoint does not offer and was left out.
    """

    texts: tuple[str, ...]
    token_logprobs: tuple[tuple[Token, ...] | None, ...]
    model: str
    usage: Usage = field(default_factory=Usage)
    finish: tuple[str, ...] = ()
    latency_ms: float = 0.0
    cost_usd: float | None = None
    requests: int = 1
    cached: bool = False
    without: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text of the first choice."""
        return self.texts[0]

    @property
    def is_cut(self) -> bool:
        """Whether the length that was allowed ended any of its choices."""
        return any(finish.lower() in _CUT for finish in self.finish)

    @property
    def is_empty(self) -> bool:
        """Whether no choice says anything."""
        return not any(text.strip() for text in self.texts)

    @property
    def has_logprobs(self) -> bool:
        """Whether every choice tells the probabilities of its tokens."""
        return all(tokens is not None for tokens in self.token_logprobs)

    def to_json(self) -> bytes:
        """The reply as the cache keeps it."""
        return orjson.dumps(asdict(self))

    def as_cached(self) -> Reply:
        """The same reply, come by without a request."""
        return replace(self, cached=True)


def from_json(text: bytes) -> Reply:
    """The reply that `to_json` wrote; raises KeyError, TypeError or ValueError where it is another form."""
    kept: dict[str, Any] = orjson.loads(text)
    usage = Usage(**kept.pop("usage"))
    lists = [None if tokens is None else tuple(_token(row) for row in tokens) for tokens in kept.pop("token_logprobs")]
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
    return Reply(usage=usage, token_logprobs=tuple(lists), **plain)


def _token(row: Mapping[str, Any]) -> Token:
    return Token(row["text"], row["logprob"], tuple((text, logprob) for text, logprob in row["top"]))


@dataclass(frozen=True, slots=True)
class Request:
    """One call: everything that the answer depends on. `take` tells apart calls that are otherwise the same.

    `schema` is a JSON schema (object) that the answer shall have where the endpoint offers structured outputs.
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float
    max_tokens: int
    n: int = 1
    logprobs: bool = False
    top_logprobs: int | None = None
    seed: int | None = None
    take: int = 0
    reasoning_effort: str | None = None
    schema: Mapping[str, Any] | None = None
    top_p: float | None = None

    def key(self, endpoint: str) -> str:
        """SHA-256 (hex) of the whole request and of where it goes; what came later is left out where it is not set."""
        told = {name: value for name, value in asdict(self).items() if value is not None or name not in _LATER}
        return hashlib.sha256(orjson.dumps([endpoint, told], option=orjson.OPT_SORT_KEYS)).hexdigest()

    def body(self, without: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The request in the endpoint's form; `without` names parameters that it does not take."""
        asked: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        if self.top_p is not None:
            asked["top_p"] = self.top_p
        if self.n > 1:
            asked["n"] = self.n
        if self.logprobs and "logprobs" not in without:
            asked |= {"logprobs": True} | ({"top_logprobs": self.top_logprobs} if self.top_logprobs else {})
        if self.seed is not None:
            asked["seed"] = self.seed
        if self.reasoning_effort is not None:
            asked["reasoning_effort"] = self.reasoning_effort
        if self.schema is not None:
            form = {"name": "reply", "strict": True, "schema": dict(self.schema)}
            asked["response_format"] = {"type": "json_schema", "json_schema": form}
        kept = {name: value for name, value in asked.items() if name not in without}
        if "max_tokens" in without and "max_completion_tokens" not in without:
            kept["max_completion_tokens"] = self.max_tokens
        chat = {"model": self.model, "messages": [dict(message) for message in self.messages]} | kept
        return responses_body(chat) if CHAT in without else chat

    def left_out(self, without: frozenset[str]) -> frozenset[str]:
        """What this request wanted and an endpoint without those parameters does not give."""
        return frozenset(self.body()) & without - LENGTHS

    def singles(self, count: int, start: int = 0) -> list[Request]:
        """Requests for one choice each, their seeds one apart so that they are not all the same."""
        seeds = [None if self.seed is None else self.seed + index for index in range(start, start + count)]
        return [replace(self, n=1, seed=seed) for seed in seeds]


def joined(replies: Sequence[Reply]) -> Reply:
    """One reply of several that were asked side by side; the latency is that of the slowest."""
    return replace(
        last_of(replies),
        texts=tuple(text for reply in replies for text in reply.texts),
        token_logprobs=tuple(tokens for reply in replies for tokens in reply.token_logprobs),
        finish=tuple(finish for reply in replies for finish in reply.finish),
        latency_ms=max(reply.latency_ms for reply in replies),
    )


def last_of(replies: Sequence[Reply]) -> Reply:
    """The last of several replies, with what all of them took."""
    costs = [reply.cost_usd for reply in replies]
    return replace(
        replies[-1],
        usage=sum((reply.usage for reply in replies), Usage()),
        latency_ms=sum(reply.latency_ms for reply in replies),
        cost_usd=sum(cost for cost in costs if cost is not None) if None not in costs else None,
        requests=sum(reply.requests for reply in replies),
        without=tuple(sorted({name for reply in replies for name in reply.without})),
    )
