"""Spans that agents send over OTLP."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Create the table of live spans."""
    op.create_table(
        "live_span",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_live_span_run_id"), nullable=False),
        sa.Column("trace_id", sa.String(), nullable=False),
        sa.Column("span_id", sa.String(), nullable=False),
        sa.Column("is_root", sa.Boolean(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("received_ms", sa.BigInteger(), nullable=False),
        sa.Column("built_ms", sa.BigInteger()),
        sa.UniqueConstraint("run_id", "trace_id", "span_id", name="uq_live_span_run_id_trace_id_span_id"),
    )
    waiting = sa.text("built_ms IS NULL")
    op.create_index(
        "ix_live_span_waiting", "live_span", ["run_id", "trace_id"], sqlite_where=waiting, postgresql_where=waiting
    )
