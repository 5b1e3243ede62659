"""Audit: who did what through which door, chained; and the key that tells this database from every other."""

import secrets

import sqlalchemy as sa
from alembic import op

from storage import audit_chain

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Adds the columns and tables, and chains the events so far in their order."""
    for name in ("door", "place", "salt"):
        op.add_column("event", sa.Column(name, sa.String(), nullable=False, server_default=""))
    for name in ("before", "after"):
        op.add_column("event", sa.Column(name, sa.String(), nullable=True))
    op.add_column("decision", sa.Column("door", sa.String(), nullable=False, server_default="browser"))
    op.add_column("decision", sa.Column("seen_digest", sa.String(), nullable=True))
    _event_link()
    _chain_end()
    key = op.create_table(
        "database_key", sa.Column("id", sa.Integer(), primary_key=True), sa.Column("key", sa.String(), nullable=False)
    )
    op.bulk_insert(key, [{"id": 1, "key": secrets.token_hex(16)}])
    connection = op.get_bind()
    audit_chain.begin(connection)
    audit_chain.take_in(connection)


def _event_link() -> None:
    op.create_table(
        "event_link",
        sa.Column("event_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("erases", sa.String(), nullable=False),
        sa.Column("content_digest", sa.String(), nullable=False),
        sa.Column("previous_hash", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
    )


def _chain_end() -> None:
    op.create_table(
        "chain_end",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("event_id", sa.Integer(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
    )
