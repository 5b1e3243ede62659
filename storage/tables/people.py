"""People: who may come in, the invitations that bring them, and their sessions; of every secret its SHA-256 alone.

It stands alone as one room of tables, beside those of runs, queue, loop and studies.
"""

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from storage.tables.base import NumberedTable


class Person(NumberedTable, table=True):
    """Somebody who may come in; `name_key` is the name without regard to case, `roles` words joined by commas."""

    __tablename__ = "person"

    name: str
    name_key: str = Field(unique=True)
    roles: str
    created_ms: int = Field(sa_type=BigInteger)
    disabled_ms: int | None = Field(default=None, sa_type=BigInteger)


class Invitation(NumberedTable, table=True):
    """A link that opens once: for that person, or for somebody new, who gets `roles` under a name of their own."""

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
    """A browser in which a person is signed in; over at `expires_ms`, or at `ended_ms` before that."""

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
