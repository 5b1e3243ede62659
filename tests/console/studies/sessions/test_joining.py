"""Who comes in, and that a place is never given twice."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from console.database import reading
from console.errors import BadInput, Refused
from console.studies.sessions import joining, lifecycle, steps
from console.studies.sessions.joining import Arrival
from console.studies.sessions.withdrawal import withdraw
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
    with pytest.raises(Refused, match="not started yet"):
        joining.join(made.join_code)


def test_the_secret_brings_a_person_back(study):
    made = study()
    person = joining.join(made.join_code)
    with reading() as session:
        assert joining.find_participant(session, person.secret).code == "P01"
        assert joining.find_participant(session, "guessed") is None
        assert joining.find_participant(session, "") is None


def test_who_declines_frees_the_place_for_somebody_else(study, rows):
    made = study(**ASKS)
    shy = joining.join(made.join_code)
    joining.join(made.join_code)
    joining.consent(shy.id, False)
    assert steps.find_position(shy.id).kind == "declined"
    third = joining.join(made.join_code)
    assert third.code not in ("P01", "P02", "P03")
    assert third.number == shy.number
    assert len(rows(tables.Assignment, tables.Assignment.participant_id == third.id)) == 4
    joining.consent(third.id, True)
    assert steps.find_position(third.id).kind == "instructions"
    with reading() as session:
        told = lifecycle.summary(session, lifecycle.get(session, "pilot"))
    assert (told["participants"], told["joined"]) == (3, 2)


@pytest.mark.parametrize(
    ("question", "answer", "complaint"),
    [
        ({"kind": "number", "required": True}, "", "Please answer"),
        ({"kind": "number"}, "many", "Enter a number"),
        ({"kind": "number"}, "nan", "Enter a number"),
        ({"kind": "choice", "choices": ("yes", "no")}, "perhaps", "Choose one"),
        ({"kind": "text"}, "x" * 3_000, "at most 2,000"),
    ],
)
def test_answers_that_do_not_fit_are_refused_with_their_question(study, question, answer, complaint):
    made = study(demographics=[{"key": "it", "question": "What is it?", **question}])
    person = joining.join(made.join_code)
    with pytest.raises(BadInput, match=f"{complaint}.*: What is it"):
        joining.store_intake_answers(person.id, {"it": answer})
    assert steps.find_position(person.id).kind == "questions"


def test_what_was_not_asked_is_not_kept(study):
    made = study(demographics=[{"key": "it", "question": "What is it?", "kind": "text"}])
    person = joining.join(made.join_code)
    joining.store_intake_answers(person.id, {"it": " a thing ", "email": "ann@example.org"})
    assert steps.find_position(person.id).participant.answers == '{"it":"a thing"}'


@pytest.mark.at_length
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


PID = "5f1b2c3d4e5f6a7b8c9d0e1f"
SMALL = {"tasks": 1, "trials": 1, "factors": {}, "participants": {"human": 3}}
PROLIFIC = {"platform": "prolific", "completion_url": "https://app.prolific.com/submissions/complete?cc=C1"}
SCREENS = {"key": "age", "question": "Age?", "choices": ["child", "adult"], "screens_out": ["child"]}


def coming(study, pid=PID):
    return Arrival(study.join_code, given={"PROLIFIC_PID": pid, "STUDY_ID": "s", "SESSION_ID": "t"})


def everything():
    with reading() as session:
        for name in tables.Table.metadata.tables:
            for row in session.execute(text(f"SELECT * FROM {name}")):
                yield f"{name} {tuple(row)}"


def test_an_id_has_one_place_and_is_kept_as_a_pseudonym_alone(study, rows):
    made = study(recruiting=PROLIFIC, **SMALL)
    person = joining.join(made.join_code, coming(made))
    with pytest.raises(
        Refused, match=r"already have a place in this study\. Continue in the browser that you used before"
    ):
        joining.join(made.join_code, coming(made))
    with pytest.raises(Refused, match="so that the link contains your"):
        joining.join(made.join_code)
    other = joining.join(made.join_code, coming(made, "another"))
    kept = {row.code: row.outside_id for row in rows(tables.Participant) if row.outside_id}
    assert set(kept) == {person.code, other.code}
    assert len(set(kept.values())) == 2
    assert not [line for line in everything() if PID in line]
    twin = study(name="twin", recruiting=PROLIFIC, **SMALL)
    again = joining.join(twin.join_code, coming(twin))
    (elsewhere,) = [row.outside_id for row in rows(tables.Participant) if row.id == again.id]
    assert elsewhere not in kept.values()


def test_a_shared_browser_is_not_the_person_before(study):
    made = study(recruiting=PROLIFIC, **SMALL)
    person = joining.join(made.join_code, coming(made))
    with reading() as session:
        assert joining.find_place(session, person.secret, coming(made)).id == person.id
        assert joining.find_place(session, person.secret, Arrival(made.join_code)).id == person.id
        assert joining.find_place(session, person.secret, coming(made, "another")) is None


def test_a_preview_takes_no_place(study, rows):
    made = study(recruiting={"platform": "mturk"}, **SMALL)
    looking = Arrival(made.join_code, given={"workerId": "AZ3", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
    with pytest.raises(Refused, match="Accept the task on Mechanical Turk"):
        joining.join(made.join_code, looking)
    assert {row.stage for row in rows(tables.Participant)} == {"free"}


def test_a_link_opens_one_place_once_and_again_after_its_person_has_declined(study):
    made = study(recruiting={"by_invitation": True}, consent={"text": "Agree?"}, **SMALL)
    with pytest.raises(Refused, match="needs a personal link"):
        joining.join(made.join_code)
    link, other = (Arrival(invitation=token) for token in joining.invite("pilot", 2))
    person = joining.join("", link)
    with pytest.raises(Refused, match="already been used"):
        joining.join("", link)
    with pytest.raises(BadInput, match="link is not valid"):
        joining.join("", Arrival(invitation="made-up"))
    with reading() as session:
        assert joining.find_place(session, person.secret, link).id == person.id
        assert joining.find_place(session, person.secret, other) is None
    joining.consent(person.id, False)
    assert joining.join("", link).id != person.id
    with reading() as session:
        assert joining.invitations(session, made) == (2, 1)


@pytest.mark.parametrize("count", [0, 1_001])
def test_links_come_in_sensible_numbers(study, count):
    study(**SMALL)
    with pytest.raises(BadInput, match="1 to 1,000 links at a time"):
        joining.invite("pilot", count)


def test_who_is_screened_out_frees_the_place_keeps_no_answers_and_does_not_come_again(study, rows):
    made = study(recruiting=PROLIFIC, demographics=[SCREENS], **(SMALL | {"participants": {"human": 1}}))
    child = joining.join(made.join_code, coming(made))
    joining.store_intake_answers(child.id, {"age": "child"})
    assert steps.find_position(child.id).kind == "screened_out"
    (row,) = [row for row in rows(tables.Participant) if row.id == child.id]
    assert (row.answers, row.completion_code) == ("{}", None)
    with pytest.raises(Refused, match="Each person can take part once"):
        joining.join(made.join_code, coming(made))
    adult = joining.join(made.join_code, coming(made, "another"))
    joining.store_intake_answers(adult.id, {"age": "adult"})
    assert steps.find_position(adult.id).kind == "instructions"


def test_a_full_quota_turns_the_next_one_away_and_a_withdrawal_reopens_it(study, rows):
    age = {"key": "age", "question": "Age?", "choices": ["young", "old"], "required": True, "quotas": {"young": 1}}
    made = study(recruiting=PROLIFIC, demographics=[age], **(SMALL | {"participants": {"human": 3}}))
    first, second = (joining.join(made.join_code, coming(made, name)) for name in ("a", "b"))
    for person in (first, second):
        joining.store_intake_answers(person.id, {"age": "young"})
    assert [steps.find_position(one.id).kind for one in (first, second)] == ["instructions", "over_quota"]
    assert next(row.answers for row in rows(tables.Participant) if row.id == second.id) == "{}"
    with pytest.raises(Refused, match="Each person can take part once"):
        joining.join(made.join_code, coming(made, "b"))
    withdraw(first.id)
    third = joining.join(made.join_code, coming(made, "c"))
    joining.store_intake_answers(third.id, {"age": "young"})
    assert steps.find_position(third.id).kind == "instructions"


WHO = {"key": "who", "question": "Who reads it?", "kind": "choice", "choices": ["agent", "user"], "right": "agent"}
WHEN = {"key": "when", "question": "When?", "kind": "choice", "choices": ["now", "later"], "right": "later"}


def quizzed(study, **more):
    """A participant at a quiz of two questions."""
    made = study(**(SMALL | {"participants": {"human": 1}, "quiz": {"questions": [WHO, WHEN], "tries": 2}} | more))
    person = joining.join(made.join_code, coming(made))
    joining.finish_instructions(person.id)
    assert steps.find_position(person.id).kind == "quiz"
    return made, person


def test_a_quiz_is_passed_within_its_tries(study, rows):
    _made, person = quizzed(study, recruiting=PROLIFIC)
    with pytest.raises(BadInput, match=r"Please answer: When\?"):
        joining.take_quiz(person.id, {"who": "agent"})
    with pytest.raises(BadInput, match=r"2 answers are not correct\."):
        joining.take_quiz(person.id, {"who": "user", "when": "now"})
    joining.take_quiz(person.id, {"who": "agent", "when": "later"})
    assert steps.find_position(person.id).kind == "introduction"
    given = [(one.moment, one.instrument, one.item, one.answer) for one in rows(tables.QuestionnaireAnswer)]
    assert given == [
        ("quiz", "quiz 1", "who", "user"), ("quiz", "quiz 1", "when", "now"),
        ("quiz", "quiz 2", "who", "agent"), ("quiz", "quiz 2", "when", "later"),
    ]  # fmt: skip
    joining.take_quiz(person.id, {"who": "user", "when": "now"})
    assert len(rows(tables.QuestionnaireAnswer)) == 4, "a passed quiz is over"


def test_who_fails_every_try_frees_the_place_and_does_not_come_again(study):
    made, person = quizzed(study, recruiting=PROLIFIC)
    with pytest.raises(BadInput, match="1 answer is not correct"):
        joining.take_quiz(person.id, {"who": "user", "when": "later"})
    joining.take_quiz(person.id, {"who": "user", "when": "later"})
    assert steps.find_position(person.id).kind == "failed_quiz"
    with pytest.raises(Refused, match="Each person can take part once"):
        joining.join(made.join_code, coming(made))
    assert joining.join(made.join_code, coming(made, "another")).id != person.id
