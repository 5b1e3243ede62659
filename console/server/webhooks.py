"""Webhooks: decisions on agents' actions, sent to a server with a signature (Standard Webhooks 1.0) and retries.

A webhook reports that a check is decided; the agent fetches the approval itself from the check. Requests are sent
outside transactions, do not follow redirects and have a short timeout.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx
from sqlalchemy.exc import IntegrityError
from standardwebhooks import Webhook

from console.database import now_ms, reading, writing
from console.errors import BadInput
from console.gate import decision_messages
from console.gate.decision_messages import DecisionMessage, channel_of
from console.runs import outbox
from console.runs.outbox import GIVEN_UP
from console.settings import settings

_PREFIX = "whsec_"
_SHORTEST = 16
"""The fewest bytes of a secret."""
_AT_ONCE = 8
WHOLE_S = 10.0
"""The longest time of one attempt, in seconds."""
_EVERY_S = 0.5
_GONE = 410
_LOST = "connection failed"
_FAILURES: dict[type[BaseException], str] = {
    socket.gaierror: "host not found",
    ConnectionRefusedError: "connection refused",
    ssl.SSLCertVerificationError: "certificate not valid",
    ssl.SSLError: "no TLS connection",
    TimeoutError: "no answer in time",
}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Receiver:
    """A server that receives decisions, and the secrets that sign each message: the new one, and one to be replaced."""

    url: str
    secrets: tuple[bytes, ...] = field(repr=False)


def receiver() -> Receiver | None:
    """Return the receiver in the settings, or None if none is set; raise BadInput if the settings are invalid."""
    url, secret = settings().webhook_url, settings().webhook_secret
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput("INFERACT_WEBHOOK_URL is not an http or https address. Correct the address.")
    if secret is None:
        raise BadInput(
            "INFERACT_WEBHOOK_URL needs INFERACT_WEBHOOK_SECRET, because the console sends only signed webhooks. Set "
            "both."
        )
    given = secret.get_secret_value()
    several = given.split() if all(one.startswith(_PREFIX) for one in given.split()) else [given]
    return Receiver(url, tuple(map(read_secret, several or [given])))


def signature(secret: bytes, message_id: str, timestamp_s: int, body: bytes) -> str:
    """Return the `webhook-signature` header: `v1,` and the base64 of HMAC-SHA256 over id.timestamp.body (UTF-8)."""
    return Webhook(secret).sign(message_id, datetime.fromtimestamp(timestamp_s, UTC), body.decode())


def read_secret(secret: str) -> bytes:
    """Return the key of a secret in the form of the setting; raise BadInput if it is invalid."""
    key = secret.encode()
    if secret.startswith(_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            wrong = "INFERACT_WEBHOOK_SECRET starts with whsec_, but the rest is not base64. Correct the secret."
            raise BadInput(wrong) from None
    if len(key) < _SHORTEST:
        raise BadInput(f"INFERACT_WEBHOOK_SECRET is too short. Use at least {_SHORTEST} bytes.")
    return key


async def keep_sending(every_s: float = _EVERY_S) -> None:
    """Send due webhooks in a loop until cancelled; return at once if no receiver is configured."""
    to = receiver()
    if to is None:
        return
    look_from = 0
    async with _client() as client:
        while True:
            try:
                look_from, _ = await _round(client, to, look_from)
            except Exception:
                # A database that is unreachable for a moment must not end the loop.
                _log.exception("Webhooks could not be sent; they are retried.")
            await asyncio.sleep(every_s)


async def send_due() -> int:
    """Send due webhooks and return the number accepted; raise BadInput if the receiver's settings are invalid."""
    to = receiver()
    if to is None:
        return 0
    async with _client() as client:
        _, sent = await _round(client, to, 0)
    return sent


async def _round(client: httpx.AsyncClient, to: Receiver, look_from: int) -> tuple[int, int]:
    """Send due webhooks; return the position at which the next round starts, and the number of accepted webhooks."""
    look_from, messages = await asyncio.to_thread(_take, to, look_from)
    if not messages:
        return look_from, 0
    results = await asyncio.gather(*(_attempt(client, to, message) for message in messages))
    await asyncio.to_thread(_settle, list(zip(messages, results, strict=True)))
    return look_from, sum(failure is None for failure in results)


def _take(to: Receiver, look_from: int) -> tuple[int, list[DecisionMessage]]:
    at_ms = now_ms()
    with reading() as session:
        news = decision_messages.find_due(session, to.url, look_from, at_ms)
        if not news.decision_ids and not outbox.has_due_message(session, channel_of(to.url), at_ms):
            return news.look_from, []
    try:
        with writing() as session:
            news = decision_messages.find_due(session, to.url, look_from, at_ms)
            decision_messages.add_to_outbox(session, to.url, news.decision_ids, at_ms)
            return news.look_from, decision_messages.claim_messages(session, to.url, at_ms, _AT_ONCE)
    except IntegrityError:
        # With PostgreSQL, another process collected the same decisions at the same time.
        return look_from, []


def _settle(results: list[tuple[DecisionMessage, str | None]]) -> None:
    for message, failure in results:
        if failure is not None:
            _log.warning("Webhook %s, attempt %d: %s", message.message_id, message.claimed.attempts, failure)
    with writing() as session:
        outbox.store_outcomes(session, [(message.claimed, failure) for message, failure in results], now_ms())


async def _attempt(client: httpx.AsyncClient, to: Receiver, message: DecisionMessage) -> str | None:
    """Send one webhook; return None if the receiver accepted it, otherwise the reason for the failure."""
    return await _post(client, to.url, message.body, _headers(to.secrets, message.message_id, message.body))


async def post_signed(url: str, secrets: Sequence[bytes], message_id: str, body: bytes) -> str | None:
    """Send a body, signed as Standard Webhooks 1.0; return None if it was accepted, otherwise the reason."""
    return await post(url, body, _headers(secrets, message_id, body))


async def post(url: str, body: bytes, headers: Mapping[str, str]) -> str | None:
    """Send a body without following redirects; return None if it was accepted, otherwise the reason."""
    async with _client() as client:
        return await _post(client, url, body, headers)


def _headers(secrets: Sequence[bytes], message_id: str, body: bytes) -> dict[str, str]:
    at_s = int(time.time())
    return {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": " ".join(signature(secret, message_id, at_s, body) for secret in secrets),
    }


async def _post(client: httpx.AsyncClient, url: str, body: bytes, headers: Mapping[str, str]) -> str | None:
    try:
        # A receiver may answer byte by byte, so the whole attempt has a timeout as well.
        async with asyncio.timeout(WHOLE_S), client.stream("POST", url, content=body, headers=headers) as response:
            status = response.status_code
    except TimeoutError:
        return f"no answer within {WHOLE_S:g} seconds"
    except (httpx.HTTPError, httpx.InvalidURL) as failure:
        return name_failure(failure)
    if 200 <= status < 300:
        return None
    return f"{GIVEN_UP}the receiver is gone (410)" if status == _GONE else f"the receiver answered {status}"


def name_failure(failure: BaseException) -> str:
    """Return the cause of a failed connection as a phrase for `explain_failure`; log the error itself."""
    _log.warning("A connection failed: %r", failure)
    causes = [failure]
    for one in causes:
        causes += [*getattr(one, "exceptions", ()), *filter(None, (one.__cause__, one.__context__))]
    return next((words for kind, words in _FAILURES.items() if any(isinstance(one, kind) for one in causes)), _LOST)


def _client() -> httpx.AsyncClient:
    agent = f"inferact-console/{version('inferact-console')}"
    # Webhooks ignore the proxies and .netrc of the server's shell.
    return httpx.AsyncClient(timeout=5.0, follow_redirects=False, headers={"User-Agent": agent}, trust_env=False)
