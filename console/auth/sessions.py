"""Sessions of people: sign-in opens a session, every request checks it, and its owner or an admin ends it.

A study's participant has no session, but a signed cookie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlmodel import Session, col, select, update

from console.auth.kept_secrets import load_secrets, new_token, token_hash
from console.auth.people import Identity, Role, roles_of
from console.errors import Refused, Unknown
from console.language import _
from storage import tables

SESSION_DAYS = 30
_DAY_MS = 86_400_000
_SEEN_EVERY_MS = 300_000
_MOST_CHARACTERS = 200

# The first match counts: the user agents of the earlier browsers also contain the later names.
_BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "SamsungBrowser/": "Samsung Internet",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "Chrome/": "Chrome",
    "CriOS/": "Chrome",
    "Safari/": "Safari",
}
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Macintosh": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


@dataclass(frozen=True, slots=True)
class OpenSession:
    """An open session; times are milliseconds since 1970."""

    id: int
    name: str
    browser: str
    address: str
    created_ms: int
    seen_ms: int
    expires_ms: int


def browser_in_words(user_agent: str) -> str:
    """Describe the browser of a user agent in words, such as "Chrome on Linux"."""
    browser, system = (
        next((name for sign, name in known.items() if sign in user_agent), None) for known in (_BROWSERS, _SYSTEMS)
    )
    named = browser or _("unknown browser")
    return _("{browser} on {system}").format(browser=named, system=system) if system else named


def cookie_name(port: int) -> str:
    """Return the session cookie's name with the port, because browsers send cookies to all ports of a host."""
    return f"inferact_{port}"


def open_session(session: Session, person: tables.Person, now_ms: int, *, browser: str = "", address: str = "") -> str:
    """Open a session for the person and return the session's token."""
    token = new_token()
    session.add(
        tables.PersonSession(
            token_hash=token_hash(token),
            person_id=person.id or 0,
            browser=browser[:_MOST_CHARACTERS],
            address=address[:_MOST_CHARACTERS],
            created_ms=now_ms,
            seen_ms=now_ms,
            expires_ms=now_ms + SESSION_DAYS * _DAY_MS,
        )
    )
    return token


def identity_of(session: Session, token: str | None, now_ms: int) -> Identity | None:
    """Return the session's identity with the person's current roles, or None if the session has ended or is unknown."""
    if not token:
        return None
    row, person = tables.PersonSession, tables.Person
    statement = select(row.id, person.name, person.roles).join(person, col(person.id) == row.person_id)
    found = session.exec(statement.where(row.token_hash == token_hash(token), *_open(now_ms))).first()
    return Identity(found[1], roles_of(found[2]), session_id=found[0]) if found else None


def is_stale(session: Session, token: str, now_ms: int) -> bool:
    """Return whether the session's last recorded use is more than five minutes old."""
    row = tables.PersonSession
    seen_ms = session.exec(select(row.seen_ms).where(row.token_hash == token_hash(token))).first()
    return seen_ms is not None and seen_ms < now_ms - _SEEN_EVERY_MS


def mark_seen(session: Session, token: str, now_ms: int) -> None:
    """Record the current time as the session's last use."""
    row = tables.PersonSession
    session.execute(update(row).where(col(row.token_hash) == token_hash(token)).values(seen_ms=now_ms))


def open_sessions(session: Session, now_ms: int, name: str | None = None) -> list[OpenSession]:
    """Return the open sessions, latest first; if `name` is given, return only this person's sessions."""
    row, person = tables.PersonSession, tables.Person
    statement = select(row, person.name).join(person, col(person.id) == row.person_id).where(*_open(now_ms))
    if name is not None:
        statement = statement.where(person.name == name)
    return [
        OpenSession(one.id or 0, whose, one.browser, one.address, one.created_ms, one.seen_ms, one.expires_ms)
        for one, whose in session.exec(statement.order_by(col(row.id).desc()))
    ]


def end_session(session: Session, token: str | None, now_ms: int) -> None:
    """End the session with this token, if the session exists."""
    row = tables.PersonSession
    own = (col(row.token_hash) == token_hash(token or ""), col(row.ended_ms).is_(None))
    session.execute(update(row).where(*own).values(ended_ms=now_ms))


def end_session_of(session: Session, session_id: int, by: Identity | None, now_ms: int) -> str:
    """End the session and return the name of its owner; `by` is None if a command ends the session.

    Raise Unknown if the session is not open, or Refused if `by` is neither the session's owner nor an admin.
    """
    found = [one for one in open_sessions(session, now_ms) if one.id == session_id]
    if not found:
        raise Unknown("open session", session_id)
    if by is not None and by.name != found[0].name and not by.has(Role.ADMIN):
        raise Refused(_("Only an admin or the owner of a session can end the session. Ask an admin."))
    row = tables.PersonSession
    session.execute(update(row).where(col(row.id) == session_id).values(ended_ms=now_ms))
    return found[0].name


def _open(now_ms: int) -> tuple[Any, ...]:
    row = tables.PersonSession
    return (col(row.ended_ms).is_(None), col(row.expires_ms) > now_ms, col(tables.Person.disabled_ms).is_(None))


def participant_cookie_name(port: int) -> str:
    """Return the name of the participants' cookie for a console at this port."""
    return f"inferact_{port}_participant"


def participant_cookie(secret: str, outside_id: str = "") -> str:
    """Return the signed text that identifies a participant by the secret of their own link.

    `outside_id` is the participant's platform ID, for the return to the platform; only the cookie stores the id.
    """
    return _signer().dumps([secret, outside_id] if outside_id else secret)


def secret_of(cookie: str | None) -> str | None:
    """Return the participant's secret from their cookie, or None if the cookie is invalid or over 30 days old."""
    return _held(cookie)[0]


def outside_id_of(cookie: str | None) -> str:
    """Return the platform id from a participant's cookie, or an empty string if the id is missing."""
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
    return URLSafeTimedSerializer(load_secrets("cookie.secret"), salt="inferact-participant")
