"""HTTP and the chat-completions form, in bytes."""

import json
from collections.abc import Callable
from typing import Any

from tests.fakes.answers import Answer, Ask, Fault, tokens

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


def parse(received: bytes) -> tuple[str, dict[str, str], bytes, bytes] | None:
    """(path, headers, body, the rest) of the first whole request, or None while it is not all there."""
    head, found, rest = received.partition(b"\r\n\r\n")
    if not found:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(headers.get("content-length", 0))
    if len(rest) < length:
        return None
    return first.split()[1], headers, rest[:length], rest[length:]


def http(status: int, body: bytes, headers: str = "", *, claimed: int | None = None) -> bytes:
    """A whole response; `claimed` is the length that the header tells, the body's own otherwise."""
    length = len(body) if claimed is None else claimed
    first = f"HTTP/1.1 {status} {_REASONS.get(status, 'Server Error')}\r\n"
    return f"{first}content-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n".encode() + body


Counter = Callable[[str], int]


def quarters(text: str) -> int:
    """A token for every four characters."""
    return len(text) // 4


def completion(ask: Ask, answer: Answer, wanted: int, offers_logprobs: bool, counted: Counter = quarters) -> bytes:
    """The response that carries the answer's texts as choices; `counted` is the server's tokenizer."""
    texts = [answer.texts[index % len(answer.texts)] for index in range(wanted)]
    logprobs = bool(ask.body.get("logprobs")) and offers_logprobs
    top = int(ask.body.get("top_logprobs") or 0)
    prompt, said = counted(ask.text), sum(counted(text) + 1 for text in texts)
    usage = {"prompt_tokens": prompt, "completion_tokens": said}
    document = {
        "id": f"chatcmpl-{ask.number}",
        "object": "chat.completion",
        "created": 0,
        "model": ask.body.get("model", "test"),
        "choices": [_choice(answer, index, text, top, logprobs) for index, text in enumerate(texts)],
        "usage": answer.usage or usage | {"total_tokens": sum(usage.values())},
    }
    return http(200, json.dumps(document).encode())


def _choice(answer: Answer, index: int, text: str, top: int, logprobs: bool) -> dict[str, Any]:
    message = {"role": "assistant", "content": None if answer.refusal else text, "refusal": answer.refusal}
    told = {"content": tokens(answer, text, top), "refusal": None} if logprobs else None
    return {"index": index, "message": message, "finish_reason": answer.finish, "logprobs": told}


def failure(fault: Fault) -> tuple[bytes, bool]:
    """(the response, whether the connection goes on) of a fault."""
    whole = b'{"id": "1", "object": "chat.completion", "choices": [], "usage": null}'
    if fault.kind == "empty":
        return http(200, whole), True
    if fault.kind == "garbage":
        return http(200, b"<html>upstream said no</html>"), True
    if fault.kind == "page":
        page = b"<html><head><title>502</title></head><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>"
        return http(502, page), True
    if fault.kind == "cut":
        return http(200, whole[:30], claimed=len(whole)), False
    if fault.kind == "trickle":
        return http(200, whole[:30], claimed=len(whole)), True
    if not fault.kind.isdigit():
        return b"", False
    headers = "" if fault.retry_after is None else f"retry-after: {fault.retry_after}\r\n"
    if fault.document is not None:
        return http(int(fault.kind), json.dumps(fault.document).encode(), headers), True
    error = {"message": fault.message, "type": "test", "param": fault.parameter, "code": None}
    return http(int(fault.kind), json.dumps({"error": error}).encode(), headers), True
