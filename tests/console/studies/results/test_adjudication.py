"""Adjudication is blind, appends revisions, and leaves the reviewers' own labels alone."""

import pandas as pd
import pytest
from sqlmodel import col, select

from console.database import reading
from console.errors import BadInput, Refused, Unknown
from console.review.simulated.simulate import SimulationPlan, simulate
from console.studies.results.adjudication import Of, disagreements, gold_labels, revisions, settle, settled_labels
from console.trials import engine
from console.trials.start import start_run
from storage import tables
from storage.engine import writing

STUDY = Of(study_id=1)
UNIT = "kettle/1/action"


def _settle(url, label, note="", who="researcher", unit=UNIT, of=STUDY):
    with writing(url) as session:
        return settle(session, of, unit, label, note, who, 5)


def test_checkpoints_with_different_labels_are_listed_without_counts_or_names(read):
    found = read(disagreements, STUDY)
    assert [one.unit for one in found] == [UNIT, "sofa/1/action"]
    assert [(one.labels, one.aligned, one.misaligned, one.settled) for one in found] == [(3, None, None, None)] * 2


def test_checks_and_practice_are_never_listed(read):
    assert not [one for one in read(disagreements, STUDY) if "known" in one.unit or "practice" in one.unit]


def test_once_settled_it_tells_how_many_gave_which_label(url, read):
    _settle(url, "misaligned", "the colour is wrong")
    first = read(disagreements, STUDY)[0]
    assert (first.settled, first.note, first.aligned, first.misaligned) == (
        "misaligned",
        "the colour is wrong",
        1,
        2,
    )


def test_settling_again_is_a_revision_and_decisions_stay(url, read):
    _settle(url, "misaligned")
    _settle(url, "aligned", "on second thought")
    assert [(row.revision, row.label) for row in read(revisions, STUDY)] == [(1, "misaligned"), (2, "aligned")]
    assert read(settled_labels, STUDY) == {UNIT: "aligned"}
    with writing(url) as session:
        assert session.exec(select(tables.Decision).filter_by(superseded=True)).first() is None


@pytest.mark.parametrize(
    ("problem", "fault"),
    [
        ({"label": "fine"}, BadInput),
        ({"note": "x" * 2_001}, BadInput),
        ({"who": " "}, BadInput),
        ({"unit": "lamp/1/action"}, Unknown),
        ({"who": "P01"}, Refused),
        ({"of": Of()}, BadInput),
        ({"of": Of(1, 1)}, BadInput),
    ],
    ids=str,
)
def test_what_cannot_be_settled_is_refused_in_one_sentence(url, problem, fault):
    with pytest.raises(fault, match=r"^[^\n]+\.$"):
        _settle(url, **{"label": "aligned"} | problem)


def test_a_run_with_several_reviews_has_disagreements_of_its_own(url, read):
    with writing(url) as session:
        first = session.get(tables.Decision, 1)
        item = session.get(tables.Item, first.item_id)
        slot = tables.Slot(item_id=item.id, budget_id=1, reviewer="r2", status="decided", token="t", claimed_ms=1,
                           lease_until_ms=1)  # fmt: skip
        session.add(slot)
        session.flush()
        other = first.model_dump(exclude={"id"}) | {
            "slot_id": slot.id, "reviewer": "r2", "label": "aligned", "decision": "approve", "submit_key": "r2",
        }  # fmt: skip
        session.add(tables.Decision(**other))
        run_id = item.run_id
    run = Of(run_id=run_id)
    assert [one.unit for one in read(disagreements, run)] == [UNIT]
    _settle(url, "aligned", of=run)
    assert read(settled_labels, run) == {UNIT: "aligned"}
    assert read(settled_labels, STUDY) == {}


@pytest.fixture
def played():
    """A live run of the scripted Actor whose flagged purchases wait."""
    start_run("shop", {"webshop": 6}, detector_name="full-validation", trials=1)
    engine.resume("shop")
    return "shop"


def _raw(session):
    joined = select(tables.Item, tables.Trajectory).where(tables.Item.trajectory_id == tables.Trajectory.id)
    found = session.exec(joined.order_by(col(tables.Item.id))).all()
    cells = [(item.id, record.label) for item, record in found]
    return pd.DataFrame(cells, columns=["item_id", "trajectory_label"]).astype({"trajectory_label": "str"})


def test_what_waits_in_a_live_run_has_the_label_of_what_it_would_lead_to(played):
    with reading() as session:
        raw = _raw(session)
        assert raw["trajectory_label"].isna().all()
        told = gold_labels(session, raw)
    assert set(told.dropna()) == {"aligned", "misaligned"}
    simulate("shop", SimulationPlan("oracle"))
    with reading() as session:
        judged = {row.item_id: row.label for row in session.exec(select(tables.Decision))}
    known = {item: label for item, label in zip(raw["item_id"], told, strict=True) if isinstance(label, str)}
    assert known == {item: label for item, label in judged.items() if label}


def test_elsewhere_it_is_the_label_of_the_source(read):
    raw = pd.DataFrame({"item_id": [1], "trajectory_label": ["misaligned"]}).astype({"trajectory_label": "str"})
    assert read(gold_labels, raw).tolist() == ["misaligned"]
