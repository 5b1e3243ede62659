"""The response of an endpoint: a chat completion read from its bytes, as a reply."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from console.llm.errors import BadReply, ModelRefused
from console.llm.messages import Reply, Token, Usage
from console.llm.responses_api import as_completion

_SHOWN = 120
_TAGS = r"think|thinking|thought|reasoning|seed:think"
_THOUGHT_ENDS = re.compile(rf"</(?:{_TAGS})>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>", re.IGNORECASE)
_THOUGHT_OPENS = re.compile(rf"\s*(?:<(?:{_TAGS})>|\[THINK\]|◁think▷|<\|channel\|>analysis)", re.IGNORECASE)


def read_reply(content: bytes, model: str) -> Reply:
    """The reply in a response's body; raises BadReply where it is none, ModelRefused where every choice refuses."""
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as broken:
        raise BadReply(f"{model} answered with what is no JSON: {_start(content)!r}") from broken
    try:
        document = as_completion(document) if _is_response(document) else document
    except (KeyError, TypeError, AttributeError) as odd:
        raise BadReply(f"{model} answered in another form than the Responses API's ({odd}).") from odd
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not choices:
        raise BadReply(f"{model} answered without a single choice{_error_within(document)}.")
    try:
        return _reply(document, choices, model)
    except (KeyError, TypeError, AttributeError, ValueError) as odd:
        raise BadReply(f"{model} answered in another form than a chat completion ({odd}).") from odd


def _error_within(document: object) -> str:
    """The error that some routers tell with the status of a success."""
    error = document.get("error") if isinstance(document, dict) else None
    told = error.get("message") if isinstance(error, dict) else error
    return f" ({str(told)[:_SHOWN].rstrip('.')})" if told else ""


def _is_response(document: object) -> bool:
    return isinstance(document, dict) and document.get("object") == "response"


def _reply(document: Mapping[str, Any], choices: Sequence[Mapping[str, Any]], model: str) -> Reply:
    ordered = sorted(choices, key=lambda choice: choice.get("index") or 0)
    refusals = [refusal for choice in ordered if (refusal := _refusal(choice))]
    if len(refusals) == len(ordered):
        raise ModelRefused(f"{model} refused to answer: {refusals[0][:_SHOWN]}")
    return Reply(
        texts=tuple(without_thoughts(_text(choice)) for choice in ordered),
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
        raise TypeError("the content is not a text")
    return content


def without_thoughts(text: str) -> str:
    """The answer behind what a reasoning model thinks aloud; empty where it never came to an end of that."""
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
    return tuple(Token(row["token"], float(row["logprob"]), _top(row)) for row in rows)


def _behind_thoughts(rows: Sequence[Mapping[str, Any]], text: str) -> Sequence[Mapping[str, Any]]:
    """The tokens of the answer alone; some servers count those of the thoughts among them and leave their text out."""
    whole = "".join(row["token"] for row in rows)
    answer = without_thoughts(whole)
    if answer == whole and not text.endswith(whole):
        answer = text if whole.endswith(text) else answer
    start, at = len(whole) - len(answer), 0
    for index, row in enumerate(rows):
        if at >= start:
            return rows[index:]
        at += len(row["token"])
    return ()


def _top(row: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    return tuple((other["token"], float(other["logprob"])) for other in row.get("top_logprobs") or ())


def _usage(counted: Mapping[str, Any]) -> Usage:
    details = counted.get("prompt_tokens_details") or {}
    return Usage(
        prompt_tokens=int(counted.get("prompt_tokens") or 0),
        completion_tokens=int(counted.get("completion_tokens") or 0),
        cached_prompt_tokens=int(details.get("cached_tokens") or 0),
    )


def _start(content: bytes) -> str:
    return content[:_SHOWN].decode("utf-8", "replace")
