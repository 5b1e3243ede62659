"""The run of one participant's condition: made, played by the Actor up to what waits for review, handed over after it.

At a handover decisions reach the agents, what the budget left open is released, and the next trial comes. Long work is
marked in the run's options, so that a page opened anew knows whether it is under way or was cut off.
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
from console.database import now_ms, reading, review_queue, writing
from console.detection.detectors.random import RANDOM
from console.environments.environment import TaskSpec
from console.errors import ConsoleError, Refused
from console.language import _, gettext_noop
from console.review import decisions
from console.review.blinding import HIDDEN
from console.runs import audit_log
from console.runs.current_decisions import is_current
from console.runs.options import RunOptions, run_options
from console.studies.design import Design, varied
from console.studies.design.factors import unattended, view
from console.studies.sessions import next_item, task_sources
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.stages import is_open
from console.trials import engine, release, replay, start
from console.trials.round import Advance
from console.trials.run_lock import alone
from console.trials.start import ActorAndEnvironments
from storage import tables
from storage.queue import HALTED
from storage.tables import AssignmentStatus, ItemStatus, RunKind

Progress = Callable[[int, int], None]
"""Called with (trials played, trials to play)."""

AT_WORK = gettext_noop("The agents are already at work on this; wait a moment.")
_CUT_OFF = gettext_noop("The agents could not go on just now. What you decided is kept; try again in a minute.")
HELD_UP = "study held up"
"""The event that says for the researcher why agents could not go on."""


def levels(assignment: tables.Assignment) -> dict[str, str]:
    """The condition's level of each factor."""
    found: dict[str, str] = orjson.loads(assignment.levels)
    return found


def page_levels(design: Design, found: Mapping[str, str]) -> dict[str, str]:
    """The levels as pages go by them: where detectors are compared, one that only draws says no reason."""
    only_draws = "detector" in varied(design) and found["detector"] == RANDOM.name
    return {**found, "explanation": HIDDEN} if only_draws else dict(found)


def _page(design: Design, found: Mapping[str, str]) -> dict[str, str]:
    """What the pages of a condition show; detectors that are compared have neutral names."""
    compared = varied(design).get("detector", ())
    alias = f"Detector {ascii_uppercase[compared.index(found['detector']) % 26]}" if compared else ""
    return view(page_levels(design, found)) | ({"alias": alias} if alias else {})


def is_attended(assignment: tables.Assignment) -> bool:
    """Whether the participant sees the condition at all; where nobody reviews, its agents try again alone."""
    return not unattended(levels(assignment))


def begin(assignment_id: int, progress: Progress | None = None) -> tables.Run:
    """The condition's run with its first trials played, still marked as at work; begun already, it goes on.

    Raises Refused, in words for the participant, while somebody else does the same or where a model fails.
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
    """Plays an unattended condition to its end; safe to repeat."""
    run = begin(assignment_id, progress)
    with reading() as session:
        if not is_open(session.get_one(tables.Assignment, assignment_id)):
            return
    while play(run, engine.advance, progress).revealed:
        pass
    mark(run, playing=False)
    with writing() as session:
        done(session, session.get_one(tables.Assignment, assignment_id))


def done(session: Session, assignment: tables.Assignment) -> None:
    """Marks the condition as done, once."""
    if is_open(assignment):
        assignment.status, assignment.ended_ms = AssignmentStatus.DONE, now_ms()
        session.add(assignment)
        session.flush()


def play(run: tables.Run, live: Callable[..., Advance], progress: Progress | None = None) -> Advance:
    """One round of the run's Actor or of its log; raises Refused, in words for the participant.

    `live` is the engine's function; for a log, `engine.resume` only judges what there is.
    """
    with _in_their_words(run):
        if run.kind == RunKind.LIVE:
            report = live(run.name, progress=progress)
        else:
            with alone(run):
                report = replay.advance(run.name) if live is engine.advance else Advance()
                report.queued += replay.judge_replay(run.name, run.detector or "rules")
    if report.interrupted:
        _note(run, " ".join(report.problems))
        raise Refused(_(_CUT_OFF))
    return report


def is_playing(run: tables.Run) -> bool:
    """Whether the run's Actor is at work, or was when its process died."""
    return run_options(run).playing


def is_busy(run: tables.Run) -> bool:
    """Whether a living process works on the run."""
    try:
        with alone(run):
            return False
    except Refused:
        return True


def mark(run: tables.Run, *, playing: bool) -> None:
    """Says in the run's options whether its Actor is at work."""
    with writing() as session:
        stored = session.get_one(tables.Run, run.id, with_for_update=True)
        stored.options = replace(run_options(stored), playing=playing).to_json()
        run.options = stored.options
        session.add(stored)


@contextmanager
def _in_their_words(run: tables.Run) -> Iterator[None]:
    # The engine's own sentences name the run, and with it the condition's place in the study.
    try:
        yield
    except ConsoleError as refusal:
        if is_busy(run):
            raise Refused(_(AT_WORK)) from refusal
        _note(run, str(refusal))
        raise Refused(_(_CUT_OFF)) from refusal


def _note(run: tables.Run, problem: str) -> None:
    with writing() as session:
        audit_log.record(session, run, HELD_UP, now_ms(), actor="study", detail={"problem": problem})


def _make(session: Session, assignment: tables.Assignment) -> None:
    study = session.get_one(tables.Study, assignment.study_id)
    participant = session.get_one(tables.Participant, assignment.participant_id)
    design, keys = design_of(study), orjson.loads(assignment.tasks)
    # Whoever has made a run of that name meanwhile must not keep the participant from theirs.
    name = runs.free_name(session, f"{study.name} {participant.code} {assignment.position}")
    tasks = [] if design.source.run else task_sources.chosen(design, keys)
    run = made(session, name, design, assignment, tasks, keys, audited=design.checks.audited, playing=True)
    assignment.run_id, assignment.status = run.id, AssignmentStatus.WORKING
    assignment.began_ms = now_ms()
    session.add(assignment)


def made(
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
    """A run by the condition's levels, not played yet: of the tasks, or the `keys` of a log; with its budget or none.

    `audited` is the share of unflagged actions that wait too.
    """
    detector, fields = levels(assignment)["detector"], _fields(design, assignment)
    fields["options"] = RunOptions(view=_page(design, levels(assignment)), audited=audited, playing=playing).to_json()
    if not capped:
        fields |= {"budget_cap": None, "budget_percent": None}
    if design.source.run is not None:
        fields |= {"task_keys": keys, "most_trials": design.trials, "detector": detector}
        return replay.begin_replay(session, name, design.source.run, **fields)
    plays = ActorAndEnvironments(actor(design.source.actor))
    fields |= {"detector_name": detector, "trials": design.trials, "actor_and_environments": plays}
    return start.begin(session, name, tasks, **fields)


def _fields(design: Design, assignment: tables.Assignment) -> dict[str, Any]:
    found = levels(assignment)
    cap, percent = runs.parse_budget(design.budget)
    return {
        "study_id": assignment.study_id,
        "feedback_mode": found["feedback"],
        "budget_cap": cap,
        "budget_percent": percent,
        "halted_free": design.halted_free,
        "seed": design.seed,
        "undo_ms": round(design.undo_seconds * 1_000),
    }


def hand_over(run: tables.Run, assignment: tables.Assignment, code: str, progress: Progress | None = None) -> None:
    """Delivers the round's decisions, plays what follows from them, and closes what the budget left undecided.

    Safe to repeat where it was cut off. Raises Refused, in words for the participant.
    """
    settle(run.id, code)
    play(run, engine.advance, progress)
    if run.kind == RunKind.LIVE:
        for trial in _spent(run, assignment, code):
            _close(run, trial, progress)
    mark(run, playing=False)


def settle(run_id: int | None, code: str) -> None:
    """Makes the participant's answers in the run final: nothing of the round can be taken back any more."""
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
    """The trials in which items wait that the participant can have no more."""
    with reading() as session:
        waiting = decisions.waiting_trials(session, run)
        ahead = next_item.items_ahead(session, code, assignment, run)
    return [trial for trial in waiting if not ahead or trial < ahead[0].item.trial]


def _close(run: tables.Run, trial: int, progress: Progress | None) -> None:
    """Lets the trial's undecided actions run where they can be taken back, as the paper assumes (InferAct, 4.4)."""
    if all(ActorAndEnvironments.of(run).environment(name).replayable for name in run.environment.split(",")):
        play(run, lambda name, progress: release.release(name, trial=trial, progress=progress), progress)
    item = tables.Item
    halted = (item.run_id == run.id, item.trial == trial, item.kind == HALTED, item.status == ItemStatus.PENDING)
    with reading() as session:
        left = [id for id in session.exec(select(item.id).where(*halted)) if id is not None]
    review_queue().cancel(item_ids=left, now_ms=now_ms())
