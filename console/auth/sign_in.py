"""Identities and their sign-in: a reviewer by name, a researcher by key, a participant by the secret of their own link.

The sign-in is a signed cookie; no password is kept anywhere.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import StrEnum

from itsdangerous import BadSignature, URLSafeTimedSerializer

from console.auth.kept_secrets import kept_secret
from console.errors import BadInput

COOKIE = "inferact_hat"
PARTICIPANT_COOKIE = "inferact_participant"
_DAYS_30 = 30 * 24 * 3600
_MAX_NAME = 60


class Role(StrEnum):
    """A reviewer sees Inbox and Review; a researcher sees everything; a participant sees their study and no more."""

    REVIEWER = "reviewer"
    RESEARCHER = "researcher"
    PARTICIPANT = "participant"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is at the browser, and as what; a participant's name is their code, in the study of that id."""

    name: str
    role: Role
    study_id: int | None = None


def identify(name: str, key: str | None = None) -> Identity:
    """The identity of that name; with a key it must be the researcher's. Raises BadInput, in one sentence."""
    cleaned = " ".join(name.split())
    if not cleaned:
        raise BadInput("Enter a name; your decisions are recorded under it.")
    if len(cleaned) > _MAX_NAME or not cleaned.isprintable():
        raise BadInput(f"A name has at most {_MAX_NAME} printable characters.")
    if key is None:
        return Identity(cleaned, Role.REVIEWER)
    if not hmac.compare_digest(key.encode(), researcher_key().encode()):
        raise BadInput("That is not the researcher's key; `inferact serve` prints the link that holds it.")
    return Identity(cleaned, Role.RESEARCHER)


def cookie_of(identity: Identity) -> str:
    """The signed text that keeps the sign-in in the browser."""
    return _signer().dumps({"name": identity.name, "role": str(identity.role)})


def identity_of(cookie: str | None) -> Identity | None:
    """The identity in a cookie of ours that is not older than 30 days, else None."""
    if not cookie:
        return None
    try:
        content = _signer().loads(cookie, max_age=_DAYS_30)
        role = Role(content["role"])
        return None if role is Role.PARTICIPANT else Identity(str(content["name"]), role)
    except (BadSignature, KeyError, TypeError, ValueError):
        return None


def participant_cookie(secret: str) -> str:
    """The signed text that brings a participant back to where they were."""
    return _participants().dumps(secret)


def secret_of(cookie: str | None) -> str | None:
    """The participant's secret in a cookie of ours that is not older than 30 days, else None."""
    if not cookie:
        return None
    try:
        return str(_participants().loads(cookie, max_age=_DAYS_30))
    except BadSignature:
        return None


def researcher_key() -> str:
    """The key in the researcher's link, made on first use and kept in the data directory."""
    return kept_secret("researcher.key")


def _signer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(kept_secret("cookie.secret"), salt="inferact-hat")


def _participants() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(kept_secret("cookie.secret"), salt="inferact-participant")
