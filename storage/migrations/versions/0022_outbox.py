"""One outbox for all messages, in place of the table of webhooks, and people's channels for notices."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

_CARRIED = """
INSERT INTO outbox (event, subject_id, channel, created_ms, attempts, next_ms, delivered_ms, failure, is_open)
SELECT 'decision.made', w.decision_id, 'webhook ' || w.url, d.deliverable_ms, w.attempts, w.next_ms, w.delivered_ms,
  w.failure, {no} FROM webhook_delivery w JOIN decision d ON d.id = w.decision_id ORDER BY w.id"""
_VIEW = """
CREATE VIEW webhook_delivery AS
SELECT id, subject_id AS decision_id, substr(channel, 9) AS url, attempts, next_ms, delivered_ms, failure
FROM outbox WHERE event = 'decision.made'"""


def upgrade() -> None:
    """Create the tables, move the deliveries, and keep their earlier table as a view."""
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_ms", sa.BigInteger(), nullable=False),
        sa.Column("delivered_ms", sa.BigInteger()),
        sa.Column("failure", sa.String(), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.UniqueConstraint("subject_id", "event", "channel", name="uq_outbox_subject_id_event_channel"),
    )
    for name, columns, condition in (
        ("ix_outbox_due", ["channel", "next_ms"], "delivered_ms IS NULL"),
        ("ix_outbox_open", ["channel"], "is_open"),
    ):
        op.create_index(name, "outbox", columns, sqlite_where=sa.text(condition), postgresql_where=sa.text(condition))
    op.create_table(
        "notice_channel",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column(
            "person_id", sa.Integer(), sa.ForeignKey("person.id", name="fk_notice_channel_person_id"), nullable=False
        ),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("kind", "address", "secret", "run_ids", "events")),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("quiet", "time_zone", "language")),
        sa.Column("muted", sa.Boolean(), nullable=False),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
        sa.Column("next_ms", sa.BigInteger(), nullable=False),
        sa.Column("used_ms", sa.BigInteger()),
        sa.Column("failure", sa.String(), nullable=False),
    )
    op.create_index("ix_notice_channel_person", "notice_channel", ["person_id"])
    no = "0" if op.get_bind().dialect.name == "sqlite" else "false"
    op.execute(_CARRIED.format(no=no))
    op.drop_table("webhook_delivery")
    op.execute(_VIEW)
