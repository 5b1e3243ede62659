"""Simulated participants, who take the same steps as people. A new kind needs a function and a line in OPINIONS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import orjson
from sqlmodel import Session, col, func, select

from console.database import now_ms, reading, review_queue, writing
from console.detection.detectors import detector
from console.errors import Refused
from console.review import decisions
from console.review.simulated import Noise, ReviewCase, SimulatedAnswer, get_reviewer
from console.review.simulated.simulate import to_review_decision
from console.runs.trajectory_rows import task_spec
from console.studies.design import Design, conditions
from console.studies.design.factors import study_threshold
from console.studies.design.model import Noisy
from console.studies.sessions import joining, position, steps
from console.studies.sessions.lifecycle import design_of, get
from console.studies.sessions.stages import NOT_IN, ParticipantStage, lock_participant, refuse_unless_open
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from storage import tables
from storage.tables import AssignmentStatus, ParticipantKind, Probe

_STUCK = "You stopped without a result; try another way."
_WRONG = "That is not what I asked for; read my request again."


@dataclass(frozen=True, slots=True)
class Matter:
    """An item for a simulated participant, with its gold answer, recorded label or probe."""

    case: ReviewCase
    recorded: Label | None
    probe: Probe | None
    noise: Noise


def _by_gold(matter: Matter) -> SimulatedAnswer:
    if matter.case.task.gold:
        return get_reviewer("oracle").judge(matter.case, matter.noise)
    return _by_label(matter)


def _with_errors(matter: Matter) -> SimulatedAnswer:
    case = matter.case
    if case.task.gold:
        return get_reviewer("noisy").judge(case, matter.noise)
    seen, known = case.checkpoint, _by_label(matter)
    rng = Random(f"{case.seed} {case.task.task_id} {case.trial} {seen.index} {seen.kind}")
    error, pace = rng.random(), rng.random()
    seconds = matter.noise.seconds_per_item * (0.5 + pace)
    if known.label is Label.MISALIGNED and error < matter.noise.false_accept:
        return SimulatedAnswer(Label.ALIGNED, "", seconds)
    if known.label is Label.ALIGNED and error < matter.noise.false_reject:
        return SimulatedAnswer(Label.MISALIGNED, _WRONG, seconds)
    return SimulatedAnswer(known.label, known.words, seconds)


def _by_label(matter: Matter) -> SimulatedAnswer:
    """Answer by the probe or the recorded label; approve an item without a probe and a label."""
    if matter.case.checkpoint.kind is CheckpointKind.HALTED:
        return SimulatedAnswer(None, _STUCK)
    label = Label(matter.probe.expected) if matter.probe else matter.recorded or Label.ALIGNED
    return SimulatedAnswer(label, _WRONG if label is Label.MISALIGNED else "")


def _by_rules(matter: Matter) -> SimulatedAnswer:
    if matter.case.checkpoint.kind is CheckpointKind.HALTED:
        return SimulatedAnswer(None, _STUCK)
    rules = detector("rules")
    verdict = rules.judge(matter.case.checkpoint, matter.case.seed) if rules.judge else None
    if verdict is None or verdict.score <= study_threshold(rules):
        return SimulatedAnswer(Label.ALIGNED, "")
    return SimulatedAnswer(Label.MISALIGNED, verdict.rationale or _WRONG)


OPINIONS: dict[ParticipantKind, Callable[[Matter], SimulatedAnswer]] = {
    ParticipantKind.ORACLE: _by_gold,
    ParticipantKind.NOISY: _with_errors,
    ParticipantKind.RULES: _by_rules,
    ParticipantKind.HUMAN: _with_errors,
}
"""The opinion of each kind of participant; people are simulated as noisy reviewers."""

Progress = Callable[[int, int], None]
"""A callback with the arguments (conditions done, conditions to do)."""

_SLOWEST = 1.5
"""The longest time for an item, as a multiple of the mean."""


@dataclass(slots=True)
class StudySimulation:
    """The totals of one call of `simulate`; `decisions` includes decisions on known items."""

    study: str
    participants: int = 0
    conditions: int = 0
    decisions: int = 0
    on_known_answers: int = 0


@dataclass(slots=True)
class _Person:
    """A simulated participant with a simulated clock, so that items take time without real waiting."""

    id: int
    kind: str
    noise: Noise
    seed: int
    break_ms: int
    clock_ms: int


def simulate(
    study_name: str, progress: Progress | None = None, *, all_places: bool = False, beside_people: bool = False
) -> StudySimulation:
    """Play every simulated place to its end; if `all_places`, also play the free places of people (a dry run).

    A place that was played in a dry run remains simulated. The function continues an interrupted simulation. Raise
    Unknown if the study does not exist and Refused if it is not open. With `all_places`, raise Refused if people take
    part, unless `beside_people`.
    """
    with reading() as session:
        study = get(session, study_name)
        refuse_unless_open(study)
        if all_places and not beside_people:
            _refuse_beside_people(session, study)
        design, people = design_of(study), _people(session, study, all_places)
        open_ones = col(tables.Assignment.participant_id).in_([one.id for one in people])
        counted = select(func.count()).where(open_ones, tables.Assignment.status != AssignmentStatus.DONE)
        total = session.exec(counted).one()
    tally = StudySimulation(study_name)
    for participant in people:
        _play(
            _assign_place(participant, design), tally, lambda: progress(tally.conditions, total) if progress else None
        )
        tally.participants += 1
    return tally


def _refuse_beside_people(session: Session, study: tables.Study) -> None:
    participant = tables.Participant
    joined = col(participant.joined_ms).is_not(None) & (participant.kind == ParticipantKind.HUMAN)
    mine = (participant.study_id == study.id, joined, col(participant.stage).not_in(NOT_IN))
    if count := session.exec(select(func.count()).select_from(participant).where(*mine)).one():
        there = "1 person takes" if count == 1 else f"{count} people take"
        raise Refused(
            f"{there} part in {study.name}, and a dry run would fill its free places with simulated reviewers. Use "
            f"a copy (inferact study create FILE --name COPY), or repeat with --beside-people."
        )


def _play(person: _Person, tally: StudySimulation, told: Callable[[], None]) -> None:
    while True:
        match steps.find_position(person.id, person.clock_ms):
            case position.AtEnd() | position.Withdrawn():
                return
            case position.AtItem() as place:
                _decide(person, place)
                tally.decisions += 1
                tally.on_known_answers += place.probe is not None
            case position.AtIntroduction():
                steps.begin(person.id)
            case position.AtBreak():
                person.clock_ms = min(person.clock_ms + person.break_ms, now_ms())
                steps.end_break(person.id)
            case position.AtRoundEnd(assignment=before):
                steps.hand_over(person.id)
                if before is not None and _is_done(before.id or 0):
                    tally.conditions += 1
                    told()
            case position.AtPause(sentence=sentence):
                raise Refused(sentence)
            case _:
                raise Refused("Another process is working on this study. Try again later.")


def _decide(person: _Person, place: position.AtItem) -> None:
    found = OPINIONS[ParticipantKind(person.kind)](_matter(person, place))
    # The clock may be earlier than a previous answer of the same person, but never later than the real time.
    person.clock_ms = min(max(person.clock_ms, place.claim.claimed_ms) + round(1_000 * found.seconds), now_ms())
    answer = to_review_decision(found, place.run.feedback_mode)
    decisions.submit(review_queue(), place.run, place.claim, place.participant.code, answer, person.clock_ms)


def _matter(person: _Person, place: position.AtItem) -> Matter:
    claim = place.claim
    with reading() as session:
        trajectory = session.get_one(tables.Trajectory, claim.trajectory_id)
        task = task_spec(session.get_one(tables.Task, trajectory.task_id))
    seen = checkpoint_at(from_json(claim.body), claim.step, CheckpointKind(claim.kind))
    recorded = Label(trajectory.label) if trajectory.label else None
    return Matter(ReviewCase(task, seen, claim.trial, person.seed), recorded, place.probe, person.noise)


def _people(session: Session, study: tables.Study, all_places: bool) -> list[tables.Participant]:
    """Return the unfinished participants to simulate: simulated places and, if `all_places`, people's free places."""
    participant = tables.Participant
    kinds = [kind for kind in ParticipantKind if kind is not ParticipantKind.HUMAN]
    nobodys = col(participant.secret).is_(None)
    simulated = nobodys if all_places else nobodys & col(participant.kind).in_(kinds)
    mine = (participant.study_id == study.id, simulated, col(participant.stage).not_in(position.OVER))
    return list(session.exec(select(participant).where(*mine).order_by(col(participant.number))))


def _assign_place(participant: tables.Participant, design: Design) -> _Person:
    """Give the participant their place; simulated participants skip consent, instructions and practice."""
    rule = orjson.loads(participant.rule)
    given = Noisy(**rule) if participant.kind in (ParticipantKind.NOISY, ParticipantKind.HUMAN) else None
    noise = Noise(given.false_accept, given.false_reject, given.seconds_per_item) if given else Noise()
    with writing() as session:
        found, study = lock_participant(session, participant.id or 0)
        refuse_unless_open(study)
        if found.stage == ParticipantStage.FREE:
            joining.take_place(found, design)
            found.stage, found.secret = ParticipantStage.WORKING, None
            # Data from a dry run in a person's place must never count as data of a person.
            found.kind = ParticipantKind.NOISY if found.kind == ParticipantKind.HUMAN else found.kind
            found.joined_ms = now_ms() - _longest_ms(design, noise)
            session.add(found)
        clock = max(found.joined_ms or 0, _last_ms(session, found))
    seed, pause = design.seed * 1_000 + participant.number, round(60_000 * design.break_minutes)
    return _Person(participant.id or 0, participant.kind, noise, seed, pause, clock)


def _longest_ms(design: Design, noise: Noise) -> int:
    """Return an upper limit of the study's duration in ms, so that the simulated clock stays in the past."""
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
