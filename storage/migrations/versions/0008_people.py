"""People, their invitations and sessions; of the secret in a participant's link its SHA-256 alone is kept."""

from hashlib import sha256

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Adds the tables, empty: nobody could prove who they were before."""
    _person()
    _invitation()
    _session()
    _hash_secrets()


def _person() -> None:
    op.create_table(
        "person",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("roles", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("disabled_ms", sa.BigInteger()),
        sa.UniqueConstraint("name_key", name="uq_person_name_key"),
    )


def _invitation() -> None:
    op.create_table(
        "invitation",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("person_id", sa.Integer(), sa.ForeignKey("person.id", name="fk_invitation_person_id")),
        sa.Column("roles", sa.String(), nullable=False),
        sa.Column("invited_by", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.Column("used_ms", sa.BigInteger()),
        sa.UniqueConstraint("token_hash", name="uq_invitation_token_hash"),
    )
    op.create_index("ix_invitation_person", "invitation", ["person_id"])


def _session() -> None:
    person = sa.ForeignKey("person.id", name="fk_person_session_person_id")
    op.create_table(
        "person_session",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("person_id", sa.Integer(), person, nullable=False),
        sa.Column("browser", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger()),
        sa.UniqueConstraint("token_hash", name="uq_person_session_token_hash"),
    )
    op.create_index("ix_person_session_person", "person_session", ["person_id"])


def _hash_secrets() -> None:
    table = sa.table("participant", sa.column("id", sa.Integer), sa.column("secret", sa.String))
    connection = op.get_bind()
    for row in connection.execute(sa.select(table).where(table.c.secret.is_not(None))).all():
        hashed = sha256(row.secret.encode()).hexdigest()
        connection.execute(table.update().where(table.c.id == row.id).values(secret=hashed))
