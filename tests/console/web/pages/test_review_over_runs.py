"""Review over all runs: an agent that gave up, a pressing agent elsewhere, skips, assigned items, a run's reviewers."""

import re

import pytest
from sqlmodel import select, update

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.language import speaking
from console.review import access, decisions
from console.review.notices.health import EXPIRED_MS, measure_health
from console.review.waiting import get_agents_waiting
from console.web.widgets.messages import refusal_words
from storage import tables
from storage.errors import AlreadyDelivered, QueueRefusal
from tests.signing_in import signed_in


def ask(run, order, timeout_s=600):
    call = {"name": "refund", "arguments": {"order": order}}
    Gate(run, "full-validation", undo_s=0, timeout_s=timeout_s).ask(
        f"Refund order {order}.", [], call, task_id=f"{order}"
    )


def item_of(at):
    return next(int(one.key.removeprefix("skip-")) for one in at.button if (one.key or "").startswith("skip-"))


def end_wait(item):
    """The agent stops waiting while somebody holds the item, or before that."""
    with writing() as session:
        of_item = tables.Ask.item_id == item
        session.execute(update(tables.Ask).where(of_item).values(answer="timeout", deadline_ms=now_ms() - 1))


@pytest.mark.at_length
def test_an_agent_that_gave_up_is_said_on_the_open_page_and_in_the_list(open_page, data_dir, words):
    ask("support", 1)
    at = open_page("review", role="reviewer")
    item = item_of(at)
    assert "not run yet" in words(at)
    assert "The agent is about to" in words(at)
    end_wait(item)
    at.run()
    assert "agent stopped waiting" in words(at)
    assert "not run yet" not in words(at)
    assert "The agent is about to" not in words(at)
    at.switch_page("console/web/pages/inbox.py").run()
    assert "agent stopped waiting" in words(at)
    assert ">claimed by you<" not in words(at)


@pytest.mark.at_length
def test_a_draft_of_an_item_that_left_the_queue_is_shown_with_the_reason(open_page, data_dir, words):
    ask("support", 1)
    at = open_page("review", role="reviewer")
    item = item_of(at)
    review_queue().save_draft(item_id=item, reviewer="Ada", now_ms=now_ms(), edit='{"field-1-0": "half"}')
    end_wait(item)
    with writing() as session:
        session.execute(update(tables.Item).where(tables.Item.id == item).values(status="expired", open_slots=0))
        session.execute(update(tables.Slot).where(tables.Slot.item_id == item).values(status="released"))
    at.run()
    assert f"Item {item}: The agent stopped waiting before a decision, so the action did not run." in words(at)
    assert "half" in " ".join(found.value for found in at.code)
    at.run()
    at.query_params["item"] = str(item)
    at.run()
    assert "Cannot open item" in words(at)
    assert "The agent stopped waiting before a decision" in words(at)


def test_the_first_visit_to_an_item_past_its_deadline_says_that_nobody_decided(open_page, data_dir, words):
    ask("support", 1)
    with writing() as session:
        item = session.exec(select(tables.Item.id)).one()
        session.execute(update(tables.Ask).values(deadline_ms=now_ms() - 1))
    said = words(open_page("review", role="reviewer", item=str(item)))
    assert f"Cannot open item {item}" in said
    assert "choose an item in the Inbox" in words(open_page("review", item="99999"))
    assert "The agent stopped waiting before a decision" in said
    assert "already decided" not in said


def approve(at):
    """Approve the item on the page and return its id."""
    item, at.session_state["shown_ms"] = item_of(at), 0
    at.button(key=f"approve-{item}").click().run()
    return item


def is_decided(at):
    return any((one.key or "").startswith("undo-") and one.label.startswith("Undo decision") for one in at.button)


@pytest.mark.at_length
def test_an_address_that_the_browser_sends_late_does_not_reopen_the_decided_item(open_page, kettles):
    at = open_page("review", run=kettles, role="reviewer")
    first = approve(at)
    second = item_of(at)
    at.query_params["item"] = str(first)
    at.run()
    assert (item_of(at), at.query_params["item"]) == (second, str(second))
    at.run()
    at.query_params["item"] = str(first)
    at.run()
    assert is_decided(at)


@pytest.mark.at_length
def test_an_address_that_is_two_decisions_late_does_not_reopen_the_decided_item(open_page, kettles):
    at = open_page("review", run=kettles, role="reviewer")
    first, second = approve(at), item_of(at)
    # The browser has received no address since the first item.
    at.query_params["item"] = str(first)
    approve(at)
    at.query_params["item"] = str(first)
    at.run()
    assert not is_decided(at)
    assert item_of(at) not in (first, second)


@pytest.mark.at_length
def test_back_in_the_browser_opens_the_decided_item(open_page, kettles):
    at = open_page("review", run=kettles, role="reviewer")
    first = approve(at)
    at.session_state["items_left"] = {str(first): now_ms() - 3_000}
    at.query_params["item"] = str(first)
    at.run()
    assert is_decided(at)


def test_an_escalated_item_whose_agent_gave_up_is_not_said_to_wait(open_page, data_dir, words):
    ask("support", 1)
    at = open_page("review", role="reviewer")
    item = item_of(at)
    with reading() as session:
        claim = decisions.get_claim(session, item, "Ada")
        run = session.get_one(tables.Run, claim.run_id)
    decisions.submit(review_queue(), run, claim, "Ada", decisions.ReviewDecision("escalate"), now_ms())
    end_wait(item)
    at.session_state["looking_back"] = item
    assert "agent stopped waiting" in words(at.run())
    assert "not run yet" not in words(at)
    at = open_page("answers", run="support", role="reviewer")
    assert "Escalated to another reviewer." in words(at)
    assert "has not received" not in words(at)


@pytest.mark.at_length
def test_a_decided_action_of_an_agent_shows_what_became_of_it(open_page, data_dir, words):
    ask("support", 1)
    at = open_page("review", role="reviewer")
    assert "the agent is about to" in words(at).lower()
    item = approve(at)
    at.button(key="previous-0").click().run()
    assert "not run yet" in words(at)
    gate = Gate("support", "full-validation", undo_s=0)
    call = {"name": "refund", "arguments": {"order": 1}}
    decision = gate.check("Refund order 1.", [], call, task_id="1")
    assert (decision.approved, decision.item_id) == (True, item)
    at.run()
    assert "has begun" in words(at)
    gate.done(decision, "Refunded.")
    at.run()
    assert "has run" in words(at)
    assert "not run yet" not in words(at)
    assert "the agent is about to" not in words(at).lower()
    at.switch_page("console/web/pages/answers.py").run()
    assert "The action ran after your decision, and the agent reported its result." in words(at)


def test_a_rejected_action_of_an_agent_did_not_run(open_page, data_dir, words):
    ask("support", 1)
    at = open_page("review", role="reviewer")
    item, at.session_state["shown_ms"] = item_of(at), 0
    at.button(key=f"reject-{item}").click().run()
    at.button(key="previous-0").click().run()
    assert "did not run" in words(at)
    assert "not run yet" not in words(at)


@pytest.mark.at_length
def test_the_review_page_forgets_an_earlier_decision_on_another_page(open_page, kettles):
    at = open_page("review", run=kettles, role="reviewer")
    approve(at)
    next(one for one in at.button if (one.key or "").startswith("previous-")).click().run()
    assert is_decided(at)
    at.switch_page("console/web/pages/inbox.py").run()
    at.switch_page("console/web/pages/review.py").run()
    assert not is_decided(at)


def test_in_a_chosen_run_an_agent_elsewhere_comes_first_when_its_time_ends(open_page, kettles, words):
    ask("support", 1, timeout_s=900)
    at = open_page("review", run=kettles, role="reviewer")
    assert "kettle" in words(at)
    assert "Refund order" not in words(at)
    ask("billing", 2, timeout_s=200)
    at = open_page("review", run=kettles, role="reviewer")
    assert "<b>billing</b>" in words(at)
    assert "An item of “billing” comes first, because its deadline is near." in words(at)


def test_over_all_runs_the_agent_comes_first_and_a_timed_skip_says_so(open_page, kettles, words):
    ask("support", 1)
    at = open_page("review", role="reviewer")
    item = item_of(at)
    assert "<b>support</b>" in words(at)
    at.button(key=f"skip15-{item}").click().run()
    assert f"You skipped item {item} for 15 min." in words(at)
    assert "kettle" in words(at)


def test_a_researcher_assigns_an_item_and_names_the_reviewers_of_a_run(open_page, kettles, words):
    signed_in("Ben", "reviewer")
    at = open_page("review", run=kettles)
    item = item_of(at)
    at.button(key=f"assign-{item}").click().run()
    at.selectbox(key=f"assignee-{item}").set_value("Ben")
    at.button(key=f"keep-assignee-{item}").click().run()
    assert item_of(at) != item
    with reading() as session:
        assert access.find_assignee(session, item) == "Ben"
        run = runs.get(session, kettles)
    at = open_page("runs", run=kettles)
    at.multiselect(key=f"reviewers-{run.id}").set_value(["Ben"])
    at.button(key=f"save-reviewers-{run.id}").click().run()
    assert "The reviewers of kettles are saved." in words(at)
    at.switch_page("console/web/pages/inbox.py").run()
    assert "kettle number" not in words(at)
    with reading() as session:
        assert session.exec(select(tables.RunAccess.entry)).all() == ["Ben"]


def test_beside_the_item_of_an_agent_on_the_page_the_others_are_more(open_page, kettles):
    ask("support", 1)
    ask("billing", 2)
    open_page("review")
    with reading() as session:
        every = get_agents_waiting(session, "Ada", now_ms())
        others = get_agents_waiting(session, "Ada", now_ms(), without_claimed=True)
    assert (every.count, every.are_more, others.count, others.are_more) == (2, False, 1, True)


def test_an_agent_whose_heartbeats_stopped_is_not_announced(open_page, kettles, words):
    ask("support", 1)
    ask("billing", 2)
    with writing() as session:
        of_run = tables.Ask.run_id == runs.get(session, "support").id
        session.execute(update(tables.Ask).where(of_run).values(heartbeat_ms=now_ms() - 61_000))
    with reading() as session:
        found = get_agents_waiting(session, "Ada", now_ms())
        health = measure_health(session, now_ms())
    assert (found.count, found.run) == (1, "billing")
    assert health.waiting == 1


def test_an_item_past_its_deadline_counts_as_expired_before_anyone_claims_in_its_run(open_page, kettles):
    ask("support", 1)
    ask("billing", 2)
    with writing() as session:
        of_run = tables.Ask.run_id == runs.get(session, "support").id
        asked_ms = now_ms() - 2 * EXPIRED_MS
        session.execute(update(tables.Ask).where(of_run).values(asked_ms=asked_ms, deadline_ms=now_ms() - 1))
    with reading() as session:
        found = measure_health(session, now_ms())
    assert (found.waiting, found.expired) == (1, 1)


@pytest.mark.at_length
def test_an_edited_action_stays_beside_the_lines_that_were_checked_for_it(open_page, data_dir, words):
    ask("support", 1)
    at = open_page("review", role="reviewer")
    item, at.session_state["shown_ms"] = item_of(at), 0
    at.button(key=f"edit-{item}").click().run()
    field = next(one for one in (*at.text_input, *at.text_area) if one.label.startswith("order"))
    field.set_value("2").run()
    at.button(key=f"submit-{item}").click().run()
    gate = Gate("support", "full-validation", undo_s=0)
    call = {"name": "refund", "arguments": {"order": 1}}
    decision = gate.check("Refund order 1.", [], call, task_id="1")
    gate.done(decision, "Refunded.")
    at.button(key="previous-0").click().run()
    assert "refund({&quot;order&quot;:1})" in words(at)
    assert "replaced by the edit" in words(at)
    assert "has run" not in words(at)


def test_a_decision_for_an_agent_says_how_long_it_can_be_undone(open_page, data_dir, words):
    ask("support", 1)
    ask("support", 2)
    at = open_page("review", role="reviewer")
    with writing() as session:
        session.exec(update(tables.Run).values(undo_ms=60_000))
    approve(at)
    assert re.search(r'data-undo="5\d{4}">You can undo the decision for 0:5\d\.', words(at))
    at.run()
    assert "You can undo the decision" not in words(at)


def test_an_address_opens_its_item_although_an_agent_waits(open_page, kettles):
    """The claim is a write of another connection, which a snapshot taken before it does not show."""
    ask("support", 1)
    with reading() as session:
        run = runs.get(session, kettles)
        wanted = max(session.exec(select(tables.Item.id).where(tables.Item.run_id == run.id)))
    at = open_page("review", role="reviewer", item=wanted)
    assert item_of(at) == wanted
    with reading() as session:
        claimed = session.exec(select(tables.Slot.item_id).where(tables.Slot.status == "claimed")).all()
    assert claimed == [wanted]


@pytest.mark.at_length
def test_my_reviews_opens_on_the_run_of_the_latest_decision_unless_the_address_names_one(open_page, kettles):
    assert open_page("answers").session_state["run"] == "kettles"
    ask("support", 1)
    approve(open_page("review", run="support"))
    assert open_page("answers").selectbox(key="run_picker").value == "support"
    assert open_page("answers", run="kettles").session_state["run"] == "kettles"


def test_a_delivered_decision_stands_in_the_words_of_its_message_and_cannot_be_undone(open_page, kettles, words):
    at = open_page("review", run=kettles, role="reviewer")
    item, at.session_state["shown_ms"] = item_of(at), 0
    at.button(key=f"reject-{item}").click().run()
    assert f"Item {item}: Marked as incorrect." in words(at)
    at.button(key=f"previous-{item_of(at)}").click().run()
    assert f"Your decision on item {item}: Marked as incorrect. You can still undo this decision." in words(at)
    assert not at.button(key=f"undo-{item}").disabled
    with writing() as session:
        session.execute(update(tables.Decision).values(delivered_ms=now_ms()))
    undo = at.run().button(key=f"undo-{item}")
    assert (undo.disabled, undo.help) == (True, AlreadyDelivered.__doc__)
    assert f"Marked as incorrect. {AlreadyDelivered.__doc__}" in words(at)


def test_the_end_of_the_queue_is_said_once(open_page, data_dir, words):
    ask("support", 1)
    at = open_page("review", role="reviewer")
    approve(at)
    assert words(at).lower().count("no pending items") == 1
    assert "New items appear here automatically." in words(at)


def test_what_the_queue_refuses_is_said_in_the_readers_language(data_dir):
    ask("support", 1)
    with speaking("de"), pytest.raises(QueueRefusal) as refused:
        review_queue().undo(item_id=1, reviewer="Ada", now_ms=now_ms(), lease_ms=1_000)
    assert str(refused.value) == "You have no decision on item 1 to undo. Reload the page."
    with speaking("de"):
        assert refusal_words(refused.value).startswith("Sie haben zu Vorgang 1 keine Entscheidung")
