"""The tasks of a study stay the same, whichever version made it."""

from console import database
from console.studies.design import Design
from console.studies.sessions import joining, lifecycle, study_tasks
from storage import tables


def test_a_study_finds_tasks_beyond_those_that_it_would_draw_on_now():
    design = Design(name="old", source={"actor": "scripted", "environment": "webshop"}, tasks=2, factors={})
    assert list(study_tasks.load_tasks(design)) == ["webshop-0-0", "webshop-0-1"]
    found = study_tasks.select_tasks(design, ["webshop-0-300", "webshop-0-0"])
    assert [task.task_id for task in found] == ["webshop-0-300", "webshop-0-0"]
    assert found[1] == study_tasks.load_tasks(design)["webshop-0-0"]


def test_an_unreviewed_trial_ends_as_it_was_foreseen(study, walk, rows):
    made = study(tasks=8, trials=1, budget=None, factors={"feedback": "none"})
    with database.reading() as session:
        design = lifecycle.design_of(made)
        known = lifecycle.known_properties(session, design, lifecycle.list_places(session, made))
    assert walk(joining.join(made.join_code).id).kind == "finished"
    keys = {task.id: task.task_key for task in rows(tables.Task)}
    played = {keys[row.task_id]: (row.outcome, row.n_steps) for row in rows(tables.Trajectory)}
    assert played == {key: (one.outcome, one.steps) for key, one in known.items()}
    assert len({outcome for outcome, _ in played.values()}) > 1
