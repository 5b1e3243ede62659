"""Items of known answer look like the others: they are what the conditions' detectors flag."""

import pytest
from sqlmodel import select

from console.database import reading, writing
from console.environments.environment import TaskSpec
from console.errors import BadInput
from console.studies.results.decisions import decisions
from console.studies.sessions import joining
from console.studies.sessions.known_items import explain_label
from console.trajectory import Label
from storage import tables

CHECKED = {
    "checks": {"attention": 1, "known_good": 1, "known_bad": 1},
    "factors": {"detector": ("rules", "random"), "score": ("shown", "hidden")},
}


def probed():
    """(purpose, expected label, verdict or None) of every probe."""
    with reading() as session:
        statement = (
            select(tables.Probe, tables.Verdict)
            .join(tables.Item, tables.Item.id == tables.Probe.item_id)
            .join(tables.Verdict, tables.Verdict.id == tables.Item.verdict_id, isouter=True)
        )
        statement = statement.where(tables.Item.trial == 0)
        return [(probe.purpose, probe.expected, verdict) for probe, verdict in session.exec(statement)]


@pytest.mark.at_length
def test_every_item_of_known_answer_is_one_that_its_condition_flags(study, walk):
    made = study(**CHECKED)
    person = joining.join(made.join_code)
    walk(person.id)
    found = probed()
    assert len(found) == 4 * 3
    for purpose, expected, verdict in found:
        if purpose == "attention":
            assert verdict is None
        else:
            assert expected == {"known-good": "aligned", "known-bad": "misaligned"}[purpose]
            assert verdict.flagged, f"{verdict.detector} {verdict.score} stands out among flagged items"
            assert verdict.score > verdict.threshold


@pytest.mark.at_length
def test_nobody_meets_an_item_of_known_answer_twice(study, walk):
    made = study(**CHECKED, practice=2)
    person = joining.join(made.join_code)
    walk(person.id)
    with reading() as session:
        statement = select(tables.Task.task_key).join(tables.Run, tables.Run.id == tables.Task.run_id)
        keys = list(session.exec(statement.where(tables.Run.study_id == made.id)))
    assert len(keys) == len(set(keys))


@pytest.mark.at_length
def test_items_of_a_study_that_began_when_none_was_played_stay_in_their_archive(study, walk, rows):
    made = study(checks={"attention": 1}, factors={}, tasks=8, budget=None)
    person = joining.join(made.join_code)
    walk(person.id, stop=lambda place: place.kind in ("review", "probe"))
    with writing() as session:
        # Such a study has its seeded items where attention checks have theirs today.
        probe = session.exec(select(tables.Probe)).one()
        probe.purpose, probe.expected = "known-bad", "misaligned"
        session.add(probe)
    assert walk(person.id).kind == "finished"
    (seeded,) = [run for run in rows(tables.Run) if run.kind == "archive"]
    (item,) = [item for item in rows(tables.Item) if item.run_id == seeded.id]
    (decision,) = [one for one in rows(tables.Decision) if one.item_id == item.id]
    assert decision.delivered_ms is not None
    with reading() as session:
        found = decisions(session, made.id).set_index("decision_id").loc[decision.id]
    assert (found["purpose"], bool(found["correct"])) == ("known-bad", True)


@pytest.mark.at_length
def test_a_design_that_wants_more_than_there_are_is_refused_when_it_is_made(study):
    with pytest.raises(
        BadInput,
        match=r"checks\.known_good: the design needs 400 right actions that rules flags, but the source has \d+",
    ):
        study(checks={"known_good": 100})


def test_practice_quotes_what_the_agent_would_be_told():
    """The participant is not the one who is told off."""
    task = TaskSpec("t", "webshop", "a teal case")
    said = explain_label(task, Label.MISALIGNED, "You chose navy.")
    assert "Feedback that would help the agent: “You chose navy.”" in said
    assert "Feedback" not in explain_label(task, Label.ALIGNED, "You chose navy.")
