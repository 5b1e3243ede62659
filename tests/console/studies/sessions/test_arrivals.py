"""Who may come: by a link that opens one place, or with an id of a platform that is kept as a keyed pseudonym alone."""

import pytest
from sqlalchemy import text

from console.database import reading
from console.errors import BadInput, Refused
from console.studies.sessions import arrivals, joining, steps
from console.studies.sessions.arrivals import Arrival
from storage import tables

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
    with pytest.raises(Refused, match="a place in this study already; go on in the browser in which you began"):
        joining.join(made.join_code, coming(made))
    with pytest.raises(Refused, match="open its link there, so that your id comes along"):
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
        assert joining.place_in(session, person.secret, coming(made)).id == person.id
        assert joining.place_in(session, person.secret, Arrival(made.join_code)).id == person.id
        assert joining.place_in(session, person.secret, coming(made, "another")) is None


def test_a_preview_takes_no_place(study, rows):
    made = study(recruiting={"platform": "mturk"}, **SMALL)
    looking = Arrival(made.join_code, given={"workerId": "AZ3", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
    with pytest.raises(Refused, match="preview on Mechanical Turk; accept the task there"):
        joining.join(made.join_code, looking)
    assert {row.stage for row in rows(tables.Participant)} == {"free"}


def test_a_link_opens_one_place_once_and_again_after_its_person_has_declined(study):
    made = study(recruiting={"by_invitation": True}, consent={"text": "Agree?"}, **SMALL)
    with pytest.raises(Refused, match="by personal links alone"):
        joining.join(made.join_code)
    link, other = (Arrival(invitation=token) for token in arrivals.invite("pilot", 2))
    person = joining.join("", link)
    with pytest.raises(Refused, match="has opened its place already"):
        joining.join("", link)
    with pytest.raises(BadInput, match="opens no place"):
        joining.join("", Arrival(invitation="made-up"))
    with reading() as session:
        assert joining.place_in(session, person.secret, link).id == person.id
        assert joining.place_in(session, person.secret, other) is None
    joining.consent(person.id, False)
    assert joining.join("", link).id != person.id
    with reading() as session:
        assert arrivals.invitations(session, made) == (2, 1)


@pytest.mark.parametrize("count", [0, 1_001])
def test_links_come_in_sensible_numbers(study, count):
    study(**SMALL)
    with pytest.raises(BadInput, match="1 to 1,000 links at a time"):
        arrivals.invite("pilot", count)


def test_who_is_screened_out_frees_the_place_keeps_no_answers_and_does_not_come_again(study, rows):
    made = study(recruiting=PROLIFIC, demographics=[SCREENS], **(SMALL | {"participants": {"human": 1}}))
    child = joining.join(made.join_code, coming(made))
    joining.tell(child.id, {"age": "child"})
    assert steps.where(child.id).kind == "screened_out"
    (row,) = [row for row in rows(tables.Participant) if row.id == child.id]
    assert (row.answers, row.completion_code) == ("{}", None)
    with pytest.raises(Refused, match="each person has one place in it"):
        joining.join(made.join_code, coming(made))
    adult = joining.join(made.join_code, coming(made, "another"))
    joining.tell(adult.id, {"age": "adult"})
    assert steps.where(adult.id).kind == "instructions"
