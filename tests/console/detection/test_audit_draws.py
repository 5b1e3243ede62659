"""The audit reserve: which unflagged actions are drawn, where they stand in the queue, and what reviewers see."""

import re

import pytest
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection import audit_draws, batch
from console.errors import BadInput, Refused
from console.review import blinding, decisions, pending_items
from console.review.overview import build_overview
from console.runs import run_options
from console.runs.status import run_status, status_rows
from console.web.widgets.trajectory_view import presentation_html
from storage import tables
from storage.queue import NewItem
from tests.overseen import queue
from tests.sweeps import sweep
from tests.verdicts import a_run, judge, trajectory_ids


def audits(name, wanted):
    """Sets the run's audits and queues what is drawn; returns its options."""
    with writing() as session:
        audit_draws.set_audits(session, runs.get(session, name), wanted, now_ms())
    with reading() as session:
        run = runs.get(session, name)
        session.expunge(run)
    batch.queue_flagged(run, run_options(run), had_audits=True)
    return run_options(run)


def all_of(table):
    with reading() as session:
        return [row.model_dump() for row in session.exec(select(table).order_by(table.id))]


@pytest.fixture
def shop():
    """A run of 40 actions, ten of them flagged, with a budget of 20."""
    a_run("shop", ["aligned"] * 40)
    judge("shop", "rules", [0.9 - place / 50 if place < 10 else 0.3 for place in range(40)])
    queue("shop", "rules", cap=20)
    return "shop"


def test_each_unflagged_action_is_logged_and_those_below_the_probability_are_queued(shop):
    assert not all_of(tables.AuditDraw)
    audits(shop, "25%")
    draws = all_of(tables.AuditDraw)
    assert len(draws) == 30
    assert {draw["probability"] for draw in draws} == {0.25}
    drawn = {draw["trajectory_id"] for draw in draws if draw["number"] < 0.25}
    queued = {item["trajectory_id"] for item in all_of(tables.Item) if item["status"] == "pending"}
    with reading() as session:
        flagged = set(trajectory_ids(session, runs.get(session, shop))[:10])
        assert audit_draws.count_draws(session, runs.get(session, shop)) == audit_draws.Reserve(
            0.25, 30, len(drawn), expected=0.25
        )
    assert queued == flagged | drawn
    assert 0 < len(drawn) < 30


def test_an_action_keeps_its_number_so_a_larger_reserve_contains_a_smaller_one(shop):
    audits(shop, "10%")
    few = {(draw["trajectory_id"], draw["number"]) for draw in all_of(tables.AuditDraw) if draw["number"] < 0.1}
    audits(shop, "50%")
    many = {(draw["trajectory_id"], draw["number"]) for draw in all_of(tables.AuditDraw) if draw["number"] < 0.5}
    assert few < many
    audits(shop, "0")
    assert not all_of(tables.AuditDraw)
    assert sum(item["status"] == "pending" for item in all_of(tables.Item)) == 10


def test_a_share_of_the_budget_is_a_probability_over_the_unflagged_actions(shop):
    assert audits(shop, "30% budget").audited == pytest.approx(6 / 30)
    with writing() as session:
        runs.get(session, shop).budget_cap = None
    with writing() as session, pytest.raises(Refused, match="does not have a budget"):
        audit_draws.set_audits(session, runs.get(session, shop), "30%budget", now_ms())


@sweep("wanted", ["", "101%", "-1%", "0.2", "many", "budget"], kept=2)
def test_what_is_not_a_share_is_refused(shop, wanted):
    with writing() as session, pytest.raises(BadInput, match="is not a valid share of audits"):
        audit_draws.set_audits(session, runs.get(session, shop), wanted, now_ms())


def test_audits_stand_at_random_places_that_the_budget_covers_whatever_their_scores():
    flagged = [NewItem(1, 0, number, 3, "action", 1.0, 1, number, 1) for number in range(30)]
    drawn = [NewItem(1, 0, 100 + number, 3, "action", number / 40, 1, 100 + number, 1) for number in range(20)]
    placed = audit_draws.place_audits(flagged, drawn, 30, seed=3)
    assert sorted(item.trajectory_id for item in placed) == [*range(30), *range(100, 120)]
    # Items of equal priority are offered in the order in which they were stored.
    places = [at for at, item in enumerate(placed) if item.trajectory_id >= 100]
    assert max(places) < 30
    assert {item.priority for item in placed} == {1.0}
    first_half = {item.trajectory_id for item in placed[:15]} & set(range(110, 120))
    assert 2 <= len(first_half) <= 8
    alone = audit_draws.place_audits([], drawn, None, seed=3)
    assert sorted(item.trajectory_id for item in alone) == list(range(100, 120))


def test_the_audits_of_a_live_run_get_priorities_of_flagged_scores():
    item = NewItem(1, 0, 1, 3, "action", 0.01, 1, 1, 1)
    assert audit_draws.place_live_audit(item, 0.5, 0.05, 0.1).priority == 0.75


def test_a_reviewer_of_a_blind_run_sees_the_same_parts_of_audits_and_flagged_items(shop):
    audits(shop, "100%")
    with reading() as session:
        run = runs.get(session, shop)
        assert blinding.get_visibility(run) == blinding.Visibility(
            score=False, explanation=False, detector=False, highlights=False
        )
        rows = pending_items.list_pending_items(session, [run], "ada").offered
        assert {(row.score, row.rationale, row.is_hidden) for row in rows} == {(None, None, True)}
    assert len(rows) == 20
    audits(shop, "0")
    with reading() as session:
        assert blinding.get_visibility(runs.get(session, shop)) == blinding.Visibility()


def test_the_page_of_an_audit_has_the_parts_of_a_flagged_one_and_no_word_of_the_detector(shop):
    audits(shop, "100%")
    pages = {True: [], False: []}
    for number in range(20):
        with reading() as session:
            run = runs.get(session, shop)
            claim = decisions.claim_next_item(review_queue(), session, run, f"r{number}", now_ms())
            flagged = session.get_one(tables.Verdict, claim.verdict_id).flagged
            view = blinding.build_review_view(session, review_queue(), run, claim, f"r{number}", unblinded=False)
            pages[flagged].append(presentation_html(view.presentation))
    assert all(pages.values())
    parts = {tuple(re.findall(r'<\w+(?: class="[^"]*")?', page)) for found in pages.values() for page in found}
    assert len(parts) == 1
    assert not any(word in page for found in pages.values() for page in found for word in ("0.30", "0.9", "rules"))


def test_the_status_and_the_overview_count_audits_apart_from_flagged_actions(shop):
    audits(shop, "50%")
    drawn = sum(draw["number"] < 0.5 for draw in all_of(tables.AuditDraw))
    with reading() as session:
        run = runs.get(session, shop)
        trial = run_status(session, run)["trials"][0]
        flow = build_overview(session, run, now_ms()).flows[0]
        rows = status_rows(run_status(session, run), run.kind)
    assert (trial["flagged"], trial["audits"]) == (flow.flagged, flow.audits) == (10, drawn)
    assert rows[0]["audits"] == drawn > 0
