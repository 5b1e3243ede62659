"""The Inbox, the sign-in and what a reviewer may open."""

import time

import pytest
from sqlmodel import update

from console import runs
from console.auth import people
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.gate import Gate
from console.review import access, inbox
from console.review.pending_items import list_pending_items
from console.runs import ingest, maintenance
from storage import tables
from storage.tables import RunKind
from tests.logs import purchase, write_log
from tests.signing_in import invitation, signed_in


def test_without_a_session_no_page_opens_and_one_sentence_says_how(open_page, kettles):
    at = open_page("inbox", role=None)
    assert [title.value for title in at.title] == ["InferAct Console"]
    assert "`inferact serve` prints the first link" in at.markdown[0].value
    assert not at.text_input
    assert not at.button


def test_a_tab_believes_no_name_and_no_made_up_token(open_page, kettles):
    for state in ({"identity": {"name": "Ada", "role": "researcher"}}, {"session": "made-up"}, {"session": "Ada"}):
        at = open_page("inbox", role=None)
        for name, value in state.items():
            at.session_state[name] = value
        at.run()
        assert [title.value for title in at.title] == ["InferAct Console"]


def test_a_link_opens_one_tab_where_the_server_has_no_routes_of_its_own(open_page, words, kettles):
    key = invitation()
    at = open_page("inbox", role=None, key=key)
    at.text_input(key="name").input("Rae")
    at.button(key="start").click().run()
    assert [title.value for title in at.title] == ["Inbox"]
    assert at.button(key="sign-out").label == "Rae · Sign out"
    again = open_page("inbox", role=None, key=key)
    assert "has expired" in words(again)


def test_a_link_asks_for_a_name_that_is_free(open_page, words, kettles):
    signed_in("Ada")
    at = open_page("inbox", role=None, key=invitation())
    for name, said in (("", "Enter a name"), (" ADA ", "The name Ada is taken")):
        at.text_input(key="name").input(name)
        at.button(key="start").click().run()
        assert said in words(at)


def test_signing_out_ends_the_session_in_every_tab(open_page, kettles):
    at = open_page("review")
    other = open_page("review", role=None)
    other.session_state["session"] = at.session_state["session"]
    other.run()
    assert other.button(key="sign-out")
    at.button(key="sign-out").click().run()
    for tab in (at, other.run()):
        assert [title.value for title in tab.title] == ["InferAct Console"]


def test_who_is_disabled_meanwhile_decides_nothing(open_page, kettles):
    at = open_page("review", role="reviewer")
    approve = next(button.key for button in at.button if (button.key or "").startswith("approve-"))
    with writing() as session:
        people.disable(session, people.get_person(session, "Ada"), now_ms())
    at.session_state["shown_ms"] = 0
    at.button(key=approve).click().run()
    assert [title.value for title in at.title] == ["InferAct Console"]
    with reading() as session:
        assert inbox.count_my_reviews(session, runs.get(session, "kettles"), "Ada")[0] == 0


def test_a_reviewer_is_told_that_a_page_is_the_researchers(open_page, words, kettles):
    at = open_page("studies", role="reviewer")
    assert "Your account has no researcher role" in words(at)


def test_the_tour_is_put_away_by_one_click(open_page, words, kettles):
    at = open_page("inbox")
    assert "Decide with one key" in words(at)
    at.button(key="tour-done").click().run()
    assert "Decide with one key" not in words(at)


def test_what_waits_stands_with_its_reason_and_the_budget(open_page, words, kettles):
    page_text = words(open_page("inbox"))
    assert "waiting" in page_text
    assert "The user set a limit of 30.00" in page_text
    assert "of 3 inspections used, 3 left" in page_text
    assert "halted" in page_text
    assert "claimed by you" not in page_text
    open_page("review")
    page_text = words(open_page("inbox"))
    assert "<b>2</b> pending" in page_text
    assert "Claimed by you: 1." in page_text


def test_a_reviewer_without_budget_is_told_whom_to_ask(open_page, words, kettles):
    assert "Ask a researcher to raise the budget." in [one.value for one in open_page("inbox", role="reviewer").caption]
    assert "Ask a researcher to raise the budget." not in [one.value for one in open_page("inbox").caption]


def test_the_list_says_where_the_budget_ends_and_what_a_filter_hides(open_page, words, kettles):
    at = open_page("inbox")
    assert "The budget ends here: 1 more item cannot be inspected." in words(at)
    assert at.button(key="review-next").label == "Review next item  `Enter`"
    at.text_input(key="find").input("number 1").run()
    assert "Matching: <b>1</b>. Hidden by filters: 3." in words(at)
    assert "number 0" not in words(at)
    assert at.button(key="review-next").label == "Review first item  `Enter`"
    at.text_input(key="find").input("no such words").run()
    assert "The search and the filters hide all items (4)." in words(at)
    at.button(key="show-all").click().run()
    assert "number 0" in words(at)


def test_grouped_by_run_the_items_beyond_the_budget_name_their_run(open_page, words, kettles, tmp_path):
    ingest.import_file(write_log(tmp_path / "pots.jsonl", purchase(9, wrong=True)), "pots", "auto", lambda _: None)
    batch.detect("pots", ["rules"])
    drawn = words(open_page("inbox", grouped="true"))
    assert "<h2>pots</h2>" in drawn
    assert "kettles · trial 0" in drawn.partition('class="ia-unread"')[2]
    assert "kettles · trial 0" not in drawn.partition('class="ia-unread"')[0]


def test_a_filter_that_the_address_names_wrongly_is_not_counted(open_page, kettles):
    for address, label in (("nonsense", "Filters"), ("Claimed by you", "Filters (1 on)")):
        at = open_page("inbox", only=address)
        assert label in [one.proto.popover.label for one in at.get("popover")]


@pytest.mark.at_length
def test_items_of_a_stopped_run_are_not_offered_and_the_pages_say_so(open_page, words, kettles):
    review = open_page("review", role="reviewer")
    with writing() as session:
        runs.get(session, "kettles").kind = RunKind.LIVE
        maintenance.set_stopped(session, runs.get(session, "kettles"), True, now_ms())
    assert "A decision takes effect when the run continues." in words(review.run())
    at = open_page("inbox")
    assert "Agents of stopped runs have pending items: 3. The items return when the runs continue." in words(at)
    assert "number 1" not in words(at)
    other = open_page("review")
    assert "The agents are stopped. Their items return when the run continues." in words(other)
    with writing() as session:
        maintenance.set_stopped(session, runs.get(session, "kettles"), False, now_ms())
    assert "number 1" in words(at.run())


@pytest.mark.at_length
def test_a_claim_that_has_expired_counts_as_pending_without_a_worker(open_page, words, kettles):
    at = open_page("inbox")
    assert "<b>3</b> pending" in words(at)
    with reading() as session:
        run_id = runs.get(session, "kettles").id
    own = {"run_id": run_id, "trial": 0, "reviewer": "Bea"}
    claim = review_queue().claim(**own, now_ms=now_ms(), lease_ms=60_000)
    assert "<b>2</b> pending" in words(at.run())
    with writing() as session:
        lapses = update(tables.Slot).where(tables.Slot.token == claim.token)
        session.exec(lapses.values(lease_until_ms=now_ms() - 1))
    assert "<b>3</b> pending" in words(at.run())


def test_an_item_whose_agent_no_longer_waits_leaves_the_list_without_a_worker(open_page, words, data_dir):
    for order, timeout_s in ((1, 600), (2, 0.05)):
        gate = Gate("support", "full-validation", undo_s=0, timeout_s=timeout_s)
        call = {"name": "refund", "arguments": {"order": order}}
        gate.ask(f"Refund order {order}.", [], call, task_id=f"{order}")
    time.sleep(0.1)
    said = words(open_page("inbox", role="reviewer"))
    assert "Refund order 1." in said
    assert "Refund order 2." not in said
    assert "<b>1</b> pending" in said


def test_an_empty_list_says_why_and_what_to_do(open_page, words, kettles, tmp_path):
    log = write_log(tmp_path / "later.jsonl", purchase(8, wrong=True))
    ingest.import_file(log, "unjudged", "auto", lambda _: None)
    at = open_page("inbox", run="unjudged")
    assert "“Judge this run” on the Runs page" in words(at)
    assert "No action has needed a review so far." in words(open_page("inbox", run="unjudged", role="reviewer"))
    assert at.button(key="elsewhere").label == "Review other runs (3)"
    with writing() as session:
        session.execute(update(tables.Item).where(tables.Item.id > 1).values(open_slots=0))
    at.run()
    assert at.button(key="elsewhere").label == "Review other runs (1)"
    with writing() as session:
        session.execute(update(tables.Item).values(open_slots=1))
    at.button(key="elsewhere").click().run()
    assert "<b>3</b> pending" in words(at)
    with reading() as session:
        waiting = list_pending_items(session, [runs.get(session, "kettles")], "Ada")
    review_queue().cancel(item_ids=[row.item.id for row in [*waiting.offered, *waiting.unread]], now_ms=now_ms())
    said = words(open_page("inbox", run="kettles"))
    assert "The items without a decision expired or were withdrawn." in said
    assert "has a decision" not in said


def test_an_address_that_names_no_item_says_so(open_page, words, kettles):
    for made_up in ("999", "9" * 30, "<b>x</b>"):
        at = open_page("inbox")
        at.query_params["item"] = made_up
        at.switch_page("console/web/pages/review.py").run()
        assert "Cannot open item" in words(at)
        assert "<b>x</b>" not in words(at)
        at.button(key="review-on").click().run()
        assert "ia-task" in words(at)


@pytest.mark.at_length
def test_several_items_are_assigned_at_once_and_undone(open_page, words, kettles):
    signed_in("Ben", "reviewer")
    at = open_page("inbox", run="kettles")
    at.checkbox(key="bulk-all").check().run()
    at.selectbox(key="bulk-assignee").select("Ben").run()
    at.button(key="bulk-assign").click().run()
    assert "Items assigned: 3." in words(at)
    with reading() as session:
        assert set(access.list_assignees(session, [1, 2, 3, 4, 5, 6]).values()) == {"Ben"}
    at.button(key="bulk-undo").click().run()
    assert "Items restored: 3." in words(at)
    with reading() as session:
        assert access.list_assignees(session, [1, 2, 3, 4, 5, 6]) == {}


@pytest.mark.at_length
def test_a_reviewer_escalates_several_items_but_assigns_none(open_page, words, kettles):
    at = open_page("inbox", role="reviewer", run="kettles")
    assert not [button for button in at.button if button.key == "bulk-assign"]
    at.checkbox(key="bulk-all").check().run()
    at.button(key="bulk-escalate").click().run()
    assert "Items escalated: 3." in words(at)
    at.button(key="bulk-undo").click().run()
    with reading() as session:
        assert inbox.count_my_reviews(session, runs.get(session, "kettles"), "Ada")[0] == 0
        assert runs.budgets(session, runs.get(session, "kettles"))[0]["used"] == 0
    own = open_page("answers", role="reviewer", run="kettles")
    assert "Progress by run" not in words(own)


@pytest.mark.at_length
def test_a_reviewer_saves_a_filter_by_name_and_only_that_reviewer_selects_it_again(open_page, words, kettles):
    at = open_page("inbox", role="reviewer", run="kettles", find="number 1")
    at.selectbox(key="order").set_value("oldest").run()
    at.session_state["only"] = ["mine"]
    at.run()
    at.text_input(key="view-name").input("  my   own ").run()
    at.button(key="save-view").click().run()
    assert at.button(key="view-0").label == "my own"
    again = open_page("inbox", role=None)
    again.session_state["session"] = at.session_state["session"]
    again.run()
    assert "<b>3</b> pending" in words(again)
    again.button(key="view-0").click().run()
    assert "The search and the filters hide all items (4)." in words(again)
    assert again.query_params["run"] == "kettles"
    shown = again.text_input(key="find").value, again.selectbox(key="order").value, again.session_state["only"]
    assert shown == ("number 1", "oldest", ["mine"])
    of_another = open_page("inbox", role=None)
    of_another.session_state["session"] = signed_in("Ben", "reviewer")
    assert not [button for button in of_another.run().button if button.key == "view-0"]
    again.button(key="drop-view-0").click().run()
    assert not [button for button in again.button if button.key == "view-0"]


@pytest.mark.at_length
def test_a_view_without_a_name_is_refused_and_the_present_one_is_replaced(open_page, words, kettles):
    at = open_page("inbox", run="kettles")
    at.button(key="save-view").click().run()
    assert "Enter a name of at most 40 characters" in words(at)
    for text in ("number 0", "number 1"):
        at.text_input(key="find").input(text).run()
        at.text_input(key="view-name").input("one").run()
        at.button(key="save-view").click().run()
    with reading() as session:
        assert inbox.list_views(session, "Ada") == {"one": {"run": ["kettles"], "find": ["number 1"]}}


def test_the_order_of_the_list_is_explained_while_the_most_urgent_items_are_first(open_page, kettles, words):
    told = "The priority of an item can differ from its score."
    at = open_page("inbox")
    assert told in words(at)
    at.selectbox(key="order").set_value("newest").run()
    assert told not in words(at)


def test_the_address_of_a_rating_shows_the_way_to_the_rating_and_not_all_runs(open_page, words, kettles):
    with writing() as session:
        run = runs.get(session, "kettles")
        run.options = '{"rates_answers": true}'
        session.add(run)
    at = open_page("inbox", run="kettles")
    assert [title.value for title in at.title] == ["Inbox"]
    assert "This run has answers to rate" in words(at)
    assert [link.proto.label for link in at.get("page_link")] == ["Rate answers"]
    assert not at.selectbox
