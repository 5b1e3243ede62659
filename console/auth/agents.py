"""Agents and their tokens: who may ask over HTTP, which of them are disabled, and when each was last heard of."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from sqlmodel import Session, col, select, update

from console.auth import api_token
from console.errors import BadInput, Refused, Unknown
from storage import tables

API_AGENT = "api"
"""The agent of the token in the settings; its checks are those of the processes that have the database open."""

_MAX_NAME = 60
_SEEN_EVERY_MS = 10_000


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent that showed its token; without an id it is the one of the settings, which alone may import."""

    id: int | None
    name: str


def add(session: Session, name: str, now_ms: int) -> str:
    """Makes an agent and returns its token, of which only the hash is kept; raises BadInput and Refused."""
    cleaned = " ".join(name.split())
    if not cleaned or len(cleaned) > _MAX_NAME or not cleaned.isprintable():
        raise BadInput(f"An agent's name has 1 to {_MAX_NAME} printable characters.")
    if cleaned.casefold() == API_AGENT or _find(session, cleaned) is not None:
        raise Refused(f"There is an agent {cleaned!r} already; a name is given once.")
    token = f"agent_{secrets.token_urlsafe(32)}"
    key, hashed = cleaned.casefold(), _hashed(token)
    session.add(tables.Agent(name=cleaned, name_key=key, token_hash=hashed, created_ms=now_ms))
    return token


def every(session: Session) -> list[tables.Agent]:
    """All agents by name, the disabled ones too."""
    return list(session.exec(select(tables.Agent).order_by(col(tables.Agent.name_key))))


def disable(session: Session, name: str, now_ms: int) -> None:
    """Takes the agent's token its force, for good; raises Unknown, and Refused for the token of the settings."""
    agent = _find(session, name)
    if agent is None and name.casefold() == API_AGENT:
        raise Refused("That token is no agent's of its own: unset INFERACT_API_TOKEN, or remove the file api.token.")
    if agent is None:
        raise Unknown("agent", name, [one.name for one in every(session)])
    agent.disabled_ms = agent.disabled_ms or now_ms
    session.add(agent)


def of_token(session: Session, token: str) -> KnownAgent | None:
    """The agent whose token it is, None where it is nobody's or a disabled one's."""
    if api_token.is_token(token):
        return KnownAgent(None, API_AGENT)
    agent = session.exec(select(tables.Agent).where(tables.Agent.token_hash == _hashed(token))).first()
    if agent is None or agent.disabled_ms is not None:
        return None
    return KnownAgent(agent.id, agent.name)


def is_news(session: Session, agent: KnownAgent, now_ms: int) -> bool:
    """Whether the agent was not noted as heard of within the last ten seconds."""
    seen_ms = session.exec(select(tables.Agent.seen_ms).where(tables.Agent.id == agent.id)).first()
    return agent.id is not None and (seen_ms is None or abs(now_ms - seen_ms) >= _SEEN_EVERY_MS)


def note_seen(session: Session, agent: KnownAgent, now_ms: int) -> None:
    """Writes that the agent was heard of."""
    session.execute(update(tables.Agent).where(col(tables.Agent.id) == agent.id).values(seen_ms=now_ms))


def _find(session: Session, name: str) -> tables.Agent | None:
    key = " ".join(name.split()).casefold()
    return session.exec(select(tables.Agent).where(tables.Agent.name_key == key)).first()


def _hashed(token: str) -> str:
    """SHA-256 (hex); a token of 256 random bits needs no slower one."""
    return hashlib.sha256(token.encode()).hexdigest()
