"""Detection: verdicts for every checkpoint of a run, and review items for those that its routing detector flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, update
from sqlmodel import Session, col, select

from console import runs
from console.critical import Checkpoint, CheckpointKind, checkpoints
from console.database import now_ms, reading, review_queue, writing
from console.detectors import Detector, detector
from console.environments import environment
from console.judging import verdict_row
from console.trajectory import Outcome, Trajectory, from_json
from storage import tables
from storage.queue import NewItem
from storage.tables import ItemStatus, RunKind

_PAGE = 200
HALTED_PRIORITY = -1.0
"""Below every score: halted trials rank after all judged ones."""
_AFTER_THE_FACT = (RunKind.ARCHIVE, RunKind.REPLAY)
"""Elsewhere an action is judged and queued when it is about to run; what waits then is not for detection to change."""


@dataclass(slots=True)
class DetectionReport:
    """What one detection did; `excluded` trajectories have no critical action, so nothing could be judged."""

    run: str
    detector: str
    threshold: float
    judged: int = 0
    cached: int = 0
    checkpoints: int = 0
    flagged: int = 0
    halted: int = 0
    excluded: int = 0
    queued: int = 0
    routing: bool = False


def detect(
    run_name: str,
    methods: Sequence[str],
    *,
    threshold: float | None = None,
    seed: int | None = None,
    route: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[DetectionReport]:
    """Judges what is not judged yet, method by method, then queues what the routing detector flags.

    The first method ever used on a run becomes its routing detector; `route` names another. A page of trajectories is
    judged outside any transaction and recorded in a short one, so a killed detection goes on where it stopped.
    """
    judges = [detector(name) for name in methods]
    run = _prepare(run_name, judges, threshold, seed, route)
    return [_detect_one(run, judge, threshold, progress) for judge in judges]


def _prepare(
    run_name: str, judges: Sequence[Detector], threshold: float | None, seed: int | None, route: str | None
) -> tables.Run:
    with writing() as session:
        run = runs.get(session, run_name)
        routing = detector(route or run.detector or judges[0].name)
        run.seed = run.seed if seed is None else seed
        judging_route = any(judge.name == routing.name for judge in judges)
        if threshold is not None and judging_route:
            run.threshold = threshold
        elif routing.name != run.detector or run.threshold is None:
            run.threshold = routing.threshold
        run.detector = routing.name
        session.add(run)
        session.flush()
        session.expunge(run)
    return run


def _detect_one(
    run: tables.Run, judge: Detector, threshold: float | None, progress: Callable[[int, int], None] | None
) -> DetectionReport:
    routing = judge.name == run.detector
    bar = run.threshold if routing and run.threshold is not None else judge.threshold
    bar = bar if threshold is None else threshold
    report = DetectionReport(run.name, judge.name, bar, routing=routing)
    _judge_all(run, judge, bar, report, progress)
    if routing and run.kind in _AFTER_THE_FACT:
        report.queued = _enqueue(run)
    return report


def _judge_all(
    run: tables.Run,
    judge: Detector,
    bar: float,
    report: DetectionReport,
    progress: Callable[[int, int], None] | None,
) -> None:
    with reading() as session:
        pages, total = _trajectory_ids(session, run), 0
        total = sum(len(page) for page in pages)
    done = 0
    _move_threshold(run, judge, bar)
    for page in pages:
        rows = list(_judge_page(run, judge, bar, page, report))
        with writing() as session:
            if rows:
                session.execute(insert(tables.Verdict), rows)
        done += len(page)
        if progress:
            progress(done, total)


def _judge_page(
    run: tables.Run, judge: Detector, bar: float, page: Sequence[int], report: DetectionReport
) -> Iterator[dict[str, Any]]:
    with reading() as session:
        found = _bodies(session, page)
        known = _known_verdicts(session, judge, page)
    for trajectory_id, record in found:
        if record.outcome is Outcome.HALTED:
            report.halted += 1
            continue
        visible = run_checkpoints(run, record)
        report.excluded += not visible
        for checkpoint in visible:
            report.checkpoints += 1
            cached = known.get((trajectory_id, checkpoint.index, checkpoint.kind))
            if cached is None:
                row = verdict_row(run, judge, bar, trajectory_id, checkpoint)
                report.judged += 1
                report.flagged += row["flagged"]
                yield row
            else:
                report.cached += 1
                report.flagged += cached


def run_checkpoints(run: tables.Run, record: Trajectory) -> list[Checkpoint]:
    """The checkpoints of a trajectory under the run's own patterns and its choice about end checkpoints."""
    ends = environment(record.environment).ends if run.ends is None else run.ends
    return checkpoints(record, runs.patterns(run), ends=ends)


def _trajectory_ids(session: Session, run: tables.Run) -> list[list[int]]:
    record = tables.Trajectory
    statement = (
        select(record.id)
        .where(record.run_id == run.id, col(record.carried_over).is_(False))
        .where(col(record.recorded_outcome).not_in([Outcome.ERROR, Outcome.RUNNING]))
        .order_by(col(record.id))
    )
    ids = [id for id in session.exec(statement) if id is not None]
    return [ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE)]


def _bodies(session: Session, page: Sequence[int]) -> list[tuple[int, Trajectory]]:
    body = tables.TrajectoryBody
    statement = select(body).where(col(body.trajectory_id).in_(page)).order_by(col(body.trajectory_id))
    return [(row.trajectory_id, from_json(row.body)) for row in session.exec(statement)]


def _known_verdicts(session: Session, judge: Detector, page: Sequence[int]) -> dict[tuple[int, int, str], bool]:
    verdict = tables.Verdict
    statement = select(verdict.trajectory_id, verdict.step, verdict.kind, verdict.flagged).where(
        verdict.detector == judge.name, col(verdict.trajectory_id).in_(page)
    )
    return {(id, step, kind): flagged for id, step, kind, flagged in session.exec(statement)}


def _move_threshold(run: tables.Run, judge: Detector, bar: float) -> None:
    verdict = tables.Verdict
    mine = (col(verdict.run_id) == run.id, col(verdict.detector) == judge.name)
    with writing() as session:
        if judge.name == "random":
            stale = (*mine, col(verdict.seed) != run.seed)
            session.execute(delete(verdict).where(*stale))
        session.execute(
            update(verdict)
            .where(*mine, col(verdict.threshold) != bar)
            .values(threshold=bar, flagged=verdict.score > bar)
        )


def _enqueue(run: tables.Run) -> int:
    queue = review_queue()
    with reading() as session:
        wanted = runs.cap(session, run)
        items = [*_flagged_items(session, run), *_halted_items(session, run)]
        withdrawn = _no_longer_flagged(session, run, items)
    if withdrawn:
        queue.cancel(item_ids=withdrawn, now_ms=now_ms())
    runs.open_budgets(queue, _id(run), sorted({item.trial for item in items}), wanted)
    return queue.put(items)


def _flagged_items(session: Session, run: tables.Run) -> Iterator[NewItem]:
    """The first flagged checkpoint of each trajectory."""
    verdict, record = tables.Verdict, tables.Trajectory
    statement = (
        select(verdict.id, verdict.trajectory_id, verdict.step, verdict.kind, verdict.score, record.trial)  # type: ignore[call-overload]
        .join(record, col(record.id) == verdict.trajectory_id)
        .where(verdict.run_id == run.id, verdict.detector == run.detector, col(verdict.flagged).is_(True))
        .order_by(verdict.trajectory_id, verdict.step)
    )
    previous, at = None, now_ms()
    for verdict_id, trajectory_id, step, kind, score, trial in session.exec(statement):
        if trajectory_id != previous:
            previous = trajectory_id
            yield NewItem(
                run_id=_id(run),
                trial=trial,
                trajectory_id=trajectory_id,
                step=step,
                kind=kind,
                priority=score,
                reviews_required=run.reviews_per_item,
                verdict_id=verdict_id,
                created_ms=at,
            )


def _halted_items(session: Session, run: tables.Run) -> Iterator[NewItem]:
    record = tables.Trajectory
    statement = select(record.id, record.trial, record.n_steps).where(
        record.run_id == run.id, col(record.carried_over).is_(False), record.recorded_outcome == Outcome.HALTED
    )
    at = now_ms()
    for trajectory_id, trial, n_steps in session.exec(statement.order_by(col(record.id))):
        yield NewItem(
            run_id=_id(run),
            trial=trial,
            trajectory_id=trajectory_id or 0,
            step=n_steps,
            kind=str(CheckpointKind.HALTED),
            priority=HALTED_PRIORITY,
            reviews_required=run.reviews_per_item,
            verdict_id=None,
            created_ms=at,
        )


def _no_longer_flagged(session: Session, run: tables.Run, items: Sequence[NewItem]) -> list[int]:
    wanted = {(item.trajectory_id, item.step, item.kind) for item in items}
    item = tables.Item
    statement = select(item).where(item.run_id == run.id, item.status == ItemStatus.PENDING)
    return [row.id or 0 for row in session.exec(statement) if (row.trajectory_id, row.step, row.kind) not in wanted]


def _id(run: tables.Run) -> int:
    return run.id or 0
