"""Growth of sessions and traces: a longer version of a known request extends its trajectory in place.

Session, request and task id identify a trajectory. Steps up to the last step seen by a reviewer do not change, and keep
their decisions. A version that changes one of these steps becomes a separate trajectory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import bindparam, delete, func, or_, update
from sqlmodel import Session, col, select

from console import runs
from console.environments import environment
from console.runs import removal, trajectory_rows
from console.runs.trajectory_rows import Prepared
from console.trajectory import Step, Trajectory, from_json
from storage import tables
from storage.tables import ItemStatus, SlotStatus

_IDENTITY = update(tables.Trajectory).where(col(tables.Trajectory.id) == bindparam("trajectory"))
_KNOWN_KEYS = select(tables.Task.task_key).where(
    col(tables.Task.run_id) == bindparam("run"), col(tables.Task.task_key).in_(bindparam("keys", expanding=True))
)
_TAKEN = (SlotStatus.CLAIMED, SlotStatus.DECIDED)


def log_import(session: Session, run: tables.Run, file: str, now_ms: int, *, again: bool) -> tables.LogImport:
    """Return a new import of the file; if `again` (the file has grown), return the file's earlier import."""
    table = tables.LogImport
    same = select(table).where(col(table.run_id) == run.id, col(table.file) == file, col(table.undone_ms).is_(None))
    known = session.exec(same.order_by(col(table.id).desc())).first() if again else None
    made = known or table(run_id=run.id or 0, file=file, created_ms=now_ms)
    session.add(made)
    session.flush()
    return made


def list_inserted_ids(session: Session, made: tables.LogImport, number: int) -> list[int]:
    """Return the ids of the import's last `number` trajectories."""
    record = tables.Trajectory
    last = select(record.id).where(col(record.import_id) == made.id).order_by(col(record.id).desc()).limit(number)
    return [one or 0 for one in session.exec(last)] if number else []


def extend_known(session: Session, run: tables.Run, batch: Sequence[Prepared]) -> tuple[list[Prepared], list[int]]:
    """Extend the trajectories with longer versions in the batch.

    Return (versions to insert, ids of the extended trajectories). A version that the known trajectory already contains
    is in neither list.
    """
    others: list[Prepared] = []
    extended: list[int] = []
    sources = [orjson.loads(one.row["source"]) for one in batch]
    keys = {one.task["task_key"] for one, source in zip(batch, sources, strict=True) if source.get("session")}
    keys = set(session.execute(_KNOWN_KEYS, {"run": run.id, "keys": list(keys)}).scalars()) if keys else keys
    for one, source in zip(batch, sources, strict=True):
        known = _known(session, run, one, source) if one.task["task_key"] in keys and source.get("session") else []
        if not known or trajectory_rows.list_stored(session, run, [one.row["digest"]]):
            others.append(one)
            continue
        done = _extend(session, run, known[-1], from_json(one.body), one.row["digest"])
        extended += [known[-1].id or 0] if done else []
        others += [one] if done is None else []
    return others, extended


def _known(session: Session, run: tables.Run, one: Prepared, source: dict[str, Any]) -> list[tables.Trajectory]:
    record, task = tables.Trajectory, tables.Task
    statement = (
        select(record)
        .join(task, col(task.id) == record.task_id)
        .where(col(record.run_id) == run.id, col(task.task_key) == one.task["task_key"])
        .where(col(record.trial) == one.row["trial"])
        .order_by(col(record.id))
    )
    rows = session.exec(statement)
    return [row for row in rows if orjson.loads(row.source).get("session") == source["session"]]


def _extend(session: Session, run: tables.Run, row: tables.Trajectory, new: Trajectory, digest: str) -> bool | None:
    """Store the longer version. Return True if stored, False if it is not longer, None if it contradicts a review."""
    old = from_json(session.get_one(tables.TrajectoryBody, row.id).body)
    seen = _last_seen(session, row.id or 0)
    same = _first_change(old.steps, new.steps)
    if same == len(new.steps) < len(old.steps):
        return False
    if same <= seen:
        return None
    steps = [*(_filled(before, after) for before, after in zip(old.steps, new.steps[: seen + 1], strict=False))]
    merged = replace(new, steps=(*steps, *new.steps[len(steps) :]))
    if seen >= 0:
        merged = replace(merged, instruction=old.instruction, opening=old.opening)
    _withdraw(session, row.id or 0, same)
    _write(session, run, row, merged, digest)
    return True


def _last_seen(session: Session, trajectory_id: int) -> int:
    """Return the last step that a reviewer has claimed or decided, or -1 if no step is claimed or decided."""
    item, slot, decision = tables.Item, tables.Slot, tables.Decision
    taken = select(slot.item_id).where(col(slot.status).in_(_TAKEN))
    decided = select(decision.item_id)
    statement = select(func.max(item.step)).where(
        col(item.trajectory_id) == trajectory_id,
        or_(col(item.status) != ItemStatus.PENDING, col(item.id).in_(taken), col(item.id).in_(decided)),
    )
    found = session.exec(statement).first()
    return -1 if found is None else int(found)


def _first_change(old: Sequence[Step], new: Sequence[Step]) -> int:
    """Return the index of the first changed step; an observation with text added at its end counts as unchanged."""
    for place, (before, after) in enumerate(zip(old, new, strict=False)):
        same = (before.thought, before.action, before.speaker) == (after.thought, after.action, after.speaker)
        if not same or not after.observation.startswith(before.observation):
            return place
    return min(len(old), len(new))


def _filled(before: Step, after: Step) -> Step:
    """Return the known step, completed with the new observation if it had none."""
    return before if before.observation else replace(before, observation=after.observation, pictures=after.pictures)


def _withdraw(session: Session, trajectory_id: int, first: int) -> None:
    """Delete the verdicts and pending items from step `first` on."""
    verdict, item = tables.Verdict, tables.Item
    removal.remove_items(
        session, select(item.id).where(col(item.trajectory_id) == trajectory_id, col(item.step) >= first)
    )
    session.execute(delete(verdict).where(col(verdict.trajectory_id) == trajectory_id, col(verdict.step) >= first))


def _write(session: Session, run: tables.Run, row: tables.Trajectory, record: Trajectory, digest: str) -> None:
    patterns = (*runs.patterns(run), *environment(record.environment).critical)
    ready = trajectory_rows.prepare(record, patterns)
    task_id = trajectory_rows.insert_task(session, run, tables.Task(run_id=run.id or 0, **ready.task))
    trajectory_rows.write(session, row.id or 0, record, patterns)
    # The digest of the file's own version, so that the same file is a duplicate.
    values = {"digest": digest, "source": ready.row["source"], "task_id": task_id}
    session.connection().execute(_IDENTITY.values(values), {"trajectory": row.id})
