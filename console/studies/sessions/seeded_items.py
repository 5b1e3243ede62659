"""Seeded items: practice before the conditions, items with a known answer between those of a condition.

They stand in small runs of their own, whose budgets hold exactly them, where no action ever runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

import orjson
from sqlalchemy import insert
from sqlmodel import Session, col, select

from console import runs
from console.database import now_ms, reading, writing
from console.detection.verdicts import routing_verdict
from console.environments import environment
from console.errors import ConsoleError
from console.runs.options import RunOptions, run_options
from console.studies.design import Design
from console.studies.sessions import known_items
from console.studies.sessions.condition_run import levels
from console.studies.sessions.known_items import KnownItem, Share, attention, share_out
from console.studies.sessions.lifecycle import design_of
from console.trajectory import Label
from console.trajectory.checkpoints import checkpoint_at
from console.trials.start import insert_tasks, insert_trials
from storage import tables
from storage.tables import ProbePurpose, RunKind


@dataclass(frozen=True, slots=True)
class _Planned:
    item: KnownItem
    purpose: ProbePurpose
    after: int = 0


def practice(participant_id: int) -> None:
    """Makes the participant's practice items, once."""
    with reading() as session:
        participant = session.get_one(tables.Participant, participant_id)
        study = session.get_one(tables.Study, participant.study_id)
        design = design_of(study)
        items = _share(session, study, design).practice if design.practice else ()
    settings = {"study_id": study.id, "detector": "rules", "seed": design.seed, "undo_ms": 0}
    plan = [_Planned(item, ProbePurpose.PRACTICE, after) for after, item in enumerate(items)]
    verdicts = _verdicts(settings, plan)
    with writing() as session:
        participant = session.get_one(tables.Participant, participant_id, with_for_update=True)
        if participant.practice_run_id is None and plan:
            name = runs.free_name(session, f"{study.name} {participant.code} practice")
            participant.practice_run_id = _insert(session, name, settings, participant, None, plan, verdicts)
            session.add(participant)


def checks(assignment_id: int, items_waiting: int) -> None:
    """Makes the known items of a condition, once, spread over so many items of the condition itself."""
    with reading() as session:
        assignment = session.get_one(tables.Assignment, assignment_id)
        participant = session.get_one(tables.Participant, assignment.participant_id)
        study = session.get_one(tables.Study, assignment.study_id)
        arm = session.get_one(tables.Run, assignment.run_id)
        if assignment.checks_run_id is not None:
            return
        plan = _plan(session, study, participant, assignment, items_waiting)
    settings = {
        "study_id": study.id,
        "detector": levels(assignment)["detector"],
        "seed": arm.seed,
        "feedback_mode": arm.feedback_mode,
        "undo_ms": arm.undo_ms,
        "options": RunOptions(view=run_options(arm).view).to_json(),
    }
    verdicts = _verdicts(settings, plan)
    with writing() as session:
        plan, verdicts = _in_order(session, arm, items_waiting, plan, verdicts)
        assignment = session.get_one(tables.Assignment, assignment_id, with_for_update=True)
        if assignment.checks_run_id is None and plan:
            name = runs.free_name(session, f"{study.name} {participant.code} {assignment.position} checks")
            made = _insert(session, name, settings, participant, assignment, plan, verdicts)
            assignment.checks_run_id = made
            session.add(assignment)


def _plan(
    session: Session,
    study: tables.Study,
    participant: tables.Participant,
    assignment: tables.Assignment,
    items_waiting: int,
) -> list[_Planned]:
    """The condition's known items in a seeded order, each with the number of items before it."""
    design = design_of(study)
    rng = Random(f"{design.seed} checks {participant.number} {assignment.position}")
    items = [(item, ProbePurpose.ATTENTION) for item in _attentive(design, session, assignment, rng)]
    if design.checks.known_good or design.checks.known_bad:
        share = _share(session, study, design)
        # Turned from person to person, so that no condition always has the easier ones.
        turn = (participant.number + assignment.position) % len(share.good)
        items += [(item, ProbePurpose.KNOWN_GOOD) for item in share.good[turn]]
        items += [(item, ProbePurpose.KNOWN_BAD) for item in share.bad[turn]]
    rng.shuffle(items)
    return [
        _Planned(item, purpose, int((place + rng.random()) * items_waiting / len(items)))
        for place, (item, purpose) in enumerate(items)
    ]


def _attentive(design: Design, session: Session, assignment: tables.Assignment, rng: Random) -> Iterator[KnownItem]:
    where = session.get_one(tables.Run, assignment.run_id).environment.split(",")[0]
    for number in range(design.checks.attention):
        yield attention(where, assignment.position * 100 + number, rng.choice(list(Label)))


def _share(session: Session, study: tables.Study, design: Design) -> Share:
    assignment = tables.Assignment
    found = session.exec(select(assignment.tasks).where(assignment.study_id == study.id).distinct())
    taken = sorted({key for text in found for key in orjson.loads(text)})
    if design.source.run is None:
        return _played_share(design.model_dump_json(), tuple(taken))
    return share_out(design, known_items.pool(session, design, taken))


@lru_cache(maxsize=8)
def _played_share(design_json: str, taken: tuple[str, ...]) -> Share:
    # Every condition of every participant asks again, and judging the whole pool takes a while.
    design = Design.model_validate_json(design_json)
    return share_out(design, known_items.played(design, taken))


def _verdicts(settings: dict[str, Any], plan: Sequence[_Planned]) -> list[dict[str, Any] | None]:
    """What the condition's detector says of each; None where its model cannot be asked now, and of attention checks."""
    run = tables.Run(name="", kind=RunKind.ARCHIVE, environment="", created_ms=0, **settings)
    found: list[dict[str, Any] | None] = []
    for one in plan:
        if one.purpose is ProbePurpose.ATTENTION:
            found.append(None)
            continue
        seen = checkpoint_at(one.item.record, one.item.step, one.item.kind)
        try:
            found.append(routing_verdict(run, 0, seen))
        except ConsoleError:
            found.append(None)
    return found


def _in_order(
    session: Session,
    arm: tables.Run,
    most: int,
    plan: Sequence[_Planned],
    verdicts: Sequence[dict[str, Any] | None],
) -> tuple[list[_Planned], list[dict[str, Any] | None]]:
    """Each judged item where its score belongs among those that wait: an item out of order would tell itself."""
    item = tables.Item
    scores = list(session.exec(select(item.priority).where(item.run_id == arm.id, col(item.open_slots) > 0)))
    rng = Random(f"{arm.name} order")
    placed: list[tuple[_Planned, dict[str, Any] | None]] = []
    for one, row in zip(plan, verdicts, strict=True):
        if row is not None:
            above = rng.randint(sum(score > row["score"] for score in scores), sum(s >= row["score"] for s in scores))
            one = replace(one, after=min(most, above))
        placed.append((one, row))
    placed.sort(key=lambda pair: (pair[0].after, -(pair[1]["score"] if pair[1] else 0.0)))
    return [one for one, _ in placed], [row for _, row in placed]


def _insert(
    session: Session,
    name: str,
    settings: dict[str, Any],
    participant: tables.Participant,
    assignment: tables.Assignment | None,
    plan: Sequence[_Planned],
    verdicts: Sequence[dict[str, Any] | None],
) -> int:
    """Adds the run with its items and probes; returns the run's id."""
    at_ms = now_ms()
    names = list(dict.fromkeys(one.item.task.environment for one in plan))
    critical = list(dict.fromkeys(pattern for one in names for pattern in environment(one).critical))
    run = runs.create(
        session, name, RunKind.ARCHIVE, at_ms, actor="known", critical=orjson.dumps(critical).decode(), **settings
    )
    run.environment = ",".join(names)
    task_ids = insert_tasks(session, run, [one.item.task for one in plan])
    records = [one.item.record for one in plan]
    trials = insert_trials(session, run, list(zip(task_ids, records, strict=True)), at_ms)
    session.add(tables.Budget(run_id=run.id or 0, trial=0, cap=len(plan)))
    for trajectory_id, one, row in zip(trials, plan, verdicts, strict=True):
        verdict_id = _verdict(session, row, run, trajectory_id)
        item = _item(run, trajectory_id, one, verdict_id, row["score"] if row else 0.0, at_ms)
        session.add(item)
        session.flush()
        session.add(_probe(participant, assignment, item, one))
    return run.id or 0


def _verdict(session: Session, row: dict[str, Any] | None, run: tables.Run, trajectory_id: int) -> int | None:
    if row is None:
        return None
    stored = row | {"run_id": run.id, "trajectory_id": trajectory_id}
    return int(session.execute(insert(tables.Verdict).returning(col(tables.Verdict.id)), [stored]).scalar_one())


def _item(
    run: tables.Run, trajectory_id: int, one: _Planned, verdict_id: int | None, score: float, at_ms: int
) -> tables.Item:
    return tables.Item(
        run_id=run.id or 0,
        trial=0,
        trajectory_id=trajectory_id,
        step=one.item.step,
        kind=str(one.item.kind),
        priority=score,
        verdict_id=verdict_id,
        created_ms=at_ms,
    )


def _probe(
    participant: tables.Participant, assignment: tables.Assignment | None, item: tables.Item, one: _Planned
) -> tables.Probe:
    return tables.Probe(
        study_id=participant.study_id,
        participant_id=participant.id or 0,
        assignment_id=assignment.id if assignment else None,
        item_id=item.id or 0,
        purpose=one.purpose,
        expected=one.item.label,
        explanation=one.item.why,
        after=one.after,
    )
