"""Items of known answer look like the others: they are what the conditions' detectors flag."""

import pytest
from sqlmodel import select

from console.database import reading
from console.errors import BadInput
from console.studies.sessions import joining
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


def test_nobody_meets_an_item_of_known_answer_twice(study, walk):
    made = study(**CHECKED, practice=2)
    person = joining.join(made.join_code)
    walk(person.id)
    with reading() as session:
        statement = select(tables.Task.task_key).join(tables.Run, tables.Run.id == tables.Task.run_id)
        keys = list(session.exec(statement.where(tables.Run.study_id == made.id)))
    assert len(keys) == len(set(keys))


def test_a_design_that_wants_more_than_there_are_is_refused_when_it_is_made(study):
    with pytest.raises(
        BadInput, match=r"checks\.known_good: right actions that rules flags: 400 needed, \d+ in the source"
    ):
        study(checks={"known_good": 100})
