"""Maintenance of runs: rename, tag, archive and delete runs, move trajectories, undo imports. Each operation adds an
event to the audit log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import orjson
from sqlalchemy import func, or_, update
from sqlmodel import Session, col, select

from console import runs
from console.auth import audit_log
from console.errors import BadInput, Refused, Unknown
from console.language import counted
from console.runs import ingest, removal
from console.runs.status import count_imported
from console.runs.trajectory_rows import count_critical, insert_task
from console.runs.workers import lock_run
from console.trajectory import Outcome, from_json
from storage import tables
from storage.queue.claims import withdraw_items
from storage.queue.transaction import Transaction
from storage.tables import UNREVIEWED, ItemStatus, RunKind
from storage.tables.text_search import compact_text_index

HAS_AGENTS = (RunKind.LIVE, RunKind.GATE)
"""The kinds of runs whose agents can be stopped."""

_TAG = re.compile(r"[\w][\w.@/:-]{0,39}")


def tags(run: tables.Run) -> list[str]:
    """Return the run's tags in alphabetical order."""
    found: list[str] = orjson.loads(run.tags)
    return found


def rename_run(session: Session, run: tables.Run, name: str, now_ms: int) -> None:
    """Rename the run; raise BadInput if the name is invalid, or Refused if the name cannot be used."""
    _refuse_bound(session, run, "renamed")
    if run.kind == RunKind.GATE:
        raise Refused(
            f"The gate {run.name!r} cannot be renamed, because agents use its name. Create a gate with another name "
            "instead."
        )
    runs.check_name(name)
    if runs.find(session, name) is not None:
        raise Refused(f"A run named {name!r} already exists. Choose another name.")
    before, run.name = run.name, name
    session.add(run)
    audit_log.record(session, run, "run renamed", now_ms, before=before, after=name)


def tag_run(session: Session, run: tables.Run, add: Iterable[str], remove: Iterable[str], now_ms: int) -> list[str]:
    """Add and remove tags; return the resulting tags. Raise BadInput if a tag is invalid."""
    words = [word.strip() for word in add if word.strip()]
    for word in words:
        if not _TAG.fullmatch(word):
            raise BadInput(f"{word!r} is not a valid tag. Use up to 40 letters, digits and . _ - @ / : without spaces.")
    before = tags(run)
    after = sorted({*before, *words} - set(remove))
    if after != before:
        run.tags = orjson.dumps(after).decode()
        session.add(run)
        audit_log.record(session, run, "run tagged", now_ms, before=before, after=after)
    return after


def set_archived(session: Session, run: tables.Run, archived: bool, now_ms: int) -> None:
    """Archive the run or restore it to the lists; raise Refused if agents or reviewers may still work in the run."""
    _refuse_bound(session, run, "archived")
    if archived == (run.archived_ms is not None):
        return
    waiting = _count(session, tables.Item, col(tables.Item.status).in_(UNREVIEWED), tables.Item.run_id == run.id)
    if archived and waiting:
        raise Refused(f"{run.name!r} has {counted(waiting, 'pending item')}. Decide all pending items first.")
    if archived and run.kind == RunKind.GATE and not runs.run_options(run).stopped:
        raise Refused(f"The gate {run.name!r} cannot be archived, because agents may use it. Stop the run first.")
    run.archived_ms = now_ms if archived else None
    session.add(run)
    audit_log.record(session, run, "run archived" if archived else "run brought back", now_ms)


def set_stopped(session: Session, run: tables.Run, stopped: bool, now_ms: int) -> int:
    """Stop the agents of the run or let them continue; return the number of pending checks that the stop withdrew.

    An approval whose action has not begun ends, too. Trials of a live run end at their next action and can continue
    later. Raise Refused if the run has no agents, or if it belongs to a study.
    """
    _refuse_bound(session, run, "stopped")
    if run.kind not in HAS_AGENTS:
        raise Refused(f"{run.name!r} has no agents to stop. Name a run whose agents work or wait.")
    options = runs.run_options(run)
    if stopped == options.stopped:
        return 0
    withdrawn = _withdraw_checks(session, run, now_ms) if stopped else []
    run.options = replace(options, stopped=stopped).to_json()
    session.add(run)
    kind = "run stopped" if stopped else "run continued"
    audit_log.record(session, run, kind, now_ms, detail={"withdrawn": withdrawn} if stopped else None)
    return len(withdrawn)


def stop_sentence(run: str, stopped: bool, withdrawn: int) -> str:
    """Return the sentence after a stop that withdrew this number of checks, or after its end."""
    if not stopped:
        return f"The agents of {run} may continue."
    return f"Stopped {run} and withdrew {counted(withdrawn, 'pending check')}. No action of its agents may begin."


def _withdraw_checks(session: Session, run: tables.Run, now_ms: int) -> list[int]:
    """Cancel the checks and the approvals whose actions have not begun; return the items of the pending checks."""
    ask, intent = tables.Ask, tables.Intent
    begun = select(intent.id).where(intent.trajectory_id == ask.trajectory_id, intent.step == ask.step).exists()
    waiting = select(ask.item_id).where(ask.run_id == run.id, col(ask.answer).is_(None)).order_by(col(ask.item_id))
    items = [found for found in session.exec(waiting) if found is not None]
    withdraw_items(Transaction.joined(session), items, ItemStatus.CANCELLED, now_ms)
    open_ones = (col(ask.run_id) == run.id, or_(col(ask.answer).is_(None), col(ask.action).is_not(None)), ~begun)
    ended = {"answer": "cancelled", "action": None, "answered_ms": now_ms}
    session.execute(update(ask).where(*open_ones).values(**ended).execution_options(synchronize_session=False))
    session.expire_all()
    return items


def set_hold(session: Session, target: tables.Run | tables.Person, reason: str | None, now_ms: int) -> None:
    """Place a legal hold on a run or a person for this reason, or release the hold if the reason is None.

    Raise BadInput if the reason is empty.
    """
    if reason is not None and not reason.strip():
        raise BadInput("A legal hold needs a reason, such as the number of the case. Give the reason.")
    before, target.hold = target.hold, reason and reason.strip()
    session.add(target)
    kind = "hold released" if reason is None else "hold placed"
    run = target if isinstance(target, tables.Run) else None
    if before != target.hold:
        audit_log.record(session, run, kind, now_ms, subject=target.name, before=before, after=target.hold)


def refuse_held(target: tables.Run | tables.Person, what: str) -> None:
    """Raise Refused if the run or the person is on hold; `what` is the refused act as a participle."""
    if target.hold is not None:
        raise Refused(f"{target.name!r} is on legal hold ({target.hold}), so it cannot be {what}. Release it first.")


def select_held() -> Any:
    """Return the statement that selects the ids of the runs on hold, from which nothing is pruned."""
    return select(tables.Run.id).where(col(tables.Run.hold).is_not(None))


def count_records(session: Session, run: tables.Run) -> dict[str, int]:
    """Return the numbers of trajectories, items, decisions and verdicts that a deletion would remove."""
    item = tables.Item
    of_run = select(item.id).where(item.run_id == run.id)
    return {
        "trajectories": _count(session, tables.Trajectory, tables.Trajectory.run_id == run.id),
        "items": _count(session, item, item.run_id == run.id),
        "decisions": _count(session, tables.Decision, col(tables.Decision.item_id).in_(of_run)),
        "verdicts": _count(session, tables.Verdict, tables.Verdict.run_id == run.id),
    }


def delete_run(session: Session, run: tables.Run, now_ms: int) -> dict[str, int]:
    """Delete the run with all its records, and the content of its events; return the counts of deleted records.

    Raise Refused like `refuse_deletion`.
    """
    refuse_deletion(session, run)
    held, event = count_records(session, run), tables.Event
    events = [found for found in session.exec(select(event.id).where(event.run_id == run.id)) if found is not None]
    # The trials of a stopped run may not all have reached their next action.
    with lock_run(run) if run.kind == RunKind.LIVE else nullcontext():
        audit_log.record(session, None, "run deleted", now_ms, subject=run.name, before=held, erases=events)
        removal.remove_run(session, run)
        compact_text_index(session.connection())
    return held


def refuse_deletion(session: Session, run: tables.Run) -> None:
    """Raise Refused if the run is on hold, in a study or replayed, or if its agents work and are not stopped."""
    refuse_held(run, "deleted")
    _refuse_bound(session, run, "deleted")
    replayed = session.exec(select(tables.Run.name).where(tables.Run.source_run_id == run.id)).all()
    if replayed:
        raise Refused(f"{run.name!r} is replayed by {', '.join(replayed)}. Delete the replays first.")
    waiting = _count(
        session, tables.Trajectory, tables.Trajectory.run_id == run.id, tables.Trajectory.outcome == Outcome.RUNNING
    )
    if waiting and run.kind in HAS_AGENTS and not runs.run_options(run).stopped:
        raise Refused(
            f"{run.name!r} has {counted(waiting, 'running trial')}. Stop the run first: inferact run stop "
            f"{quote(run.name)}"
        )


def list_imports(session: Session, run: tables.Run) -> list[dict[str, Any]]:
    """Return the imports into a run, newest first, with the number of their remaining trajectories."""
    made, left = tables.LogImport, count_imported(session, run)
    statement = select(made).where(made.run_id == run.id).order_by(col(made.id).desc())
    return [
        {
            "import_id": row.id,
            "file": row.file,
            "at": runs.iso(row.created_ms),
            "imported": row.imported,
            "still_there": left.get(row.id or 0, 0),
            "undone": row.undone_ms is not None,
        }
        for row in session.exec(statement)
    ]


def undo_import(session: Session, import_id: int, now_ms: int) -> tuple[tables.Run, int]:
    """Delete the trajectories of an import; return (run, number of deleted trajectories).

    Raise Unknown if the import does not exist, and Refused if it is already undone or a trajectory has a reviewer's
    decision.
    """
    made = session.get(tables.LogImport, import_id)
    if made is None:
        raise Unknown("import", import_id)
    run, record = session.get_one(tables.Run, made.run_id), tables.Trajectory
    refuse_held(run, "changed")
    if made.undone_ms is not None:
        raise Refused(
            f"The import {import_id} of {made.file} was already undone. List the imports: inferact trajectory imports"
        )
    ids = [found for found in session.exec(select(record.id).where(record.import_id == import_id)) if found is not None]
    removal.refuse_reviewed(session, ids, f"Undoing the import {import_id} of {made.file}")
    removal.remove_trajectories(session, ids)
    made.undone_ms = now_ms
    session.add(made)
    told = {"import": import_id, "trajectories": len(ids)}
    audit_log.record(session, run, "import undone", now_ms, subject=made.file, detail=told)
    return run, len(ids)


@dataclass(frozen=True, slots=True)
class Moved:
    """The result of a move: the ids of the moved trajectories, and the ids of trajectories that the target already
    contained.
    """

    moved: tuple[int, ...]
    there_already: tuple[int, ...]


def move_trajectories(session: Session, ids: Sequence[int], target: str, now_ms: int) -> Moved:
    """Move trajectories with their verdicts between archive runs; remove their pending items from the queue.

    Raise Unknown if an id does not exist. Raise Refused if a run is not an archive or a trajectory has a reviewer's
    decision.
    """
    rows = [_movable(session, found) for found in dict.fromkeys(ids)]
    removal.refuse_reviewed(session, [row.id or 0 for row in rows], "Moving these trajectories")
    into = runs.archive(session, target, now_ms)
    there = _digests(session, into, [row.digest for row in rows])
    kept = tuple(row.id or 0 for row in rows if row.digest in there)
    moving = [row for row in rows if row.digest not in there]
    ingest.widen_critical(session, into, {row.environment for row in moving})
    sources: dict[int, int] = {}
    for row in moving:
        sources[row.run_id] = sources.get(row.run_id, 0) + 1
        _move(session, row, into)
    for source, count in sources.items():
        told = {"trajectories": count, "to": into.name}
        audit_log.record(session, session.get_one(tables.Run, source), "trajectories moved", now_ms, detail=told)
    return Moved(tuple(row.id or 0 for row in moving), kept)


def _movable(session: Session, trajectory_id: int) -> tables.Trajectory:
    row = session.get(tables.Trajectory, trajectory_id)
    if row is None:
        raise Unknown("trajectory", trajectory_id)
    run = session.get_one(tables.Run, row.run_id)
    refuse_held(run, "changed")
    if run.kind != RunKind.ARCHIVE or run.study_id is not None:
        raise Refused(
            f"Trajectory {trajectory_id} cannot be moved, because {run.name!r} is not an archive of logs. Name "
            "trajectories of an archive."
        )
    return row


def _move(session: Session, row: tables.Trajectory, into: tables.Run) -> None:
    item, body = tables.Item, session.get_one(tables.TrajectoryBody, row.id)
    old = session.get_one(tables.Task, row.task_id)
    removal.remove_items(session, select(item.id).where(item.trajectory_id == row.id))
    verdict = tables.Verdict
    session.execute(update(verdict).where(col(verdict.trajectory_id) == row.id).values(run_id=into.id))
    row.task_id = insert_task(session, into, old)
    row.run_id, row.import_id = into.id or 0, None
    row.n_critical = count_critical(from_json(body.body), runs.patterns(into))
    session.add(row)
    session.flush()
    removal.remove_empty_tasks(session, [old.id or 0])


def _digests(session: Session, run: tables.Run, wanted: Sequence[str]) -> set[str]:
    record = tables.Trajectory
    found = session.exec(select(record.digest).where(record.run_id == run.id))
    return set(wanted) & set(found)


def _refuse_bound(session: Session, run: tables.Run, what: str) -> None:
    """Raise Refused if the run belongs to a participant, or if a study replays it by name."""
    if run.study_id is not None:
        raise Refused(
            f"{run.name!r} belongs to a participant of a study, so it cannot be {what}. "
            "To remove its data, withdraw the participant."
        )
    named = f'"run":{orjson.dumps(run.name).decode()}'
    study = session.exec(select(tables.Study.name).where(col(tables.Study.design).contains(named, autoescape=True)))
    if (found := study.first()) is not None:
        raise Refused(f"The study {found!r} replays {run.name!r}, so the run cannot be {what}. Keep the run.")


def _count(session: Session, table: Any, *conditions: Any) -> int:
    return int(session.exec(select(func.count()).select_from(table).where(*conditions)).one())
