"""Tasks solved by each trial, in both counts, together and task by task."""

import pytest
from sqlmodel import select

from console import runs
from console.database import reading
from console.studies.results import history
from console.studies.results.study_tables import budget, ledger, outcomes, success
from console.studies.sessions import joining, lifecycle, simulated, withdrawal
from storage import tables
from storage.engine import writing
from tests.sweeps import sweep


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


def test_each_arm_has_its_own_budget_and_checks_have_none(read):
    frame = read(budget, 1)
    assert len(frame) == 6
    assert frame[["cap", "used"]].drop_duplicates().to_numpy().tolist() == [[3, 1]]


def test_movements_add_up_to_what_was_used_and_name_nobody(read):
    frame = read(ledger, 1)
    last = frame.groupby(["participant", "condition", "trial"])["used"].last()
    assert set(last) == {1}
    assert frame.groupby(["participant", "condition"])["units"].sum().eq(1).all()
    assert "reviewer" not in frame


def of(name):
    with reading() as session:
        return history(session, lifecycle.get(session, name).id)


def test_it_tells_openings_pauses_withdrawals_and_changed_settings(study):
    made = study(participants={"human": 1, "oracle": 1}, factors={}, tasks=1, trials=1)
    withdrawal.withdraw(joining.join(made.join_code).id)
    simulated.simulate("pilot")
    with reading() as session:
        name = session.get_one(tables.Run, 1).name
    runs.set_budget(name, "7")
    lifecycle.pause("pilot")
    found = of("pilot")
    assert found["event"].tolist() == ["created", "opened", "withdrawal", "budget set", "paused"]
    changed = found[found["event"] == "budget set"].iloc[0]
    assert (changed["before"], changed["after"], changed["participant"]) == ("2", "7", "P02")


@sweep("kept", ["remove", "anonymise"], kept=1)
def test_a_simulated_reviewer_who_leaves_is_no_person(study, kept):
    study(consent={"text": "Agreed?", "withdrawal": kept}, participants={"human": 1, "oracle": 1}, factors={})
    simulated.simulate("pilot")
    with reading() as session:
        oracle = withdrawal.find_by_code(session, lifecycle.get(session, "pilot"), "P02")
    withdrawal.withdraw(oracle.id)
    assert of("pilot")["event"].tolist() == ["created", "opened", "withdrawal, simulated"]


def test_another_studys_history_is_its_own(study):
    study()
    study("other", opened=False)
    assert of("other")["event"].tolist() == ["created"]
