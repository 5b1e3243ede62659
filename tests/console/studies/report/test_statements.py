"""The methods of a study in sentences: one thing is one."""

from xml.etree import ElementTree

import pandas as pd
import pytest

from console.studies.design.model import Participants
from console.studies.report.html import flow_svg
from console.studies.report.statements import deviations, flow, paragraphs


def test_who_took_part_and_what_they_did_is_counted_in_words(design, tables):
    there = tables["participants"]
    alone = tables | {"participants": there[there["participant"] == "P01"]}
    one = design.model_copy(update={"tasks": 1, "trials": 1, "participants": Participants(human=1)})
    said = " ".join(text for _, text in paragraphs(one, alone))
    assert "1 person took part, 1 of them finished; the design has places for 1." in said
    assert " 1 task for each condition, " in said
    assert "; 1 trial of each task. " in said
    dry = tables | {"participants": there[there["participant"] == "P01"].assign(annotator_kind="rule")}
    said = " ".join(text for _, text in paragraphs(one, dry))
    assert "took 1 place of people in a dry run, a deviation from the design." in said


NOON = pd.Timestamp("2026-01-01T12:00:00Z")
COLUMNS = ["at", "event", "participant", "condition", "before", "after"]


@pytest.fixture
def happened(tables):
    """A function that gives the study a history."""

    def give(*rows):
        tables["history"] = pd.DataFrame([(NOON, *row) for row in rows], columns=COLUMNS)
        return tables

    return give


def event(name):
    return (name, None, None, None, None)


def steps(design, tables):
    """(people, simulated) by step."""
    return {row.step: (row.people, row.simulated) for row in flow(design, tables).itertuples()}


def test_the_flow_counts_people_apart_and_those_whose_data_are_gone(design, tables, happened):
    found = steps(design, happened(event("created"), event("withdrawal")))
    assert found["places"] == (4, 0)
    assert found["joined"] == (3, 1)
    assert (found["withdrew"], found["excluded by a rule"], found["invited"]) == ((1, 0), (0, 0), (0, 0))
    assert found["finished"] == (2, 1)
    assert found["decided on an item of the study"] == (2, 1)
    found = steps(design, happened(event("created"), event("withdrawal, simulated")))
    assert (found["joined"], found["withdrew"]) == ((2, 2), (0, 1))
    happened(event("created"), event("withdrawal"))
    # Who stays under another pseudonym is counted once.
    tables["participants"].loc[0, "stage"] = "withdrawn"
    checks = tables["decisions"]
    checks.loc[checks["purpose"] == "known-bad", "purpose"] = "attention"
    found = steps(design, tables)
    assert (found["joined"], found["withdrew"], found["finished"]) == ((2, 1), (1, 0), (1, 1))
    assert found["failed an attention check"] == (1, 0)


def test_what_departs_from_the_plan_is_listed(design, tables, happened):
    planned = design.model_copy(update={"participants": Participants(human=2, oracle=1)})
    assert deviations(planned, happened(event("created"), event("opened"))) == [
        "No deviation is on record: no dry run, early end, pause or changed run setting."
    ]
    happened(event("paused"), event("paused"), event("closed"), ("budget set", "P01", "rules-shown", "3", "5"))
    # The oracle has a place that this design gives to a person.
    assert deviations(design, tables) == [
        "Dry run: simulated reviewers took 1 place of people beside people who take part.",
        "Closed on 2026-01-01 with 3 of 4 places finished.",
        "Paused 2 times.",
        "Changed for P01 in rules-shown on 2026-01-01 (budget set): from 3 to 5.",
    ]
    assert "The history is missing" in deviations(planned, happened())[-1]


def test_the_flow_is_a_picture_with_the_counts_of_the_table(design, tables):
    shown = flow(design, tables)
    root = ElementTree.fromstring(flow_svg(shown))
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    counts = {row.step: row for row in shown.itertuples()}
    assert texts[:2] == ["Joined", f"{counts['joined'].people} + {counts['joined'].simulated} simulated"]
    assert f"Withdrew: {counts['withdrew'].people} + {counts['withdrew'].simulated} simulated" in texts
    assert texts[-2:] == ["Finished", f"{counts['finished'].people} + {counts['finished'].simulated} simulated"]
    people = flow_svg(shown.assign(simulated=0))
    assert "simulated" not in people
