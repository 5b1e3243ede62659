"""Agents and their tokens: the agents that may submit checks, disabled agents, and each agent's last request."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from sqlmodel import Session, and_, col, or_, select, update

from console.auth.kept_secrets import new_token, token_hash
from console.auth.people import RESERVED, RESERVED_STARTS, find_person, name_key
from console.errors import BadInput, Refused, Unknown
from console.language import _
from console.settings import settings
from storage import tables
from storage.tables.people import ENDED

API_AGENT = "api"
"""The name of the agent with the token in the settings; the agent shares its checks with gates in local processes."""

_MAX_NAME = 60
_SHORTEST_TOKEN = 16
_SEEN_EVERY_MS = 10_000
_NEVER_MS = 1 << 62


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent identified by its token.

    `id` is None for the token in the settings, the only token that may import logs.
    """

    id: int | None
    name: str


def settings_token() -> str | None:
    """Return INFERACT_API_TOKEN, or None if the variable is not set; raise BadInput if the token is too short."""
    given = settings().api_token
    if given is None:
        return None
    if len(given.get_secret_value()) < _SHORTEST_TOKEN:
        raise BadInput(f"INFERACT_API_TOKEN is too short. Use at least {_SHORTEST_TOKEN} characters.")
    return given.get_secret_value()


def add(session: Session, name: str, now_ms: int, owner: str = "") -> str:
    """Add an agent and return its token; store only the token's hash. `owner` is the person responsible for the agent.

    Raise BadInput if the name is invalid, or Refused if the name is taken.
    """
    cleaned = " ".join(name.split())
    if not cleaned or len(cleaned) > _MAX_NAME or not cleaned.isprintable():
        raise BadInput(_("The agent's name is invalid. Use 1 to {most} printable characters.").format(most=_MAX_NAME))
    is_taken = _find(session, cleaned) is not None or find_person(session, cleaned) is not None
    if is_taken or name_key(cleaned) in RESERVED or name_key(cleaned).startswith(RESERVED_STARTS):
        raise Refused(_("The agent name {name} is taken. Choose another name.").format(name=repr(cleaned)))
    token = f"agent_{new_token()}"
    key, hashed = cleaned.casefold(), token_hash(token)
    agent = tables.Agent(name=cleaned, name_key=key, token_hash=hashed, created_ms=now_ms)
    session.add(agent)
    if owner:
        session.flush()
        session.add(tables.AgentOwner(agent_id=agent.id or 0, owner=owner))
    return token


def owner_of(session: Session, agent_id: int) -> str:
    """Return the person on whose behalf the agent makes checks, or an empty text if unknown."""
    owner = tables.AgentOwner
    return session.exec(select(owner.owner).where(owner.agent_id == agent_id)).first() or ""


def list_agents(session: Session) -> list[tables.Agent]:
    """Return all agents by name, including disabled agents."""
    return list(session.exec(select(tables.Agent).order_by(col(tables.Agent.name_key))))


def disable(session: Session, name: str, now_ms: int) -> None:
    """Disable the agent's token permanently.

    Raise Unknown if the agent does not exist, or Refused for the agent with the token in the settings.
    """
    agent = _get(session, name)
    agent.disabled_ms = agent.disabled_ms or now_ms
    session.add(agent)


def renew(session: Session, name: str, now_ms: int, old_until_ms: int = 0) -> str:
    """Replace an agent's token and return the new token; store only the token's hash.

    The replaced token works until `old_until_ms`; an earlier replaced token ends now.

    Raise Unknown if the agent does not exist, or Refused if it is disabled or has the token in the settings.
    """
    agent = _get(session, name)
    if agent.disabled_ms is not None:
        raise Refused(f"The agent {agent.name!r} is disabled permanently. Add an agent with another name.")
    token = f"agent_{new_token()}"
    is_kept = old_until_ms > now_ms and not agent.token_hash.startswith(ENDED)
    agent.old_token_hash, agent.old_until_ms = (agent.token_hash, old_until_ms) if is_kept else (None, None)
    agent.token_hash, agent.token_ms = token_hash(token), now_ms
    session.add(agent)
    return token


def status(agent: tables.Agent) -> str:
    """Return the agent's status as text; a restore ends the agent's token, but the agent can get a new token."""
    if agent.disabled_ms is not None:
        return "disabled"
    return "without a token" if agent.token_hash.startswith(ENDED) else "active"


def find_by_token(session: Session, token: str, now_ms: int | None = None) -> KnownAgent | None:
    """Return the agent with that token, or None if no enabled agent has the token.

    A replaced token counts until its end if `now_ms` is given.
    """
    known = settings_token()
    if known is not None and hmac.compare_digest(token.encode("utf-8", "surrogatepass"), known.encode()):
        return KnownAgent(None, API_AGENT)
    row, hashed = tables.Agent, token_hash(token)
    replaced = and_(
        col(row.old_token_hash) == hashed, col(row.old_until_ms) > (_NEVER_MS if now_ms is None else now_ms)
    )
    agent = session.exec(select(row).where(or_(row.token_hash == hashed, replaced))).first()
    if agent is None or agent.disabled_ms is not None:
        return None
    return KnownAgent(agent.id, agent.name)


def is_seen_outdated(session: Session, agent: KnownAgent, now_ms: int) -> bool:
    """Return whether the agent's last recorded request is at least ten seconds old."""
    seen_ms = session.exec(select(tables.Agent.seen_ms).where(tables.Agent.id == agent.id)).first()
    return agent.id is not None and (seen_ms is None or abs(now_ms - seen_ms) >= _SEEN_EVERY_MS)


def note_seen(session: Session, agent: KnownAgent, now_ms: int) -> None:
    """Record the time of the agent's request."""
    session.execute(update(tables.Agent).where(col(tables.Agent.id) == agent.id).values(seen_ms=now_ms))


def _get(session: Session, name: str) -> tables.Agent:
    agent = _find(session, name)
    if agent is None and name.casefold() == API_AGENT:
        raise Refused("The name 'api' belongs to the token of INFERACT_API_TOKEN. Change that setting instead.")
    if agent is None:
        raise Unknown("agent", name, [one.name for one in list_agents(session)])
    return agent


def _find(session: Session, name: str) -> tables.Agent | None:
    key = " ".join(name.split()).casefold()
    return session.exec(select(tables.Agent).where(tables.Agent.name_key == key)).first()
