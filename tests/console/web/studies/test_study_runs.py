"""Runs of a study's participants stand in no list, and a reviewer comes by none of them even by its name."""

import pytest

from console.database import now_ms
from console.studies.design import Design
from console.studies.sessions import joining, lifecycle, steps
from tests.sweeps import sweep


@pytest.fixture
def arm(data_dir):
    """The name of a run that a participant is at work in."""
    source = {"actor": "scripted", "environment": "webshop"}
    made = lifecycle.create(Design(name="pilot", source=source, tasks=6, trials=2), now_ms())
    lifecycle.open_study("pilot")
    person = joining.join(made.join_code)
    joining.finish_instructions(person.id)
    steps.begin(person.id)
    return steps.find_position(person.id).run.name


def picked(at):
    return [box.options for box in at.selectbox if box.label == "Run"]


@sweep("page", ["inbox", "export", "trajectories", "detectors"], kept=2)
def test_it_can_be_chosen_nowhere(open_page, kettles, arm, page):
    at = open_page(page, run="kettles")
    assert arm not in str(picked(at))


@pytest.mark.at_length
def test_a_reviewer_who_asks_by_name_gets_another_run(open_page, kettles, arm):
    at = open_page("answers", role="reviewer", run=arm)
    assert at.session_state["run"] == "kettles"


def test_a_reviewer_finds_none_of_its_items_in_the_inbox(open_page, kettles, arm):
    at = open_page("inbox", role="reviewer", run=arm)
    assert not at.exception
    assert arm not in str(at.main)


def test_a_researcher_opens_it_by_name(open_page, kettles, arm):
    at = open_page("export", run=arm)
    assert at.session_state["run"] == arm
