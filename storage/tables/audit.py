"""Tables of the audit log: events, their chain, its end, and the key of the database."""

from sqlalchemy import BigInteger, Index
from sqlmodel import Field

from storage.tables.base import NumberedTable, Table


class Event(NumberedTable, table=True):
    """An event: the action, its author and its entry point. An erasure deletes this content but keeps the event's link.

    `before`, `after` and `detail` are JSON. The `salt` keeps a digest from revealing erased content.
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
    """A link in a chain, with the digest of its event's content and a hash of this digest and the previous hash.

    `chain` is the run's id, or 0 for the access chain; `place` counts the links of a chain from 1.

    `erases` is a JSON list of the events whose content this event erased. `rows` is a JSON list of [table, id, digest]
    of the rows that a transaction changed (null for a removed row). A link of rows has no event and no
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
    """The salt of a linked row's latest digest, removed with the row, so that no digest reveals the content."""

    __tablename__ = "row_salt"
    __table_args__ = {"sqlite_with_rowid": False}

    name: str = Field(primary_key=True)
    row_id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    salt: str


class ChainEnd(Table, table=True):
    """The end of a chain; a check uses it to detect a missing last event.

    `sealed` is the number of links in the chain at its last seal in the access chain.
    """

    __tablename__ = "chain_end"

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    event_id: int = 0
    events: int = 0
    hash: str = ""
    sealed: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class DatabaseKey(Table, table=True):
    """The table's only row: a random key that identifies this database and never changes.

    `epoch` starts at 1 and increases with each restore.
    """

    __tablename__ = "database_key"

    id: int = Field(default=1, primary_key=True)
    key: str
    epoch: int = Field(default=1, sa_column_kwargs={"server_default": "1"})
