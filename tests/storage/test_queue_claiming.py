"""Claims: order, leases, budget, and why there is nothing to claim."""

import pytest
from sqlmodel import select

from storage import tables
from storage.check import check
from storage.engine import reading, writing
from storage.errors import NoSuchItem, NotYours, QueueRefusal
from storage.queue import Claim, NewItem, NoClaim, NoClaimReason
from storage.queue.values import DEAD_MS, FAR_MS
from tests.postgres import BOTH

pytestmark = BOTH

AT = {"run_id": 1, "trial": 0}
LEASE = 1_000


@pytest.fixture
def desk(url, stock):
    """A queue of four items under a cap of three."""
    return stock(url, 4, cap=3)


def claim(queue, reviewer, now_ms=0, **others) -> Claim | NoClaim:
    return queue.claim(**AT, reviewer=reviewer, now_ms=now_ms, lease_ms=LEASE, **others)


def used(queue):
    return queue.budget(**AT).used


def pending(queue):
    with reading(queue.url) as session:
        return len(session.exec(select(tables.Item).where(tables.Item.status == "pending")).all())


def test_highest_priority_comes_first_with_its_trajectory_and_the_budget(desk):
    first = claim(desk, "ann")
    assert (first.item_id, first.body, first.budget_cap, first.budget_used) == (1, '{"task_id": "1"}', 3, 1)
    assert (first.claimed_ms, first.lease_until_ms) == (0, LEASE)
    assert [claim(desk, who).item_id for who in ("bob", "cem")] == [2, 3]


def test_equal_priority_goes_by_age(url, stock):
    queue = stock(url, 0, halted=3)
    assert [claim(queue, who).item_id for who in "abc"] == [1, 2, 3]


def test_a_reload_gets_the_same_claim_with_a_new_lease_and_no_new_unit(desk):
    first, again = claim(desk, "ann", 0), claim(desk, "ann", 400)
    assert (again.item_id, again.token, again.slot_id) == (first.item_id, first.token, first.slot_id)
    assert again.lease_until_ms == 1_400
    assert used(desk) == 1


def test_an_item_can_be_claimed_by_name_beside_one_that_is_held(desk):
    claim(desk, "ann", 0)
    assert claim(desk, "ann", 1, item_id=4).item_id == 4
    assert used(desk) == 2
    assert claim(desk, "ann", 2, item_id=4).item_id == 4
    assert used(desk) == 2


def test_a_spent_budget_offers_nothing_and_says_what_waits(desk):
    for who in "abc":
        claim(desk, who)
    assert claim(desk, "dee") == NoClaim(NoClaimReason.BUDGET_SPENT, 4)
    assert claim(desk, "dee", item_id=4) == NoClaim(NoClaimReason.BUDGET_SPENT, 4)
    assert used(desk) == 3


def test_a_lapsed_claim_frees_itself_and_its_unit(desk, url):
    claim(desk, "ann", 0)
    assert claim(desk, "bob", LEASE - 1).item_id == 2
    assert claim(desk, "cem", LEASE).item_id == 1
    assert used(desk) == 2
    assert check(url) == []


def test_a_lease_can_be_extended_while_it_lives_and_not_after(desk):
    mine = claim(desk, "ann", 0)
    key = {"item_id": mine.item_id, "reviewer": "ann", "lease_ms": LEASE}
    assert desk.extend(**key, token=mine.token, now_ms=900) == 1_900
    with pytest.raises(NotYours, match="Another reviewer"):
        desk.extend(**key, token="wrong", now_ms=901)
    with pytest.raises(NotYours):
        desk.extend(**key, token=mine.token, now_ms=1_900)


def test_a_skipped_item_comes_last_in_ones_own_order_only_and_a_released_one_in_its_old_place(desk):
    for now_ms, leave in ((0, desk.skip), (1, desk.release)):
        mine = claim(desk, "ann", now_ms)
        leave(item_id=mine.item_id, reviewer="ann", token=mine.token, now_ms=now_ms)
    assert used(desk) == 0
    assert claim(desk, "bob", 2).item_id == 1
    order = []
    for now_ms in (3, 4, 5):
        mine = claim(desk, "ann", now_ms)
        order.append(mine.item_id)
        desk.skip(item_id=mine.item_id, reviewer="ann", token=mine.token, now_ms=now_ms)
    assert order == [2, 3, 4]


def test_a_claim_cannot_be_given_back_twice_or_by_another(desk):
    mine = claim(desk, "ann")
    key = {"item_id": mine.item_id, "now_ms": 1}
    with pytest.raises(NotYours):
        desk.release(reviewer="bob", token=mine.token, **key)
    desk.release(reviewer="ann", token=mine.token, **key)
    with pytest.raises(NotYours):
        desk.release(reviewer="ann", token=mine.token, **key)
    assert used(desk) == 0


def test_two_reviews_go_to_two_people(url, stock, answer):
    queue = stock(url, 1, reviews=2)
    claims = [claim(queue, who) for who in ("ann", "bob")]
    assert [mine.item_id for mine in claims] == [1, 1]
    assert claim(queue, "cem") == NoClaim(NoClaimReason.ALL_CLAIMED_BY_OTHERS, 1)
    for who, mine in zip(("ann", "bob"), claims, strict=True):
        queue.decide(item_id=1, reviewer=who, token=mine.token, now_ms=1, undo_ms=0, **answer(f"key {who}"))
    assert claim(queue, "cem", 2) == NoClaim(NoClaimReason.EMPTY, 0)


def test_why_there_is_nothing(url, stock, answer):
    queue = stock(url, 1, reviews=2)
    mine = claim(queue, "ann")
    queue.decide(item_id=1, reviewer="ann", token=mine.token, now_ms=1, undo_ms=0, **answer("k"))
    assert claim(queue, "ann", 2) == NoClaim(NoClaimReason.ALL_REVIEWED_BY_YOU, 1)
    assert claim(queue, "ann", 2, item_id=1) == NoClaim(NoClaimReason.ITEM_REVIEWED_BY_YOU, 1)
    claim(queue, "bob", 2)
    assert claim(queue, "cem", 2) == NoClaim(NoClaimReason.ALL_CLAIMED_BY_OTHERS, 1)
    assert claim(queue, "cem", 2, item_id=1) == NoClaim(NoClaimReason.ITEM_TAKEN, 1)
    queue.cancel(item_ids=[1], now_ms=3)
    assert claim(queue, "cem", 4) == NoClaim(NoClaimReason.EMPTY, 0)
    assert claim(queue, "cem", 4, item_id=1) == NoClaim(NoClaimReason.ITEM_GONE, 0)


def test_claims_that_make_no_sense_are_refused_in_words(desk):
    with pytest.raises(NoSuchItem, match="Review item 99 does not exist"):
        claim(desk, "ann", item_id=99)
    with pytest.raises(QueueRefusal, match="Run 1, trial 7 has no budget"):
        desk.claim(run_id=1, trial=7, reviewer="ann", now_ms=0, lease_ms=LEASE)
    desk.open_budget(run_id=1, trial=7, cap=None)
    with pytest.raises(QueueRefusal, match="Item 1 belongs to run 1, trial 0"):
        desk.claim(run_id=1, trial=7, reviewer="ann", now_ms=0, lease_ms=LEASE, item_id=1)


def test_halted_items_rank_last_and_are_counted(url, stock):
    queue = stock(url, 1, halted=1, cap=5)
    assert [claim(queue, who).kind for who in "ab"] == ["action", "halted"]
    assert (queue.budget(**AT).used, queue.budget(**AT).halted) == (2, 1)
    queue.sweep(now_ms=LEASE)
    assert (queue.budget(**AT).used, queue.budget(**AT).halted) == (0, 0)


def test_halted_items_may_be_free_and_then_outlast_the_budget(url, stock):
    queue = stock(url, 2, halted=1, cap=1)
    assert claim(queue, "ann", halted_free=True).kind == "action"
    assert claim(queue, "bob", halted_free=True).kind == "halted"
    state = queue.budget(**AT)
    assert (state.used, state.halted, state.left) == (1, 1, 0)
    assert claim(queue, "cem", halted_free=True) == NoClaim(NoClaimReason.BUDGET_SPENT, 3)
    assert check(url) == []


def test_scopes_have_budgets_of_their_own(desk):
    desk.open_budget(**AT, cap=1, scope="p1")
    assert claim(desk, "p1", scope="p1").item_id == 1
    assert (used(desk), desk.budget(**AT, scope="p1").left) == (0, 0)
    assert desk.budget(**AT, scope="p2") is None


def test_a_cap_can_be_raised_but_not_put_under_what_is_used(desk):
    for who in "ab":
        claim(desk, who)
    with pytest.raises(QueueRefusal, match="The budget of trial 0 cannot be 1, because 2 inspections are used"):
        desk.open_budget(**AT, cap=1)
    budget_id = desk.open_budget(**AT, cap=2)
    assert claim(desk, "cem").reason is NoClaimReason.BUDGET_SPENT
    assert desk.open_budget(**AT, cap=None) == budget_id > 0
    assert desk.budget(**AT).left is None
    assert claim(desk, "cem").item_id == 3


def test_items_that_are_there_are_not_put_again(desk, stock, url):
    new = NewItem(1, 0, 1, 2, "action", 0.5, 1, None, 7)
    assert desk.put([new, NewItem(1, 0, 1, 1, "action", 0.5, 1, None, 7)]) == 1
    assert desk.put([new]) == 0
    assert desk.put([]) == 0
    assert pending(desk) == 5


def test_an_item_cancelled_unreviewed_waits_again_when_it_is_put_again(desk, url):
    first = claim(desk, "ada")
    desk.release(item_id=first.item_id, reviewer="ada", token=first.token, now_ms=1)
    assert desk.cancel(item_ids=[first.item_id], now_ms=2) == 1
    assert pending(desk) == 3
    again = NewItem(1, 0, first.trajectory_id, first.step, first.kind, 0.9, 1, None, 3)
    assert desk.put([again]) == 1
    assert pending(desk) == 4
    assert claim(desk, "bo", now_ms=4, item_id=first.item_id).item_id == first.item_id
    assert check(url) == []


def test_a_lease_of_a_clock_that_stood_a_year_ahead_is_freed(url, stock):
    queue, year = stock(url, 1, cap=5), 365 * 24 * 3_600_000
    queue.claim(run_id=1, trial=0, reviewer="ann", now_ms=year, lease_ms=1_000)
    assert queue.sweep(now_ms=1_000) == 1
    assert queue.budget(run_id=1, trial=0).used == 0


def test_an_answer_is_never_older_than_its_claim(url, stock, answer):
    queue = stock(url, 1, cap=5)
    mine = queue.claim(run_id=1, trial=0, reviewer="ann", now_ms=5_000, lease_ms=1_000)
    made = queue.decide(item_id=1, reviewer="ann", token=mine.token, now_ms=2_000, undo_ms=0, **answer("k"))
    assert (made.claimed_ms, made.decided_ms) == (2_000, 2_000)


NOW = 10 * DEAD_MS
WAITED_FOR = {"deadline_ms": NOW + 1, "heartbeat_ms": NOW, "beats": True}
WAITS = [
    ({}, False),
    ({"deadline_ms": NOW}, True),
    ({"deadline_ms": NOW + FAR_MS}, False),
    ({"deadline_ms": NOW + FAR_MS + 1}, True),
    ({"heartbeat_ms": NOW - DEAD_MS}, False),
    ({"heartbeat_ms": NOW - DEAD_MS - 1}, True),
    ({"heartbeat_ms": NOW - DEAD_MS - 1, "beats": False}, False),
    ({"heartbeat_ms": NOW - DEAD_MS - 1, "answer": "approved"}, False),
    ({"heartbeat_ms": NOW + FAR_MS}, False),
    ({"heartbeat_ms": NOW + FAR_MS + 1}, True),
    ({"deadline_ms": None}, False),
    ({"deadline_ms": NOW, "answer": "approved"}, True),
]
"""What is other about an agent that waits, and whether its item is overdue at NOW."""
LEAVING = [number for number, (_, overdue) in enumerate(WAITS, 1) if overdue]
STAYING = [number for number, (_, overdue) in enumerate(WAITS, 1) if not overdue]


@pytest.fixture
def asked(url, stock):
    """A function that has an agent wait for each item, and returns the queue."""

    def ask(*waits):
        queue = stock(url, len(waits))
        with writing(url) as session:
            for number, changes in enumerate(waits, 1):
                known = {"run_id": 1, "trajectory_id": number, "item_id": number, "asked_ms": 0, "step": 1}
                names = {"digest": f"d{number}", "token": f"t{number}"}
                session.add(tables.Ask(**(known | names | WAITED_FOR | changes)))
        return queue

    return ask


@pytest.fixture
def ended(url):
    """A function that reads how item and ask of that number stand."""

    def read(number):
        with reading(url) as session:
            row = session.get_one(tables.Ask, number)
            return session.get_one(tables.Item, number).status, row.answer, row.answered_ms

    return read


def test_an_item_that_nobody_waits_for_expires_at_its_millisecond(asked, ended):
    queue = asked(*(changes for changes, _ in WAITS))
    assert queue.expire_overdue(run_id=2, now_ms=NOW) == 0
    assert queue.expire_overdue(run_id=1, now_ms=NOW) == len(LEAVING)
    for number, (changes, overdue) in enumerate(WAITS, 1):
        known = changes.get("answer")
        left = ("expired", known or "timeout", None if known else NOW)
        assert ended(number) == (left if overdue else ("pending", known, None)), changes


def test_the_next_claim_passes_over_what_nobody_waits_for(asked, ended):
    queue = asked(*(changes for changes, _ in WAITS))
    assert [claim(queue, f"person {number}", NOW).item_id for number in STAYING] == STAYING
    assert claim(queue, "one more", NOW) == NoClaim(NoClaimReason.ALL_CLAIMED_BY_OTHERS, len(STAYING))
    assert [ended(number)[0] for number in LEAVING] == ["expired"] * len(LEAVING)


def test_a_claim_by_name_gets_nothing_that_nobody_waits_for(asked):
    queue = asked(*(changes for changes, _ in WAITS))
    for number, (_, overdue) in enumerate(WAITS, 1):
        found = claim(queue, f"person {number}", NOW, item_id=number)
        assert found.reason == NoClaimReason.ITEM_GONE if overdue else found.item_id == number, number


def test_an_item_that_somebody_holds_stays_beyond_its_deadline(asked, ended):
    queue = asked({"deadline_ms": NOW}, {})
    held = claim(queue, "ann", NOW - 1)
    assert queue.expire_overdue(run_id=1, now_ms=NOW) == 0
    assert claim(queue, "ann", NOW).token == held.token
    assert ended(1)[0] == "claimed"
    assert claim(queue, "bob", NOW, item_id=1) == NoClaim(NoClaimReason.ITEM_TAKEN, 2)
    assert claim(queue, "bob", NOW + LEASE, item_id=1) == NoClaim(NoClaimReason.ITEM_GONE, 1)
    assert ended(1) == ("expired", "timeout", NOW + LEASE)


def test_the_last_unit_is_spent_and_no_further_one(url, stock):
    queue = stock(url, 3, cap=2)
    first = claim(queue, "ann")
    assert (first.budget_cap, first.budget_used) == (2, 1)
    assert (queue.budget(**AT).left, queue.budget(**AT).halted) == (1, 0)
    assert claim(queue, "bob", item_id=3).budget_used == 2
    assert queue.budget(**AT).left == 0
    assert claim(queue, "cem") == NoClaim(NoClaimReason.BUDGET_SPENT, 3)
    assert claim(queue, "cem", item_id=2) == NoClaim(NoClaimReason.BUDGET_SPENT, 3)
    queue.release(item_id=first.item_id, reviewer="ann", token=first.token, now_ms=5)
    assert queue.budget(**AT).left == 1
    assert claim(queue, "cem", 6).budget_used == 2


def test_without_a_cap_there_is_always_a_unit_left_to_spend(url, stock):
    queue = stock(url, 2)
    assert [claim(queue, who).budget_used for who in ("ann", "bob")] == [1, 2]
    state = queue.budget(**AT)
    assert (state.cap, state.used, state.left) == (None, 2, None)


@pytest.mark.parametrize(("lease_ms", "freed"), [(FAR_MS, 0), (FAR_MS + 1, 1)])
def test_a_lease_of_seven_days_stands_and_no_longer_one(url, stock, lease_ms, freed):
    queue = stock(url, 1)
    queue.claim(**AT, reviewer="ann", now_ms=5, lease_ms=lease_ms)
    assert queue.sweep(now_ms=5) == freed
    assert used(queue) == 1 - freed


def test_sweeping_counts_the_places_that_it_frees(url, stock):
    queue = stock(url, 3)
    for at_ms, who in enumerate(("ann", "bob", "cem")):
        claim(queue, who, at_ms)
    assert [queue.sweep(now_ms=LEASE + later) for later in (-1, 1, 1, 2)] == [0, 2, 0, 1]
    assert pending(queue) == 3
