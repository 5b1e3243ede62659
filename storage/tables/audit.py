"""The audit log: events, the chain that their digests stand in, its end kept apart, and the key of the database."""

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from storage.tables.base import NumberedTable, Table


class Event(NumberedTable, table=True):
    """What happened, by whom and through which door: the content, which can be erased while its link stays.

    `before`, `after` and `detail` are JSON; `salt` keeps a digest from being guessed back once the content is gone.
    """

    __tablename__ = "event"
    __table_args__ = (Index("ix_event_run", "run_id"),)

    run_id: int | None = Field(default=None, foreign_key="run.id")
    at_ms: int = Field(sa_type=BigInteger)
    actor: str
    kind: str
    subject: str = ""
    detail: str = "{}"
    door: str = Field(default="", sa_column_kwargs={"server_default": ""})
    place: str = Field(default="", sa_column_kwargs={"server_default": ""})
    before: str | None = None
    after: str | None = None
    salt: str = Field(default="", sa_column_kwargs={"server_default": ""})


class EventLink(Table, table=True):
    """An event's place in the chain: the digest of its content, and a hash over that and over the link before it.

    `erases` is a JSON list of the events whose content was erased with this one.
    """

    __tablename__ = "event_link"

    event_id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    at_ms: int = Field(sa_type=BigInteger)
    kind: str
    erases: str = "[]"
    content_digest: str
    previous_hash: str
    hash: str


class ChainEnd(Table, table=True):
    """The one row that says where the chain ends, so that a missing last event is noticed too."""

    __tablename__ = "chain_end"

    id: int = Field(default=1, primary_key=True)
    event_id: int = 0
    events: int = 0
    hash: str = ""


class DatabaseKey(Table, table=True):
    """The one row that tells this database from every other: a random key, made with it and never changed."""

    __tablename__ = "database_key"

    id: int = Field(default=1, primary_key=True)
    key: str
