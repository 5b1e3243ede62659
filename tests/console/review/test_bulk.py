"""Acts on several items: what is changed, what is refused, and that undo brings it back."""

import time

import pytest

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.gate import Gate
from console.review import access, bulk, decisions
from console.runs import ingest
from storage import tables
from tests.logs import purchase, write_log
from tests.signing_in import signed_in


@pytest.fixture
def shop(tmp_path, data_dir):
    """A run of four flagged purchases, items 1 to 4, with three inspections, and three people."""
    records = [purchase(n, wrong=True) for n in range(4)]
    ingest.import_file(write_log(tmp_path / "log.jsonl", *records), "shop", "auto", lambda _: None)
    runs.set_budget("shop", "3")
    batch.detect("shop", ["rules"])
    for name in ("Ada", "Ben", "Rae"):
        signed_in(name, "reviewer")
    return "shop"


def claim(item, reviewer="Ada"):
    with reading() as session:
        return decisions.claim_item(review_queue(), session, runs.get(session, "shop"), item, reviewer, now_ms())


def used():
    with reading() as session:
        return runs.budgets(session, runs.get(session, "shop"))[0]["used"]


def statuses():
    with reading() as session:
        return [session.get_one(tables.Item, item).status for item in (1, 2, 3, 4)]


def test_items_are_assigned_and_undo_restores_each_earlier_assignee(shop):
    with writing() as session:
        access.assign_item(session, 2, "Ben", "Rae", now_ms())
    result = bulk.assign_items([1, 2, 99], "Ada", "Rae")
    assert result.done == {1: None, 2: "Ben"}
    assert "99" in result.refused[99]
    with reading() as session:
        assert access.list_assignees(session, [1, 2]) == {1: "Ada", 2: "Ada"}
    bulk.undo_bulk(review_queue(), result, "Rae")
    with reading() as session:
        assert access.list_assignees(session, [1, 2]) == {2: "Ben"}


def test_escalations_use_one_inspection_each_stop_at_the_budget_and_are_undone(shop):
    result = bulk.escalate_items(review_queue(), [1, 2, 3, 4], "Ada", ["reviewer"], "I cannot tell.")
    assert list(result.done) == [1, 2, 3]
    assert "budget is spent" in result.refused[4]
    assert (used(), statuses()) == (3, ["pending"] * 4)
    with reading() as session:
        assert decisions.find_decision_on_item(session, 1, "Ada").decision == "escalate"
    undone = bulk.undo_bulk(review_queue(), result, "Ada")
    assert (list(undone.done), undone.refused, used()) == ([1, 2, 3], {}, 0)
    assert statuses() == ["pending"] * 4


def test_own_claims_alone_are_released_and_claimed_again(shop):
    claim(1)
    claim(2, "Ben")
    result = bulk.release_claims(review_queue(), [1, 2], "Ada")
    assert (list(result.done), list(result.refused)) == ([1], [2])
    assert statuses()[:2] == ["pending", "claimed"]
    bulk.undo_bulk(review_queue(), result, "Ada")
    assert (statuses()[0], used()) == ("claimed", 2)


def test_an_item_is_closed_only_when_its_agent_has_gone_and_opens_again(data_dir):
    call = {"name": "refund_order", "arguments": {"amount": 20, "order": 1}}
    for order in (1, 2):
        call["arguments"]["order"] = order
        Gate("desk", "full-validation").ask(f"Refund order {order}.", [], call, task_id=f"t{order}")
    with writing() as session:
        session.get_one(tables.Ask, 1).deadline_ms = now_ms() - 1
    time.sleep(0.01)
    result = bulk.close_items(review_queue(), [1, 2], "Ada")
    assert (list(result.done), list(result.refused)) == ([1], [2])
    with reading() as session:
        assert [session.get_one(tables.Item, item).status for item in (1, 2)] == ["cancelled", "pending"]
    assert list(bulk.undo_bulk(review_queue(), result, "Ada").done) == [1]
    with reading() as session:
        assert session.get_one(tables.Item, 1).status == "pending"


def test_a_run_that_names_its_reviewers_refuses_others(shop):
    with writing() as session:
        access.set_access(session, runs.get(session, "shop"), ["Ben"], now_ms())
    result = bulk.escalate_items(review_queue(), [1], "Ada", ["reviewer"], "")
    assert (result.done, used()) == ({}, 0)
    assert "Only these people" in result.refused[1]
