"""Where webhooks go, and their signature (Standard Webhooks 1.0)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from console.errors import BadInput
from console.settings import settings

_PREFIX = "whsec_"
_SHORTEST = 16


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
    """The value of the header webhook-signature: `v1,` and the base64 of HMAC-SHA256 over id.timestamp.body."""
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


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
