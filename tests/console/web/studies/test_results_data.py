"""The tables behind a study's results: what is read anew after a decision."""

import runpy
from pathlib import Path

import pandas as pd
import pytest
from sqlmodel import select

from console.database import reading
from console.studies.results import TABLES, data_versions, read_judged
from console.web.studies.results_data import results_of
from storage import tables

ROWS = Path(__file__).parents[3] / "benchmarks" / "study_rows.py"


@pytest.fixture
def decide(migrated):
    """A function that decides once more in a study of forty people, which is filled before."""
    written = runpy.run_path(str(ROWS))
    written["fill"](640)
    return written["decide_once_more"]


def opened():
    """The study's results and the versions of its data."""
    with reading() as session:
        study = session.exec(select(tables.Study)).one()
        return results_of(study), data_versions(session, study.id)


def test_after_a_decision_only_its_participant_is_read_anew_and_the_tables_are_those_of_a_whole_reading(decide):
    before, versions = opened()
    counts = {name: len(before.frame(name)) for name in ("decisions", "outcomes", "success")}
    for number in range(2):
        decide(number)
        found, moved = opened()
        assert [who for who, version in moved.people.items() if versions.people[who] != version] == ["P001"]
        with reading() as session:
            for name in counts:
                pd.testing.assert_frame_equal(found.frame(name), TABLES[name](session, found.study_id))
            judged_alone = read_judged(session, found.study_id)
        assert len(found.frame("decisions")) == counts["decisions"] + number + 1
        counted, whole = (rows.value_counts(dropna=False) for rows in (found.unordered("judged"), judged_alone))
        pd.testing.assert_series_equal(counted.sort_index(), whole.sort_index())
