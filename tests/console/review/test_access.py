"""The next item over several runs: live deadlines first, own claims, assigned items, priority; skips; access."""

import pytest
from sqlalchemy import event
from sqlmodel import select, update

from console import runs
from console.auth import people
from console.auth.people import change_group
from console.database import now_ms, reading, review_queue, writing
from console.errors import Refused, Unknown
from console.gate import Gate
from console.review import access, decisions
from console.review.inbox import explain_no_item
from console.review.pending_items import list_pending_items
from console.review.waiting import measure_offered
from console.trials import engine, start
from storage import tables
from storage.queue import Claim, NoClaimReason
from tests.signing_in import signed_in


def ask(run, order, deadline_s):
    """An agent asks about an order and waits so long; returns its item."""
    Gate(run, "full-validation", undo_s=0, timeout_s=deadline_s).ask(
        f"Refund order {order}.", [], {"name": "refund", "arguments": {"order": order}}, task_id=f"t{order}"
    )
    with reading() as session:
        return session.exec(select(tables.Ask.item_id).order_by(tables.Ask.id.desc())).first()


@pytest.fixture
def shop(data_dir):
    """A live run of three purchases, held without an agent's deadline."""
    start.start_run("shop", {"webshop": 3}, detector_name="full-validation", trials=3, blind=False, undo_ms=0)
    engine.resume("shop")
    for name in ("Ada", "Ben"):
        signed_in(name, "reviewer")
    return "shop"


def claim(reviewer="Ada", at_ms=None, only=None):
    with reading() as session:
        found = access.list_reviewable_runs(session, reviewer)
        mine = [run for run in found if only in (None, run.name)]
        return decisions.claim_most_urgent(review_queue(), session, mine, reviewer, at_ms or now_ms())


def skip(held, reviewer="Ada", until_ms=None):
    review_queue().skip(item_id=held.item_id, reviewer=reviewer, token=held.token, now_ms=now_ms(), until_ms=until_ms)


def run_of(held):
    with reading() as session:
        return session.get_one(tables.Run, held.run_id).name


def test_the_order_over_runs_is_deadline_then_own_claim_then_priority(shop):
    first = claim()
    assert run_of(first) == "shop"
    later, sooner = ask("support", 1, 1_200), ask("billing", 2, 600)
    assert claim().item_id == sooner
    assert claim("Ben").item_id == later
    review_queue().release(item_id=sooner, reviewer="Ada", token=claim().token, now_ms=now_ms())
    assert claim(only="shop").item_id == first.item_id
    with writing() as session:
        free = session.exec(
            select(tables.Item.id).join(tables.Run).where(tables.Run.name == "shop", tables.Item.open_slots > 0)
        ).all()
        session.execute(update(tables.Item).where(tables.Item.id == free[-1]).values(priority=5.0))
    assert claim("Eve", only="shop").item_id == free[-1]


def test_a_skip_lasts_over_trials_and_runs_until_nothing_else_is_left(shop):
    with writing() as session:
        session.execute(update(tables.Item).where(tables.Item.id > 1).values(trial=1))
    review_queue().open_budget(run_id=1, trial=1, cap=None)
    offered = []
    for _ in range(4):
        held = claim()
        offered.append(held.item_id)
        skip(held)
    assert len(set(offered[:3])) == 3
    assert offered[3] == offered[0]


def test_a_timed_skip_ends_at_its_time(shop):
    first = claim()
    skip(first, until_ms=now_ms() + 60_000)
    assert claim().item_id != first.item_id
    with writing() as session:
        session.execute(update(tables.Item).where(tables.Item.id == first.item_id).values(priority=9.0))
    skip(claim())
    assert claim(at_ms=now_ms() + 61_000).item_id == first.item_id


def test_a_run_that_names_reviewers_is_closed_to_others_at_every_door(shop):
    with writing() as session:
        run = runs.get(session, shop)
        change_group(session, "ops", now_ms(), add=["Ben"])
        with pytest.raises(Unknown):
            access.set_access(session, run, ["Nobody"], now_ms())
        assert access.set_access(session, run, ["group:ops"], now_ms()) == ["group:ops"]
    with reading() as session:
        run = runs.get(session, shop)
        assert access.list_reviewable_runs(session, "Ada") == []
        assert [found.name for found in access.list_reviewable_runs(session, "ben")] == [shop]
        for attempt in (decisions.claim_next_item, lambda *given: decisions.claim_item(*given[:3], 1, *given[3:])):
            with pytest.raises(Refused, match="Only these people review shop: group:ops"):
                attempt(review_queue(), session, run, "Ada", now_ms())
        held = decisions.claim_next_item(review_queue(), session, run, "Ben", now_ms())
    with writing() as session:
        access.set_access(session, runs.get(session, shop), ["Ada"], now_ms())
    with pytest.raises(Refused):
        decisions.submit(review_queue(), run, held, "Ben", decisions.ReviewDecision("reject"), now_ms())
    with writing() as session:
        access.set_access(session, runs.get(session, shop), [], now_ms())
    assert isinstance(claim("Ben"), Claim)


def test_an_assigned_item_is_offered_to_its_reviewer_alone(shop):
    with writing() as session:
        access.assign_item(session, 2, "Ben", "Rae", now_ms())
        session.execute(update(tables.Item).where(tables.Item.id == 2).values(priority=9.0))
    assert claim("Ben").item_id == 2
    skip(claim("Ben"), "Ben")
    offered = []
    for _ in range(2):
        offered.append(claim("Ada"))
        skip(offered[-1])
    assert {held.item_id for held in offered} == {1, 3}
    with writing() as session:
        assert people.get_person(session, "Ben")
        access.assign_item(session, 2, None, "Rae", now_ms())
    assert claim("Ada").item_id == 2


def test_an_assigned_item_goes_to_nobody_else_until_its_reviewer_escalates_it(shop):
    with writing() as session:
        for item in (1, 2, 3):
            access.assign_item(session, item, "Ben", "Rae", now_ms())
    none = claim("Ada")
    assert none.reason == NoClaimReason.ALL_CLAIMED_BY_OTHERS
    assert explain_no_item(none).startswith("Other reviewers have claimed the items, or the items are assigned to them")
    held = claim("Ben")
    with reading() as session:
        run = runs.get(session, shop)
    escalation = decisions.ReviewDecision("escalate", note="Which colour?")
    decisions.submit(review_queue(), run, held, "Ben", escalation, now_ms())
    with reading() as session:
        listed = list_pending_items(session, [runs.get(session, shop)], "Ada").offered
        assert [row.item.id for row in listed] == [held.item_id]
        assert measure_offered(session, [1], "Ada")[0] == 1
    assert claim("Ada").item_id == held.item_id


def count_statements(given, reviewer="Ada"):
    """The statements that a session runs for the next item of these runs, whose claim is then given back."""
    ran = []

    def note(_connection, _cursor, statement, *_rest):
        ran.append(statement)

    with reading() as session:
        found = [runs.get(session, name) for name in given]
        event.listen(session.get_bind(), "before_cursor_execute", note)
        held = decisions.claim_most_urgent(review_queue(), session, found, reviewer, now_ms())
        event.remove(session.get_bind(), "before_cursor_execute", note)
    review_queue().release(item_id=held.item_id, reviewer=reviewer, token=held.token, now_ms=now_ms())
    return len(ran)


def test_one_question_settles_the_access_to_all_runs(shop):
    for order, run in enumerate(("support", "billing", "travel")):
        ask(run, order, 600)
    every = [shop, "support", "billing", "travel"]
    with writing() as session:
        change_group(session, "ops", now_ms(), add=["Ada"])
        access.set_access(session, runs.get(session, "billing"), ["Ben", "group:ops"], now_ms())
        access.set_access(session, runs.get(session, "travel"), ["ADA"], now_ms())
    assert count_statements(every) == count_statements([shop]) == 1
    with writing() as session:
        access.set_access(session, runs.get(session, "billing"), ["Ben"], now_ms())
    with pytest.raises(Refused, match="Only these people review billing: Ben"):
        count_statements(every)


def test_the_next_item_is_of_the_first_trial_whose_budget_is_left(shop):
    with writing() as session:
        for item_id, trial in ((1, 0), (2, 1), (3, 2)):
            changed = update(tables.Item).where(tables.Item.id == item_id)
            session.execute(changed.values(trial=trial, priority=float(trial)))
    for trial, cap in ((0, 0), (1, 5), (2, 5)):
        review_queue().open_budget(run_id=1, trial=trial, cap=cap)
    held = claim()
    assert held.item_id == 2
    skip(held)
    assert claim().item_id == 3
