"""The stored allocation is the one that the design gives."""

from console import database
from console.studies.design import sample_tasks
from console.studies.design.allocation import block_rows
from console.studies.design.yaml_file import example, load
from console.studies.sessions import lifecycle, study_tasks


def test_stored_places_are_those_that_the_design_gives():
    design = load(example())
    lifecycle.create(design, 1_000)
    with database.reading() as session:
        study = lifecycle.get(session, "pilot")
        stored = lifecycle.list_places(session, study)
        planned, keys = lifecycle.planned_places(session, design), study_tasks.list_task_keys(session, design)
        solved = [row["solved"] for row in block_rows(stored, lifecycle.known_properties(session, design, stored))]
        row = lifecycle.summary(session, study)
    assert stored == planned
    assert {key for place in stored for key in place.tasks} == set(sample_tasks(design, keys))
    assert max(solved) - min(solved) <= 1
    assert 0 < sum(solved) < 40
    assert (row["participants"], row["joined"], row["finished"], row["tasks"]) == (6, 0, 0, 40)
