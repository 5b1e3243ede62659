"""Where participants come from, what they are asked beside the items, and what their browser tells of a page."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


_INDEXES = (
    ("study_invitation", "study"),
    ("questionnaire_answer", "participant"),
    ("questionnaire_answer", "study"),
    ("confidence", "participant"),
    ("page_event", "participant"),
    ("page_event", "study"),
)


def upgrade() -> None:
    """Adds them; no participant of before came with an outside id."""
    op.add_column("participant", sa.Column("outside_id", sa.String()))
    op.add_column("participant", sa.Column("consent_version", sa.String()))
    op.create_index("ix_participant_outside", "participant", ["study_id", "outside_id"], unique=True)
    op.create_table(
        "study_invitation",
        _id(),
        _reference("study_invitation", "study"),
        sa.Column("token", sa.String(), nullable=False),
        _reference("study_invitation", "participant", nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("token", name="uq_study_invitation_token"),
    )
    op.create_table(
        "questionnaire_answer",
        _id(),
        _reference("questionnaire_answer", "study"),
        _reference("questionnaire_answer", "participant"),
        _reference("questionnaire_answer", "assignment", nullable=True),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("moment", "instrument", "item", "answer")),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "confidence",
        sa.Column(
            "decision_id",
            sa.Integer(),
            sa.ForeignKey("decision.id", name="fk_confidence_decision_id"),
            primary_key=True,
        ),
        _reference("confidence", "participant"),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "page_event",
        _id(),
        *(_reference("page_event", name) for name in ("study", "participant", "item")),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("kind", "detail")),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("ms", "lasted_ms")),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
    )
    for table, of in _INDEXES:
        op.create_index(f"ix_{table}_{of}", table, [f"{of}_id"])


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer(), primary_key=True)


def _reference(table: str, other: str, *, nullable: bool = False) -> sa.Column[int]:
    key = sa.ForeignKey(f"{other}.id", name=f"fk_{table}_{other}_id")
    return sa.Column(f"{other}_id", sa.Integer(), key, nullable=nullable)
