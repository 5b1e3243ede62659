"""Groups of people, and the person in whose name an agent asks."""

import sqlalchemy as sa
from alembic import op

from storage.linked_rows import postgres_triggers

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Create the tables of groups and of agents' owners."""
    op.create_table(
        "group_member",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column(
            "person_id", sa.Integer(), sa.ForeignKey("person.id", name="fk_group_member_person_id"), nullable=False
        ),
        sa.UniqueConstraint("name_key", "person_id", name="uq_group_member_name_key_person_id"),
    )
    op.create_table(
        "agent_owner",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("agent_id", sa.Integer(), sa.ForeignKey("agent.id", name="fk_agent_owner_agent_id"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.UniqueConstraint("agent_id", name="uq_agent_owner_agent_id"),
    )
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        for statement in postgres_triggers(("group_member", "agent_owner")):
            connection.exec_driver_sql(statement)
