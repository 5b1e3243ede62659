"""The run of one participant's condition: its creation, its rounds of play, and its handover after each review.

At a handover, the agents get the decisions, items outside the budget are released, and the next trial starts. The run's
options show that a long task is running, so that a reloaded page can distinguish running from interrupted work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

import orjson
from sqlalchemy import update
from sqlmodel import Session, col, select

from console import runs
from console.actors import actor
from console.auth import audit_log
from console.database import now_ms, reading, review_queue, writing
from console.detection.detectors import detector
from console.detection.detectors.baselines import RANDOM
from console.environments.environment import TaskSpec
from console.errors import ConsoleError, Refused
from console.language import _, gettext_noop
from console.review import decisions
from console.review.blinding import HIDDEN
from console.runs import RunOptions, is_current, run_options
from console.runs.workers import lock_run
from console.studies.design import Design, varied_factors
from console.studies.design.factors import is_unattended, study_threshold, view
from console.studies.sessions import next_item, study_tasks
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.stages import is_open
from console.trials import engine, replay, start
from console.trials.round import Advance
from console.trials.start import ActorAndEnvironments
from storage import tables
from storage.queue import HALTED
from storage.tables import AssignmentStatus, ItemStatus, RunKind

Progress = Callable[[int, int], None]
"""A callback with the arguments (trials played, trials to play)."""

AT_WORK = gettext_noop("The agents are already working on this part. Wait a moment, then reload the page.")
_CUT_OFF = gettext_noop("The agents could not continue. Your decisions are saved. Try again in a minute.")
HELD_UP = "study held up"
"""The event that records, for the researcher, why the agents could not continue."""


def levels(assignment: tables.Assignment) -> dict[str, str]:
    """Return the condition's level of each factor."""
    found: dict[str, str] = orjson.loads(assignment.levels)
    return found


def page_levels(design: Design, found: Mapping[str, str]) -> dict[str, str]:
    """Return the levels for the condition's pages; hide a random detector's explanation if detectors are compared."""
    only_draws = "detector" in varied_factors(design) and found["detector"] == RANDOM.name
    return {**found, "explanation": HIDDEN} if only_draws else dict(found)


def _page(design: Design, found: Mapping[str, str]) -> dict[str, str]:
    """Return the page settings of a condition; if the study compares detectors, give each detector a neutral name."""
    compared = varied_factors(design).get("detector", ())
    alias = f"Detector {ascii_uppercase[compared.index(found['detector']) % 26]}" if compared else ""
    return view(page_levels(design, found)) | ({"alias": alias} if alias else {})


def is_attended(assignment: tables.Assignment) -> bool:
    """Return whether the participant sees the condition; otherwise its agents repeat their tasks without reviews."""
    return not is_unattended(levels(assignment))


def begin(assignment_id: int, progress: Progress | None = None) -> tables.Run:
    """Create or resume the condition's run and play its first trials; the run stays marked as playing.

    Raise Refused, worded for the participant, if another process is playing the run or a model fails.
    """
    with writing() as session:
        assignment = session.get_one(tables.Assignment, assignment_id, with_for_update=True)
        if assignment.run_id is None:
            _make(session, assignment)
        run = session.get_one(tables.Run, assignment.run_id)
        session.flush()
        session.expunge(run)
    if is_playing(run):
        play(run, engine.resume, progress)
    return run


def play_alone(assignment_id: int, progress: Progress | None = None) -> None:
    """Play an unattended condition to its end; a repeated call has no further effect."""
    run = begin(assignment_id, progress)
    with reading() as session:
        if not is_open(session.get_one(tables.Assignment, assignment_id)):
            return
    while play(run, engine.advance, progress).revealed:
        pass
    mark_playing(run, playing=False)
    with writing() as session:
        mark_done(session, session.get_one(tables.Assignment, assignment_id))


def mark_done(session: Session, assignment: tables.Assignment) -> None:
    """Mark the condition as done, unless it is already done."""
    if is_open(assignment):
        assignment.status, assignment.ended_ms = AssignmentStatus.DONE, now_ms()
        session.add(assignment)
        session.flush()


def play(run: tables.Run, live: Callable[..., Advance], progress: Progress | None = None) -> Advance:
    """Play one round, or for a log with `engine.resume` only judge its trials; raise Refused if interrupted."""
    with _in_their_words(run):
        if run.kind == RunKind.LIVE:
            report = live(run.name, progress=progress)
        else:
            # `replay.advance` locks the run itself.
            report = replay.advance(run.name) if live is engine.advance else Advance()
            with lock_run(run):
                report.queued += replay.judge_replay(run.name, run.detector or "rules")
    if report.interrupted:
        _note(run, " ".join(report.problems))
        raise Refused(_(_CUT_OFF))
    return report


def is_playing(run: tables.Run) -> bool:
    """Return whether the run is marked as playing; after a crash, the mark remains."""
    return run_options(run).playing


def is_busy(run: tables.Run) -> bool:
    """Return whether a live process is working on the run."""
    try:
        with lock_run(run):
            return False
    except Refused:
        return True


def mark_playing(run: tables.Run, *, playing: bool) -> None:
    """Store in the run's options whether the run is playing."""
    with writing() as session:
        stored = session.get_one(tables.Run, run.id, with_for_update=True)
        stored.options = replace(run_options(stored), playing=playing).to_json()
        run.options = stored.options
        session.add(stored)


@contextmanager
def _in_their_words(run: tables.Run) -> Iterator[None]:
    # The engine's messages contain the run's name, which reveals the condition's position in the study.
    try:
        yield
    except ConsoleError as refusal:
        if is_busy(run):
            raise Refused(_(AT_WORK)) from refusal
        _note(run, str(refusal))
        raise Refused(_(_CUT_OFF)) from refusal


def _note(run: tables.Run, problem: str) -> None:
    with writing() as session:
        audit_log.record(session, run, HELD_UP, now_ms(), by="study", detail={"problem": problem})


def _make(session: Session, assignment: tables.Assignment) -> None:
    study = session.get_one(tables.Study, assignment.study_id)
    participant = session.get_one(tables.Participant, assignment.participant_id)
    design, keys = design_of(study), orjson.loads(assignment.tasks)
    # Another run may have taken the name in the meantime.
    name = runs.free_name(session, f"{study.name} {participant.code} {assignment.position}")
    tasks = [] if design.source.run else study_tasks.select_tasks(design, keys)
    run = create_run(session, name, design, assignment, tasks, keys, audited=design.checks.audited, playing=True)
    assignment.run_id, assignment.status = run.id, AssignmentStatus.WORKING
    assignment.began_ms = now_ms()
    session.add(assignment)


def create_run(
    session: Session,
    name: str,
    design: Design,
    assignment: tables.Assignment,
    tasks: Sequence[TaskSpec],
    keys: Sequence[str],
    *,
    capped: bool = True,
    audited: float = 0.0,
    playing: bool = False,
) -> tables.Run:
    """Create a run for the condition, from tasks or a log's `keys`; `audited` is a share of unflagged actions."""
    found = levels(assignment)
    cap, percent = runs.parse_budget(design.budget) if capped else (None, None)
    name_of_detector = found["detector"]
    options = RunOptions(
        view=_page(design, found),
        audited=audited,
        playing=playing,
        rationale=float(found.get("rationale") == "sent"),
        protocol=found.get("protocol", ""),
    )
    fields: dict[str, Any] = {
        "study_id": assignment.study_id,
        "feedback_mode": found["feedback"],
        "budget_cap": cap,
        "budget_percent": percent,
        "halted_free": design.halted_free,
        "seed": design.seed,
        "threshold": study_threshold(detector(name_of_detector)),
        "undo_ms": round(design.undo_seconds * 1_000),
        "options": options.to_json(),
    }
    if design.source.run is not None:
        fields |= {"task_keys": keys, "most_trials": design.trials, "detector": name_of_detector}
        return replay.add_replay_run(session, name, design.source.run, **fields)
    plays = ActorAndEnvironments(actor(design.source.actor))
    fields |= {"detector_name": name_of_detector, "trials": design.trials, "actor_and_environments": plays}
    return start.add_run(session, name, tasks, **fields)


def hand_over(run: tables.Run, assignment: tables.Assignment, code: str, progress: Progress | None = None) -> None:
    """Deliver the round's decisions, play the next trials and release undecided items; continue if repeated."""
    settle(run.id, code)
    play(run, engine.advance, progress)
    if run.kind == RunKind.LIVE:
        for trial in _spent(run, assignment, code):
            _close(run, trial, progress)
    mark_playing(run, playing=False)


def settle(run_id: int | None, code: str) -> None:
    """Make the participant's decisions in the run final, so that they can no longer be undone."""
    decision, item = tables.Decision, tables.Item
    of_run = select(item.id).where(item.run_id == run_id)
    mine = (col(decision.reviewer) == code, col(decision.item_id).in_(of_run), col(decision.delivered_ms).is_(None))
    with writing() as session:
        session.execute(
            update(decision)
            .where(*mine, is_current(), col(decision.deliverable_ms) > now_ms())
            .values(deliverable_ms=now_ms())
        )


def _spent(run: tables.Run, assignment: tables.Assignment, code: str) -> list[int]:
    with reading() as session:
        waiting = decisions.list_pending_trials(session, run)
        ahead = next_item.list_items_ahead(session, code, assignment, run)
    return [trial for trial in waiting if not ahead or trial < ahead[0].item.trial]


def _close(run: tables.Run, trial: int, progress: Progress | None) -> None:
    """Run the trial's undecided actions if every environment is replayable (InferAct, 4.4); cancel what is left."""
    if all(ActorAndEnvironments.of(run).environment(name).replayable for name in run.environment.split(",")):
        play(run, lambda name, progress: engine.release_undecided(name, trial=trial, progress=progress), progress)
    item = tables.Item
    pending = select(item.id).where(item.run_id == run.id, item.trial == trial, item.status == ItemStatus.PENDING)
    if not run_options(run).acts_first:
        pending = pending.where(item.kind == HALTED)
    with reading() as session:
        left = [id for id in session.exec(pending) if id is not None]
    review_queue().cancel(item_ids=left, now_ms=now_ms())
