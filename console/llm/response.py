"""The response of an endpoint and its parsing into a reply."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from console.llm.errors import BadReply, ModelRefused
from console.llm.messages import Reply, Token, Usage, to_completion

_SHOWN = 120
_TAGS = r"think|thinking|thought|reasoning|seed:think"
_THOUGHT_ENDS = re.compile(rf"</(?:{_TAGS})>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>", re.IGNORECASE)
_THOUGHT_OPENS = re.compile(rf"\s*(?:<(?:{_TAGS})>|\[THINK\]|◁think▷|<\|channel\|>analysis)", re.IGNORECASE)


def read_reply(content: bytes, model: str) -> Reply:
    """Parse the body of a response; raise BadReply if it is invalid, ModelRefused if every choice is a refusal."""
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as broken:
        start = content[:_SHOWN].decode("utf-8", "replace")
        raise BadReply(f"{model} returned invalid JSON: {start!r}") from broken
    try:
        if isinstance(document, dict) and document.get("object") == "response":
            document = to_completion(document)
    except (KeyError, TypeError, AttributeError) as odd:
        raise BadReply(f"{model} returned an invalid response of the Responses API ({odd}).") from odd
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not choices:
        raise BadReply(f"{model} answered without choices{_error_within(document)}.")
    try:
        return _reply(document, choices, model)
    except (KeyError, TypeError, AttributeError, ValueError) as odd:
        raise BadReply(f"{model} returned an invalid chat completion ({odd}).") from odd


def _error_within(document: object) -> str:
    """Return the error that some routers send with a success status."""
    error = document.get("error") if isinstance(document, dict) else None
    told = error.get("message") if isinstance(error, dict) else error
    return f" ({str(told)[:_SHOWN].rstrip('.')})" if told else ""


def _reply(document: Mapping[str, Any], choices: Sequence[Mapping[str, Any]], model: str) -> Reply:
    ordered = sorted(choices, key=lambda choice: choice.get("index") or 0)
    refusals = [refusal for choice in ordered if (refusal := _refusal(choice))]
    if len(refusals) == len(ordered):
        raise ModelRefused(f"{model} refused to answer: {refusals[0][:_SHOWN]}")
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
        raise TypeError("the content is not a text")
    return content


def strip_thoughts(text: str) -> str:
    """Return the answer after the thoughts of a reasoning model, or an empty string if the thoughts do not end."""
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
    return tuple(
        Token(
            row["token"],
            float(row["logprob"]),
            tuple((other["token"], float(other["logprob"])) for other in row.get("top_logprobs") or ()),
        )
        for row in rows
    )


def _behind_thoughts(rows: Sequence[Mapping[str, Any]], text: str) -> Sequence[Mapping[str, Any]]:
    """Return only the tokens of the answer; some servers also list the tokens of thoughts that are not in `text`."""
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
