"""Tables of the audit log: events, their chain, its end, and the key of the database."""

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from storage.tables.base import NumberedTable, Table


class Event(NumberedTable, table=True):
    """An event: the action, its author and its entry point. This content can be erased; its link stays.

    `before`, `after` and `detail` are JSON; `salt` prevents erased content from being guessed from its digest.
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
    """An event's link in a chain: the digest of its content, and a hash of this digest and the previous hash.

    `chain` is the run's id, or 0 for the chain of access; `place` counts the links of a chain from 1.

    `erases` is a JSON list of the events whose content was erased by this event. `rows` is a JSON list of [table, id,
    digest] of the rows that a transaction changed (null for a removed row); such a link has no event and no
    `content_digest`.
    """

    __tablename__ = "event_link"

    event_id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    at_ms: int = Field(sa_type=BigInteger)
    kind: str
    erases: str = "[]"
    content_digest: str
    previous_hash: str
    hash: str
    rows: str = Field(default="[]", sa_column_kwargs={"server_default": "[]"})
    chain: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    place: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class RowSalt(Table, table=True):
    """The salt of a linked row's latest digest, removed with the row, so that its content cannot be guessed."""

    __tablename__ = "row_salt"
    __table_args__ = {"sqlite_with_rowid": False}

    name: str = Field(primary_key=True)
    row_id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    salt: str


class ChainEnd(Table, table=True):
    """The end of a chain, so that a missing last event is detected as well.

    `sealed` counts the events that the chain had when its head was last added to the chain of access.
    """

    __tablename__ = "chain_end"

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    event_id: int = 0
    events: int = 0
    hash: str = ""
    sealed: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class DatabaseKey(Table, table=True):
    """The only row with a random key that identifies this database; the key never changes.

    `epoch` counts from 1; each restore raises it.
    """

    __tablename__ = "database_key"

    id: int = Field(default=1, primary_key=True)
    key: str
    epoch: int = Field(default=1, sa_column_kwargs={"server_default": "1"})
