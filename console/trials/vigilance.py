"""Vigilance: items with a known answer in a run's queue, and statistics of each reviewer's decisions on these items.

A seeded item looks like the other items of the run. Its trajectory belongs to a hidden run of its own, and the storage
refuses to execute it (`storage.tables.SeededItem`). The cap of the run grows by the number of seeded items. Real items
cannot use these units, so that seeded items cost no inspection of a real action.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

import orjson
from sqlalchemy import select as sa_select
from sqlalchemy import update
from sqlmodel import Session, col, select

from console import runs
from console.analysis.statistics.capacity import Signals, estimate_sensitivity
from console.analysis.statistics.estimates import show_intervals
from console.auth import audit_log
from console.database import now_ms, writing
from console.errors import BadInput, Refused
from console.language import counted
from console.review.blinding import get_visibility
from console.runs import is_current, run_checkpoints
from console.runs.trajectory_rows import task_spec
from console.trajectory import Label, Outcome, from_json
from console.trajectory.checkpoints import CheckpointKind
from console.trials.start import insert_tasks, insert_trials
from storage import tables
from storage.tables import ItemStatus, RunKind

COLUMNS = ("reviewer", "hour", "misaligned", "hits", "aligned", "alarms", "d'", "criterion")
"""The columns of the table that `in_words` fills."""
_HOUR_MS = 3_600_000
_BREAK_MS = 30 * 60_000
"""The time between two decisions, in ms, above which a new session begins."""
_TRIAL = 0
"""The trial of all seeded items; later trials would need earlier trials of their own."""


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """A recorded action with its correct label, and the reviewers who have already seen this label."""

    trajectory_id: int
    step: int
    kind: str
    label: str
    reviewers: tuple[str, ...]


def add_known_items(run_name: str, source_name: str, count: int) -> int:
    """Put items with a known answer from the source run into the queue of the run's first trial; return their number.

    Known answers are gold labels, or decisions on which at least two reviewers agree. Raise Refused if the run cannot
    have such items or the source has too few of them.
    """
    if count < 1:
        raise BadInput(f"{count} is not a valid number of items. Use a number of at least 1.")
    at_ms = now_ms()
    with writing() as session:
        run, source = runs.get(session, run_name), runs.get(session, source_name)
        _refuse_run(session, run, source)
        known = find_known_answers(session, run, source)
        if len(known) < count:
            raise Refused(
                f"Run {source_name} has {counted(len(known), 'action')} with a known answer for this queue, not "
                f"{count}. Actions need a gold label or two reviewers who agree, none of whom works in {run_name}."
            )
        chosen = Random(f"{run.seed} vigilance {source.id} {at_ms}").sample(known, count)
        _insert(session, run, source, chosen, at_ms)
        detail = {"from": source_name, "items": count}
        audit_log.record(session, run, "known items added", at_ms, detail=detail)
    return count


def _refuse_run(session: Session, run: tables.Run, source: tables.Run) -> None:
    if run.study_id is not None:
        raise Refused(f"Run {run.name!r} belongs to a study. Set `checks` in the design of the study instead.")
    if run.kind == RunKind.GATE:
        raise Refused(
            f"The agents of gate {run.name!r} wait with a countdown that items with a known answer would lack, so "
            "reviewers could identify these items. Add the items to a run of another kind."
        )
    if run.id == source.id:
        raise Refused("The items of a run cannot be its own known answers. Name another source.")
    budget = tables.Budget
    place = select(budget.id).where(budget.run_id == run.id, budget.trial == _TRIAL, budget.scope == "")
    if session.exec(place).first() is None or not _list_priorities(session, run, None):
        raise Refused(f"Known items cannot be added to run {run.name}, because none of its items is pending.")


def find_known_answers(session: Session, run: tables.Run, source: tables.Run) -> list[KnownAnswer]:
    """Return the source's actions with a known answer that no reviewer of the run has decided or seen.

    If the run shows its detector's verdict, only actions with a verdict of that detector are returned.
    """
    record, seeded = tables.Trajectory, tables.SeededItem
    at_work = set(session.exec(select(tables.Slot.reviewer).join(tables.Item).where(tables.Item.run_id == run.id)))
    used = set(session.exec(select(seeded.source_id).join(tables.Item).where(tables.Item.run_id == run.id)))
    shown = get_visibility(run)
    hides = not (shown.score or shown.explanation or shown.detector or shown.highlights)
    judged = _judged_places(session, source, None if hides else run.detector)
    decided = _read_decided(session, source)
    rows = session.exec(
        select(record, tables.TrajectoryBody.body)
        .join(tables.TrajectoryBody, col(tables.TrajectoryBody.trajectory_id) == col(record.id))
        .where(record.run_id == source.id, record.trial == _TRIAL, col(record.carried_over).is_(False))
        .order_by(col(record.id))
    )
    found = []
    for row, text in rows:
        at = judged.get(row.id or 0)
        if at is None and hides and (last := run_checkpoints(source, from_json(text))[-1:]):
            at = (last[0].index, str(last[0].kind))
        if at is None or row.id in used:
            continue
        place = (row.id or 0, *at)
        labels, reviewers = decided.get(place, (set(), set()))
        agreed = next(iter(labels)) if len(labels) == 1 and len(reviewers) > 1 else None
        label = row.label or agreed
        if label is None or reviewers & at_work:
            continue
        found.append(KnownAnswer(*place, str(label), tuple(sorted(reviewers))))
    return found


def _judged_places(session: Session, source: tables.Run, detector: str | None) -> dict[int, tuple[int, str]]:
    """Return the last step and kind with a verdict of the detector (None: of any) for each trajectory."""
    verdict = tables.Verdict
    columns = select(verdict.trajectory_id, verdict.step, verdict.kind).where(verdict.run_id == source.id)
    wanted = columns if detector is None else columns.where(verdict.detector == detector)
    return {id: (step, kind) for id, step, kind in session.exec(wanted.order_by(col(verdict.step)))}


def _read_decided(session: Session, source: tables.Run) -> dict[tuple[int, int, str], tuple[set[str], set[str]]]:
    """Return the labels and the reviewers of each decided action of the run."""
    item, decision = tables.Item, tables.Decision
    columns = (item.trajectory_id, item.step, item.kind, decision.label, decision.reviewer)
    statement = (
        sa_select(*map(col, columns))
        .join(decision, col(decision.item_id) == col(item.id))
        .where(col(item.run_id) == source.id, is_current(), col(decision.label).is_not(None))
    )
    found: dict[tuple[int, int, str], tuple[set[str], set[str]]] = {}
    for *place, label, reviewer in session.execute(statement):
        labels, reviewers = found.setdefault((place[0], place[1], place[2]), (set(), set()))
        labels.add(str(label))
        reviewers.add(reviewer)
    return found


def _insert(session: Session, run: tables.Run, source: tables.Run, chosen: Sequence[KnownAnswer], at_ms: int) -> None:
    """Copy the actions into the hidden run, and queue them at random places that the budget covers."""
    hidden = _hidden_run(session, run, at_ms)
    budget = session.exec(
        select(tables.Budget).where(
            tables.Budget.run_id == run.id, tables.Budget.trial == _TRIAL, tables.Budget.scope == ""
        )
    ).one()
    left = None if budget.cap is None else max(budget.cap - budget.used, 1)
    priorities = _list_priorities(session, run, left)
    rng = Random(f"{run.seed} vigilance {at_ms}")
    for one in chosen:
        trajectory_id = _copy_record(session, hidden, one, at_ms, is_live=run.kind != RunKind.ARCHIVE)
        verdict_id = _copy_verdict(session, run, source, one, (hidden.id or 0, trajectory_id))
        item = tables.Item(
            run_id=run.id or 0,
            trial=_TRIAL,
            trajectory_id=trajectory_id,
            step=one.step,
            kind=one.kind,
            priority=rng.choice(priorities),
            open_slots=run.reviews_per_item,
            reviews_required=run.reviews_per_item,
            verdict_id=verdict_id,
            created_ms=at_ms,
        )
        session.add(item)
        session.flush()
        session.add(
            tables.SeededItem(
                item_id=item.id or 0,
                trajectory_id=trajectory_id,
                source_id=one.trajectory_id,
                expected=one.label,
                reviewers=orjson.dumps(one.reviewers).decode(),
                created_ms=at_ms,
            )
        )
    session.flush()
    grown = update(tables.Budget).where(col(tables.Budget.id) == budget.id)
    session.execute(grown.values(cap=col(tables.Budget.cap) + len(chosen)))


def _hidden_run(session: Session, run: tables.Run, at_ms: int) -> tables.Run:
    seeded, record = tables.SeededItem, tables.Trajectory
    earlier = session.exec(
        select(record.run_id)
        .join(seeded, col(seeded.trajectory_id) == col(record.id))
        .join(tables.Item, col(tables.Item.id) == col(seeded.item_id))
        .where(tables.Item.run_id == run.id)
    ).first()
    if earlier is not None:
        return session.get_one(tables.Run, earlier)
    name = runs.free_name(session, f"{run.name[:60]} known items")
    hidden = runs.create(session, name, RunKind.ARCHIVE, at_ms, seed=run.seed, critical=run.critical)
    hidden.environment, hidden.archived_ms = run.environment, at_ms
    session.add(hidden)
    session.flush()
    return hidden


def _copy_record(session: Session, hidden: tables.Run, one: KnownAnswer, at_ms: int, *, is_live: bool) -> int:
    """Store the record, in a live run without the known action and the steps after it; return the trajectory's id."""
    row = session.get_one(tables.Trajectory, one.trajectory_id)
    record = from_json(session.get_one(tables.TrajectoryBody, one.trajectory_id).body)
    (task_id,) = insert_tasks(session, hidden, [task_spec(session.get_one(tables.Task, row.task_id))])
    if is_live and one.kind == CheckpointKind.ACTION and one.step < len(record.steps):
        action = record.steps[one.step].action
        record = replace(record, steps=record.steps[: one.step], critical_action=action, outcome=Outcome.PAUSED)
    more: dict[str, Any] = {"label": one.label, "outcome": Outcome.FINISHED, "recorded_outcome": Outcome.FINISHED}
    (trajectory_id,) = insert_trials(session, hidden, [(task_id, record)], at_ms, **more)
    return trajectory_id


def _copy_verdict(
    session: Session, run: tables.Run, source: tables.Run, one: KnownAnswer, place: tuple[int, int]
) -> int | None:
    verdict = tables.Verdict
    at_place = [getattr(verdict, name) == getattr(one, name) for name in ("trajectory_id", "step", "kind")]
    by_detector = select(verdict).where(verdict.run_id == source.id, verdict.detector == run.detector)
    original = session.exec(by_detector.where(*at_place)).first()
    if original is None:
        return None
    copied = original.model_dump(exclude={"id"}) | {"run_id": place[0], "trajectory_id": place[1]}
    copy = verdict(**copied)
    session.add(copy)
    session.flush()
    return copy.id


def _list_priorities(session: Session, run: tables.Run, most: int | None) -> list[float]:
    """Return the priorities of the first pending items of the first trial that the budget covers."""
    item = tables.Item
    statement = (
        select(item.priority)
        .where(item.run_id == run.id, item.trial == _TRIAL, item.status == ItemStatus.PENDING, item.kind != "halted")
        .order_by(col(item.priority).desc(), col(item.id))
    )
    return list(session.exec(statement if most is None else statement.limit(most)))


def has_known_items(session: Session, run_ids: Sequence[int]) -> bool:
    """Return whether any of these runs has items with a known answer; reviewers must be informed of such items."""
    seeded, item = tables.SeededItem, tables.Item
    # Not a join, for which the planner would read all items of the runs to find none.
    of_runs = select(item.id).where(item.id == seeded.item_id, col(item.run_id).in_(run_ids)).exists()
    return session.exec(select(seeded.item_id).where(of_runs).limit(1)).first() is not None


@dataclass(frozen=True, slots=True)
class VigilanceRow:
    """A reviewer's decisions on known items in one hour of work (None: in all hours)."""

    reviewer: str
    hour: int | None
    signals: Signals

    def to_dict(self) -> dict[str, Any]:
        """Return the row with d', criterion and their 95% intervals, or None without items of both kinds."""
        found = estimate_sensitivity(self.signals)
        names = ("d_prime", "d_prime_low", "d_prime_high", "criterion", "criterion_low", "criterion_high")
        figures = dict.fromkeys(names) if found is None else asdict(found)
        return {"reviewer": self.reviewer, "hour": self.hour, **asdict(self.signals), **figures}


def measure(session: Session, run: tables.Run) -> list[VigilanceRow]:
    """Return each reviewer's decisions on known items, in total and by the hour of work since the last long break.

    Decisions of a reviewer who provided the known answer do not count.
    """
    cells: defaultdict[tuple[str, int | None], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    seeded, decision = tables.SeededItem, tables.Decision
    columns = (seeded.expected, seeded.reviewers, decision.reviewer, decision.label, decision.id)
    statement = (
        sa_select(*map(col, columns))
        # Adding 0 makes the planner begin with the known items, which are few.
        .join(decision, col(decision.item_id) == col(seeded.item_id) + 0)
        .join(tables.Item, col(tables.Item.id) == col(seeded.item_id) + 0)
        .where(col(tables.Item.run_id) + 0 == run.id, is_current(), col(decision.label).is_not(None))
    )
    decided = session.execute(statement).all()
    hours = _read_hours(session, run) if decided else {}
    for expected, known_by, reviewer, label, id in decided:
        if reviewer in orjson.loads(known_by):
            continue
        is_bad = expected == Label.MISALIGNED
        for hour in (None, hours[id or 0]):
            cell = cells[reviewer, hour]
            cell[0 if is_bad else 2] += 1
            cell[1 if is_bad else 3] += label == Label.MISALIGNED
    ordered = sorted(cells, key=lambda key: (key[0], -1 if key[1] is None else key[1]))
    return [VigilanceRow(*key, Signals(*cells[key])) for key in ordered]


def in_words(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with d' and criterion as texts with their 95% intervals."""
    shown = show_intervals(row, ".2f", "d_prime", "criterion")
    return shown | {"d'": shown["d_prime"], "hour": "all" if row["hour"] is None else row["hour"]}


def _read_hours(session: Session, run: tables.Run) -> dict[int, int]:
    """Return the hour of work (from 1) in which each decision of the run was made."""
    decision = tables.Decision
    statement = (
        select(decision.id, decision.reviewer, decision.decided_ms)
        .join(tables.Item, col(tables.Item.id) == col(decision.item_id))
        .where(tables.Item.run_id == run.id)
        .order_by(decision.reviewer, col(decision.decided_ms), col(decision.id))
    )
    found: dict[int, int] = {}
    who, began, last = "", 0, 0
    for id, reviewer, at_ms in session.exec(statement):
        if reviewer != who or at_ms - last > _BREAK_MS:
            who, began = reviewer, at_ms
        last = at_ms
        found[id or 0] = (at_ms - began) // _HOUR_MS + 1
    return found
