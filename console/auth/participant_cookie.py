"""The cookie of a study's participant: it holds, signed, the secret of the link that is theirs alone.

Who came from a platform has their id there in it too: it leads them back, and the console itself keeps no such id.
"""

from __future__ import annotations

from itsdangerous import BadSignature, URLSafeTimedSerializer

from console.auth.kept_secrets import kept_secret
from console.auth.sessions import SESSION_DAYS


def participant_cookie_name(port: int) -> str:
    """The cookie of participants of a console at that port, beside the one of people."""
    return f"inferact_{port}_participant"


def participant_cookie(secret: str, outside_id: str = "") -> str:
    """The signed text that brings a participant back to where they were, and to the platform that they came from."""
    return _signer().dumps([secret, outside_id] if outside_id else secret)


def secret_of(cookie: str | None) -> str | None:
    """The participant's secret in a cookie of ours that is not older than 30 days, else None."""
    return _held(cookie)[0]


def outside_id_of(cookie: str | None) -> str:
    """The id on a platform in such a cookie, empty where there is none."""
    return _held(cookie)[1]


def _held(cookie: str | None) -> tuple[str | None, str]:
    if not cookie:
        return None, ""
    try:
        held = _signer().loads(cookie, max_age=SESSION_DAYS * 24 * 3600)
    except BadSignature:
        return None, ""
    return (str(held[0]), str(held[1])) if isinstance(held, list) else (str(held), "")


def _signer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(kept_secret("cookie.secret"), salt="inferact-participant")
