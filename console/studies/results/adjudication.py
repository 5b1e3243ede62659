"""Labels of checkpoints, and adjudication: a person without access to names or conditions settles the label of a
disagreement, in revisions.

If the source of a trajectory has a label, that label is the ground truth. In a live run, a rejected action never runs
and an edited action is a different action. The result of the pending action is therefore found in a copy of the
embedded world. The keys of checkpoints are the same for all participants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sqlalchemy import func
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.auth import audit_log
from console.auth.audit_log import By, Door
from console.environments import ENVIRONMENTS
from console.errors import BadInput, Refused, Unknown
from console.review.simulated.faults import find_true_label
from console.runs import is_current
from console.runs.trajectory_rows import task_spec
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import pending_checkpoint
from storage import tables
from storage.queue import HALTED
from storage.tables import RunKind

_AT_ONCE = 500


def gold_labels(session: Session, raw: pd.DataFrame) -> pd.Series[Any]:
    """Return the true label of each row, missing if unknown; `raw` has the columns item_id and trajectory_label."""
    tried = dict(_tried(session, sorted({int(item) for item in raw["item_id"]})))
    return raw["item_id"].map(tried).astype("str").fillna(raw["trajectory_label"])


def _tried(session: Session, items: Sequence[int]) -> Iterator[tuple[int, str]]:
    live = sa_select(col(tables.Run.id)).where(col(tables.Run.kind) == RunKind.LIVE).limit(1)
    if session.execute(live).first() is None:
        return
    known: dict[tuple[str, ...], str] = {}
    for start in range(0, len(items), _AT_ONCE):
        for item_id, step, kind, task, body in session.execute(_live(items[start : start + _AT_ONCE])):
            # Trial 0 of a task is the same text for all participants, so its action is run only once.
            case = (task.instruction_digest, task.gold, body, str(step), kind)
            if case not in known:
                known[case] = str(find_true_label(task_spec(task), pending_checkpoint(from_json(body), step, kind)))
            yield item_id, known[case]


def _live(items: Sequence[int]) -> Any:
    item, run, record, task = tables.Item, tables.Run, tables.Trajectory, tables.Task
    body = tables.TrajectoryBody
    worlds = [name for name, environment in ENVIRONMENTS.items() if environment.start]
    return (
        sa_select(col(item.id), col(item.step), col(item.kind), task, col(body.body))
        .join(run, col(run.id) == col(item.run_id))
        .join(record, col(record.id) == col(item.trajectory_id))
        .join(task, col(task.id) == col(record.task_id))
        .join(body, col(body.trajectory_id) == col(record.id))
        .where(col(item.id).in_(items), col(run.kind) == RunKind.LIVE, col(item.kind) != HALTED)
        .where(col(task.environment).in_(worlds), col(task.gold) != "{}")
    )


def checkpoint_key(task_key: str, step: int, kind: str, trial: int = 0) -> str:
    """Return the key of a checkpoint in its study or run; in trial 0 it is the same for all participants."""
    name = f"{task_key}/{step}/{kind}"
    return name if trial == 0 else f"{name}/trial {trial}"


def select_labelled(study_id: int | None, run_id: int | None, reviewer: str | None = None) -> Any:
    """Return a select of checkpoints with labels: task key, step, kind, trial, item, and the counts of both labels.

    For a study, the select covers trial 0 of its participants' own items; for a run, it covers all items.
    """
    item, decision, record, task = tables.Item, tables.Decision, tables.Trajectory, tables.Task
    place = task.task_key, item.step, item.kind, item.trial
    counted = [func.count().filter(col(decision.label) == label) for label in (Label.ALIGNED, Label.MISALIGNED)]
    statement = (
        sa_select(*map(col, place), func.min(item.id), *counted)
        .select_from(item)
        .join(decision, col(decision.item_id) == col(item.id))
        .join(record, col(record.id) == item.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(is_current(), col(decision.label).is_not(None))
        .group_by(*map(col, place))
    )
    if reviewer is not None:
        statement = statement.where(col(decision.reviewer) == reviewer)
    if study_id is None:
        return statement.where(col(item.run_id) == run_id)
    arms = sa_select(col(tables.Assignment.run_id)).where(col(tables.Assignment.study_id) == study_id)
    return statement.where(col(item.run_id).in_(arms), col(item.trial) == 0)


MAX_NOTE = 2_000
"""The maximum length of a note, in characters; a longer note is probably pasted by mistake."""


@dataclass(frozen=True, slots=True)
class Of:
    """The scope of disagreements: either the id of a study or the id of a run."""

    study_id: int | None = None
    run_id: int | None = None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A checkpoint with differing labels and one of its items; the label counts are None until the label is settled."""

    unit: str
    item_id: int
    labels: int
    settled: str | None = None
    note: str = ""
    revision: int = 0
    aligned: int | None = None
    misaligned: int | None = None


def disagreements(session: Session, of: Of) -> list[Disagreement]:
    """List checkpoints whose current labels differ, by unit: all items of a run, but only trial 0 of a study."""
    latest, found = _latest(session, of), []
    for *place, item_id, aligned, misaligned in session.execute(select_labelled(of.study_id, of.run_id)):
        if aligned and misaligned:
            unit, both = checkpoint_key(*place), aligned + misaligned
            last = latest.get(unit)
            settled = (last.label, last.note, last.revision, aligned, misaligned) if last else ()
            found.append(Disagreement(unit, item_id, both, *settled))
    return sorted(found, key=lambda one: one.unit)


def settle(
    session: Session, of: Of, unit: str, label: str, note: str, adjudicator: str, now_ms: int, *, by: By | None = None
) -> tables.Adjudication:
    """Add the settled label as a revision; raise BadInput, Unknown, or Refused for a reviewer of the checkpoint."""
    _check(label, note, adjudicator)
    known = {found.unit: found for found in disagreements(session, of)}
    if unit not in known:
        raise Unknown("disagreement", unit, list(known), by="unit")
    own = {checkpoint_key(*row[:4]) for row in session.execute(select_labelled(of.study_id, of.run_id, adjudicator))}
    if unit in own:
        raise Refused(f"{adjudicator} has labelled {unit} as a reviewer. Let another person settle the label.")
    row = tables.Adjudication(
        study_id=of.study_id,
        run_id=of.run_id,
        unit=unit,
        revision=known[unit].revision + 1,
        label=str(label),
        note=note.strip(),
        adjudicator=adjudicator.strip(),
        at_ms=now_ms,
    )
    session.add(row)
    run = session.get(tables.Run, of.run_id) if of.run_id is not None else None
    before = known[unit].settled
    audit_log.record(
        session,
        run,
        "label settled",
        now_ms,
        by=by or By(adjudicator.strip(), Door.PYTHON),
        subject=unit,
        before=before,
        after=str(label),
    )
    return row


def settled_labels(session: Session, of: Of) -> dict[str, str]:
    """Return the latest settled label of each unit."""
    return {unit: row.label for unit, row in _latest(session, of).items()}


def revisions(session: Session, of: Of) -> list[tables.Adjudication]:
    """List every revision of every settled label, by unit and revision."""
    if (of.study_id is None) == (of.run_id is None):
        raise BadInput("Name either a study or a run.")
    row: Any = tables.Adjudication
    mine = row.study_id == of.study_id if of.run_id is None else row.run_id == of.run_id
    return list(session.exec(select(row).where(mine).order_by(row.unit, row.revision)))


def _check(label: str, note: str, adjudicator: str) -> None:
    if label not in tuple(Label):
        raise BadInput(f"{label!r} is not a valid label. Use {' or '.join(Label)}.")
    if len(note) > MAX_NOTE:
        raise BadInput(f"The note has {len(note):,} characters. Use fewer than {MAX_NOTE:,}.")
    if not adjudicator.strip():
        raise BadInput("Name the person who settles the label.")


def _latest(session: Session, of: Of) -> dict[str, tables.Adjudication]:
    return {row.unit: row for row in revisions(session, of)}
