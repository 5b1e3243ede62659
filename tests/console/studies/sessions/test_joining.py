"""Who comes in, and that a place is never given twice."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from console.database import reading
from console.errors import BadInput, Refused
from console.studies.sessions import joining, lifecycle, steps
from storage import tables

ASKS = {"consent": {"text": "Do you agree?"}, "participants": {"human": 2, "oracle": 1}}


def test_people_get_the_places_in_order_until_none_is_left(study):
    made = study(**ASKS)
    first, second = joining.join(made.join_code), joining.join(f" {made.join_code.lower()} ")
    assert (first.code, second.code) == ("P01", "P02")
    assert first.secret != second.secret
    with pytest.raises(Refused, match="taken"):
        joining.join(made.join_code)


def test_many_at_once_never_share_a_place(study):
    made = study(participants={"human": 12})

    def come(_):
        try:
            return joining.join(made.join_code).code
        except Refused:
            return None

    with ThreadPoolExecutor(8) as crowd:
        codes = list(crowd.map(come, range(20)))
    got = [code for code in codes if code]
    assert len(got) == len(set(got)) == 12


def test_a_wrong_code_and_a_draft_say_what_to_do(study):
    made = study(opened=False)
    with pytest.raises(BadInput, match="No study has this code"):
        joining.join("NOSUCH22")
    with pytest.raises(Refused, match="not begun"):
        joining.join(made.join_code)


def test_the_secret_brings_a_person_back(study):
    made = study()
    person = joining.join(made.join_code)
    with reading() as session:
        assert joining.found(session, person.secret).code == "P01"
        assert joining.found(session, "guessed") is None
        assert joining.found(session, "") is None


def test_who_declines_frees_the_place_for_somebody_else(study, rows):
    made = study(**ASKS)
    shy = joining.join(made.join_code)
    joining.join(made.join_code)
    joining.consent(shy.id, False)
    assert steps.where(shy.id).kind == "declined"
    third = joining.join(made.join_code)
    assert third.code not in ("P01", "P02", "P03")
    assert third.number == shy.number
    assert len(rows(tables.Assignment, tables.Assignment.participant_id == third.id)) == 4
    joining.consent(third.id, True)
    assert steps.where(third.id).kind == "instructions"
    with reading() as session:
        told = lifecycle.summary(session, lifecycle.get(session, "pilot"))
    assert (told["participants"], told["joined"]) == (3, 2)


@pytest.mark.parametrize(
    ("question", "answer", "complaint"),
    [
        ({"kind": "number", "required": True}, "", "Please answer"),
        ({"kind": "number"}, "many", "Give a number"),
        ({"kind": "number"}, "nan", "Give a number"),
        ({"kind": "choice", "choices": ("yes", "no")}, "perhaps", "Choose one"),
        ({"kind": "text"}, "x" * 3_000, "under 2,000"),
    ],
)
def test_answers_that_do_not_fit_are_refused_with_their_question(study, question, answer, complaint):
    made = study(demographics=[{"key": "it", "question": "What is it?", **question}])
    person = joining.join(made.join_code)
    with pytest.raises(BadInput, match=f"{complaint}.*: What is it"):
        joining.tell(person.id, {"it": answer})
    assert steps.where(person.id).kind == "questions"


def test_what_was_not_asked_is_not_kept(study):
    made = study(demographics=[{"key": "it", "question": "What is it?", "kind": "text"}])
    person = joining.join(made.join_code)
    joining.tell(person.id, {"it": " a thing ", "email": "ann@example.org"})
    assert steps.where(person.id).participant.answers == '{"it":"a thing"}'


def test_a_design_that_cannot_be_is_refused_before_anything_is_written(study, rows):
    with pytest.raises(BadInput, match=r"checks\.known_"):
        study(checks={"known_good": 400}, factors={})
    with pytest.raises(BadInput, match="detector named"):
        study(factors={"detector": ("rules", "psychic")})
    study()
    with pytest.raises(Refused, match="already a study"):
        study()
    assert [one.name for one in rows(tables.Study)] == ["pilot"]
    with reading() as session, pytest.raises(BadInput, match="Known: pilot"):
        lifecycle.get(session, "nope")
