"""Tasks solved by each trial, in both counts, together and task by task."""

import pytest
from sqlmodel import select

from console.studies.results.success_counts import outcomes, success
from storage import tables
from storage.engine import writing


def _solved(frame, participant):
    own = frame[(frame["participant"] == participant) & (frame["condition"] == "rules-shown")]
    return own[["trial", "solved_held", "solved_paper"]].to_numpy().tolist()


def test_a_task_stays_as_its_last_trial_left_it(read):
    frame = read(success, 1)
    assert _solved(frame, "P01") == [[0, 0, 1], [1, 1, 2], [2, 1, 2]]
    assert _solved(frame, "P02") == [[0, 0, 1], [1, 0, 1], [2, 0, 1]]
    assert set(frame["tasks"]) == {2}
    assert frame["closed"].all()


def test_what_an_experiment_released_counts_only_as_the_paper_counts(url, read):
    with writing(url) as session:
        for record in session.exec(select(tables.Trajectory).filter_by(outcome="paused")):
            record.outcome, record.released_by = "succeeded", "simulation"
    assert _solved(read(success, 1), "P02")[0] == [0, 0, 1]


def test_a_held_action_of_a_live_run_has_solved_nothing(url, read):
    with writing(url) as session:
        for run in session.exec(select(tables.Run)):
            run.kind = "live"
    assert _solved(read(success, 1), "P02")[0] == [0, 0, 0]


def test_the_trial_under_way_is_not_closed(url, read):
    with writing(url) as session:
        for place in session.exec(select(tables.Assignment)):
            place.status = "working"
    frame = read(success, 1)
    first = frame[(frame["participant"] == "P01") & (frame["condition"] == "rules-shown")]
    assert first["closed"].tolist() == [True, True, False]
    second = frame[(frame["participant"] == "P02") & (frame["condition"] == "rules-shown")]
    assert second["closed"].tolist() == [False]


@pytest.mark.parametrize("count", ["solved_held", "solved_paper"])
def test_tasks_one_by_one_add_up_to_the_counts(read, count):
    each = read(outcomes, 1).groupby(["participant", "condition", "trial"])[count].sum()
    counted = read(success, 1).set_index(["participant", "condition", "trial"])[count]
    assert each.sort_index().tolist() == counted.sort_index().tolist()


def test_an_arm_that_has_not_begun_has_no_row(url, read):
    with writing(url) as session:
        for place in session.exec(select(tables.Assignment).filter_by(position=2)):
            place.run_id, place.status = None, "waiting"
    assert set(read(success, 1)["condition"]) == {"rules-shown"}
