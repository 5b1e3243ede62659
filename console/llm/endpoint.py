"""Requests to the model endpoint. Only this module imports `openai`, and only at the first request."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

from console.llm.errors import ModelError, ModelRefused, ModelUnavailable, NoModel, RequestRejected
from console.llm.refusals import find_refused_parameter

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

_BUSY = frozenset({408, 409, 425, 429})
_OPENAI = "https://api.openai.com/v1"
_AZURE_HOST = re.compile(r"\.(openai\.azure|cognitiveservices\.azure)\.com$")
_AZURE_VERSION = "2024-10-21"
_SHOWN = 300
_DECLINED = frozenset(
    {"content_filter", "content_policy_violation", "invalid_prompt", "moderation_blocked", "data_inspection_failed"}
)
"""Error codes of filters that decline a prompt before the model receives it."""
_MARKUP = re.compile(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]*>")
_NOWHERE = "No endpoint is configured. Set OPENAI_API_KEY, or OPENAI_BASE_URL for your own server."
_ADVICE = {
    401: " Check OPENAI_API_KEY.",
    403: " Check that the key may use this model.",
    404: " Check OPENAI_BASE_URL and the model's name.",
}


class NotOffered(Exception):
    """The endpoint does not accept a parameter."""

    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


class Endpoint:
    """An OpenAI-compatible endpoint; OPENAI_BASE_URL and OPENAI_API_KEY are the defaults for address and key.

    AZURE_OPENAI_ENDPOINT, or an address with `?api-version=`, selects Azure. `cleaned` masks the key in messages.
    """

    def __init__(self, base_url: str | None = None, api_key: str | None = None) -> None:
        self._azure = os.environ.get("AZURE_OPENAI_ENDPOINT") if not (base_url or _env("OPENAI_BASE_URL")) else None
        self._url = base_url or _env("OPENAI_BASE_URL") or self._azure or _OPENAI
        self._key = api_key or _env("AZURE_OPENAI_API_KEY" if self._speaks_azure else "OPENAI_API_KEY")
        self._key = self._key or _env("OPENAI_API_KEY")

    @property
    def name(self) -> str:
        """The address without user, password and query, for display and for the cache key of a reply."""
        parts = urlsplit(self._url)
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or ""
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))

    def __repr__(self) -> str:
        return f"Endpoint({self.name})"

    @property
    def _speaks_azure(self) -> bool:
        parts = urlsplit(self._url)
        by_host = bool(_AZURE_HOST.search(parts.hostname or "")) and "/v1" not in parts.path
        return bool(self._azure) or "api-version" in parse_qs(parts.query) or by_host

    def connect(self) -> Connection:
        """Open connections for the running event loop; raise NoModel if neither an address nor a key is set."""
        if not self._key and self._url == _OPENAI:
            raise NoModel(_NOWHERE)
        return Connection(self, self._client())

    def _client(self) -> AsyncOpenAI:
        from openai import AsyncAzureOpenAI, AsyncOpenAI

        key = self._key or "none"
        if not self._speaks_azure:
            return AsyncOpenAI(base_url=self._url, api_key=key, max_retries=0)
        parts = urlsplit(self._url)
        version = parse_qs(parts.query).get("api-version", [_env("OPENAI_API_VERSION") or _AZURE_VERSION])[0]
        bare = urlunsplit((parts.scheme, parts.netloc, "", "", ""))
        return AsyncAzureOpenAI(azure_endpoint=bare, api_key=key, api_version=version, max_retries=0)

    def cleaned(self, text: str) -> str:
        """Return the start of a message with the key masked."""
        return (text.replace(self._key, "[key]") if self._key else text)[:_SHOWN]


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch: the ids of its files after its end, and the `problem` if it failed."""

    id: str
    status: str
    files: tuple[str, ...] = ()
    problem: str = ""
    done: int = 0
    total: int = 0

    @property
    def is_over(self) -> bool:
        """True if the batch has ended."""
        return self.status in ("completed", "failed", "expired", "cancelled")


class Connection:
    """The open connections to an endpoint; only the event loop that created the connections can use them."""

    def __init__(self, endpoint: Endpoint, client: AsyncOpenAI) -> None:
        self._endpoint, self._client, self._name = endpoint, client, endpoint.name

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def post(self, body: Mapping[str, Any], timeout_s: float) -> bytes:
        """Post one request and return the body of the response; raise NotOffered or ModelError if the request fails."""
        from openai import APITimeoutError

        path = "/responses" if "input" in body else "/chat/completions"
        with self._named(body):
            try:
                # Posting the plain body saves a fifth of the time of the typed method.
                reply: bytes = await self._client.post(
                    path, cast_to=bytes, body=dict(body), options={"timeout": timeout_s}
                )
                return reply
            except APITimeoutError:
                raise timeout_error(self._name, timeout_s) from None

    async def post_batch(self, lines: bytes, form: str) -> str:
        """Post a batch with one request per line and return the batch's id; raise ModelError on failure."""
        with self._named():
            file = await self._client.files.create(file=("requests.jsonl", lines), purpose="batch")
            ordered = await self._client.batches.create(
                input_file_id=file.id,
                endpoint="/v1/responses" if form == "responses" else "/v1/chat/completions",
                completion_window="24h",
            )
        return str(ordered.id)

    async def batch(self, id: str) -> BatchState:
        """Return the state of a batch; raise ModelError if the endpoint does not return it."""
        with self._named():
            found = await self._client.batches.retrieve(id)
        problems = [error.message or "" for error in (found.errors.data or [])] if found.errors else []
        files = tuple(name for name in (found.output_file_id, found.error_file_id) if name)
        counts = found.request_counts
        done, total = (counts.completed + counts.failed, counts.total) if counts else (0, 0)
        return BatchState(id, found.status, files, " ".join(problems) or found.status, done, total)

    async def file(self, id: str) -> bytes:
        """Return the content of a file at the endpoint; raise ModelError if the endpoint does not return it."""
        with self._named():
            content: bytes = (await self._client.files.content(id)).content
        return content

    @contextmanager
    def _named(self, body: Mapping[str, Any] | None = None) -> Iterator[None]:
        from openai import APIConnectionError, APIStatusError

        try:
            yield
        except APIConnectionError as broken:
            why = self._endpoint.cleaned(str(broken))
            raise ModelUnavailable(
                f"{self._name} cannot be reached ({why}). Check the address and the network."
            ) from None
        except APIStatusError as status:
            if body is None and status.status_code in (404, 405, 501):
                raise RequestRejected(f"{self._name} does not offer a Batch API. Omit --batch.") from None
            raise self._told(status, body or {}) from None

    def _told(self, status: APIStatusError, body: Mapping[str, Any]) -> Exception:
        error, code = _error(status.body), status.status_code
        message = self._endpoint.cleaned(_readable(str(error.get("message") or status.body or status.message)))
        if error.get("code") in _DECLINED:
            return ModelRefused(f"A content filter at {self._name} declined the request: {message}")
        if parameter := find_refused_parameter(code, message, error.get("param"), body):
            return NotOffered(parameter)
        if (code in _BUSY or code >= 500) and error.get("code") != "insufficient_quota":
            return ModelUnavailable(f"{self._name} answered {code}: {message}", retry_after_s=_retry_after(status))
        return RequestRejected(f"{self._name} answered {code}: {message.rstrip('.')}.{_ADVICE.get(code, '')}")


def _readable(message: str) -> str:
    """Return the message, or its text if it is a gateway's HTML page."""
    return " ".join(_MARKUP.sub(" ", message).split()) if message.lstrip()[:1] == "<" else message


def timeout_error(name: str, limit_s: float) -> ModelError:
    """Return the error for a request that exceeded its time limit."""
    return ModelUnavailable(f"{name} did not respond within {limit_s:.3g} s.")


def _env(name: str) -> str | None:
    return os.environ.get(name) or None


def _retry_after(status: APIStatusError) -> float | None:
    headers = status.response.headers
    for name, unit in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        try:
            return max(float(headers[name]) / unit, 0.0)
        except (KeyError, ValueError):
            continue
    with suppress(ValueError):
        return max(parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time(), 0.0)
    return None


def _error(body: object) -> Mapping[str, Any]:
    """Return the error in a response body; some providers wrap the error in a list or send only a text."""
    first = body[0] if isinstance(body, list) and body else body
    inner = first.get("error", first) if isinstance(first, dict) else first
    return inner if isinstance(inner, dict) else {"message": inner} if isinstance(inner, str) else {}
