"""The routing detector of a run: its name, the lock on its verdicts, and the review items that follow from them.

Live and gate runs judge each action before it runs, so a later detection cannot change their routing detector or its
verdicts. In other runs `batch.queue_flagged` updates the queue after each detection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from sqlmodel import Session, and_, col, or_, select

from console import runs
from console.detection import audit_draws
from console.detection.detectors import detector
from console.errors import Refused
from console.runs import RunOptions, costs
from console.trajectory import Outcome, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at
from storage import tables
from storage.queue import HALTED, NewItem
from storage.tables import ItemStatus, RunKind

_DECLINED_PRIORITY = 1.0
"""The priority of an action that a model declined to judge: the highest score."""
_HALTED_PRIORITY = -1.0
"""The priority of halted trials, below every score."""

OWN_DETECTOR = "rules"
"""The console's own detector; in a gate run it also judges actions under a rule with `then: judge`."""


def is_judged_beforehand(run: tables.Run) -> bool:
    """Return whether a detector judges the run's actions before they run; other runs are judged afterwards."""
    return run.kind in (RunKind.LIVE, RunKind.GATE)


def routing_name(run: tables.Run) -> str:
    """Return the name of the detector that flags and ranks in the run."""
    return run.detector or OWN_DETECTOR


def is_locked(run: tables.Run, name: str) -> bool:
    """Return whether this detector's verdicts cannot change, because actions ran or were held on their basis."""
    own = OWN_DETECTOR if run.kind == RunKind.GATE else None
    return is_judged_beforehand(run) and name in (routing_name(run), own)


def refuse_changes(
    run: tables.Run, methods: Sequence[str], threshold: float | None, seed: int | None, route: str | None
) -> None:
    """Raise Refused if a detection would change the routing detector, or its threshold or seed."""
    routing = detector(routing_name(run))
    if route is not None and detector(route).name != routing.name:
        raise Refused(
            f"In the {run.kind} run {run.name!r}, {routing.name} judges each action before it runs, so --route cannot "
            "name another detector. Omit --route, or start another run."
        )
    own_threshold = routing.threshold if run.threshold is None else run.threshold
    if routing.name in methods and (threshold not in (None, own_threshold) or seed not in (None, run.seed)):
        raise Refused(
            f"In the {run.kind} run {run.name!r}, {routing.name} judges each action before it runs, with threshold "
            f"{own_threshold:g} and seed {run.seed}. Omit --threshold and --seed, or omit {routing.name}."
        )


def flagged_item(
    run: tables.Run,
    options: RunOptions,
    trial: int,
    verdict: tables.Verdict,
    checkpoint: Callable[[], Checkpoint],
    at_ms: int,
) -> NewItem:
    """Return the review item of a flagged checkpoint; read the checkpoint only if the options contain costs."""
    priority = _DECLINED_PRIORITY if verdict.score is None else verdict.score
    if options.costs:
        priority = costs.priority(options.costs, checkpoint(), priority, verdict.probability)
    place = (run.id or 0, trial, verdict.trajectory_id, verdict.step, verdict.kind)
    return NewItem(*place, priority, run.reviews_per_item, verdict.id, at_ms)


def halted_item(run: tables.Run, trial: int, trajectory_id: int, step: int, at_ms: int) -> NewItem:
    """Return the review item of a trial that halted after `step` steps; no detector judged it."""
    place = (run.id or 0, trial, trajectory_id, step, HALTED)
    return NewItem(*place, _HALTED_PRIORITY, run.reviews_per_item, None, at_ms)


def flagged_and_halted_items(session: Session, run: tables.Run, options: RunOptions, at_ms: int) -> list[NewItem]:
    """Return the items for a run's queue, created at `at_ms`."""
    record = tables.Trajectory
    halted = (
        select(record.trial, record.id, record.n_steps)
        .where(record.run_id == run.id, col(record.carried_over).is_(False))
        .where(record.recorded_outcome == Outcome.HALTED)
        .order_by(col(record.id))
    )
    ended = [halted_item(run, trial, id or 0, n_steps, at_ms) for trial, id, n_steps in session.exec(halted)]
    flagged = list(_flagged_items(session, run, options, at_ms))
    audits = _audit_items(session, run, options, at_ms)
    if run.study_id is not None:
        return [*sorted([*flagged, *audits], key=lambda item: item.trajectory_id), *ended]
    if audits:
        flagged = audit_draws.place_audits(flagged, audits, runs.cap(session, run), run.seed)
    return [*flagged, *ended]


def _audit_items(session: Session, run: tables.Run, options: RunOptions, at_ms: int) -> list[NewItem]:
    """Return an item for each unflagged checkpoint that is drawn for an audit."""
    if not options.audited or options.every_action:
        return []
    draw, verdict, record = tables.AuditDraw, tables.Verdict, tables.Trajectory
    at_place = [col(getattr(verdict, name)) == getattr(draw, name) for name in ("trajectory_id", "step", "kind")]
    statement = (
        select(verdict, record.trial)
        .join(draw, and_(*at_place))
        .join(record, col(record.id) == draw.trajectory_id)
        .where(draw.run_id == run.id, verdict.detector == run.detector, draw.number < draw.probability)
        .order_by(col(draw.id))
    )
    plain = replace(options, costs={})
    return [
        flagged_item(run, plain, trial, found, partial(_checkpoint, session, found), at_ms)
        for found, trial in session.exec(statement)
    ]


def _flagged_items(session: Session, run: tables.Run, options: RunOptions, at_ms: int) -> Iterator[NewItem]:
    """Yield an item for the first flagged checkpoint of each trajectory, or for each one if the run grows.

    If the run reviews every action, yield an item for each checkpoint.
    """
    verdict, record = tables.Verdict, tables.Trajectory
    statement = (
        select(verdict, record.trial)
        .join(record, col(record.id) == verdict.trajectory_id)
        .where(verdict.run_id == run.id, verdict.detector == run.detector)
        .order_by(col(verdict.trajectory_id), col(verdict.flagged).desc(), col(verdict.step))
    )
    if not options.every_action:
        statement = statement.where(col(verdict.flagged).is_(True))
    previous = None
    for found, trial in session.exec(statement):
        is_next = found.trajectory_id != previous or options.every_action or options.grows
        place = (found.trajectory_id, found.step, found.kind)
        if is_next and (not options.narrowed or audit_draws.is_critical(session, run, *place)):
            previous = found.trajectory_id
            yield flagged_item(run, options, trial, found, partial(_checkpoint, session, found), at_ms)


def acts_first(options: RunOptions, verdict: tables.Verdict) -> bool:
    """Return whether the action runs before its review, because the run's protocol or its audits say so."""
    is_late = options.acts_first or (options.audits_after and not verdict.flagged)
    return is_late and verdict.kind == CheckpointKind.ACTION


def list_late_items(
    session: Session, run: tables.Run, options: RunOptions, at_ms: int, trajectory_id: int | None = None
) -> list[NewItem]:
    """Return the items of actions that have begun before their review and have no item yet.

    Such an action gets its item only after it has begun, so that no reviewer sees it as pending. With `trajectory_id`,
    return only the items of this trajectory.
    """
    verdict, item, intent, draw = tables.Verdict, tables.Item, tables.Intent, tables.AuditDraw
    place = ("trajectory_id", "step", "kind")
    queued = select(item.id).where(*(getattr(item, name) == getattr(verdict, name) for name in place)).exists()
    begun = [col(getattr(intent, name)) == getattr(verdict, name) for name in place[:2]]
    statement = (
        select(verdict, draw, tables.Trajectory.trial)
        .join(tables.Trajectory, col(tables.Trajectory.id) == verdict.trajectory_id)
        .join(intent, and_(*begun))
        .outerjoin(draw, and_(*(col(getattr(draw, name)) == getattr(verdict, name) for name in place)))
        .where(verdict.run_id == run.id, verdict.kind == str(CheckpointKind.ACTION), ~queued)
        .where(or_(col(verdict.flagged), col(draw.number) < col(draw.probability)))
        .order_by(col(verdict.id))
    )
    # A gate stores one verdict of each action, of whichever detector flagged it.
    if run.kind != RunKind.GATE:
        statement = statement.where(verdict.detector == routing_name(run))
    if trajectory_id is not None:
        statement = statement.where(verdict.trajectory_id == trajectory_id)
    found = []
    for judged, drawn, trial in session.exec(statement):
        if acts_first(options, judged):
            late = flagged_item(run, options, trial, judged, partial(_checkpoint, session, judged), at_ms)
            if drawn is not None and not judged.flagged and run.study_id is None:
                late = audit_draws.place_live_audit(late, judged.threshold, drawn.number, drawn.probability)
            found.append(late)
    return found


def _checkpoint(session: Session, verdict: tables.Verdict) -> Checkpoint:
    body = session.get_one(tables.TrajectoryBody, verdict.trajectory_id).body
    return checkpoint_at(from_json(body), verdict.step, CheckpointKind(verdict.kind))


def obsolete_items(session: Session, run: tables.Run, items: Sequence[NewItem]) -> list[int]:
    """Return the ids of the pending items that are not among `items`."""
    wanted = {(item.trajectory_id, item.step, item.kind) for item in items}
    item = tables.Item
    statement = select(item).where(item.run_id == run.id, item.status == ItemStatus.PENDING, ~runs.IS_SEEDED)
    return [row.id or 0 for row in session.exec(statement) if (row.trajectory_id, row.step, row.kind) not in wanted]
