"""Seeded items: practice before the conditions, and items with a known answer within a condition.

Practice has its own run, in which no action is ever executed. The known items of a condition are tasks that the study
does not use. Their run has the same settings as the condition's run: the same Actor and the same detector, and rejected
items return in the next trial. Participants therefore cannot distinguish the two kinds of items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any

import orjson
from sqlmodel import Session, col, select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.environments import ENVIRONMENTS
from console.review.simulated.faults import find_true_label
from console.runs.trajectory_rows import task_spec
from console.studies.design import Design
from console.studies.sessions import condition_run, known_items, next_item
from console.studies.sessions.known_items import KnownItem, Share, make_attention_check, rotate_items, share_out
from console.studies.sessions.lifecycle import design_of
from console.trajectory import Label, Outcome, from_json
from console.trajectory.checkpoints import pending_checkpoint
from console.trials import engine
from console.trials.start import insert_tasks, insert_trials
from storage import tables
from storage.queue import HALTED
from storage.tables import ProbePurpose, RunKind

_PURPOSES = {Label.ALIGNED: ProbePurpose.KNOWN_GOOD, Label.MISALIGNED: ProbePurpose.KNOWN_BAD}


def create_practice(participant_id: int) -> None:
    """Create the participant's practice items, unless they exist."""
    with reading() as session:
        participant = session.get_one(tables.Participant, participant_id)
        study = session.get_one(tables.Study, participant.study_id)
        design = design_of(study)
        items = _share(session, study, design).practice if design.practice else ()
    with writing() as session:
        participant = session.get_one(tables.Participant, participant_id, with_for_update=True)
        if participant.practice_run_id is None and items:
            run = _bare_run(session, f"{study.name} {participant.code} practice", study, items)
            added = _insert(session, run, items)
            session.add_all(
                _probe(participant, None, item_id, ProbePurpose.PRACTICE, one.label, one.why, place)
                for place, (item_id, one) in enumerate(zip(added, items, strict=True))
            )
            session.add(tables.Budget(run_id=run.id or 0, trial=0, cap=len(items)))
            participant.practice_run_id = run.id
            session.add(participant)


def create_checks(assignment_id: int) -> None:
    """Create the missing known items of a condition and play their first trials; a repeated call continues the work."""
    with reading() as session:
        assignment = session.get_one(tables.Assignment, assignment_id)
        study = session.get_one(tables.Study, assignment.study_id)
        participant = session.get_one(tables.Participant, assignment.participant_id)
        design = design_of(study)
        share = _share(session, study, design)
    cells = rotate_items(design, share, assignment.condition, participant.number)
    seeds = [one for items in cells.values() for one in items]
    with writing() as session:
        assignment = session.get_one(tables.Assignment, assignment_id, with_for_update=True)
        if assignment.checks_run_id is None and (seeds or design.checks.attention):
            name = runs.free_name(session, f"{study.name} {participant.code} {assignment.position} checks")
            run = _checks_run(session, name, study, assignment, seeds)
            _add_attention(session, run, design, participant, assignment)
            assignment.checks_run_id = run.id
            session.add(assignment)
    _go_on(assignment_id, engine.resume)


def hand_over(assignment_id: int, code: str) -> None:
    """End the round of the known items and make their decisions final; a repeated call has no further effect."""
    with reading() as session:
        run_id = session.get_one(tables.Assignment, assignment_id).checks_run_id
        over = next_item.list_passed_over(session, run_id, code)
    if run_id is not None:
        review_queue().cancel(item_ids=over, now_ms=now_ms())
        condition_run.settle(run_id, code)
        _go_on(assignment_id, engine.advance)


def _go_on(assignment_id: int, live: Any) -> None:
    with reading() as session:
        run_id = session.get_one(tables.Assignment, assignment_id).checks_run_id
        run = session.get(tables.Run, run_id) if run_id else None
    if run is None:
        return
    if run.kind != RunKind.ARCHIVE:
        condition_run.play(run, live)
        _store_labels(assignment_id, run)
    elif final := review_queue().due(run_id=run.id or 0, now_ms=now_ms()):
        review_queue().mark_delivered(decision_ids=final, now_ms=now_ms())


def _share(session: Session, study: tables.Study, design: Design) -> Share:
    assignment = tables.Assignment
    found = session.exec(select(assignment.tasks).where(assignment.study_id == study.id).distinct())
    taken = sorted({key for text in found for key in orjson.loads(text)})
    if design.source.run is None:
        return _played_share(design.model_dump_json(), tuple(taken))
    return share_out(design, known_items.find_known_items(session, design, taken), strict=False)


@lru_cache(maxsize=8)
def _played_share(design_json: str, taken: tuple[str, ...]) -> Share:
    # Every condition of every participant needs the share, and judging the whole pool is slow.
    design = Design.model_validate_json(design_json)
    return share_out(design, known_items.play_known_items(design, taken), strict=False)


def _checks_run(
    session: Session, name: str, study: tables.Study, assignment: tables.Assignment, seeds: Sequence[KnownItem]
) -> tables.Run:
    """Create a run with the condition's settings for the known items; its unflagged actions are also reviewed."""
    if not seeds:
        return _bare_run(session, name, study, [make_attention_check(_where(session, assignment), 0, Label.ALIGNED)])
    tasks, keys = [one.task for one in seeds], [one.task.task_id for one in seeds]
    return condition_run.create_run(session, name, design_of(study), assignment, tasks, keys, capped=False, audited=1.0)


def _bare_run(session: Session, name: str, study: tables.Study, items: Sequence[KnownItem]) -> tables.Run:
    names = list(dict.fromkeys(one.task.environment for one in items))
    critical = list(dict.fromkeys(pattern for one in names for pattern in ENVIRONMENTS[one].critical))
    settings: dict[str, Any] = {"study_id": study.id, "detector": "rules", "seed": design_of(study).seed, "undo_ms": 0}
    settings |= {"actor": "known", "critical": orjson.dumps(critical).decode()}
    run = runs.create(session, runs.free_name(session, name), RunKind.ARCHIVE, now_ms(), **settings)
    run.environment = ",".join(names)
    return run


def _where(session: Session, assignment: tables.Assignment) -> str:
    return session.get_one(tables.Run, assignment.run_id).environment.split(",")[0]


def _add_attention(
    session: Session, run: tables.Run, design: Design, participant: tables.Participant, assignment: tables.Assignment
) -> None:
    arm = session.get_one(tables.Run, assignment.run_id)
    rng = Random(f"{design.seed} checks {participant.number} {assignment.position}")
    where, first = _where(session, assignment), assignment.position * 100
    numbers = range(first, first + design.checks.attention)
    items = [make_attention_check(where, number, rng.choice(list(Label)), design.language) for number in numbers]
    if not items:
        return
    run.feedback_mode, run.undo_ms = arm.feedback_mode, arm.undo_ms
    run.options = replace(runs.run_options(run), protocol=runs.run_options(arm).protocol).to_json()
    scores = list(session.exec(select(tables.Item.priority).where(tables.Item.run_id == arm.id))) or [0.0]
    added = _insert(session, run, items, [rng.choice(scores) for _ in items])
    session.add_all(
        _probe(participant, assignment, item_id, ProbePurpose.ATTENTION, one.label)
        for item_id, one in zip(added, items, strict=True)
    )
    if run.kind == RunKind.ARCHIVE:
        session.add(tables.Budget(run_id=run.id or 0, trial=0, cap=len(items)))


def _insert(
    session: Session, run: tables.Run, items: Sequence[KnownItem], priorities: Sequence[float] = ()
) -> list[int]:
    """Add items whose action never runs; return their ids. In a live run, their trials count as finished."""
    outcome = Outcome.PAUSED if run.kind == RunKind.ARCHIVE else Outcome.FINISHED
    at_ms, tasks = now_ms(), insert_tasks(session, run, [one.task for one in items])
    records = [one.record for one in items]
    trials = insert_trials(session, run, list(zip(tasks, records, strict=True)), at_ms, outcome=outcome)
    fields: dict[str, Any] = {"run_id": run.id or 0, "trial": 0, "created_ms": at_ms}
    added = [
        tables.Item(trajectory_id=trajectory_id, step=one.step, kind=str(one.kind), priority=priority, **fields)
        for trajectory_id, one, priority in zip(trials, items, priorities or [0.0] * len(items), strict=True)
    ]
    session.add_all(added)
    session.flush()
    return [item.id or 0 for item in added]


def _store_labels(assignment_id: int, run: tables.Run) -> None:
    """Store the correct label of each new item of the run; an item of a halted trial has no correct label."""
    item, probe, body = tables.Item, tables.Probe, tables.TrajectoryBody
    fresh = (
        select(item, body.body, tables.Task, tables.Trajectory.label)
        .join(body, col(body.trajectory_id) == col(item.trajectory_id))
        .join(tables.Trajectory, col(tables.Trajectory.id) == col(item.trajectory_id))
        .join(tables.Task, col(tables.Task.id) == col(tables.Trajectory.task_id))
        .join(probe, col(probe.item_id) == col(item.id), isouter=True)
        .where(item.run_id == run.id, col(probe.id).is_(None))
        .order_by(col(item.id))
    )
    with writing() as session:
        assignment = session.get_one(tables.Assignment, assignment_id)
        participant = session.get_one(tables.Participant, assignment.participant_id)
        for found, text, task, recorded in session.exec(fresh).all():
            label = recorded if run.kind == RunKind.REPLAY else None
            if found.kind != HALTED and run.kind == RunKind.LIVE:
                label = find_true_label(task_spec(task), pending_checkpoint(from_json(text), found.step, found.kind))
            if label is not None or found.kind == HALTED:
                known = Label(label) if label and found.kind != HALTED else None
                purpose = _PURPOSES[known or Label.MISALIGNED]
                session.add(_probe(participant, assignment, found.id or 0, purpose, known))


def _probe(
    participant: tables.Participant,
    assignment: tables.Assignment | None,
    item_id: int,
    purpose: ProbePurpose,
    expected: Label | None,
    why: str = "",
    after: int = 0,
) -> tables.Probe:
    return tables.Probe(
        study_id=participant.study_id,
        participant_id=participant.id or 0,
        assignment_id=assignment.id if assignment else None,
        item_id=item_id,
        purpose=purpose,
        expected=expected or "",
        explanation=why,
        after=after,
    )
