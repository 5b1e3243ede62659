"""The cookie of a study's participant: it holds, signed, the secret of the link that is theirs alone."""

from __future__ import annotations

from itsdangerous import BadSignature, URLSafeTimedSerializer

from console.auth.kept_secrets import kept_secret
from console.auth.sessions import SESSION_DAYS


def participant_cookie_name(port: int) -> str:
    """The cookie of participants of a console at that port, beside the one of people."""
    return f"inferact_{port}_participant"


def participant_cookie(secret: str) -> str:
    """The signed text that brings a participant back to where they were."""
    return _signer().dumps(secret)


def secret_of(cookie: str | None) -> str | None:
    """The participant's secret in a cookie of ours that is not older than 30 days, else None."""
    if not cookie:
        return None
    try:
        return str(_signer().loads(cookie, max_age=SESSION_DAYS * 24 * 3600))
    except BadSignature:
        return None


def _signer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(kept_secret("cookie.secret"), salt="inferact-participant")
