"""Small studies: made, opened, joined and walked through as a person would."""

import pytest
from sqlmodel import select

from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.studies.design import Design
from console.studies.design.instruments import answers_to
from console.studies.sessions import answering, joining, lifecycle, next_item, steps
from storage import tables


@pytest.fixture
def study():
    """A function that makes and opens a study; its design is the reference study in small unless told otherwise."""

    def make(name="pilot", *, opened=True, **changes):
        usual = {
            "source": {"actor": "scripted", "environment": "webshop"},
            "tasks": 3,
            "trials": 2,
            "budget": "2",
            "seed": 1,
            "factors": {"feedback": ("nl", "binary"), "score": ("shown", "hidden")},
            "undo_seconds": 0,
        }
        made = lifecycle.create(Design(name=name, **usual | changes), now_ms())
        return lifecycle.open_study(name) if opened else made

    return make


@pytest.fixture
def walk():
    """A function that takes a participant on by so many places, or until `stop(place)`; returns where they are."""

    def take_on(participant_id, places=1_000, stop=lambda place: False, words="look again"):
        for _ in range(places):
            place = steps.find_position(participant_id)
            if stop(place) or place.kind in ("finished", "withdrawn", "declined", "paused"):
                return place
            _step(participant_id, place, words)
        return steps.find_position(participant_id)

    return take_on


@pytest.fixture
def rows():
    """A function that reads every row of a table that meets the conditions."""

    def read(table, *conditions):
        with reading() as session:
            return list(session.exec(select(table).where(*conditions).order_by(*table.__table__.primary_key)))

    return read


def _step(participant_id, place, words):
    if place.kind in ("review", "probe", "practice"):
        answer_to(place, words)
    elif place.kind == "consent":
        joining.consent(participant_id, True)
    elif place.kind == "questions":
        joining.store_intake_answers(participant_id, {"age": "33"})
    elif place.kind == "instructions":
        joining.finish_instructions(participant_id)
    elif place.kind == "practice_answer":
        steps.acknowledge(participant_id)
    elif place.kind == "break":
        steps.end_break(participant_id)
    elif place.kind == "introduction":
        steps.begin(participant_id)
    elif place.kind == "questionnaire":
        answering.fill_in(participant_id, place.instrument.name, filled_in(place.instrument, words))
    elif place.kind == "confidence":
        answering.store_confidence(participant_id, place.answer.id, 2)
    else:
        assert place.kind == "round_over"
        steps.hand_over(participant_id)


def filled_in(instrument, words):
    """An answer to every item: the last that is offered, the expected one where there is one, or the words."""
    given = {}
    for item in instrument.items:
        offered = answers_to(instrument, item)
        given[item.key] = item.expected or (offered[-1] if offered else words)
    return given


def answer_to(place, words):
    """Rejects with words where the run takes them; a halted item gets its words only."""
    told = "" if place.run.feedback_mode == "binary" else words
    decision = "respond" if place.claim.kind == "halted" else "reject"
    code = place.participant.code
    return decisions.submit(
        review_queue(), place.run, place.claim, code, decisions.ReviewDecision(decision, told), now_ms()
    )


@pytest.fixture
def decide():
    """A function that answers the item of a place."""
    return answer_to


@pytest.fixture
def arms(rows):
    """A function from participant id to their conditions with the name of each one's run."""

    def find(participant_id):
        return rows(tables.Assignment, tables.Assignment.participant_id == participant_id)

    return find


@pytest.fixture
def undo():
    """Takes the latest answer of the participant's condition back, as their page does; returns its item, or None."""

    def undo(person):
        now = getattr(steps.find_position(person.id), "assignment", None)
        desks = [run_id for run_id in (now.run_id, now.checks_run_id) if run_id is not None] if now else []
        with reading() as session:
            own = [session.get_one(tables.Run, run_id) for run_id in desks]
            given = [
                (row, run) for run in own if (row := decisions.find_undelivered_decision(session, run, person.code))
            ]
            if not given:
                return None
            next_item.release_claims(session, desks, person.code, now_ms())
        last, run = max(given, key=lambda one: one[0].decided_ms)
        review_queue().undo(item_id=last.item_id, reviewer=person.code, now_ms=now_ms(), lease_ms=run.lease_ms)
        return last.item_id

    return undo
