"""Messages, requests and replies as values, with conversion to chat completions and the Responses API."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from console.llm.errors import BadReply, ModelRefused
from console.llm.refusals import CHAT, LENGTHS

Message = Mapping[str, str]
"""A chat message: `{"role": "system" | "user" | "assistant", "content": text}`."""

PROBE: Message = {
    "role": "user",
    "content": "Is water wet?\nA. True\nB. False\nReply with one letter, A or B, and nothing before or after it.",
}
"""The question that tests the capabilities of an endpoint."""

_LATER = frozenset({"reasoning_effort", "schema", "top_p"})
_CUT = frozenset({"length", "max_tokens"})


@dataclass(frozen=True, slots=True)
class Token:
    """A generated token with its natural-log probability and the log probabilities of the requested alternatives."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """The token counts of the endpoint, over all choices and requests of one call."""

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
    """The texts of one call, one per choice; `token_logprobs` has None for a choice without log probabilities.

    Usage, latency and cost (USD, None if unknown) belong to the original call, even if the reply is `cached`. `without`
    lists the requested parameters that the endpoint did not provide.
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
        """True if the length limit cut any choice."""
        return any(finish.lower() in _CUT for finish in self.finish)

    @property
    def is_empty(self) -> bool:
        """True if every choice is blank."""
        return not any(text.strip() for text in self.texts)

    @property
    def has_logprobs(self) -> bool:
        """True if every choice has the log probabilities of its tokens."""
        return all(tokens is not None for tokens in self.token_logprobs)

    def to_json(self) -> bytes:
        """Serialise the reply for the cache."""
        return orjson.dumps(asdict(self))

    def as_cached(self) -> Reply:
        """Return the reply with the mark `cached`."""
        return replace(self, cached=True)


def parse_stored_reply(text: bytes) -> Reply:
    """Parse the output of `to_json`; raise KeyError, TypeError or ValueError if the format differs."""
    kept: dict[str, Any] = orjson.loads(text)
    usage = Usage(**kept.pop("usage"))
    lists = [
        tokens and tuple(Token(row["text"], row["logprob"], tuple(map(tuple, row["top"]))) for row in tokens)
        for tokens in kept.pop("token_logprobs")
    ]
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
    return Reply(usage=usage, token_logprobs=tuple(lists), **plain)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling options of a model call; calls with different values of `take` give separate samples."""

    temperature: float = 0.0
    max_tokens: int = 512
    n: int = 1
    logprobs: bool = False
    top_logprobs: int | None = None
    seed: int | None = None
    take: int = 0
    top_p: float | None = None


GREEDY = Sampling()


@dataclass(frozen=True, slots=True)
class Request:
    """One model call, with every option that affects the reply; `schema` is a JSON schema (object) for the reply."""

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
        """Return the SHA-256 (hex) of the request and its endpoint; the digest includes newer fields only if set."""
        told = {name: value for name, value in asdict(self).items() if value is not None or name not in _LATER}
        return hashlib.sha256(orjson.dumps([endpoint, told], option=orjson.OPT_SORT_KEYS)).hexdigest()

    def body(self, without: frozenset[str] = frozenset()) -> dict[str, Any]:
        """Return the request body for the endpoint, without the parameters that the endpoint does not accept."""
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
        return to_responses_body(chat) if CHAT in without else chat

    def left_out(self, without: frozenset[str]) -> frozenset[str]:
        """Return the requested parameters that are missing at an endpoint that rejects the parameters in `without`."""
        return frozenset(self.body()) & without - LENGTHS

    def singles(self, count: int, start: int = 0) -> list[Request]:
        """Return this many requests for one choice each, with different seeds so that the replies differ."""
        seeds = [None if self.seed is None else self.seed + index for index in range(start, start + count)]
        return [replace(self, n=1, seed=seed) for seed in seeds]


def join_replies(replies: Sequence[Reply]) -> Reply:
    """Join parallel replies into one; the joint latency is the longest of their latencies."""
    return replace(
        merge_retries(replies),
        texts=tuple(text for reply in replies for text in reply.texts),
        token_logprobs=tuple(tokens for reply in replies for tokens in reply.token_logprobs),
        finish=tuple(finish for reply in replies for finish in reply.finish),
        latency_ms=max(reply.latency_ms for reply in replies),
    )


def merge_retries(replies: Sequence[Reply]) -> Reply:
    """Return the last of several replies, with the usage summed over all replies."""
    costs = [reply.cost_usd for reply in replies]
    return replace(
        replies[-1],
        usage=sum((reply.usage for reply in replies), Usage()),
        latency_ms=sum(reply.latency_ms for reply in replies),
        cost_usd=sum(cost for cost in costs if cost is not None) if None not in costs else None,
        requests=sum(reply.requests for reply in replies),
        without=tuple(sorted({name for reply in replies for name in reply.without})),
    )


def to_responses_body(chat: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the body of a chat completion to the Responses API, with storage at the provider turned off."""
    body: dict[str, Any] = {"model": chat["model"], "input": chat["messages"], "store": False}
    body |= {name: chat[name] for name in ("temperature", "top_logprobs") if name in chat}
    if limit := chat.get("max_completion_tokens") or chat.get("max_tokens"):
        body["max_output_tokens"] = limit
    if chat.get("logprobs"):
        body["include"] = ["message.output_text.logprobs"]
    if "reasoning_effort" in chat:
        body["reasoning"] = {"effort": chat["reasoning_effort"]}
    if "response_format" in chat:
        body["text"] = {"format": {"type": "json_schema", **chat["response_format"]["json_schema"]}}
    return body


def to_completion(response: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a response of the Responses API to a chat completion with one choice."""
    messages = [item for item in response.get("output") or () if item.get("type") == "message"]
    parts = [part for item in messages for part in item.get("content") or ()]
    texts = [part["text"] for part in parts if part.get("type") == "output_text"]
    refusals = [part["refusal"] for part in parts if part.get("type") == "refusal"]
    tokens = [row for part in parts for row in part.get("logprobs") or ()]
    reason = (response.get("incomplete_details") or {}).get("reason", "")
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "".join(texts), "refusal": refusals[0] if refusals else None},
        "finish_reason": {"": "stop", "max_output_tokens": "length"}.get(reason, str(reason)),
        "logprobs": {"content": tokens} if tokens else None,
    }
    used = response.get("usage") or {}
    usage = {
        "prompt_tokens": used.get("input_tokens"),
        "completion_tokens": used.get("output_tokens"),
        "prompt_tokens_details": used.get("input_tokens_details"),
    }
    return {"model": response.get("model"), "choices": [choice], "usage": usage}


_SHOWN = 120
_TAGS = r"think|thinking|thought|reasoning|seed:think"
_THOUGHT_ENDS = re.compile(rf"</(?:{_TAGS})>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>", re.IGNORECASE)
_CHECK = "Check that the endpoint is OpenAI-compatible."
_THOUGHT_OPENS = re.compile(rf"\s*(?:<(?:{_TAGS})>|\[THINK\]|◁think▷|<\|channel\|>analysis)", re.IGNORECASE)


def read_reply(content: bytes, model: str) -> Reply:
    """Parse the body of a response; raise BadReply if it is invalid, ModelRefused if every choice is a refusal."""
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as broken:
        start = content[:_SHOWN].decode("utf-8", "replace")
        raise BadReply(f"{model} returned invalid JSON. {_CHECK} It began: {start!r}") from broken
    try:
        if isinstance(document, dict) and document.get("object") == "response":
            document = to_completion(document)
    except (KeyError, TypeError, AttributeError) as odd:
        raise BadReply(f"{model} returned an invalid response of the Responses API ({odd}). {_CHECK}") from odd
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not choices:
        # Some routers send an error with a success status.
        error = document.get("error") if isinstance(document, dict) else None
        told = error.get("message") if isinstance(error, dict) else error
        why = f" ({str(told)[:_SHOWN].rstrip('.')})" if told else ""
        raise BadReply(f"The reply of {model} has no `choices`{why}. {_CHECK}")
    try:
        return _reply(document, choices, model)
    except (KeyError, TypeError, AttributeError, ValueError) as odd:
        raise BadReply(f"{model} returned an invalid chat completion ({odd}). {_CHECK}") from odd


def _reply(document: Mapping[str, Any], choices: Sequence[Mapping[str, Any]], model: str) -> Reply:
    ordered = sorted(choices, key=lambda choice: choice.get("index") or 0)
    refusals = [refusal for choice in ordered if (refusal := _refusal(choice))]
    if len(refusals) == len(ordered):
        raise ModelRefused(
            f"{model} refused this request: {refusals[0][:_SHOWN]} Change the prompt or choose another model."
        )
    return Reply(
        texts=tuple(strip_thoughts(_text(choice)) for choice in ordered),
        token_logprobs=tuple(_tokens(choice) for choice in ordered),
        finish=tuple(str(choice.get("finish_reason") or "") for choice in ordered),
        model=str(document.get("model") or model),
        usage=_usage(document.get("usage") or {}),
    )


def _text(choice: Mapping[str, Any]) -> str:
    content = choice["message"].get("content") or ""
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part.get("type") == "text")
    if not isinstance(content, str):
        raise TypeError("the content is not a string")
    return content


def strip_thoughts(text: str) -> str:
    """Return the answer after a reasoning model's thoughts, or an empty string if the thoughts have no end."""
    ends = list(_THOUGHT_ENDS.finditer(text))
    if ends:
        return text[ends[-1].end() :].lstrip()
    return "" if _THOUGHT_OPENS.match(text) else text


def _refusal(choice: Mapping[str, Any]) -> str:
    if _text(choice):
        return ""
    refusal = choice["message"].get("refusal")
    return str(refusal or ("a content filter stopped it" if choice.get("finish_reason") == "content_filter" else ""))


def _tokens(choice: Mapping[str, Any]) -> tuple[Token, ...] | None:
    rows = (choice.get("logprobs") or {}).get("content")
    rows = _behind_thoughts(rows, _text(choice)) if rows else rows
    if not rows:
        return None
    tops = [[(other["token"], float(other["logprob"])) for other in row.get("top_logprobs") or ()] for row in rows]
    return tuple(Token(row["token"], float(row["logprob"]), tuple(top)) for row, top in zip(rows, tops, strict=True))


def _behind_thoughts(rows: Sequence[Mapping[str, Any]], text: str) -> Sequence[Mapping[str, Any]]:
    """Return only the tokens of the answer; some servers also list thought tokens, which `text` does not contain."""
    whole = "".join(row["token"] for row in rows)
    answer = strip_thoughts(whole)
    if answer == whole and not text.endswith(whole):
        answer = text if whole.endswith(text) else answer
    start, at = len(whole) - len(answer), 0
    for index, row in enumerate(rows):
        if at >= start:
            return rows[index:]
        at += len(row["token"])
    return ()


def _usage(counted: Mapping[str, Any]) -> Usage:
    details = counted.get("prompt_tokens_details") or {}
    return Usage(
        prompt_tokens=int(counted.get("prompt_tokens") or 0),
        completion_tokens=int(counted.get("completion_tokens") or 0),
        cached_prompt_tokens=int(details.get("cached_tokens") or 0),
    )


@dataclass(slots=True)
class ModelUsage:
    """The usage of a model over several calls; the cost is in USD, or None if a price is unknown."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def add(self, reply: Reply) -> None:
        """Count one reply; a cached reply adds nothing."""
        if reply.cached:
            return
        self.requests += reply.requests
        self.prompt_tokens += reply.usage.prompt_tokens
        self.completion_tokens += reply.usage.completion_tokens
        unknown = self.cost_usd is None or reply.cost_usd is None
        self.cost_usd = None if unknown else (self.cost_usd or 0.0) + (reply.cost_usd or 0.0)
