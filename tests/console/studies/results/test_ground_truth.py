"""Ground truth of what was decided on: the source's label, or in a live run what the action leads to."""

import pandas as pd
import pytest
from sqlmodel import col, select

from console.database import reading
from console.review.simulated.simulate import SimulationPlan, simulate
from console.studies.results.adjudication import gold_labels
from console.trials import engine
from console.trials.start import start_run
from storage import tables


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
