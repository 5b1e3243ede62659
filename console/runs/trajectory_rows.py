"""Rows of tasks and trajectories, with their pictures, imported decisions, intents and search index.

Each function except `catch_up_index` runs in the caller's transaction.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import orjson
from sqlalchemy import Connection, Executable, bindparam, insert, select, update
from sqlmodel import Session, col

from console.auth.audit_log import Door
from console.database import reading, writing
from console.environments import ENVIRONMENTS
from console.environments.environment import TaskSpec
from console.runs.importers.records import DECIDED
from console.trajectory import Label, Picture, Step, Trajectory, checkpoints
from storage import tables
from storage.queue.transaction import Transaction
from storage.tables import DecisionKind, server_search, text_search

# Written for every step of every trial, so they are put together once.
_TRAJECTORY, _TEXT = tables.Trajectory, tables.TrajectoryBody
_ROW = (
    update(_TRAJECTORY)
    .where(col(_TRAJECTORY.id) == bindparam("trajectory"))
    .values(
        {
            name: bindparam(name)
            for name in ("outcome", "recorded_outcome", "label", "critical_action", "n_steps", "n_critical")
        }
    )
)
_BODY = update(_TEXT).where(col(_TEXT.trajectory_id) == bindparam("trajectory")).values(body=bindparam("body"))

_INSERT_TASK = """
INSERT INTO task (run_id, task_key, environment, instruction, instruction_digest)
VALUES (:run_id, :task_key, :environment, :instruction, :instruction_digest)
ON CONFLICT (run_id, task_key, instruction_digest) DO NOTHING"""

_INSERT_TRAJECTORY = """
INSERT INTO trajectory (run_id, task_id, trial, environment, outcome, recorded_outcome, label, carried_over,
                        critical_action, n_steps, n_critical, digest, source, created_ms, import_id)
VALUES (:run_id,
        (SELECT id FROM task
         WHERE run_id = :run_id AND task_key = :task_key AND instruction_digest = :instruction_digest),
        :trial, :environment, :outcome, :recorded_outcome, :label, :carried_over, :critical_action, :n_steps,
        :n_critical, :digest, :source, :created_ms, :import_id)"""

_INSERT_BODY = """
INSERT INTO trajectory_body (trajectory_id, body)
VALUES ((SELECT id FROM trajectory WHERE run_id = :run_id AND digest = :digest), :body)"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A trajectory prepared for insertion: its task, its row, and its canonical JSON."""

    task: dict[str, Any]
    row: dict[str, Any]
    body: str


def prepare(record: Trajectory, patterns: Sequence[str]) -> Prepared:
    """Return a trajectory's row, task and canonical JSON, ready to insert."""
    task = {
        "task_key": record.task_id,
        "environment": record.environment,
        "instruction": record.instruction,
        "instruction_digest": checkpoints.digest(record.instruction),
    }
    row = {
        "trial": record.trial,
        "environment": record.environment,
        "outcome": str(record.outcome),
        "recorded_outcome": str(record.outcome),
        "label": record.label,
        "carried_over": record.carried_over,
        "critical_action": record.critical_action,
        "n_steps": len(record.steps),
        "n_critical": count_critical(record, patterns),
        "digest": record.content_digest(),
        "source": orjson.dumps(dict(record.source)).decode(),
    }
    return Prepared(task, row, record.to_json())


def insert_rows(
    session: Session, run: tables.Run, records: Sequence[Prepared], now_ms: int, import_id: int | None = None
) -> None:
    """Insert new trajectories with their tasks and bodies; keep existing tasks.

    Find tasks and trajectories by their natural keys, so that the database does not have to return ids.
    """
    if not records:
        return
    common = {"run_id": run.id, "created_ms": now_ms, "import_id": import_id}
    rows = [{**one.task, **one.row, **common, "body": one.body} for one in records]
    db = Transaction.joined(session)
    for statement in (_INSERT_TASK, _INSERT_TRAJECTORY, _INSERT_BODY):
        db.run_many(statement, rows)


def list_stored(session: Session, run: tables.Run, digests: Sequence[str]) -> set[str]:
    """Return those of these content digests whose trajectories the run contains."""
    record = tables.Trajectory
    # One parameter for all digests: a thousand would each be looked at by SQLAlchemy before they are sent.
    among = col(record.digest).in_(bindparam("digests", expanding=True))
    statement = select(col(record.digest)).where(col(record.run_id) == run.id, among)
    return set(session.execute(statement, {"digests": digests}).scalars())


def insert_task(session: Session, run: tables.Run, task: tables.Task) -> int:
    """Return the id of the run's own copy of another run's task; keep the copy if it exists already."""
    row = {"run_id": run.id, **{name: getattr(task, name) for name in TASK_COLUMNS}}
    db = Transaction.joined(session)
    db.run(_INSERT_TASK, **row)
    table = tables.Task
    same = col(table.task_key) == task.task_key, col(table.instruction_digest) == task.instruction_digest
    return int(session.execute(select(col(table.id)).where(col(table.run_id) == run.id, *same)).scalar_one())


TASK_COLUMNS = ("task_key", "environment", "instruction", "instruction_digest")


def count_critical(record: Trajectory, patterns: Sequence[str]) -> int:
    """Return the number of executed critical actions, including failed actions."""
    refused = ENVIRONMENTS[record.environment].not_executed or ("\0",)
    found = [record.steps[at] for at in checkpoints.find_critical([step.action for step in record.steps], patterns)]
    ran = (step.action for step in found if not step.observation.lstrip().startswith(refused))
    return sum(checkpoints.count_critical(action, patterns) for action in ran)


def task_spec(task: tables.Task) -> TaskSpec:
    """Return a `task` row as a task of its environment, with gold and options."""
    gold, options = orjson.loads(task.gold), orjson.loads(task.options)
    return TaskSpec(task.task_key, task.environment, task.instruction, gold, options)


def write(session: Session, trajectory_id: int, record: Trajectory, patterns: Sequence[str]) -> None:
    """Update the trajectory's row and body from the record."""
    row = {
        "trajectory": trajectory_id,
        "outcome": str(record.outcome),
        "recorded_outcome": str(record.outcome),
        "label": record.label,
        "critical_action": record.critical_action,
        "n_steps": len(record.steps),
        "n_critical": count_critical(record, patterns),
    }
    connection = session.connection()
    connection.execute(_ROW, row)
    connection.execute(_BODY, {"trajectory": trajectory_id, "body": record.to_json()})


def intend(session: Session, trajectory_id: int, step: int, action: str, decision_id: int | None, at_ms: int) -> int:
    """Store the intent to run the critical action as this step, before the action runs; return the intent's id.

    Raise IntegrityError if the step already has an intent.
    """
    row = {
        "trajectory_id": trajectory_id,
        "step": step,
        "action": action,
        "action_digest": checkpoints.digest(action),
        "decision_id": decision_id,
        "started_ms": at_ms,
    }
    return insert_row(session.connection(), "intent", row)


def insert_row(connection: Connection, table: str, row: Mapping[str, Any]) -> int:
    """Insert a row and return its id, without the ORM, which would take most of the time of an unflagged check."""
    inserted: int = connection.execute(_insertion(table), row).scalar_one()
    return inserted


@cache
def _insertion(table: str) -> Executable:
    columns = tables.Table.metadata.tables[table]
    return insert(columns).returning(*columns.primary_key)


_INSERT_PICTURE = """
INSERT INTO picture (digest, media_type, data) VALUES (:digest, :media_type, :data) ON CONFLICT (digest) DO NOTHING"""


def store_pictures(session: Session, pictures: Iterable[Mapping[str, object]]) -> None:
    """Insert the new pictures among these; each picture has `digest`, `media_type` and `data`."""
    db = Transaction.joined(session)
    for picture in pictures:
        db.run(_INSERT_PICTURE, **picture)


def load_pictures(session: Session, wanted: Iterable[Picture]) -> dict[str, tuple[str, bytes]]:
    """Return (media type, bytes) by digest for the stored pictures among `wanted`."""
    digests = {picture.digest for picture in wanted}
    if not digests:
        return {}
    picture = tables.StoredPicture
    rows = session.scalars(select(picture).where(col(picture.digest).in_(digests)))
    return {row.digest: (row.media_type, row.data) for row in rows}


_LABELS = {
    DecisionKind.APPROVE: Label.ALIGNED,
    DecisionKind.REJECT: Label.MISALIGNED,
    DecisionKind.EDIT: Label.MISALIGNED,
}

_DECISIONS_AT_ONCE = 1_000

_INSERT_ITEM = """
INSERT INTO item (run_id, trial, trajectory_id, step, kind, status, priority, open_slots, reviews_required, created_ms)
SELECT run_id, trial, id, :step, 'action', 'delivered', 0.0, 0, 0, :now_ms FROM trajectory
WHERE run_id = :run_id AND digest = :digest
ON CONFLICT (trajectory_id, step, kind) DO NOTHING"""

_INSERT_DECISION = """
INSERT INTO decision (item_id, reviewer, annotator_kind, decision, label, feedback_type, feedback_text, action_digest,
                      submit_key, revision, superseded, budget_used, claimed_ms, decided_ms, deliverable_ms,
                      delivered_ms, door)
SELECT i.id, :who, 'human', :decision, :label, :feedback_type, :words, :action_digest, 'import-' || i.id, 1, false, 0,
       :now_ms, :now_ms, :now_ms, :now_ms, :door
FROM item i JOIN trajectory t ON t.id = i.trajectory_id
WHERE t.run_id = :run_id AND t.digest = :digest AND i.step = :step AND i.kind = 'action' AND i.status = 'delivered'
  AND i.reviews_required = 0 AND NOT EXISTS (SELECT 1 FROM decision d WHERE d.item_id = i.id)"""


def list_imported_decisions(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Return the imported decisions of the steps, with the fields `step`, `action`, `decision`, `who`, `words`."""
    return [
        {"step": place, "action": step.action, **step.extra[DECIDED]}
        for place, step in enumerate(steps)
        if DECIDED in step.extra
        and isinstance(step.extra[DECIDED], dict)
        and step.extra[DECIDED].get("decision") in tuple(_LABELS)
    ]


def store_decisions(
    session: Session, run: tables.Run, by_digest: Iterable[tuple[str, list[dict[str, Any]]]], now_ms: int
) -> int:
    """Store each decision once on the trajectories with these digests; return the number of new decisions."""
    rows = (
        {"run_id": run.id, "digest": key, "now_ms": now_ms, **_row(decided)}
        for key, decisions in by_digest
        for decided in decisions
    )
    db, fresh = Transaction.joined(session), 0
    while batch := list(islice(rows, _DECISIONS_AT_ONCE)):
        db.run_many(_INSERT_ITEM, batch)
        fresh += db.run_many(_INSERT_DECISION, batch)
    return fresh


def _row(decided: Mapping[str, Any]) -> dict[str, Any]:
    kind, words = DecisionKind(decided["decision"]), str(decided.get("words") or "")
    return {
        "step": decided["step"],
        "who": str(decided.get("who") or "somebody"),
        "decision": str(kind),
        "label": str(_LABELS[kind]),
        "feedback_type": "nl" if words else "binary",
        "words": words,
        "action_digest": checkpoints.digest(decided["action"]),
        "door": str(Door.IMPORT),
    }


def catch_up_index(seconds: float | None = None) -> int:
    """Add new trajectories to the text index in short transactions, for about `seconds` or without a limit.

    Return the number of trajectories that are not yet in the index.
    """
    with reading() as session:
        left = text_search.waiting(session.connection())
    end = None if seconds is None else time.monotonic() + seconds
    while left and (end is None or time.monotonic() < end):
        with writing() as session:
            index = text_search if session.connection().dialect.name == "sqlite" else server_search
            left = index.index_queued(session.connection())
    return left
