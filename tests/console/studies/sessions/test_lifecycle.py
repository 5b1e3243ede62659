"""A study from its design to its end, and its pilot: a stop rule decides whether others may join."""

import pytest

from console import database
from console.cli import run_command
from console.database import reading
from console.errors import BadInput, Refused
from console.studies import results
from console.studies.design import Design, sample_tasks
from console.studies.design.allocation import block_rows
from console.studies.design.preregistration import osf_fields
from console.studies.design.yaml_file import example, load
from console.studies.sessions import joining, lifecycle, study_tasks, withdrawal


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


SMALL = {"tasks": 1, "trials": 1, "budget": None, "factors": {}, "participants": {"human": 5}}


def joined(study, walk=None):
    """A person who joins, and finishes with `walk`."""
    person = joining.join(study.join_code)
    joining.finish_instructions(person.id)
    if walk:
        assert walk(person.id).kind == "finished"
    return person


def state(study):
    """The pilot's state."""
    with reading() as session:
        return lifecycle.read_pilot(session, study, lifecycle.design_of(study))


@pytest.mark.at_length
def test_others_join_after_the_pilot_and_its_people_are_left_out(study, walk, rows):
    made = study(**SMALL, pilot={"people": 2, "stop_above": {"minutes": 60, "withdrawn": 0.5}})
    first = joined(made, walk)
    second = joined(made)
    with pytest.raises(Refused, match="More places may open later"):
        joining.join(made.join_code)
    assert state(made).describe(lifecycle.design_of(made)).startswith("Pilot: 1 of 2 people have finished")
    # Who leaves the pilot makes room for another.
    withdrawal.withdraw(second.id)
    second = joined(made, walk)
    assert state(made).values["withdrawn"] == pytest.approx(1 / 3)
    later = joined(made, walk)
    # The pilot that was passed stays passed, whoever leaves later.
    withdrawal.withdraw(later.id)
    later = joined(made, walk)
    assert state(made).values["withdrawn"] == pytest.approx(1 / 3)
    with reading() as session:
        rules = results.frames(session, made.id)["exclusions"].set_index("participant")
    assert rules["excluded"].to_dict() == {first.code: True, second.code: True, later.code: False}
    assert set(rules["rule"]) == {"pilot"}


def test_a_pilot_beyond_a_limit_lets_nobody_else_in_and_says_why(study, walk, capsys):
    more = {"tasks": 4, "checks": {"attention": 4}}
    made = study(**SMALL | more, pilot={"people": 1, "stop_above": {"failed_attention": 0.5}})
    # Every item is rejected, and some of the attention checks ask for approval.
    joined(made, walk)
    with pytest.raises(Refused, match="no longer accepts participants"):
        joining.join(made.join_code)
    assert run_command(["study", "board", "pilot"]) == 0
    said = "(share of people who failed an attention check: 1, limit 0.5). No others can join."
    assert said in " ".join(capsys.readouterr().out.split())


def test_a_failed_quiz_counts_against_those_who_finished(study, walk):
    quiz = {"tries": 1, "questions": [{"key": "who", "question": "Who?", "choices": ["a", "b"], "right": "a"}]}
    made = study(**SMALL, quiz=quiz, pilot={"people": 1, "stop_above": {"failed_quiz": 0.6}})
    for given in "bba":
        person = joined(made)
        joining.take_quiz(person.id, {"who": given})
    assert walk(person.id).kind == "finished"
    assert state(made).values["failed_quiz"] == pytest.approx(2 / 3)
    with pytest.raises(Refused, match="no longer accepts participants"):
        joining.join(made.join_code)


def test_the_plan_states_the_pilot_and_its_rule():
    fields = {"name": "pilot", "source": {"environment": "webshop"}, "participants": {"human": 4}}
    design = Design(**fields, pilot={"people": 2, "stop_above": {"withdrawn": 0.25}})
    stated = osf_fields(design, ())["Stopping rule"]
    assert stated.startswith("The first 2 participants to finish are a pilot. Others join after them.")
    assert "share of people who withdrew 0.25. The study ends when every place is finished" in stated
    with pytest.raises((BadInput, ValueError), match="must be fewer"):
        Design(**fields, pilot={"people": 4})
