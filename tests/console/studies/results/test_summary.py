"""The numbers at the head of a study's results, and when they are counted anew."""

import pytest
from sqlmodel import col, select

from console.errors import Unknown
from console.studies.results.summary import data_versions, headline
from storage import tables
from storage.engine import writing


def test_people_arms_and_decisions_are_counted(read):
    found = read(headline, 1)
    assert (found.places, found.joined, found.finished, found.simulated) == (4, 2, 2, 1)
    assert (found.arms, found.arms_done) == (6, 6)
    assert (found.decisions, found.human_decisions, found.mean_seconds) == (6, 4, 30.0)


def test_a_study_that_there_is_not_is_unknown(read):
    with pytest.raises(Unknown):
        read(headline, 9)


def _another_decision(session):
    session.add(tables.LedgerEntry(budget_id=1, item_id=1, slot_id=1, reviewer="P01", entry="settle", reason="decide",
                                   units=0, at_ms=1))  # fmt: skip


def _delivery(session):
    session.get(tables.Item, 1).status = "delivered"


def _next_trial(session):
    old = session.exec(select(tables.Trajectory).order_by(col(tables.Trajectory.id))).first()
    fields = old.model_dump(exclude={"id", "digest"}) | {"trial": 9, "digest": "new"}
    session.add(tables.Trajectory(**fields))


def _settled(session):
    session.add(tables.Adjudication(study_id=1, unit="kettle/1/action", label="aligned", adjudicator="a", at_ms=1))


def _stage(session):
    session.get(tables.Participant, 1).stage = "break"


def _engine(session):
    session.add(tables.Event(run_id=1, at_ms=1, actor="engine", kind="released"))


@pytest.mark.parametrize(
    "change", [_another_decision, _delivery, _next_trial, _settled, _stage, _engine], ids=lambda f: f.__name__[1:]
)
def test_it_differs_after(url, read, change):
    before = read(data_versions, 1).study
    assert read(data_versions, 1).study == before
    with writing(url) as session:
        change(session)
    assert read(data_versions, 1).study != before


def test_another_runs_work_changes_nothing(url, read):
    before = read(data_versions, 1).study
    with writing(url) as session:
        run = tables.Run(name="other", kind="archive", environment="webshop", created_ms=1)
        session.add(run)
        session.flush()
        session.add(tables.Event(run_id=run.id, at_ms=1, actor="engine", kind="released"))
    assert read(data_versions, 1).study == before
