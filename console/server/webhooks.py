"""Webhooks: decisions on agents' actions, sent to a server of theirs, signed (Standard Webhooks 1.0) and tried again.

A webhook tells that a check is decided; the go-ahead itself is what the agent gets when it asks for the check. No call
is made within a transaction, no redirect followed, no receiver waited for long.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx
from sqlalchemy.exc import IntegrityError
from standardwebhooks import Webhook

from console.database import now_ms, reading, writing
from console.errors import BadInput
from console.gate import outbox
from console.gate.outbox import GIVEN_UP, Message
from console.settings import settings

_PREFIX = "whsec_"
_SHORTEST = 16
"""Bytes of the shortest secret that is taken."""
_AT_ONCE = 8
_WHOLE_S = 10.0
_EVERY_S = 0.5
_GONE = 410

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Receiver:
    """A server that wants to know of decisions, and the secret that it knows too."""

    url: str
    secret: bytes = field(repr=False)


def receiver() -> Receiver | None:
    """The receiver of the settings, None where there is none; raises BadInput where it cannot be used."""
    url, secret = settings().webhook_url, settings().webhook_secret
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput("INFERACT_WEBHOOK_URL is no http or https address.")
    if secret is None:
        raise BadInput("INFERACT_WEBHOOK_URL is set without INFERACT_WEBHOOK_SECRET; nothing is sent unsigned.")
    return Receiver(url, _key(secret.get_secret_value()))


def signature(secret: bytes, message_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of the header webhook-signature: `v1,` and the base64 of HMAC-SHA256 over id.timestamp.body (UTF-8)."""
    return Webhook(secret).sign(message_id, datetime.fromtimestamp(timestamp_s, UTC), body.decode())


def _key(secret: str) -> bytes:
    key = secret.encode()
    if secret.startswith(_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            raise BadInput("INFERACT_WEBHOOK_SECRET begins with whsec_, but what follows is no base64.") from None
    if len(key) < _SHORTEST:
        raise BadInput(f"INFERACT_WEBHOOK_SECRET is too short to sign with; it needs at least {_SHORTEST} bytes.")
    return key


async def keep_sending(every_s: float = _EVERY_S) -> None:
    """Sends what is due again and again until it is cancelled; ends at once where nobody wants to know."""
    to = receiver()
    if to is None:
        return
    look_from = 0
    async with _client() as client:
        while True:
            try:
                look_from, _ = await _round(client, to, look_from)
            except Exception:
                # A database that is away for a moment must not end this for good.
                _log.exception("Webhooks could not be sent; they are tried again.")
            await asyncio.sleep(every_s)


async def send_due() -> int:
    """Sends what is due now and returns how many were taken; raises BadInput where the receiver cannot be used."""
    to = receiver()
    if to is None:
        return 0
    async with _client() as client:
        _, sent = await _round(client, to, 0)
    return sent


async def _round(client: httpx.AsyncClient, to: Receiver, look_from: int) -> tuple[int, int]:
    """(where to look from next time, how many the receiver took)."""
    look_from, messages = await asyncio.to_thread(_take, to, look_from)
    if not messages:
        return look_from, 0
    results = await asyncio.gather(*(_attempt(client, to, message) for message in messages))
    await asyncio.to_thread(_settle, list(zip(messages, results, strict=True)))
    return look_from, sum(failure is None for failure in results)


def _take(to: Receiver, look_from: int) -> tuple[int, list[Message]]:
    at_ms = now_ms()
    with reading() as session:
        news = outbox.news(session, to.url, look_from, at_ms)
        if not news.decision_ids and not outbox.is_anything_due(session, to.url, at_ms):
            return news.look_from, []
    try:
        with writing() as session:
            news = outbox.news(session, to.url, look_from, at_ms)
            outbox.collect(session, to.url, news.decision_ids, at_ms)
            return news.look_from, outbox.take(session, to.url, at_ms, _AT_ONCE)
    except IntegrityError:
        # On a server, another process collected the same in this moment.
        return look_from, []


def _settle(results: list[tuple[Message, str | None]]) -> None:
    for message, failure in results:
        if failure is not None:
            _log.warning("Webhook %s, attempt %d: %s", message.message_id, message.attempts, failure)
    with writing() as session:
        outbox.settle(session, results, now_ms())


async def _attempt(client: httpx.AsyncClient, to: Receiver, message: Message) -> str | None:
    """None where the receiver took it, otherwise why not."""
    at_s = int(time.time())
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message.message_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": signature(to.secret, message.message_id, at_s, message.body),
    }
    try:
        # A receiver may drip its answer byte by byte, so the whole attempt has a limit too.
        async with (
            asyncio.timeout(_WHOLE_S),
            client.stream("POST", to.url, content=message.body, headers=headers) as response,
        ):
            status = response.status_code
    except TimeoutError:
        return f"no answer within {_WHOLE_S:g} seconds"
    except (httpx.HTTPError, httpx.InvalidURL) as failure:
        return f"{type(failure).__name__}: {failure}"
    if 200 <= status < 300:
        return None
    return f"{GIVEN_UP}the receiver is gone (410)" if status == _GONE else f"the receiver answered {status}"


def _client() -> httpx.AsyncClient:
    agent = f"inferact-console/{version('inferact-console')}"
    # Proxies and .netrc of the server's own shell are no business of a webhook.
    return httpx.AsyncClient(timeout=5.0, follow_redirects=False, headers={"User-Agent": agent}, trust_env=False)
