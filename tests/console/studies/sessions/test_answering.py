"""Questionnaires come before, after each condition and at the end; confidence comes right after a decision."""

import pytest

from console.errors import BadInput, Refused
from console.studies.sessions import answering, joining, steps
from storage import tables

ASKED = {
    "questionnaires": {"before": ["trust"], "between": ["nasa-tlx"], "after": ["sus", "own"]},
    "instruments": [
        {
            "name": "own",
            "title": "Own",
            "items": [
                {"key": "reads", "question": "Choose 2.", "expected": "2"},
                {"key": "why", "question": "Why?", "kind": "text", "required": False},
            ],
        }
    ],
    "debriefing": {"question": "Anything else?", "text": "Thanks."},
    "confidence": 5,
    "tasks": 1,
    "trials": 1,
    "budget": None,
    "break_minutes": 5,
    "factors": {"feedback": ("nl", "binary"), "detector": ("full-validation",)},
    "participants": {"human": 1, "oracle": 1},
}


def test_everything_is_asked_once_at_its_moment(study, walk, rows):
    made = study(**ASKED)
    person = joining.join(made.join_code)
    seen = []

    def keep(place):
        seen.append(
            f"{place.kind} {place.instrument.name} {place.condition}" if place.kind == "questionnaire" else place.kind
        )
        return False

    assert walk(person.id, stop=keep).kind == "finished"
    assert seen[0] == "questionnaire trust 0"
    asked = [one for one in seen if one.startswith("questionnaire")]
    assert asked[1:] == [
        f"questionnaire {name}" for name in ("nasa-tlx 1", "nasa-tlx 2", "sus 0", "own 0", "debriefing 0")
    ]
    assert seen[seen.index("questionnaire nasa-tlx 1") + 1] == "break"
    for place, kind in enumerate(seen):
        assert (kind == "confidence") == (seen[place - 1] == "review" and place > 0)
    kept = rows(tables.QuestionnaireAnswer)
    assert {row.assignment_id is None for row in kept if row.moment == "between"} == {False}
    assert len({row.assignment_id for row in kept if row.instrument == "nasa-tlx"}) == 2
    decided = {row.id for row in rows(tables.Decision) if row.reviewer == person.code and not row.superseded}
    assert {
        row.decision_id for row in rows(tables.Confidence, tables.Confidence.participant_id == person.id)
    } == decided


def test_answers_are_checked_and_a_second_sheet_changes_nothing(study, walk, rows):
    made = study(**ASKED)
    person = joining.join(made.join_code)
    whole = dict.fromkeys(("count_on", "as_expected", "interest", "rely", "mislead", "on_guard"), "4")
    with pytest.raises(BadInput, match="Please answer: I will have to be on my guard"):
        answering.fill_in(person.id, "trust", whole | {"on_guard": ""})
    with pytest.raises(BadInput, match="Choose one of the answers offered"):
        answering.fill_in(person.id, "trust", whole | {"rely": "8"})
    assert rows(tables.QuestionnaireAnswer) == []
    answering.fill_in(person.id, "sus", whole)
    assert rows(tables.QuestionnaireAnswer) == []
    answering.fill_in(person.id, "trust", whole)
    answering.fill_in(person.id, "trust", dict.fromkeys(whole, "1"))
    assert {row.answer for row in rows(tables.QuestionnaireAnswer)} == {"4"}


def test_confidence_is_of_ones_own_decisions_on_the_designs_scale_and_asked_again_after_undo(study, walk, rows):
    made = study(**ASKED | {"undo_seconds": 60, "tasks": 2})
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: place.kind == "confidence")
    with pytest.raises(BadInput, match="from 1 to 5"):
        answering.store_confidence(person.id, place.answer.id, 6)
    with pytest.raises(Refused, match="did not make this decision"):
        answering.store_confidence(person.id, place.answer.id + 1_000, 3)
    answering.store_confidence(person.id, place.answer.id, 3)
    answering.store_confidence(person.id, place.answer.id, 5)
    (kept,) = rows(tables.Confidence)
    assert kept.level == 3
    following = steps.find_position(person.id)
    assert following.claim.claimed_ms >= kept.at_ms


def test_simulated_participants_are_asked_nothing(study, rows):
    from console.studies.sessions import simulated

    study(**ASKED)
    assert simulated.simulate("pilot").participants == 1
    assert rows(tables.QuestionnaireAnswer) == []
    (oracle,) = [row for row in rows(tables.Participant) if row.kind == "oracle"]
    assert oracle.stage == "finished"
