"""User studies: designs, participants, assignments, probes, adjudications."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Adds what user studies need; runs so far belong to none."""
    _study()
    with op.batch_alter_table("run") as run:
        run.add_column(sa.Column("study_id", sa.Integer(), nullable=True))
        run.create_foreign_key("fk_run_study_id", "study", ["study_id"], ["id"])
    op.create_index("ix_run_study", "run", ["study_id"])
    _participant()
    _assignment()
    _probe()
    _adjudication()


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer(), primary_key=True)


def _reference(table: str, column: str, target: str, *, required: bool = True) -> sa.Column[int]:
    key = sa.ForeignKey(f"{target}.id", name=f"fk_{table}_{column}")
    return sa.Column(column, sa.Integer(), key, nullable=not required)


def _time(name: str, *, required: bool = True) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=not required)


def _text(name: str, *, required: bool = True) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=not required)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _one_of(column: str, *words: str) -> sa.CheckConstraint:
    allowed = ", ".join(f"'{word}'" for word in words)
    return sa.CheckConstraint(f"{column} IN ({allowed})", name=f"ck_{column}_known")


def _study() -> None:
    op.create_table(
        "study",
        _id(),
        _text("name"),
        _text("design"),
        _text("status"),
        _text("join_code"),
        _time("created_ms"),
        _time("opened_ms", required=False),
        _time("closed_ms", required=False),
        sa.UniqueConstraint("name", name="uq_study_name"),
        sa.UniqueConstraint("join_code", name="uq_study_join_code"),
        _one_of("status", "draft", "open", "paused", "closed"),
    )


def _participant() -> None:
    op.create_table(
        "participant",
        _id(),
        _reference("participant", "study_id", "study"),
        _number("number"),
        _text("code"),
        _text("kind"),
        _text("rule"),
        _text("secret", required=False),
        _text("stage"),
        _text("answers"),
        _reference("participant", "practice_run_id", "run", required=False),
        _time("joined_ms", required=False),
        _time("consented_ms", required=False),
        _time("finished_ms", required=False),
        _text("completion_code", required=False),
        sa.UniqueConstraint("study_id", "code", name="uq_participant_study_id_code"),
        sa.UniqueConstraint("secret", name="uq_participant_secret"),
        _one_of("kind", "human", "oracle", "noisy", "rules"),
    )
    op.create_index("ix_participant_study", "participant", ["study_id", "number"])


def _assignment() -> None:
    op.create_table(
        "assignment",
        _id(),
        _reference("assignment", "study_id", "study"),
        _reference("assignment", "participant_id", "participant"),
        _number("position"),
        _text("condition"),
        _text("levels"),
        _text("tasks"),
        _reference("assignment", "run_id", "run", required=False),
        _reference("assignment", "checks_run_id", "run", required=False),
        _text("status"),
        _time("began_ms", required=False),
        _time("ended_ms", required=False),
        sa.UniqueConstraint("participant_id", "position", name="uq_assignment_participant_id_position"),
        _one_of("status", "waiting", "working", "done"),
    )
    op.create_index("ix_assignment_study", "assignment", ["study_id"])
    op.create_index("ix_assignment_run", "assignment", ["run_id"])
    op.create_index("ix_assignment_checks_run", "assignment", ["checks_run_id"])


def _probe() -> None:
    op.create_table(
        "probe",
        _id(),
        _reference("probe", "study_id", "study"),
        _reference("probe", "participant_id", "participant"),
        _reference("probe", "assignment_id", "assignment", required=False),
        _reference("probe", "item_id", "item"),
        _text("purpose"),
        _text("expected"),
        _text("explanation"),
        _number("after"),
        sa.UniqueConstraint("item_id", name="uq_probe_item_id"),
        _one_of("purpose", "practice", "attention", "known-good", "known-bad"),
    )
    op.create_index("ix_probe_study", "probe", ["study_id"])


def _adjudication() -> None:
    op.create_table(
        "adjudication",
        _id(),
        _reference("adjudication", "study_id", "study", required=False),
        _reference("adjudication", "run_id", "run", required=False),
        _text("unit"),
        _number("revision"),
        _text("label"),
        _text("note"),
        _text("adjudicator"),
        _time("at_ms"),
        sa.UniqueConstraint(
            "study_id", "run_id", "unit", "revision", name="uq_adjudication_study_id_run_id_unit_revision"
        ),
    )
    op.create_index("ix_adjudication_study", "adjudication", ["study_id"])
    op.create_index("ix_adjudication_run", "adjudication", ["run_id"])
