"""Tables of people, invitations, sessions and agents; they store secrets only as SHA-256 digests."""

from sqlalchemy import BigInteger, Index, UniqueConstraint
from sqlmodel import Field

from storage.tables.base import NumberedTable

ENDED = "ended "
"""Prefix of the stored hash of a token or link that a restore ended; no valid secret has such a hash."""


class Person(NumberedTable, table=True):
    """A person with access; `name_key` is the name ignoring case, and `roles` are words joined by commas.

    `hold` is the reason of a legal hold, or null.
    """

    __tablename__ = "person"

    name: str
    name_key: str = Field(unique=True)
    roles: str
    created_ms: int = Field(sa_type=BigInteger)
    disabled_ms: int | None = Field(default=None, sa_type=BigInteger)
    hold: str | None = None


class Invitation(NumberedTable, table=True):
    """A link that works once: for the person `person_id`, or for a new person who chooses a name and gets `roles`."""

    __tablename__ = "invitation"
    __table_args__ = (Index("ix_invitation_person", "person_id"),)

    token_hash: str = Field(unique=True)
    person_id: int | None = Field(default=None, foreign_key="person.id")
    roles: str
    invited_by: str
    created_ms: int = Field(sa_type=BigInteger)
    expires_ms: int = Field(sa_type=BigInteger)
    used_ms: int | None = Field(default=None, sa_type=BigInteger)


class PersonSession(NumberedTable, table=True):
    """A browser in which a person is signed in until `expires_ms`, or until `ended_ms` if that time is earlier."""

    __tablename__ = "person_session"
    __table_args__ = (Index("ix_person_session_person", "person_id"),)

    token_hash: str = Field(unique=True)
    person_id: int = Field(foreign_key="person.id")
    browser: str = ""
    address: str = ""
    created_ms: int = Field(sa_type=BigInteger)
    seen_ms: int = Field(sa_type=BigInteger)
    expires_ms: int = Field(sa_type=BigInteger)
    ended_ms: int | None = Field(default=None, sa_type=BigInteger)


class SavedView(NumberedTable, table=True):
    """A named filter of the Inbox of one person; `query` holds the filter as it is in the address."""

    __tablename__ = "saved_view"
    __table_args__ = (UniqueConstraint("person_id", "name"),)

    person_id: int = Field(foreign_key="person.id")
    name: str
    query: str
    created_ms: int = Field(sa_type=BigInteger)


class GroupMember(NumberedTable, table=True):
    """A person in a group; `name` is the group's name, and `name_key` is this name ignoring case."""

    __tablename__ = "group_member"
    __table_args__ = (UniqueConstraint("name_key", "person_id"),)

    name: str
    name_key: str
    person_id: int = Field(foreign_key="person.id")


class Agent(NumberedTable, table=True):
    """An agent that uses the HTTP API; `name_key` is the casefolded name, `token_hash` the SHA-256 of the token.

    The agent got its token at `token_ms` (null: at its creation); a replaced token works until `old_until_ms`.
    """

    __tablename__ = "agent"
    __table_args__ = (UniqueConstraint("name_key"), UniqueConstraint("token_hash"))

    name: str
    name_key: str
    token_hash: str
    created_ms: int = Field(sa_type=BigInteger)
    disabled_ms: int | None = Field(default=None, sa_type=BigInteger)
    seen_ms: int | None = Field(default=None, sa_type=BigInteger)
    token_ms: int | None = Field(default=None, sa_type=BigInteger)
    old_token_hash: str | None = None
    old_until_ms: int | None = Field(default=None, sa_type=BigInteger)


class AgentOwner(NumberedTable, table=True):
    """The person on whose behalf an agent makes checks; an agent without a row has an unknown owner."""

    __tablename__ = "agent_owner"
    __table_args__ = (UniqueConstraint("agent_id"),)

    agent_id: int = Field(foreign_key="agent.id")
    owner: str
