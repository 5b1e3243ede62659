"""A study over imported logs: what was recorded comes back trial by trial, block by block."""

import pytest

from console.database import database_url
from console.errors import BadInput
from console.runs import ingest
from console.studies.sessions import joining, simulated
from storage import tables
from storage.check import check
from tests.logs import purchase, write_log


@pytest.fixture
def log(tmp_path):
    """An archive of fourteen purchases: the even ones wrong at first and right in trial 1, the odd ones right."""
    records = [purchase(number, wrong=number % 2 == 0) for number in range(14)]
    records += [purchase(number, wrong=False, trial=1) for number in range(0, 14, 2)]
    report = ingest.import_file(write_log(tmp_path / "log.jsonl", *records), "log", "auto", lambda _: None)
    assert report.imported == 21
    return "log"


REPLAYED = {"source": {"actor": "replay", "run": "log"}, "budget": None, "tasks": 4, "trials": 3}


@pytest.mark.at_length
def test_each_condition_replays_its_own_block_of_the_log(study, walk, rows, log):
    made = study(**REPLAYED, factors={"feedback": ("nl", "binary")}, checks={"known_bad": 1})
    person = joining.join(made.join_code)
    assert walk(person.id).kind == "finished"
    arms = rows(tables.Assignment, tables.Assignment.participant_id == person.id)
    blocks = [{row.task_key for row in rows(tables.Task, tables.Task.run_id == arm.run_id)} for arm in arms]
    assert [len(block) for block in blocks] == [4, 4]
    assert not blocks[0] & blocks[1]
    rejected = [row for row in rows(tables.Decision) if row.label == "misaligned"]
    assert rejected
    assert any(row.trial == 1 for row in rows(tables.Trajectory) if row.run_id == arms[0].run_id)
    assert all(row.delivered_ms is not None for row in rejected if _is_of(rows, row, arms))
    assert check(database_url()) == []


def _is_of(rows, decision, arms):
    (item,) = rows(tables.Item, tables.Item.id == decision.item_id)
    return item.run_id in {arm.run_id for arm in arms}


def test_no_trial_comes_beyond_those_of_the_design(study, walk, rows, log):
    made = study(**REPLAYED | {"trials": 1}, factors={})
    person = joining.join(made.join_code)
    walk(person.id)
    (arm,) = rows(tables.Assignment, tables.Assignment.participant_id == person.id)
    assert {row.trial for row in rows(tables.Trajectory, tables.Trajectory.run_id == arm.run_id)} == {0}


def test_known_items_come_from_the_rest_of_the_log(study, walk, rows, log):
    checks = {"unflagged_good": 1, "known_bad": 1, "audited": 0.5}
    made = study(**REPLAYED, factors={}, practice=2, checks=checks)
    walk(joining.join(made.join_code).id)
    probes = rows(tables.Probe)
    first = [row for row in probes if rows(tables.Item, tables.Item.id == row.item_id)[0].trial == 0]
    assert sorted(row.purpose for row in first) == ["known-bad", "known-good", "practice", "practice"]
    labels = {row.purpose: row.expected for row in probes}
    assert (labels["known-good"], labels["known-bad"]) == ("aligned", "misaligned")
    again = [row for row in probes if row not in first]
    assert again, "what was rejected comes again"


@pytest.mark.at_length
def test_simulated_reviewers_go_by_the_recorded_labels(study, rows, log):
    study(**REPLAYED, factors={}, participants={"human": 0, "oracle": 1, "noisy": 1, "rules": 1})
    simulated.simulate("pilot")
    (oracle,) = rows(tables.Participant, tables.Participant.kind == "oracle")
    answers = rows(tables.Decision, tables.Decision.reviewer == oracle.code)
    assert answers
    for answer in answers:
        (item,) = rows(tables.Item, tables.Item.id == answer.item_id)
        (trajectory,) = rows(tables.Trajectory, tables.Trajectory.id == item.trajectory_id)
        assert answer.label == trajectory.label


def test_a_log_knows_nothing_of_a_condition_without_feedback(study, log):
    with pytest.raises(BadInput, match="feedback none"):
        study(**REPLAYED, factors={"feedback": ("nl", "none")})
