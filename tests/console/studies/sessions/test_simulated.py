"""A whole study by simulated participants: the reference study in small."""

import multiprocessing
import os
import signal
import time
from collections import Counter
from itertools import pairwise

import orjson
import pytest
from sqlmodel import col

from console.database import database_url, reading
from console.errors import Refused
from console.studies import results
from console.studies.sessions import joining, lifecycle, progress, simulated
from storage import tables
from storage.check import check
from storage.engine import close

CAST = {"participants": {"human": 1, "oracle": 1, "noisy": [{"seconds_per_item": 20}], "rules": 1}}
CHECKS = {"checks": {"attention": 1, "known_good": 1, "known_bad": 1}}


@pytest.mark.at_length
def test_the_reference_study_in_small(study, rows):
    study(participants={"human": 4, "oracle": 1}, **CHECKS)
    tally = simulated.simulate("pilot", all_places=True)
    assert (tally.participants, tally.conditions) == (5, 20)
    assert tally.decisions == len(rows(tables.Decision))
    known = {row.item_id for row in rows(tables.Probe)}
    assert tally.on_known_answers == sum(row.item_id in known for row in rows(tables.Decision)) > 0
    people = rows(tables.Participant)
    assert {one.stage for one in people} == {"finished"}
    assert len({one.completion_code for one in people}) == 5
    _look_at_allocation(rows)
    assert {row.annotator_kind for row in rows(tables.Decision)} == {"rule"}
    assert all(row.used <= row.cap for row in rows(tables.Budget) if row.cap is not None)
    _look_at_oracle(rows)
    assert check(database_url()) == []


def _look_at_allocation(rows):
    """Every run has the tasks, the detector and the feedback of its own place in the allocation, and no others."""
    places = rows(tables.Assignment)
    people = {one.id for one in rows(tables.Participant, tables.Participant.kind != "oracle")}
    placed = Counter((row.condition, row.position) for row in places if row.participant_id in people)
    assert len(placed) == 16
    assert set(placed.values()) == {1}
    for place in places:
        keys = {row.task_key for row in rows(tables.Task, tables.Task.run_id == place.run_id)}
        assert keys == set(orjson.loads(place.tasks))
        with reading() as session:
            run = session.get_one(tables.Run, place.run_id)
        levels = orjson.loads(place.levels)
        assert (run.feedback_mode, run.detector) == (levels["feedback"], levels["detector"])
        codes = {row.reviewer for row in rows(tables.Slot, tables.Slot.item_id.in_(_items(rows, place.run_id)))}
        with reading() as session:
            assert codes <= {session.get_one(tables.Participant, place.participant_id).code}


def _items(rows, run_id):
    return [row.id for row in rows(tables.Item, tables.Item.run_id == run_id)]


def _look_at_oracle(rows):
    """Who knows the gold answers every known item right."""
    (oracle,) = rows(tables.Participant, tables.Participant.kind == "oracle")
    probes = {row.item_id: row.expected for row in rows(tables.Probe, tables.Probe.participant_id == oracle.id)}
    assert len(probes) >= 12
    answers = {row.item_id: row.label for row in rows(tables.Decision, tables.Decision.reviewer == oracle.code)}
    assert all(answers[item] == expected for item, expected in probes.items() if item in answers and expected)
    assert len(probes.keys() & answers.keys()) >= 12


@pytest.mark.at_length
def test_no_place_of_a_dry_run_counts_as_a_person(study, rows):
    made = study(participants={"human": 2})
    person = joining.join(made.join_code)
    with pytest.raises(Refused, match=r"1 person takes part in pilot, .*--beside-people"):
        simulated.simulate("pilot", all_places=True)
    simulated.simulate("pilot", all_places=True, beside_people=True)
    kinds = {one.code: one.kind for one in rows(tables.Participant)}
    assert kinds == {person.code: "human", "P02": "noisy"}
    with reading() as session:
        told = results.participants(session, made.id)
    assert dict(zip(told["participant"], told["annotator_kind"], strict=True)) == {person.code: "human", "P02": "rule"}


@pytest.mark.at_length
def test_places_of_people_stay_free_and_items_take_their_time(study, rows):
    made = study(**CAST)
    simulated.simulate("pilot")
    assert joining.join(made.join_code).kind == "human"
    with reading() as session:
        noisy = next(
            row for row in progress.read_board(session, lifecycle.get(session, "pilot")) if row.kind == "noisy"
        )
    took = rows(tables.Decision, tables.Decision.reviewer == noisy.code)
    assert all(10_000 <= row.decided_ms - row.claimed_ms <= 30_000 for row in took)
    ends = sorted((row.claimed_ms, row.decided_ms) for row in took)
    assert all(before[1] <= after[0] for before, after in pairwise(ends))
    assert max(row.decided_ms for row in took) <= time.time_ns() // 1_000_000


@pytest.mark.at_length
def test_a_person_and_simulated_ones_never_meet_and_first_trials_are_alike_for_all(study, walk, rows):
    made = study(**CAST)
    person = joining.join(made.join_code)
    walk(person.id, places=6)
    simulated.simulate("pilot", all_places=True, beside_people=True)
    walk(person.id)
    mine = {row.run_id for row in rows(tables.Assignment, tables.Assignment.participant_id == person.id)}
    for row in rows(tables.Decision, tables.Decision.annotator_kind == "human"):
        with reading() as session:
            assert session.get_one(tables.Item, row.item_id).run_id in mine
    _look_at_first_trials(rows)
    assert check(database_url()) == []


def _look_at_first_trials(rows):
    """The first trials of a task are alike for everybody."""
    actions = {}
    for row in rows(tables.Item, tables.Item.trial == 0):
        with reading() as session:
            trajectory = session.get_one(tables.Trajectory, row.trajectory_id)
            key = session.get_one(tables.Task, trajectory.task_id).task_key
        actions.setdefault(key, set()).add((row.step, row.kind))
    assert actions
    assert all(len(found) == 1 for found in actions.values())


def test_a_draft_is_not_simulated(study):
    study(opened=False, **CAST)
    with pytest.raises(Refused, match="not started yet"):
        simulated.simulate("pilot")


@pytest.mark.at_length
def test_pausing_in_the_middle_stops_it_where_it_is(study, rows):
    study(**CAST)

    def stop(done, total):
        if done == 2:
            lifecycle.pause("pilot")

    with pytest.raises(Refused, match="paused"):
        simulated.simulate("pilot", stop)
    lifecycle.open_study("pilot")
    assert simulated.simulate("pilot").conditions == 10
    assert all(row.status == "done" for row in rows(tables.Assignment) if row.run_id is not None)


@pytest.mark.at_length
def test_killed_at_any_point_it_goes_on_and_nothing_is_doubled(study, rows):
    study(participants={"human": 0, "oracle": 1, "noisy": 1}, tasks=4, **CHECKS)
    close(database_url())
    for limit_s in (0.3, 0.7, 1.1, 0.5, 0.9):
        _killed_after(limit_s)
    simulated.simulate("pilot")
    assert all(row.status == "done" for row in rows(tables.Assignment))
    assert len(rows(tables.Run)) == 2 * 4 * 2
    trials = Counter((row.task_id, row.trial) for row in rows(tables.Trajectory))
    assert set(trials.values()) == {1}
    standing = Counter(row.item_id for row in rows(tables.Decision, col(tables.Decision.superseded).is_(False)))
    assert set(standing.values()) == {1}
    begun = rows(
        tables.Item, tables.Item.trial == 0, col(tables.Item.id).in_([row.item_id for row in rows(tables.Probe)])
    )
    assert len(begun) == 2 * 4 * 3
    assert all(row.used <= row.cap for row in rows(tables.Budget) if row.cap is not None)
    assert check(database_url()) == []


def _killed_after(limit_s):
    child = multiprocessing.get_context("fork").Process(target=simulated.simulate, args=("pilot",))
    child.start()
    child.join(limit_s)
    if child.is_alive():
        os.kill(child.pid, signal.SIGKILL)
    child.join()
    close(database_url())
