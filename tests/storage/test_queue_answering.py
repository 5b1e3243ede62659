"""Decisions: stored once, undone, delivered once."""

import pytest
from sqlmodel import select

from storage import tables
from storage.check import check
from storage.engine import reading
from storage.errors import AlreadyDecided, AlreadyDelivered, NoSuchItem, NotYours, QueueRefusal
from storage.queue import KeptDraft, NoClaimReason
from storage.queue.claims import withdraw_items
from storage.queue.transaction import Transaction
from tests.postgres import BOTH

pytestmark = BOTH

AT = {"run_id": 1, "trial": 0}
LEASE, UNDO = 1_000, 100


class Desk:
    """A queue with the usual arguments filled in."""

    def __init__(self, url, queue, answer):
        self.url, self.queue, self.answer = url, queue, answer

    def claim(self, reviewer="ann", now_ms=0, **others):
        return self.queue.claim(**AT, reviewer=reviewer, now_ms=now_ms, lease_ms=LEASE, **others)

    def decide(self, mine, reviewer="ann", now_ms=10, key=None, decision="reject", **others):
        fields = self.answer(key or f"{reviewer} {mine.item_id} {now_ms}", decision, **others)
        return self.queue.decide(
            item_id=mine.item_id, reviewer=reviewer, token=mine.token, now_ms=now_ms, undo_ms=UNDO, **fields
        )

    def undo(self, item_id, reviewer="ann", now_ms=20):
        return self.queue.undo(item_id=item_id, reviewer=reviewer, now_ms=now_ms, lease_ms=LEASE)

    def due(self, now_ms):
        return self.queue.due(run_id=1, now_ms=now_ms)

    def deliver(self, ids, now_ms):
        return self.queue.mark_delivered(decision_ids=ids, now_ms=now_ms)

    def expire(self, item_ids, now_ms):
        with Transaction(self.url) as db:
            return withdraw_items(db, item_ids, tables.ItemStatus.EXPIRED, now_ms)

    def used(self):
        return self.queue.budget(**AT).used

    def status(self, item_id=1):
        with reading(self.url) as session:
            return session.get(tables.Item, item_id).status

    def ledger(self):
        with reading(self.url) as session:
            rows = session.exec(select(tables.LedgerEntry).order_by(tables.LedgerEntry.id))
            return [(row.entry, row.reason, row.units) for row in rows]


@pytest.fixture
def desk(url, stock, answer):
    """Three items under a cap of three; whatever the test does, the sums must agree afterwards."""
    made = Desk(url, stock(url, 3, cap=3), answer)
    yield made
    assert check(url) == []


def test_a_decision_is_stored_with_the_budget_of_its_moment(desk):
    row = desk.decide(desk.claim(now_ms=3), now_ms=10, decision="edit", edited_action="search[66 x 66]")
    assert (row.decision, row.label, row.edited_action, row.annotator_kind) == (
        "edit",
        "misaligned",
        "search[66 x 66]",
        "human",
    )
    assert (row.claimed_ms, row.decided_ms, row.deliverable_ms, row.delivered_ms) == (3, 10, 110, None)
    assert (row.revision, row.superseded, row.budget_cap, row.budget_used) == (1, False, 3, 1)
    assert desk.status() == "decided"
    assert desk.ledger() == [("spend", "claim", 1), ("settle", "edit", 0)]


def test_the_same_submit_gives_back_the_first_decision(desk):
    mine = desk.claim()
    first = desk.decide(mine, key="k")
    assert desk.decide(mine, key="k", decision="approve", now_ms=99) == first
    with pytest.raises(AlreadyDecided, match="already reviewed"):
        desk.decide(mine, key="another")
    with pytest.raises(QueueRefusal, match="used for another decision"):
        desk.decide(desk.claim("bob"), "bob", key="k")


def test_only_the_holder_of_the_claim_decides(desk):
    mine = desk.claim()
    with pytest.raises(NotYours):
        desk.decide(mine, "bob")
    desk.queue.release(item_id=1, reviewer="ann", token=mine.token, now_ms=5)
    with pytest.raises(NotYours):
        desk.decide(mine)
    again = desk.claim(item_id=1)
    with pytest.raises(NotYours):
        desk.decide(mine)
    assert desk.decide(again).revision == 1


@pytest.mark.parametrize("swept", [False, True])
def test_a_late_answer_counts_while_its_place_is_free(desk, swept):
    mine = desk.claim()
    if swept:
        assert desk.queue.sweep(now_ms=LEASE) == 1
        assert desk.used() == 0
    assert desk.decide(mine, now_ms=LEASE + 5).budget_used == 1
    assert desk.used() == 1
    assert desk.status() == "decided"


def test_a_late_answer_is_refused_when_the_place_or_the_unit_is_gone(desk):
    late = desk.claim()
    assert desk.claim("bob", now_ms=LEASE).item_id == 1
    with pytest.raises(NotYours):
        desk.decide(late, now_ms=LEASE + 1)
    second = desk.claim("cem", now_ms=LEASE)
    desk.queue.sweep(now_ms=2 * LEASE)
    desk.queue.open_budget(**AT, cap=1)
    desk.claim("dee", now_ms=2 * LEASE)
    with pytest.raises(NotYours, match="budget is spent"):
        desk.decide(second, "cem", now_ms=2 * LEASE)


def test_escalating_costs_a_unit_and_opens_a_place_for_another(desk):
    desk.decide(desk.claim(), decision="escalate", label=None)
    assert desk.status() == "pending"
    assert desk.claim(item_id=1).reason is NoClaimReason.ITEM_REVIEWED_BY_YOU
    desk.decide(desk.claim("bob"), "bob")
    assert (desk.status(), desk.used()) == ("decided", 2)


def test_an_escalation_that_is_undone_takes_its_place_back(desk):
    desk.decide(desk.claim(), decision="escalate")
    again = desk.undo(1)
    assert desk.status() == "claimed"
    assert desk.claim("bob").item_id == 2
    desk.decide(again, now_ms=30)
    assert desk.status() == "decided"


def test_an_escalation_that_somebody_took_up_stays(desk):
    desk.decide(desk.claim(), decision="escalate")
    desk.claim("bob")
    desk.undo(1)
    desk.decide(desk.claim(now_ms=30, item_id=1), now_ms=31)
    assert desk.status() == "claimed"


def test_a_halted_item_takes_words_not_approval(url, stock, answer):
    desk = Desk(url, stock(url, 0, halted=1), answer)
    mine = desk.claim()
    for decision in ("approve", "edit"):
        with pytest.raises(QueueRefusal, match=f"nothing to {decision}"):
            desk.decide(mine, decision=decision)
    assert desk.decide(mine, decision="respond", label=None).label is None


def test_undo_keeps_the_unit_and_the_words(desk):
    row = desk.decide(desk.claim(now_ms=3), reason_codes="over-limit")
    again = desk.undo(1, now_ms=20)
    assert (again.item_id, again.claimed_ms, again.lease_until_ms) == (1, 3, 1_020)
    assert desk.used() == 1
    assert desk.status() == "claimed"
    assert desk.queue.draft(item_id=1, reviewer="ann") == KeptDraft("ask for the size", "over-limit")
    assert desk.due(10_000) == []
    second = desk.decide(again, now_ms=30, decision="approve")
    assert second.revision == 2
    with reading(desk.url) as session:
        old = session.get(tables.Decision, row.id)
        assert (old.superseded, old.withdrawn_ms, old.feedback_text) == (True, 20, "ask for the size")


def test_every_decision_and_undo_has_its_row_in_the_ledger(desk):
    desk.decide(desk.claim())
    again = desk.undo(1, now_ms=20)
    desk.decide(again, now_ms=30, decision="approve")
    said = [("spend", "claim", 1)]
    said += [("settle", reason, 0) for reason in ("reject", "undo", "approve")]
    assert desk.ledger() == said
    with reading(desk.url) as session:
        rows = session.exec(select(tables.LedgerEntry).order_by(tables.LedgerEntry.id)).all()
    assert [(row.item_id, row.reviewer, row.at_ms) for row in rows] == [(1, "ann", at) for at in (0, 10, 20, 30)]


def test_what_cannot_be_undone(desk):
    with pytest.raises(QueueRefusal, match="You have no decision on item 1"):
        desk.undo(1)
    with pytest.raises(NoSuchItem):
        desk.undo(99)
    row = desk.decide(desk.claim())
    with pytest.raises(QueueRefusal, match="You have no decision"):
        desk.undo(1, "bob")
    assert desk.deliver([row.id], now_ms=110) == 1
    with pytest.raises(AlreadyDelivered, match="already reached the agent"):
        desk.undo(1, now_ms=111)


def test_undoing_an_escalation_takes_the_further_slot_away(desk):
    desk.decide(desk.claim(), decision="escalate")
    assert desk.status() == "pending"
    desk.decide(desk.undo(1, now_ms=20), now_ms=21)
    assert desk.status() == "decided"


def test_an_answer_is_due_after_its_undo_time_or_at_the_next_claim(desk):
    first = desk.decide(desk.claim(), now_ms=10)
    assert desk.due(109) == []
    assert desk.due(110) == [first.id]
    desk.claim(now_ms=20, settles=False)
    assert desk.due(20) == []
    desk.claim(now_ms=21)
    assert desk.due(21) == [first.id]


def test_the_next_claim_settles_nobody_elses_answers(desk):
    first = desk.decide(desk.claim(), now_ms=10)
    second = desk.decide(desk.claim("bob", now_ms=11), "bob", now_ms=12)
    desk.claim("cy", now_ms=20)
    assert desk.due(20) == []
    assert desk.due(110) == [first.id]
    assert desk.due(112) == [first.id, second.id]


def test_an_answer_is_delivered_once_and_only_when_due(desk):
    row = desk.decide(desk.claim(), now_ms=10)
    assert desk.deliver([row.id], now_ms=109) == 0
    assert desk.deliver([row.id, row.id], now_ms=110) == 1
    assert desk.deliver([row.id], now_ms=111) == 0
    assert desk.status() == "delivered"
    assert desk.due(10_000) == []


def test_an_item_is_delivered_when_all_its_answers_are(url, stock, answer):
    desk = Desk(url, stock(url, 1, reviews=2), answer)
    first = desk.decide(desk.claim())
    mine = desk.claim("bob")
    desk.deliver([first.id], now_ms=110)
    assert desk.status() == "claimed"
    second = desk.decide(mine, "bob", now_ms=120)
    assert desk.status() == "decided"
    desk.deliver([second.id], now_ms=220)
    assert desk.status() == "delivered"


def test_cancelled_and_expired_items_leave_and_stay_different(desk):
    mine = desk.claim()
    assert desk.expire([1, 1], 5) == 1
    assert desk.queue.cancel(item_ids=[1, 2, 99], now_ms=5) == 1
    assert [desk.status(item) for item in (1, 2, 3)] == ["expired", "cancelled", "pending"]
    assert desk.used() == 0
    with pytest.raises(QueueRefusal, match="Item 1 expired or was withdrawn"):
        desk.decide(mine)
    assert desk.ledger() == [("spend", "claim", 1), ("refund", "expire", -1)]
    assert desk.claim("bob", now_ms=6).item_id == 3


def test_decided_items_do_not_expire_and_half_reviewed_ones_are_never_due(url, stock, answer):
    desk = Desk(url, stock(url, 2, reviews=2), answer)
    half = desk.decide(desk.claim())
    desk.decide(desk.claim(now_ms=11), now_ms=12)
    desk.decide(desk.claim("bob", now_ms=13, item_id=2), "bob", now_ms=14)
    assert desk.expire([1, 2], 20) == 1
    assert half.id not in desk.due(10_000)
    assert desk.deliver([half.id], 10_000) == 0
    with pytest.raises(QueueRefusal, match="Item 1 expired or was withdrawn"):
        desk.undo(1)


def test_drafts_are_kept_until_the_answer_is_in(desk):
    mine = desk.claim()
    save = {"item_id": 1, "reviewer": "ann"}
    desk.queue.save_draft(**save, text="ask", now_ms=1)
    desk.queue.save_draft(**save, text="ask for", now_ms=2)
    assert desk.queue.draft(**save)[:3] == ("ask for", "", "")
    desk.queue.save_draft(**save, reason_codes="wrong-item", edit='{"a": "1"}', now_ms=3)
    assert desk.queue.draft(**save)[:3] == ("ask for", "wrong-item", '{"a": "1"}')
    assert desk.queue.draft(item_id=1, reviewer="bob") is None
    desk.decide(mine)
    assert desk.queue.draft(**save) is None
    desk.queue.save_draft(**save, text="too late", now_ms=11)
    assert desk.queue.draft(**save) is None
    with pytest.raises(NoSuchItem):
        desk.queue.save_draft(item_id=99, reviewer="ann", text="x", now_ms=1)
