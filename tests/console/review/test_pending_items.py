"""The waiting list: the order in which the queue really offers, where the budget ends, and what a filter leaves."""

import pytest
from sqlmodel import update

from console import runs
from console.auth import people
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.review import decisions
from console.review.access import list_reviewable_runs
from console.review.inbox import count_my_reviews
from console.review.pending_items import OfferOrder, PendingFilter, list_filter_choices, list_pending_items
from console.review.waiting import get_agents_waiting
from console.runs import ingest, maintenance
from storage import tables
from storage.queue import Claim, NoClaim, NoClaimReason
from storage.tables import RunKind
from tests.logs import purchase, stuck, write_log
from tests.signing_in import signed_in


@pytest.fixture
def shop(tmp_path, data_dir):
    """A run of seven purchases, all flagged, and a stuck trial, with five inspections."""
    records = [purchase(n, wrong=n % 2 == 0) for n in range(7)]
    ingest.import_file(write_log(tmp_path / "log.jsonl", *records, stuck(7)), "shop", "auto", lambda _: None)
    runs.set_budget("shop", "5")
    batch.detect("shop", ["rules"], threshold=0.0)
    return "shop"


def the_list(reviewer="Ada", **wanted):
    with reading() as session:
        return list_pending_items(session, [runs.get(session, "shop")], reviewer, PendingFilter(**wanted))


def ids(rows):
    return [row.item.id for row in rows]


def claim(reviewer="Ada", item=None):
    with reading() as session:
        run = runs.get(session, "shop")
        if item is None:
            return run, decisions.claim_next_item(review_queue(), session, run, reviewer, now_ms())
        return run, decisions.claim_item(review_queue(), session, run, item, reviewer, now_ms())


def read_on(reviewer):
    """The items that the queue offers to somebody who answers one after the other, until it offers no more."""
    offered = []
    while isinstance((found := claim(reviewer))[1], Claim):
        run, held = found
        offered.append(held.item_id)
        decision = "respond" if held.kind == "halted" else "reject"
        answer = decisions.ReviewDecision(decision, "no", label="misaligned")
        decisions.submit(review_queue(), run, held, reviewer, answer, now_ms())
    return offered


@pytest.mark.parametrize("halted_free", [False, True])
def test_what_is_offered_is_offered_in_this_order_and_no_more(shop, halted_free):
    with writing() as session:
        runs.get(session, "shop").halted_free = halted_free
    _, aside = claim(item=ids(the_list().offered)[1])
    review_queue().skip(item_id=aside.item_id, reviewer="Ada", token=aside.token, now_ms=now_ms())
    _, held = claim(item=ids(the_list().offered)[2])
    claim("Ben", item=ids(the_list().offered)[3])
    waiting = the_list()
    assert waiting.offered[0].item.id == held.item_id
    assert waiting.offered[0].turn is OfferOrder.CLAIMED
    assert (waiting.matching, waiting.total, waiting.hidden, waiting.held) == (7, 7, 0, 1)
    told = ids(waiting.offered)
    assert waiting.beyond == 7 - len(told) == len(waiting.unread) > 0
    assert read_on("Ada") == told
    left = the_list()
    assert (left.offered, left.beyond) == ([], waiting.beyond)


def test_a_stopped_run_offers_nothing_and_costs_nothing_until_it_continues(shop):
    def set_stopped(stopped):
        with writing() as session:
            maintenance.set_stopped(session, runs.get(session, "shop"), stopped, now_ms())

    def left():
        with reading() as session:
            return runs.budgets(session, runs.get(session, "shop"))[0]["left"]

    with writing() as session:
        runs.get(session, "shop").kind = RunKind.LIVE
    _, held = claim("Ben")
    before = the_list()
    set_stopped(True)
    assert claim()[1] == NoClaim(NoClaimReason.RUN_STOPPED, 0)
    assert claim(item=ids(before.offered)[0])[1].reason is NoClaimReason.RUN_STOPPED
    assert claim("Ben", held.item_id)[1].token == held.token, "what Ben has open stays open"
    during = the_list()
    assert (during.offered, during.unread, during.total, during.held) == ([], [], 0, 0)
    assert during.withheld == before.total
    with reading() as session:
        assert get_agents_waiting(session, "Ada", now_ms()).pending == 0
        assert runs.get(session, "shop") in list_reviewable_runs(session, "Ada")
    assert left() == 4
    set_stopped(False)
    assert ids(the_list().offered) == ids(before.offered)
    assert isinstance(claim()[1], Claim)


def test_what_i_hold_and_another_is_to_review_too_is_among_what_waits(shop):
    with writing() as session:
        session.execute(update(tables.Item).values(reviews_required=2, open_slots=2))
    claim()
    assert (the_list().held, the_list("Ben").held) == (1, 0)
    claim("Ben", item=the_list().offered[0].item.id)
    assert (the_list().held, the_list("Ben").held) == (1, 1)


def test_without_a_cap_all_is_offered_what_was_put_aside_last(shop):
    runs.set_budget("shop", None)
    first = the_list().offered[0].item.id
    _, aside = claim(item=first)
    review_queue().skip(item_id=first, reviewer="Ada", token=aside.token, now_ms=now_ms())
    waiting = the_list()
    assert (waiting.offered[-1].item.id, waiting.offered[-1].turn) == (first, OfferOrder.SKIPPED)
    assert (waiting.beyond, waiting.unread) == (0, [])
    assert read_on("Ada") == ids(waiting.offered)


def test_what_i_passed_on_waits_for_others_alone_and_is_no_review_of_mine(shop):
    run, held = claim()
    decisions.submit(review_queue(), run, held, "Ada", decisions.ReviewDecision("escalate"), now_ms())
    with reading() as session:
        assert count_my_reviews(session, run, "Ada") == (0, None)
    assert the_list().answered == 1
    assert held.item_id not in ids([*the_list().offered, *the_list().unread])
    assert held.item_id in ids([*the_list("Ben").offered, *the_list("Ben").unread])
    assert ids([*(passed := the_list("Ben", escalated=True)).offered]) == [held.item_id]
    assert (passed.hidden, passed.total) == (7, 8)


def test_mine_is_held_passed_on_to_me_or_has_my_words(shop):
    signed_in("Ben", "reviewer")
    with reading() as session:
        ben = people.get_person(session, "Ben").name
    run, passed = claim()
    answer = decisions.ReviewDecision("escalate", addressee=ben)
    decisions.submit(review_queue(), run, passed, "Ada", answer, now_ms())
    assert the_list("Cid", mine=True).matching == 0
    _, held = claim("Ben", item=the_list("Ben").offered[2].item.id)
    worded = the_list("Ben").offered[3].item.id
    review_queue().save_draft(item_id=worded, reviewer="Ben", now_ms=now_ms(), text="the colour")
    assert set(ids(the_list("Ben", mine=True).offered)) == {passed.item_id, held.item_id, worded}


def test_text_detector_and_environment(shop):
    with reading() as session:
        assert list_filter_choices(session, [runs.get(session, "shop").id]) == (["rules"], ["webshop"])
    everything = the_list()
    assert the_list(detectors=("rules",)).matching == everything.total - 1
    assert the_list(environments=("webshop",)).matching == everything.total
    assert the_list(environments=("alfworld",)).hidden == everything.total
    wanted = everything.offered[0]
    found = the_list(text=wanted.task_id.upper())
    assert wanted.item.id in ids(found.offered)
    assert found.matching < everything.matching
    assert the_list(text="%").matching == 0
    assert the_list(text=" ").hidden == 0


def test_a_run_that_hides_its_verdicts_answers_neither_search_nor_filter_with_them(shop):
    with reading() as session:
        reason = the_list().offered[0].rationale.split()[0]
        assert list_filter_choices(session, [runs.get(session, "shop").id])[0] == ["rules"]
    assert the_list(detectors=("rules",)).matching == 7
    in_task = the_list(text="i want a").matching
    with writing() as session:
        run = runs.get(session, "shop")
        run.options = '{"view":{"score":"hidden"}}'
        session.add(run)
    with reading() as session:
        assert list_filter_choices(session, [runs.get(session, "shop").id])[0] == []
    assert the_list(detectors=("rules",)).matching == 0
    assert the_list(text="i want a").matching == in_task == 8
    assert reason not in "i want a"
    assert the_list(text=reason).matching == 0


def test_the_oldest_or_the_newest_come_first_within_the_budget(shop):
    offered = ids(the_list().offered)
    with writing() as session:
        for place, item in enumerate(offered):
            session.execute(update(tables.Item).where(tables.Item.id == item).values(created_ms=1_000 - place))
    assert ids(the_list(order="oldest").offered) == offered[::-1]
    assert ids(the_list(order="newest").offered) == offered
    assert not PendingFilter(order="oldest").is_set
