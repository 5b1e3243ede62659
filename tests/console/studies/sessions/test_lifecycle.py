"""The stored allocation is the one that the design gives."""

from console import database
from console.studies.design import allocate, sample_tasks
from console.studies.design.yaml_file import example, load
from console.studies.sessions import lifecycle, task_sources


def test_stored_places_are_those_that_the_design_gives():
    design = load(example())
    lifecycle.create(design, 1_000)
    with database.reading() as session:
        study = lifecycle.get(session, "pilot")
        stored = lifecycle.places(session, study)
        keys = task_sources.keys(session, design)
        row = lifecycle.summary(session, study)
    assert stored == allocate(design, sample_tasks(design, keys))
    assert (row["participants"], row["joined"], row["finished"], row["tasks"]) == (6, 0, 0, 40)
