"""Tidy tables on participants: participation, allocation, questionnaires, page times, exclusions, payments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd
import sqlalchemy as sa
from sqlmodel import Session, col, func, select

from console.runs import is_current, iso
from console.studies.design.instruments import Instrument, score, score_answer, scored_items
from console.studies.design.model import instruments_of
from console.studies.design.part import PILOT, breaks
from console.studies.results.condition_runs import PEOPLE, condition_runs, kind_of, practice, tidy
from console.studies.results.csv_files import table_of
from console.studies.results.decisions import decisions
from console.studies.sessions.joining import pseudonymize
from console.studies.sessions.lifecycle import PilotState, design_of, read_pilot
from console.studies.sessions.stages import NOT_IN, TURNED_AWAY, ParticipantStage
from storage import tables
from storage.tables import ParticipantKind, ProbePurpose, StudyStatus, Table

_item, _decision = (Table.metadata.tables[name] for name in ("item", "decision"))


def participants(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per place that is taken by a person or by a simulated reviewer."""
    found = condition_runs(session, study_id)
    done = Counter(arm.participant_id for arm in found if arm.done)
    decided = _decided(session, study_id)
    person = tables.Participant
    statement = select(person).where(person.study_id == study_id).order_by(col(person.number), col(person.id))
    name = session.get_one(tables.Study, study_id).name
    rows = [
        (
            name,
            who.code,
            kind_of(who),
            who.kind,
            who.stage,
            who.joined_ms,
            who.finished_ms,
            done[who.id or 0],
            decided.get(who.id or 0, 0),
            who.answers,
        )
        for who in session.exec(statement)
        if who.stage != "free"
    ]
    return table_of("participants", rows)


def allocation(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per participant, condition and task, in the planned order."""
    found = condition_runs(session, study_id)
    rows = [(place, at, key, arm.status) for place, arm in enumerate(found) for at, key in enumerate(arm.tasks, 1)]
    raw = pd.DataFrame(rows, columns=["arm", "place", "task_id", "status"])
    return tidy("allocation", raw, found)


def _decided(session: Session, study_id: int) -> dict[int, int]:
    whose: dict[int, tuple[int, str]] = {}
    for arm in [*practice(session, study_id), *condition_runs(session, study_id)]:
        whose |= {run: (arm.participant_id, arm.participant) for run in (arm.run_id, arm.checks_run_id) if run}
    mine: Any = (_item.c.run_id.in_(whose), is_current(_decision.c))
    joined = _item.join(_decision, _decision.c.item_id == _item.c.id)
    statement = sa.select(_item.c.run_id, _decision.c.reviewer, sa.func.count()).select_from(joined).where(*mine)
    counted: Counter[int] = Counter()
    for run, reviewer, count in session.execute(statement.group_by(_item.c.run_id, _decision.c.reviewer)):
        person, code = whose[run]
        counted[person] += count if reviewer == code else 0
    return dict(counted)


def questionnaires(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per answer to a questionnaire item."""
    known = _instruments(session, study_id)
    rows = []
    for head, answer in _answers(session, study_id):
        instrument = known.get(answer.instrument)
        scored = {one.key: one for one in scored_items(instrument)} if instrument else {}
        item = scored.get(answer.item) if answer.answer else None
        points = score_answer(instrument, item, answer.answer) if instrument and item else None
        rows.append((*head, answer.instrument, answer.item, answer.answer, points, answer.at_ms))
    return table_of("questionnaires", rows)


def scales(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per completed questionnaire, with its score."""
    known, sheets = _instruments(session, study_id), dict[tuple[Any, ...], dict[str, str]]()
    for head, answer in _answers(session, study_id):
        if answer.instrument in known and answer.answer:
            sheets.setdefault((*head, answer.instrument), {})[answer.item] = answer.answer
    return table_of("scales", [(*head, score(known[head[-1]], given)) for head, given in sheets.items()])


def failed_items(session: Session, study_id: int) -> dict[str, int]:
    """Return, per participant, the number of questionnaire answers that differ from the expected answer."""
    known = _instruments(session, study_id)
    failed: dict[str, int] = {}
    for head, answer in _answers(session, study_id):
        instrument = known.get(answer.instrument)
        expected = {one.key: one.expected for one in instrument.items} if instrument else {}
        wrong = expected.get(answer.item) not in (None, answer.answer)
        failed[head[1]] = failed.get(head[1], 0) + wrong
    return failed


def _answers(session: Session, study_id: int) -> Iterator[tuple[tuple[Any, ...], tables.QuestionnaireAnswer]]:
    """Iterate over ((study, participant, annotator_kind, moment, condition, position), answer)."""
    answer, person, place = tables.QuestionnaireAnswer, tables.Participant, tables.Assignment
    name = session.get_one(tables.Study, study_id).name
    statement = (
        select(answer, person, place)
        .join(person, col(person.id) == answer.participant_id)
        .outerjoin(place, col(place.id) == col(answer.assignment_id))
        .where(answer.study_id == study_id)
        .order_by(col(person.number), col(answer.id))
    )
    for given, who, part in session.exec(statement):
        condition, position = (part.condition, part.position) if part else (None, None)
        yield (name, who.code, kind_of(who), given.moment, condition, position), given


def _instruments(session: Session, study_id: int) -> Mapping[str, Instrument]:
    return instruments_of(design_of(session.get_one(tables.Study, study_id)))


def page_times(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per current decision of a person, excluding practice."""
    decision, item, person = tables.Decision, tables.Item, tables.Participant
    place, sure = tables.Assignment, tables.Confidence
    name, spent = session.get_one(tables.Study, study_id).name, _spent(session, study_id)
    statement = (
        select(decision, person, place, sure.level)
        .join(item, col(item.id) == decision.item_id)
        .join(place, sa.or_(col(place.run_id) == item.run_id, col(place.checks_run_id) == item.run_id))
        .join(person, col(person.id) == place.participant_id)
        .outerjoin(sure, col(sure.decision_id) == decision.id)
        .where(place.study_id == study_id, person.kind == ParticipantKind.HUMAN)
        .where(decision.reviewer == person.code, is_current())
        .order_by(col(decision.id))
    )
    rows = []
    for made, who, part, level in session.exec(statement):
        whose = (name, who.code, kind_of(who), part.condition, part.position)
        times = (spent.get((who.id, made.item_id, kind), 0) for kind in ("away", "idle"))
        rows.append((made.id, made.item_id, *whose, level, *times))
    return table_of("page_times", rows)


def trace(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per page event on an item."""
    event, person = tables.PageEvent, tables.Participant
    name = session.get_one(tables.Study, study_id).name
    statement = (
        select(event, person)
        .join(person, col(person.id) == event.participant_id)
        .where(event.study_id == study_id)
        .order_by(col(event.id))
    )
    rows = [
        (one.item_id, name, who.code, kind_of(who), one.kind, one.detail, one.ms, one.lasted_ms, one.at_ms)
        for one, who in session.exec(statement)
    ]
    return table_of("trace", rows)


def _spent(session: Session, study_id: int) -> dict[tuple[int | None, int, str], int]:
    event = tables.PageEvent
    key = (col(event.participant_id), col(event.item_id), col(event.kind))
    statement = select(*key, func.sum(event.lasted_ms)).where(event.study_id == study_id, event.lasted_ms > 0)
    return {(who, item, kind): int(spent) for who, item, kind, spent in session.exec(statement.group_by(*key))}


_GONE = (*NOT_IN, ParticipantStage.WITHDRAWN)


def exclusions(session: Session, study_id: int) -> pd.DataFrame:
    """Return one row per participating person and exclusion rule, or no rows if the design has no rules and no pilot.

    A person who has not finished yet is excluded only by failed attention checks, which later answers cannot undo. In a
    closed study all rules apply.
    """
    study = session.get_one(tables.Study, study_id)
    design = design_of(study)
    rules = design.exclusions.rules() | ({PILOT: 0.0} if design.pilot.people else {})
    rows: list[tuple[Any, ...]] = []
    if rules:
        people, made = participants(session, study_id), decisions(session, study_id)
        failed = failed_items(session, study_id)
        there = people[(people["annotator_kind"] == PEOPLE) & ~people["stage"].isin(_GONE)]
        closed = study.status == StudyStatus.CLOSED
        early = _of_pilot(session, study_id, read_pilot(session, study, design))
        for who, stage in zip(there["participant"].tolist(), there["stage"].tolist(), strict=True):
            ended = closed or stage == ParticipantStage.FINISHED
            values = _values(made[made["participant"] == who], failed.get(who, 0)) | {PILOT: float(who in early)}
            rows += [
                (
                    study.name,
                    who,
                    PEOPLE,
                    rule,
                    limit,
                    values[rule],
                    (ended or rule in ("failed_attention", PILOT)) and breaks(rule, values[rule], limit),
                )
                for rule, limit in rules.items()
            ]
    return table_of("exclusions", rows)


def _of_pilot(session: Session, study_id: int, pilot: PilotState | None) -> set[str]:
    """Return the codes of the pilot's people: everyone until it has ended, then those who finished by then."""
    if pilot is None:
        return set()
    person = tables.Participant
    early = () if pilot.ended_ms is None else (col(person.finished_ms) <= pilot.ended_ms,)
    return set(session.exec(select(person.code).where(person.study_id == study_id, *early)))


def _values(made: pd.DataFrame, failed: int) -> dict[str, float | None]:
    """Return the values that the rules check, from one person's decisions; a value without data is None."""
    counted = made[made["purpose"] != ProbePurpose.PRACTICE]
    attention = counted[counted["purpose"] == ProbePurpose.ATTENTION]
    known = counted[counted["purpose"].isin([ProbePurpose.KNOWN_GOOD, ProbePurpose.KNOWN_BAD])]
    wrong = int((attention["correct"].fillna(False) == False).sum())  # noqa: E712 (a nullable column)
    return {
        "failed_attention": float(wrong + failed),
        "known_right": float(known["correct"].fillna(False).mean()) if len(known) else None,
        "median_seconds": float(counted["lead_time_ms"].median()) / 1_000 if len(counted) else None,
        "decisions": float(len(counted)),
    }


_COLUMNS_WORDS = (
    "participant outside_id state completion_code joined_at finished_at decisions right excluded_by bonus currency"
)
COLUMNS = tuple(_COLUMNS_WORDS.split())
_NOBODY = (ParticipantStage.FREE, ParticipantStage.DECLINED, ParticipantStage.WITHDRAWN)
_STATES = {
    ParticipantStage.FINISHED: "finished",
    ParticipantStage.SCREENED_OUT: "screened out",
    ParticipantStage.OVER_QUOTA: "over quota",
    ParticipantStage.FAILED_QUIZ: "failed the quiz",
}


def payments(session: Session, study: tables.Study, known_ids: Iterable[str] = ()) -> pd.DataFrame:
    """Return one row per person who has joined and has not withdrawn. Columns: COLUMNS.

    `outside_id` is the pseudonym of the person's platform id, or the id itself if `known_ids` contains it. Only the
    owner of the platform's list can therefore link the two. `right` counts correct decisions on the study's own items.
    """
    recruiting, person = design_of(study).recruiting, tables.Participant
    bonus = recruiting.bonus
    named = {pseudonymize(study, one): one for one in known_ids}
    made, rules = decisions(session, study.id or 0), exclusions(session, study.id or 0)
    own, out = made[made["purpose"] == ""], rules[rules["excluded"].astype(bool)]
    mine = (person.study_id == study.id, person.kind == ParticipantKind.HUMAN, col(person.stage).not_in(_NOBODY))
    rows = []
    for who in session.exec(select(person).where(*mine).order_by(col(person.number), col(person.id))):
        theirs = own[own["participant"] == who.code]
        right = int(theirs["correct"].fillna(False).sum())
        # The people of a pilot are paid like others.
        excluded_by = sorted({*out[out["participant"] == who.code]["rule"]} - {PILOT})
        finished = who.stage == ParticipantStage.FINISHED
        paid = str(bonus.of(right if finished else 0, bool(excluded_by))) if bonus else ""
        state = _STATES.get(ParticipantStage(who.stage), "under way")
        outside = named.get(who.outside_id or "", who.outside_id or "")
        code = recruiting.screen_out_code if who.stage in TURNED_AWAY else who.completion_code or ""
        times = (iso(who.joined_ms) or "", iso(who.finished_ms) or "")
        counted = (len(theirs), right, " ".join(excluded_by), paid, bonus.currency if bonus else "")
        rows.append((who.code, outside, state, code, *times, *counted))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def approvals(frame: pd.DataFrame, known_ids: Collection[str]) -> str:
    """Return the ids of people who finished, one per line, in the format of Prolific's bulk approval."""
    done = frame[(frame["state"] == "finished") & frame["outside_id"].isin(known_ids)]
    return "".join(f"{one}\n" for one in done["outside_id"])


def bonuses(frame: pd.DataFrame, known_ids: Collection[str]) -> str:
    """Return `id,amount` lines without a header, in the format of Prolific's bulk bonus, without amounts of 0."""
    paid = frame[frame["outside_id"].isin(known_ids) & ~frame["bonus"].isin(["", "0.00"])]
    return "".join(f"{one},{amount}\n" for one, amount in zip(paid["outside_id"], paid["bonus"], strict=True))


def ids_in(text: str) -> list[str]:
    """List the strings in a platform's list or CSV that may be ids."""
    return list(dict.fromkeys(re.findall(r"[A-Za-z0-9]{2,64}", text)))
