"""The board of a study: who is where, what its buttons do, and what they refuse."""

import pytest

from console.database import now_ms, reading
from console.studies.design import Design
from console.studies.design.recruiting import Recruiting
from console.studies.sessions import joining, lifecycle, simulated
from console.studies.sessions.joining import Arrival
from console.studies.sessions.progress import read_board

DESIGN = Design(
    name="small",
    source={"actor": "scripted", "environment": "webshop"},
    tasks=1,
    trials=1,
    budget="1",
    participants={"human": 2, "rules": 1},
    consent={"text": "Do you agree?"},
)


@pytest.fixture
def small():
    """A study of two people and a simulated reviewer, not open yet."""
    return lifecycle.create(DESIGN, now_ms())


@pytest.fixture
def desk(open_page, small):
    """A function that opens the study's board."""
    return lambda **more: open_page("studies", study="small", section="board", **more)


def press(at, label):
    """Presses the button of that label."""
    (button,) = [found for found in at.button if found.label == label]
    button.click().run()


def said(at):
    return " ".join(text.value for text in at.text)


def status():
    with reading() as session:
        return lifecycle.get(session, "small").status


def stages():
    with reading() as session:
        return {row.code: row.stage for row in read_board(session, lifecycle.get(session, "small"))}


def test_the_list_opens_a_study(open_page, small):
    at = open_page("studies")
    table = at.dataframe[0].value
    assert table.loc[0, ["Study", "Status", "People", "Simulated"]].tolist() == [
        "small",
        "draft",
        "0 of 2 joined, 0 finished",
        1,
    ]
    at.session_state["studies-0"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    at.run()
    assert at.query_params["study"] == "small"
    assert "Draft: people cannot join yet." in said(at)


def test_opening_pausing_going_on_and_closing(desk):
    at = desk()
    assert "0 of 2 people joined, 0 finished; 0 of 1 simulated finished." in said(at)
    press(at, "Open study")
    assert status() == "open"
    press(at, "Pause study")
    assert "Paused: participants keep their places" in said(at)
    press(at, "Resume study")
    press(at, "Close study")
    assert status() == "closed"
    assert not [button for button in at.button if button.label in ("Open study", "Resume study", "Pause study")]


def test_a_study_without_places_for_people_invites_no_one(open_page, words):
    alone = {"name": "alone", "participants": {"human": 0, "rules": 1}}
    lifecycle.create(Design.model_validate(DESIGN.model_dump() | alone), now_ms())
    at = open_page("studies", study="alone", section="board")
    assert "Draft: open the study to run its simulated participants." in said(at)
    press(at, "Open study")
    assert "alone is open. Simulated participants can start now." in words(at)
    assert "Open: simulated participants can work. No places are left for people." in said(at)
    assert "1 simulated participant is not finished." in said(at)
    assert "eople can" not in words(at) + said(at)


@pytest.mark.at_length
def test_a_dry_run_takes_the_places_of_people_and_the_link(desk, small):
    lifecycle.open_study("small")
    simulated.simulate("small", all_places=True)
    at = desk()
    assert not at.code
    assert "All participants have finished. Read the results, then close the study." in said(at)
    assert "No places are left" not in said(at)


def test_the_link_holds_the_code_and_goes_once_it_is_closed(desk, small, words):
    at = desk()
    link = f"/participate?join={small.join_code}"
    assert [code.value for code in at.code if code.value.endswith(link)]
    lifecycle.open_study("small")
    lifecycle.pause("small")
    at = desk()
    assert "Once the study is open, people join with this link" in words(at)
    press(at, "Close study")
    assert not at.code


def test_it_says_who_is_where(desk, small, words):
    lifecycle.open_study("small")
    person = joining.join(small.join_code)
    at = desk()
    assert "reading the consent" in words(at)
    assert "1 of 2 people joined, 0 finished; 0 of 1 simulated finished" in said(at)
    joining.consent(person.id, True)
    joining.finish_instructions(person.id)
    at.run()
    assert "before a condition" in words(at)


def test_simulated_places_are_played_once_it_is_open(desk, words):
    at = desk()
    assert "Run simulated participants" not in [found.label for found in at.button]
    assert "To simulate participants, open the study." in words(at)
    press(at, "Open study")
    press(at, "Run simulated participants")
    assert "participants 1, conditions 1, decisions" in words(at)
    assert stages() == {"P01": "free", "P02": "free", "P03": "finished"}


@pytest.mark.at_length
def test_a_dry_run_plays_everybody(desk):
    lifecycle.open_study("small")
    at = desk()
    press(at, "Start dry run")
    assert set(stages().values()) == {"finished"}
    assert not [button for button in at.button if button.key == "simulate"]


def test_withdrawing_needs_a_name_and_a_yes(desk, small, words):
    lifecycle.open_study("small")
    person = joining.join(small.join_code)
    at = desk()
    assert at.button(key="withdraw").disabled
    at.selectbox(key="withdraw-code").select(person.code).run()
    assert at.button(key="withdraw").disabled
    at.checkbox(key=f"sure-{person.code}").check().run()
    at.button(key="withdraw").click().run()
    assert f"Withdrew {person.code}." in words(at)
    assert person.secret not in words(at)
    with reading() as session:
        assert joining.find_participant(session, person.secret) is None


def test_a_design_of_another_study_is_one_choice_away(desk, open_page):
    lifecycle.create(DESIGN.model_copy(update={"name": "other"}), now_ms())
    at = desk()
    at.selectbox(key="study_picker").select("other").run()
    assert at.query_params["study"] == "other"
    assert at.query_params["section"] == "board"


def test_links_for_one_place_are_shown_when_they_are_made_and_counted_then(desk, small):
    at = desk()
    at.number_input(key="invite-count").set_value(2)
    press(at, "Create links")
    links = [line for block in at.code for line in block.value.splitlines() if "?invitation=" in line]
    assert len(set(links)) == 2
    assert "Links created: 2. Links used: 0." in said(at)
    lifecycle.open_study("small")
    joining.join("", Arrival(invitation=links[0].partition("=")[2]))
    assert "Links created: 2. Links used: 1." in said(desk())


def test_a_platform_is_given_a_link_with_its_own_parameters(open_page):
    lifecycle.create(DESIGN.model_copy(update={"recruiting": Recruiting(platform="prolific")}), now_ms())
    (link,) = [block.value for block in open_page("studies", study="small", section="board").code]
    assert link.endswith("&PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}")
