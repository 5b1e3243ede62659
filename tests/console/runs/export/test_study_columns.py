"""Decisions of a study's run tell the study, the condition and the participant."""

import pytest
from sqlmodel import select

from console.runs import export
from console.runs.export.formats import read_csv
from storage import tables
from storage.engine import writing


@pytest.fixture
def in_study(url):
    """A function that gives the run to a participant of a study: as arm, checks or practice."""

    def give(**cells):
        with writing(url) as session:
            study = tables.Study(name="pilot", design="{}", join_code="j", created_ms=1)
            session.add(study)
            session.flush()
            session.exec(select(tables.Run).where(tables.Run.id == 1)).one().study_id = study.id
            who = tables.Participant(
                study_id=study.id, number=1, code="P01", practice_run_id=cells.pop("practice", None)
            )
            session.add(who)
            session.flush()
            if cells:
                place = {"condition": "rules-nl", "levels": "{}", "tasks": "[]", "position": 1}
                session.add(tables.Assignment(study_id=study.id, participant_id=who.id, **place, **cells))

    return give


def _owner(url, tmp_path):
    export.export(url, "decisions", "shop", tmp_path / "decisions.csv")
    return {
        (row["study"], row["condition"], row["participant"]) for row in read_csv(tmp_path / "decisions.csv")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "condition"),
    [({"run_id": 1}, "rules-nl"), ({"checks_run_id": 1}, "rules-nl"), ({"practice": 1}, "")],
    ids=["arm", "checks", "practice"],
)
def test_a_participants_run_names_them(url, tmp_path, in_study, cells, condition):
    in_study(**cells)
    assert _owner(url, tmp_path) == {("pilot", condition, "P01")}


def test_a_run_of_no_study_leaves_them_empty(url, tmp_path):
    assert _owner(url, tmp_path) == {("", "", "")}


def test_a_run_whose_participant_has_withdrawn_names_nobody(url, tmp_path, in_study):
    in_study()
    assert _owner(url, tmp_path) == {("pilot", "", "")}
