"""What is known of a task before anyone reviews is what a trial that nobody reviews brings."""

from console import database
from console.studies.sessions import joining, lifecycle
from storage import tables


def test_an_unreviewed_trial_ends_as_it_was_foreseen(study, walk, rows):
    made = study(tasks=8, trials=1, budget=None, factors={"feedback": "none"})
    with database.reading() as session:
        design = lifecycle.design_of(made)
        known = lifecycle.known_before(session, design, lifecycle.places(session, made))
    assert walk(joining.join(made.join_code).id).kind == "finished"
    keys = {task.id: task.task_key for task in rows(tables.Task)}
    played = {keys[row.task_id]: (row.outcome, row.n_steps) for row in rows(tables.Trajectory)}
    assert played == {key: (one.outcome, one.steps) for key, one in known.items()}
    assert len({outcome for outcome, _ in played.values()}) > 1
