"""Simulated participants: they go the way of people, through the same rounds and the same queue.

What one thinks of an item comes from gold, gold with errors, the recorded label, or the rules; a new kind is one
function here and one line in OPINIONS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import orjson
from sqlmodel import Session, col, func, select

from console.database import now_ms, reading, review_queue, writing
from console.detection.detectors import detector
from console.environments.environment import TaskSpec
from console.errors import Refused
from console.review import decisions
from console.review.simulated import Noise, ReviewCase, SimulatedAnswer, reviewer
from console.review.simulated.simulate import answer_to
from console.runs.trajectory_rows import task_spec
from console.studies.design import Design, conditions
from console.studies.design.model import Noisy
from console.studies.sessions import joining, steps
from console.studies.sessions.lifecycle import design_of, get
from console.studies.sessions.position import OVER, Position
from console.studies.sessions.stages import NOT_IN, ParticipantStage, locked, refuse_unless_open
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at
from storage import tables
from storage.tables import AssignmentStatus, ParticipantKind, Probe

_STUCK = "You got stuck; try another way."
_WRONG = "That is not what I asked for; read my request once more."


@dataclass(frozen=True, slots=True)
class Matter:
    """An item before a simulated participant, with what is known of it: gold, the recorded label, or its purpose."""

    task: TaskSpec
    checkpoint: Checkpoint
    trial: int
    recorded: Label | None
    probe: Probe | None
    noise: Noise
    seed: int


def simulated_answer(kind: str, matter: Matter) -> SimulatedAnswer:
    """What a participant of that kind thinks; people are simulated as noisy ones."""
    return OPINIONS[ParticipantKind(kind)](matter)


def _by_gold(matter: Matter) -> SimulatedAnswer:
    if matter.task.gold:
        return reviewer("oracle").judge(_case(matter), matter.noise)
    return _by_label(matter)


def _with_errors(matter: Matter) -> SimulatedAnswer:
    if matter.task.gold:
        return reviewer("noisy").judge(_case(matter), matter.noise)
    seen, known = matter.checkpoint, _by_label(matter)
    rng = Random(f"{matter.seed} {matter.task.task_id} {matter.trial} {seen.index} {seen.kind}")
    error, pace = rng.random(), rng.random()
    seconds = matter.noise.seconds_per_item * (0.5 + pace)
    if known.label is Label.MISALIGNED and error < matter.noise.false_accept:
        return SimulatedAnswer(Label.ALIGNED, "", seconds)
    if known.label is Label.ALIGNED and error < matter.noise.false_reject:
        return SimulatedAnswer(Label.MISALIGNED, _WRONG, seconds)
    return SimulatedAnswer(known.label, known.words, seconds)


def _by_label(matter: Matter) -> SimulatedAnswer:
    """For items without gold: what the probe expects, or what the log says of itself; unlabelled ones pass."""
    if matter.checkpoint.kind is CheckpointKind.HALTED:
        return SimulatedAnswer(None, _STUCK)
    label = Label(matter.probe.expected) if matter.probe else matter.recorded or Label.ALIGNED
    return SimulatedAnswer(label, _WRONG if label is Label.MISALIGNED else "")


def _by_rules(matter: Matter) -> SimulatedAnswer:
    if matter.checkpoint.kind is CheckpointKind.HALTED:
        return SimulatedAnswer(None, _STUCK)
    rules = detector("rules")
    verdict = rules.judge(matter.checkpoint, matter.seed) if rules.judge else None
    if verdict is None or verdict.score <= rules.threshold:
        return SimulatedAnswer(Label.ALIGNED, "")
    return SimulatedAnswer(Label.MISALIGNED, verdict.rationale or _WRONG)


def _case(matter: Matter) -> ReviewCase:
    return ReviewCase(matter.task, matter.checkpoint, matter.trial, matter.seed)


OPINIONS: dict[ParticipantKind, Callable[[Matter], SimulatedAnswer]] = {
    ParticipantKind.ORACLE: _by_gold,
    ParticipantKind.NOISY: _with_errors,
    ParticipantKind.RULES: _by_rules,
    ParticipantKind.HUMAN: _with_errors,
}

Progress = Callable[[int, int], None]
"""Called with (conditions done, conditions to do)."""

_SLOWEST = 1.5
"""The longest that an item takes, as a share of the mean."""


@dataclass(slots=True)
class StudySimulation:
    """What the simulated participants of a study did just now; some decisions are on items of known answer."""

    study: str
    participants: int = 0
    conditions: int = 0
    decisions: int = 0
    on_known_answers: int = 0


@dataclass(slots=True)
class _Person:
    """A simulated participant with a clock of their own, so that items take time and nobody waits."""

    id: int
    kind: str
    noise: Noise
    seed: int
    break_ms: int
    clock_ms: int


def simulate(
    study_name: str, progress: Progress | None = None, *, all_places: bool = False, beside_people: bool = False
) -> StudySimulation:
    """Plays every simulated place to its end, with `all_places` those of people that are free as well (a dry run).

    Such a place is a simulated one from then on. Goes on where it was stopped. Raises Unknown, and Refused while the
    study is not open, or for `all_places` where people take part, unless `beside_people`.
    """
    with reading() as session:
        study = get(session, study_name)
        refuse_unless_open(study)
        if all_places and not beside_people:
            _refuse_beside_people(session, study)
        design, people = design_of(study), _people(session, study, all_places)
        total = _open_conditions(session, people)
    tally = StudySimulation(study_name)
    for participant in people:
        _play(_seated(participant, design), tally, lambda: progress(tally.conditions, total) if progress else None)
        tally.participants += 1
    return tally


def _refuse_beside_people(session: Session, study: tables.Study) -> None:
    participant = tables.Participant
    joined = col(participant.joined_ms).is_not(None) & (participant.kind == ParticipantKind.HUMAN)
    mine = (participant.study_id == study.id, joined, col(participant.stage).not_in(NOT_IN))
    if count := session.exec(select(func.count()).select_from(participant).where(*mine)).one():
        there = "1 person takes" if count == 1 else f"{count} people take"
        raise Refused(
            f"{there} part in {study.name}: a dry run would give its free places to simulated reviewers for good. Make "
            f"it on a copy (inferact study create FILE --name COPY), or repeat it with --beside-people."
        )


def _play(person: _Person, tally: StudySimulation, told: Callable[[], None]) -> None:
    """Takes one simulated participant through all that is before them."""
    while (place := steps.where(person.id, person.clock_ms)).kind not in (
        ParticipantStage.FINISHED,
        ParticipantStage.WITHDRAWN,
    ):
        if place.claim is not None:
            _decide(person, place)
            tally.decisions += 1
            tally.on_known_answers += place.probe is not None
        elif place.kind == "introduction":
            steps.begin(person.id)
        elif place.kind == "break":
            person.clock_ms = min(person.clock_ms + person.break_ms, now_ms())
            steps.end_break(person.id)
        elif place.kind == "round_over":
            before = place.assignment.id if place.assignment else None
            steps.hand_over(person.id)
            if before is not None and _is_done(before):
                tally.conditions += 1
                told()
        else:
            raise Refused(place.sentence or "Somebody else works on this study just now; try again later.")


def _decide(person: _Person, place: Position) -> None:
    claim, run, participant = place.claim, place.run, place.participant
    if claim is None or run is None or participant is None:
        return
    found = simulated_answer(person.kind, _matter(person, place))
    # The clock may stand before an earlier answer of the same person, never after the real time.
    person.clock_ms = min(max(person.clock_ms, claim.claimed_ms) + round(1_000 * found.seconds), now_ms())
    answer = answer_to(found, run.feedback_mode)
    decisions.submit(review_queue(), run, claim, participant.code, answer, person.clock_ms)


def _matter(person: _Person, place: Position) -> Matter:
    claim = place.claim
    if claim is None:
        raise LookupError("there is no item to think about")
    with reading() as session:
        trajectory = session.get_one(tables.Trajectory, claim.trajectory_id)
        task = task_spec(session.get_one(tables.Task, trajectory.task_id))
    return Matter(
        task,
        checkpoint_at(from_json(claim.body), claim.step, CheckpointKind(claim.kind)),
        claim.trial,
        Label(trajectory.label) if trajectory.label else None,
        place.probe,
        person.noise,
        person.seed,
    )


def _people(session: Session, study: tables.Study, all_places: bool) -> list[tables.Participant]:
    """Those to simulate, as they stand; a person's place only while nobody has it, or a simulation began it."""
    participant = tables.Participant
    kinds = [kind for kind in ParticipantKind if kind is not ParticipantKind.HUMAN]
    nobodys = col(participant.secret).is_(None)
    simulated = nobodys if all_places else nobodys & col(participant.kind).in_(kinds)
    mine = (participant.study_id == study.id, simulated, col(participant.stage).not_in(OVER))
    return list(session.exec(select(participant).where(*mine).order_by(col(participant.number))))


def _open_conditions(session: Session, people: list[tables.Participant]) -> int:
    assignment = tables.Assignment
    mine = col(assignment.participant_id).in_([one.id for one in people])
    return session.exec(select(func.count()).where(mine, assignment.status != AssignmentStatus.DONE)).one()


def _seated(participant: tables.Participant, design: Design) -> _Person:
    """The participant at work: simulated ones read neither consent nor instructions and need no practice."""
    rule = orjson.loads(participant.rule)
    given = Noisy(**rule) if participant.kind in (ParticipantKind.NOISY, ParticipantKind.HUMAN) else None
    noise = Noise(given.false_accept, given.false_reject, given.seconds_per_item) if given else Noise()
    with writing() as session:
        found, study = locked(session, participant.id or 0)
        refuse_unless_open(study)
        if found.stage == ParticipantStage.FREE:
            joining.take(found, design)
            found.stage, found.secret = ParticipantStage.WORKING, None
            # What a dry run makes of a person's place must never count as a person's.
            found.kind = ParticipantKind.NOISY if found.kind == ParticipantKind.HUMAN else found.kind
            found.joined_ms = now_ms() - _longest_ms(design, noise)
            session.add(found)
        clock = max(found.joined_ms or 0, _last_ms(session, found))
    seed, pause = design.seed * 1_000 + participant.number, round(60_000 * design.break_minutes)
    return _Person(participant.id or 0, participant.kind, noise, seed, pause, clock)


def _longest_ms(design: Design, noise: Noise) -> int:
    """More than the whole study takes: the clock begins so long ago that it never runs ahead."""
    arms = len(conditions(design))
    items = arms * ((design.tasks + design.checks.known) * design.trials + design.checks.attention)
    return round(1_000 * _SLOWEST * noise.seconds_per_item * items + 60_000 * arms * design.break_minutes)


def _last_ms(session: Session, participant: tables.Participant) -> int:
    decision, item, run = tables.Decision, tables.Item, tables.Run
    statement = (
        select(func.max(decision.decided_ms))
        .join(item, col(item.id) == decision.item_id)
        .join(run, col(run.id) == item.run_id)
        .where(run.study_id == participant.study_id, decision.reviewer == participant.code)
    )
    return session.exec(statement).one() or 0


def _is_done(assignment_id: int) -> bool:
    with reading() as session:
        return session.get_one(tables.Assignment, assignment_id).status == AssignmentStatus.DONE
