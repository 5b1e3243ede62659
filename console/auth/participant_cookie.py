"""The cookie of a study's participant: it contains the signed secret of the participant's own link.

For a participant from a platform, the cookie also contains the platform's id of the participant, which is needed to
return them. The console itself does not store this id.
"""

from __future__ import annotations

from itsdangerous import BadSignature, URLSafeTimedSerializer

from console.auth.kept_secrets import kept_secret
from console.auth.sessions import SESSION_DAYS


def participant_cookie_name(port: int) -> str:
    """Return the name of the participants' cookie for a console at this port."""
    return f"inferact_{port}_participant"


def participant_cookie(secret: str, outside_id: str = "") -> str:
    """Return the signed text that identifies a participant and, if known, their id on a platform."""
    return _signer().dumps([secret, outside_id] if outside_id else secret)


def secret_of(cookie: str | None) -> str | None:
    """Return the participant's secret from our cookie, or None if the cookie is invalid or older than 30 days."""
    return _held(cookie)[0]


def outside_id_of(cookie: str | None) -> str:
    """Return the platform id from a participant's cookie, or an empty string."""
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
