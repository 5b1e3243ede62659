"""Arms: the run of one participant's condition, made and played by the Actor up to what waits for review.

Long work is marked in the run's options, so that a page opened anew knows whether it is under way or was cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from sqlmodel import Session

from console import runs
from console.actors import actor
from console.database import now_ms, reading, writing
from console.designs import Design
from console.designs.factors import unattended, view
from console.errors import ConsoleError, Refused
from console.runs import audit_log
from console.studies import sources
from console.studies.creating import design_of
from console.studies.stages import is_open
from console.trials import engine, replay, start
from console.trials.round import Advance
from console.trials.run_lock import alone
from console.trials.start import ActorAndEnvironments
from storage import tables
from storage.tables import AssignmentStatus, RunKind

Progress = Callable[[int, int], None]
"""Called with (trials played, trials to play)."""

AT_WORK = "The agents are already at work on this; wait a moment."
_CUT_OFF = "The agents could not go on just now. What you decided is kept; try again in a minute."
_PLAYING = "playing"
HELD_UP = "study held up"
"""The event that says for the researcher why agents could not go on."""


def levels(assignment: tables.Assignment) -> dict[str, str]:
    """The condition's level of each factor."""
    found: dict[str, str] = orjson.loads(assignment.levels)
    return found


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
        raise Refused(_CUT_OFF)
    return report


def is_playing(run: tables.Run) -> bool:
    """Whether the run's Actor is at work, or was when its process died."""
    return bool(orjson.loads(run.options).get(_PLAYING))


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
        options = {key: value for key, value in orjson.loads(stored.options).items() if key != _PLAYING}
        stored.options = orjson.dumps(options | ({_PLAYING: True} if playing else {})).decode()
        run.options = stored.options
        session.add(stored)


@contextmanager
def _in_their_words(run: tables.Run) -> Iterator[None]:
    # The engine's own sentences name the run, and with it the condition's place in the study.
    try:
        yield
    except ConsoleError as refusal:
        if is_busy(run):
            raise Refused(AT_WORK) from refusal
        _note(run, str(refusal))
        raise Refused(_CUT_OFF) from refusal


def _note(run: tables.Run, problem: str) -> None:
    with writing() as session:
        audit_log.record(session, run, HELD_UP, now_ms(), actor="study", detail={"problem": problem})


def _make(session: Session, assignment: tables.Assignment) -> None:
    study = session.get_one(tables.Study, assignment.study_id)
    participant = session.get_one(tables.Participant, assignment.participant_id)
    design = design_of(study)
    # Whoever has made a run of that name meanwhile must not keep the participant from theirs.
    name = runs.free_name(session, f"{study.name} {participant.code} {assignment.position}")
    fields = _fields(design, assignment, study.id)
    tasks: list[str] = orjson.loads(assignment.tasks)
    detector = levels(assignment)["detector"]
    if design.source.run is None:
        fields |= {
            "detector_name": detector,
            "trials": design.trials,
            "players": ActorAndEnvironments(actor(design.source.actor)),
        }
        run = start.begin(session, name, sources.chosen(design, tasks), **fields)
    else:
        fields |= {"task_keys": tasks, "most_trials": design.trials, "detector": detector}
        run = replay.begin_replay(session, name, design.source.run, **fields)
    assignment.run_id, assignment.status = run.id, AssignmentStatus.WORKING
    assignment.began_ms = now_ms()
    session.add(assignment)


def _fields(design: Design, assignment: tables.Assignment, study_id: int | None) -> dict[str, Any]:
    found = levels(assignment)
    cap, percent = runs.parse_budget(design.budget)
    options = {"view": view(found), _PLAYING: True}
    return {
        "study_id": study_id,
        "feedback_mode": found["feedback"],
        "budget_cap": cap,
        "budget_percent": percent,
        "seed": design.seed,
        "undo_ms": round(design.undo_seconds * 1_000),
        "options": orjson.dumps(options).decode(),
    }
