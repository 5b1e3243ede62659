"""Who withdraws is gone from every export, or cannot be told any more; budgets and tables still agree."""

import gzip
import re
from itertools import cycle, product

import pyarrow.parquet
import pytest
from sqlalchemy import text
from sqlmodel import col, select

from console.auth.audit_log import By, Door, acting
from console.database import database_url, now_ms, reading, review_queue, writing
from console.errors import Refused
from console.runs import audit_trail, maintenance
from console.runs.audit_trail import AuditFilter
from console.runs.export import FORMATS, KINDS, export
from console.studies import results
from console.studies.sessions import joining, steps
from console.studies.sessions.joining import Arrival, pseudonymize
from console.studies.sessions.steps import keep_events
from console.studies.sessions.withdrawal import withdraw
from storage import tables
from storage.check import check
from storage.engine import sqlite_path

WORDS = "the zebra in my words"
WHOLE = {
    "practice": 1,
    "checks": {"attention": 1, "known_bad": 1},
    "demographics": [{"key": "age", "question": "Age?", "kind": "text"}],
    "tasks": 5,
    "factors": {"feedback": ("nl", "binary")},
    "questionnaires": {"before": ("trust",), "between": ("nasa-tlx",)},
    "confidence": 5,
    "interaction_trace": True,
    "debriefing": {"question": "What did you go by?"},
    "recruiting": {"platform": "prolific"},
}
OUTSIDE = "5f1b2c3d4e5f6a7b8c9d0e1f"
BESIDE = (tables.QuestionnaireAnswer, tables.Confidence, tables.PageEvent)


def gone(study, walk, withdrawal, *, stop):
    made = study(consent={"text": "Agreed?", "withdrawal": withdrawal}, **WHOLE)
    person, other = (joining.join(made.join_code, outside(made, one)) for one in (OUTSIDE, "somebody else"))
    walk(other.id, places=25, words="other words")
    place = walk(person.id, stop=noting(stop, person), words=WORDS)
    if getattr(place, "claim", None):
        review_queue().save_draft(item_id=place.claim.item_id, reviewer=person.code, text=WORDS, now_ms=now_ms())
    assert any(WORDS in line for line in everything())
    withdraw(person.id)
    return made, person, other


def outside(made, pid):
    return Arrival(made.join_code, given={"PROLIFIC_PID": pid})


def noting(stop, person):
    """The same, while the browser tells of every item that it shows."""

    def tell(place):
        if place.kind == "review":
            told = [{"kind": "away", "ms": 1, "lasted_ms": 5}, {"kind": "key", "detail": "x", "ms": 9}]
            keep_events(person.secret, {"item": place.claim.item_id, "events": told})
        return stop(place)

    return tell


def middle(place):
    return place.kind == "review" and place.trial == 2


def at_the_end(place):
    return place.kind == "finished"


def left_beside(rows, person):
    """What is left of the person in each table beside the decisions, by its name; others' rows are there."""
    kept = {table.__tablename__: rows(table) for table in BESIDE}
    assert kept["questionnaire_answer"]
    mine = {name: [row for row in found if row.participant_id == person.id] for name, found in kept.items()}
    return {name: found for name, found in mine.items() if found}


def everything():
    """Every value of every table, as text."""
    with reading() as session:
        for name in tables.Table.metadata.tables:
            for row in session.execute(text(f"SELECT * FROM {name}")):
                yield f"{name} {tuple(row)}"


def files():
    """The files of the database: a deleted row may still be read in them."""
    path = sqlite_path(database_url())
    found = list(path.parent.glob(f"{path.name}*"))
    assert path in found
    return found


def exported(folder):
    """The text of every export of every run, in each format by turns."""
    with reading() as session:
        names = session.exec(select(tables.Run.name).order_by(col(tables.Run.id).desc())).all()
    for (name, kind), format in zip(product(names, KINDS), cycle(FORMATS), strict=False):
        path = folder / f"{kind}.{format}"
        export(database_url(), kind, name, path)
        yield name, _text(path)


def tidy():
    """Every table of the study's results, as text."""
    with reading() as session:
        (study_id,) = session.execute(text("SELECT id FROM study")).one()
        for frame in results.frames(session, study_id).values():
            yield frame.to_csv()


def _text(path):
    if path.suffix == ".parquet":
        return str(pyarrow.parquet.read_table(path).to_pylist())
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


@pytest.mark.parametrize("stop", [pytest.param(middle, marks=pytest.mark.at_length), at_the_end])
def test_removed_means_no_code_and_no_words_anywhere(study, walk, rows, tmp_path, stop):
    made, person, other = gone(study, walk, "remove", stop=stop)
    assert check(database_url()) == []
    assert left_beside(rows, person) == {}
    for line in everything():
        assert pseudonymize(made, OUTSIDE) not in line
        assert person.code not in line
        assert WORDS not in line
        assert person.secret not in line
    for path in files():
        assert WORDS.encode() not in path.read_bytes()
        assert person.secret.encode() not in path.read_bytes()
        assert pseudonymize(made, OUTSIDE).encode() not in path.read_bytes()
    for name, told in exported(tmp_path):
        assert person.code not in name
        assert person.code not in told
        assert WORDS not in told
    for told in tidy():
        assert person.code not in told
        assert WORDS not in told
    assert any("other words" in line for line in everything())
    assert steps.find_position(other.id).kind not in ("withdrawn", "declined")


@pytest.mark.at_length
def test_the_ledger_of_who_is_gone_still_adds_up(study, walk, rows):
    gone(study, walk, "remove", stop=middle)
    entries = [row for row in rows(tables.LedgerEntry) if row.reviewer == "withdrawn"]
    assert entries
    assert sum(row.units for row in entries) == 0
    assert all(row.reviewer == "withdrawn" for row in rows(tables.Slot) if row.reviewer not in ("P02",))
    (event,) = [row for row in rows(tables.Event) if row.kind == "participant withdrew"]
    assert (event.run_id, event.subject, event.detail) == (None, "pilot", "{}")


@pytest.mark.parametrize("withdrawal", ["remove", "anonymise"])
def test_the_audit_names_who_withdraws_by_a_pseudonym_that_leads_nowhere(study, walk, rows, withdrawal):
    made = study(consent={"text": "Agreed?", "withdrawal": withdrawal}, **WHOLE)
    person, other = (joining.join(made.join_code, outside(made, one)) for one in ("one", "other"))
    withdraw(person.id, themselves=True)
    with acting(By("Sam", Door.BROWSER, "10.0.0.7")):
        withdraw(other.id)
    (own, sams) = [row for row in rows(tables.Event) if row.kind == "participant withdrew"]
    assert re.fullmatch(r"W[A-Z0-9]{6}", own.actor)
    assert (own.subject, own.door, own.place) == ("pilot", "browser", "")
    left = {row.code for row in rows(tables.Participant) if row.stage == "withdrawn"}
    assert own.actor in left if withdrawal == "anonymise" else own.actor not in left
    assert (sams.actor, sams.place) == ("Sam", "10.0.0.7")
    with reading() as session:
        said = [audit_trail.entry_sentence(one) for one in audit_trail.list_entries(session, AuditFilter())]
    assert f"The participant now called {own.actor} withdrew from the study “pilot”, in the browser." in said
    assert "Sam removed a participant from the study “pilot”, in the browser." in said


@pytest.mark.at_length
def test_the_place_is_free_for_somebody_else(study, walk, rows):
    made, person, _ = gone(study, walk, "remove", stop=middle)
    assert steps.find_position(person.id).kind == "withdrawn"
    codes = {joining.join(made.join_code, outside(made, f"next {n}")).code for n in range(3)}
    assert person.code not in codes
    with pytest.raises(Refused, match="taken"):
        joining.join(made.join_code, outside(made, "last"))
    successor = next(row for row in rows(tables.Participant) if row.number == person.number)
    assert walk(successor.id).kind == "finished"
    assert check(database_url()) == []


@pytest.mark.at_length
@pytest.mark.parametrize("stop", [middle, at_the_end])
def test_anonymised_data_stays_under_a_name_that_leads_nowhere(study, walk, rows, tmp_path, stop):
    made, person, _ = gone(study, walk, "anonymise", stop=stop)
    assert check(database_url()) == []
    assert left_beside(rows, person) == {}
    for line in everything():
        assert pseudonymize(made, OUTSIDE) not in line
        assert person.code not in line
        assert person.secret not in line
    assert all(person.code not in told for _, told in exported(tmp_path))
    (left,) = [row for row in rows(tables.Participant) if row.stage == "withdrawn"]
    assert (left.answers, left.secret, left.completion_code) == ("{}", None, None)
    assert left.number not in (1, 2, 3, 4)
    kept = [row for row in rows(tables.Decision) if row.reviewer == left.code]
    assert any(row.feedback_text == WORDS for row in kept)
    assert steps.find_position(left.id).kind == "withdrawn"


@pytest.mark.at_length
def test_withdrawing_twice_is_once(study, walk, rows):
    _, person, _ = gone(study, walk, "remove", stop=middle)
    withdraw(person.id)
    assert len([row for row in rows(tables.Event) if row.kind == "participant withdrew"]) == 1


def test_a_free_place_cannot_withdraw(study, rows):
    study()
    with pytest.raises(Refused, match="The place P01 has no participant to withdraw"):
        withdraw(rows(tables.Participant)[0].id)


def test_who_has_only_just_come_can_leave(study, walk):
    made = study(consent={"text": "Agreed?"})
    person = joining.join(made.join_code)
    withdraw(person.id)
    assert steps.find_position(person.id).kind == "withdrawn"
    assert check(database_url()) == []


@pytest.mark.at_length
def test_data_on_legal_hold_is_not_withdrawn(study, walk):
    made = study(consent={"text": "Agreed?", "withdrawal": "remove"}, **WHOLE)
    person = joining.join(made.join_code, outside(made, OUTSIDE))
    walk(person.id, words=WORDS)
    with writing() as session:
        for run_id in steps.list_own_runs(session, session.get_one(tables.Participant, person.id)):
            maintenance.set_hold(session, session.get_one(tables.Run, run_id), "Case 12", now_ms())
    with pytest.raises(Refused, match="This data is on legal hold"):
        withdraw(person.id)
    assert any(WORDS in line for line in everything())
