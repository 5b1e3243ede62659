"""Items in the order of what letting them pass would cost."""

import pytest
from sqlmodel import select

from console.cli import run_command
from console.database import reading
from console.detection import batch
from console.errors import BadInput
from console.runs import costs, ingest, run_options
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from storage import tables
from tests.logs import purchase, write_log


def at(action, *observations):
    steps = tuple(Step("", "look", text) for text in observations)
    return Checkpoint("generic", "do it", "", steps, len(steps), CheckpointKind.ACTION, "", action)


def test_the_dearest_pattern_that_matches_counts_and_nothing_stated_costs_one():
    stated = costs.parse(["refund_*=50", "refund_order.amount=*=80", "click[Buy Now]=price"])
    assert stated == {"refund_*": 50.0, "refund_order.amount=*": 80.0, "click[Buy Now]": "price"}
    assert costs.cost(stated, at('refund_order({"amount": 4})')) == 80
    assert costs.cost(stated, at('refund_all({"id": 4})')) == 50
    assert costs.cost(stated, at("cancel[4]")) == 1
    pages = ("Price: $7.50", "Lamp\nPrice: $1,024.99\n[Buy Now]", "You have clicked white.")
    assert costs.cost(stated, at("click[Buy Now]", *pages)) == 1024.99
    assert costs.cost(stated, at("click[Buy Now]", "no figure here")) == 1


def test_priority_is_the_expected_cost_and_without_costs_the_score():
    action = at("refund_all[4]")
    assert costs.priority({}, action, 0.7, 0.4) == 0.7
    assert costs.priority({"refund_*": 50.0}, action, 0.7, 0.4) == 20
    assert costs.priority({"refund_*": 50.0}, action, 0.7, None) == 35


@pytest.mark.parametrize("text", ["refund_*", "=5", "a=", "a=much", "a=-1", "a=nan", "a=inf"])
def test_what_states_no_cost_is_refused_with_an_example(text):
    with pytest.raises(BadInput, match="refund_"):
        costs.parse([text])


def test_a_detection_with_costs_ranks_by_them_and_the_run_keeps_them(tmp_path):
    records = [purchase(number, wrong=number % 2 == 0) for number in range(6)]
    ingest.import_file(write_log(tmp_path / "log.jsonl", *records), "kettles", "auto", lambda _: None)
    assert run_command(["detect", "kettles", "--method", "full-validation", "--cost", "click[Buy Now]=price"]) == 0
    with reading() as session:
        ranks = sorted(session.exec(select(tables.Item.priority)))
        assert ranks == [24.5] * 3 + [89.5] * 3
        assert run_options(session.exec(select(tables.Run)).one()).costs == {"click[Buy Now]": "price"}
    batch.detect("kettles", ["full-validation"])
    with reading() as session:
        assert run_options(session.exec(select(tables.Run)).one()).costs == {"click[Buy Now]": "price"}
