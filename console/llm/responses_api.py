"""The Responses API: a request in its form, and its response as a chat completion, for models that take no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def responses_body(chat: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a chat completion as the Responses API takes it; nothing is stored there."""
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


def as_completion(response: Mapping[str, Any]) -> dict[str, Any]:
    """The response as the document of a chat completion with one choice."""
    parts = list(_parts(response))
    texts = [part["text"] for part in parts if part.get("type") == "output_text"]
    refusals = [part["refusal"] for part in parts if part.get("type") == "refusal"]
    tokens = [row for part in parts for row in part.get("logprobs") or ()]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "".join(texts), "refusal": refusals[0] if refusals else None},
        "finish_reason": _finish(response),
        "logprobs": {"content": tokens} if tokens else None,
    }
    used = response.get("usage") or {}
    usage = {
        "prompt_tokens": used.get("input_tokens"),
        "completion_tokens": used.get("output_tokens"),
        "prompt_tokens_details": used.get("input_tokens_details"),
    }
    return {"model": response.get("model"), "choices": [choice], "usage": usage}


def _parts(response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for item in response.get("output") or ():
        if item.get("type") == "message":
            yield from item.get("content") or ()


def _finish(response: Mapping[str, Any]) -> str:
    reason = (response.get("incomplete_details") or {}).get("reason", "")
    return {"": "stop", "max_output_tokens": "length"}.get(reason, str(reason))
