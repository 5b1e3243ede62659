"""The tasks of a study stay the same, whichever version made it."""

from console.studies.design import Design
from console.studies.sessions import task_sources


def test_a_study_finds_tasks_beyond_those_that_it_would_draw_on_now():
    design = Design(name="old", source={"actor": "scripted", "environment": "webshop"}, tasks=2, factors={})
    assert list(task_sources.specs(design)) == ["webshop-0-0", "webshop-0-1"]
    found = task_sources.chosen(design, ["webshop-0-300", "webshop-0-0"])
    assert [task.task_id for task in found] == ["webshop-0-300", "webshop-0-0"]
    assert found[1] == task_sources.specs(design)["webshop-0-0"]
