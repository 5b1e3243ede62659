"""Waiting: nobody comes, nobody can, nobody wants the answer any more, or several have to agree."""

import asyncio
import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, make_url

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection.detectors import DETECTORS, Detector, Verdict
from console.errors import Refused
from console.gate import Gate, Reason, checks
from console.gate.checks import Wait, find_news
from console.gate.request import NOBODY
from console.review import decisions
from console.runs import audit_trail, maintenance
from console.runs.audit_trail import AuditFilter
from storage import tables
from storage.errors import StorageError
from storage.queue.values import DEAD_MS
from tests.postgres import BOTH_AT_LENGTH

pytestmark = BOTH_AT_LENGTH

TASK, STEPS = "Pay the March bill only.", [("look", "two bills")]


def broken(_checkpoint, _seed):
    raise RuntimeError("no connection to the model")


@pytest.fixture
def broken_detector(monkeypatch):
    """The name of a detector that always fails."""
    monkeypatch.setitem(DETECTORS, "broken", Detector("broken", "", broken))
    return "broken"


def details(stored, kind):
    return [json.loads(event.detail) for event in stored(tables.Event) if event.kind == kind]


def events(stored):
    return [event.kind for event in stored(tables.Event) if event.kind not in ("run created", "policy set")]


def test_timeout_rejects_and_the_item_expires(make_gate, items, stored, url):
    decision = make_gate().check(TASK, STEPS, "pay[1]", timeout_s=0.05)
    assert (decision.approved, decision.reason) == (False, Reason.TIMEOUT)
    assert decision.feedback == "No one decided in time."
    assert items() == ["expired"]
    assert stored(tables.Intent) == []
    assert events(stored) == ["gate: timeout"]
    assert details(stored, "gate: timeout") == [{"item_id": 1, "let run": False, "action": "pay[1]"}]
    with reading(url) as session:
        (told,) = audit_trail.list_entries(session, AuditFilter(kind="gate: timeout"))
    assert audit_trail.entry_sentence(told) == (
        "The check of item 1 of “shop-bot” expired without a decision in time, from Python."
    )


def test_question_that_nobody_answered_may_be_asked_anew(make_gate, person, meanwhile, items):
    gate = make_gate(timeout_s=0.05)
    gate.check(TASK, STEPS, "pay[1]", task_id="march")
    gate.check(TASK, STEPS, "pay[1]", task_id="march")
    meanwhile(person().answer, "approve")
    assert gate.check(TASK, STEPS, "pay[1]", task_id="march", timeout_s=20).reason is Reason.APPROVED
    assert items() == ["expired", "expired", "delivered"]


def test_spent_budget_rejects_at_once(make_gate, items):
    decision = make_gate(budget=0).check(TASK, STEPS, "pay[1]")
    assert (decision.approved, decision.reason) == (False, Reason.BUDGET_SPENT)
    assert items() == ["cancelled"]


def test_last_unit_decides_its_item_and_the_other_is_given_up(make_gate, person, items):
    async def both():
        gate = make_gate(budget=1)
        asked = [asyncio.create_task(gate.acheck(TASK, STEPS, f"pay[{number}]")) for number in (1, 2)]
        await asyncio.to_thread(person().answer, "approve")
        return [(await one).reason for one in asked]

    assert sorted(asyncio.run(both())) == [Reason.APPROVED, Reason.BUDGET_SPENT]
    assert sorted(items()) == ["cancelled", "delivered"]


def test_unit_of_a_reviewer_who_went_away_comes_back(make_gate, person, url):
    gate = make_gate(budget=1)
    gate.ask(TASK, STEPS, "pay[1]")
    _, claim = person("gone").claim()
    other = gate.ask(TASK, STEPS, "pay[2]")
    review_queue(url).extend(
        item_id=claim.item_id, reviewer="gone", token=claim.token, now_ms=claim.claimed_ms, lease_ms=1
    )
    assert other.look() is None
    assert review_queue(url).budget(run_id=1, trial=0).used == 0


def test_cancelled_question_leaves_the_queue_and_may_be_asked_anew(make_gate, person, meanwhile, items):
    gate, cancel = make_gate(), threading.Event()
    threading.Timer(0.1, cancel.set).start()
    decision = gate.check(TASK, STEPS, "pay[1]", cancel=cancel)
    assert (decision.approved, decision.reason) == (False, Reason.CANCELLED)
    meanwhile(person().answer, "approve")
    assert gate.check(TASK, STEPS, "pay[1]").reason is Reason.APPROVED
    assert items() == ["cancelled", "delivered"]


def test_item_that_the_console_withdraws_comes_back_as_cancelled(make_gate, person, url, meanwhile):
    def withdraw():
        _, claim = person().claim()
        review_queue(url).cancel(item_ids=[claim.item_id], now_ms=now_ms())

    meanwhile(withdraw)
    assert make_gate().check(TASK, STEPS, "pay[1]").reason is Reason.CANCELLED


def set_stopped(url, stopped, run="shop-bot"):
    with writing(url) as session:
        return maintenance.set_stopped(session, runs.get(session, run), stopped, now_ms())


def test_agents_of_a_stopped_run_are_told_and_nothing_of_theirs_begins(make_gate, person, url, items, stored):
    gate = make_gate()
    kept, waiting = gate.ask(TASK, STEPS, "pay[1]"), gate.ask(TASK, STEPS, "pay[2]")
    person().answer("approve")
    approved = kept.look()
    assert approved.approved
    assert set_stopped(url, True) == 1
    for told in (waiting.look(), gate.begin(approved), gate.check(TASK, STEPS, "look"), gate.check(TASK, [], "pay[3]")):
        assert (told.approved, told.reason) == (False, Reason.CANCELLED)
        assert told.feedback.startswith("An operator stopped the run, so its agents may not act.")
    assert stored(tables.Intent) == []
    assert items() == ["delivered", "cancelled"]
    assert set_stopped(url, True) == 0
    assert set_stopped(url, False) == 0
    assert events(stored) == ["run stopped", "run continued"]
    assert isinstance(gate.ask(TASK, STEPS, "pay[2]"), Wait)
    assert items() == ["delivered", "cancelled", "pending"]


def test_a_run_with_agents_tasks_is_deleted_once_it_is_stopped(make_gate, person, url, stored):
    gate = make_gate()
    begun = gate.ask(TASK, STEPS, "pay[1]", task_id="a")
    person().answer("approve")
    assert gate.begin(begun.look()).approved
    left = gate.ask(TASK, STEPS, "pay[2]", task_id="b")
    with pytest.raises(Refused, match="Stop the run first: inferact run stop shop-bot"), writing(url) as session:
        maintenance.delete_run(session, runs.get(session, "shop-bot"), now_ms())
    set_stopped(url, True)
    with writing(url) as session:
        maintenance.delete_run(session, runs.get(session, "shop-bot"), now_ms())
    assert (left.look().reason, stored(tables.Ask), stored(tables.Run)) == (Reason.VOID, [], [])


def test_an_unflagged_action_that_has_not_begun_does_not_begin_after_a_stop(make_gate, url):
    gate = make_gate(detector="rules", threshold=1.0)
    passed = gate.ask(TASK, STEPS, "pay[1]")
    assert passed.reason is Reason.NOT_FLAGGED
    set_stopped(url, True)
    assert gate.begin(passed).reason is Reason.CANCELLED
    again = checks.open_wait(url, checks.CheckId(passed.check_id), NOBODY, beats=False)
    assert (again.approved, again.reason) == (False, Reason.CANCELLED)


def test_a_check_stored_while_its_run_is_stopped_does_not_begin(make_gate, url):
    passed = make_gate(detector="rules", threshold=1.0).ask(TASK, STEPS, "pay[1]")
    with writing(url) as session:
        run = runs.get(session, "shop-bot")
        run.options = replace(runs.run_options(run), stopped=True).to_json()
        session.add(run)
    told = make_gate(detector="rules", threshold=1.0).begin(passed)
    assert (told.approved, told.reason) == (False, Reason.CANCELLED)
    assert told.feedback.startswith("An operator stopped the run")


def test_broken_detector_asks_a_person_and_says_why(make_gate, person, meanwhile, broken_detector, stored):
    meanwhile(person().answer, "approve")
    decision = make_gate(detector=broken_detector).check(TASK, STEPS, "pay[1]")
    assert (decision.reason, decision.score) == (Reason.APPROVED, 1.0)
    assert "no connection to the model" in stored(tables.Verdict)[0].rationale
    assert events(stored) == ["detector failed"]
    (verdict,) = stored(tables.Verdict)
    assert details(stored, "detector failed") == [{"trajectory_id": 1, "reason": verdict.rationale}]


def test_broken_detector_lets_nothing_run_where_nobody_can_look(make_gate, broken_detector):
    careless = {"detector": broken_detector, "threshold": 1.0}
    late = make_gate(**careless, timeout_s=0.05).check(TASK, STEPS, "pay[1]")
    spent = make_gate(**careless, run="poor", budget=0).check(TASK, STEPS, "pay[1]")
    assert [(one.approved, one.reason) for one in (late, spent)] == [
        (False, Reason.TIMEOUT),
        (False, Reason.DETECTOR_FAILED),
    ]


@pytest.mark.parametrize(
    ("score", "is_broken"), [(float("nan"), True), (-0.01, True), (1.01, True), (0.0, False), (1.0, False)]
)
def test_score_that_is_none_counts_as_a_broken_detector(make_gate, monkeypatch, items, stored, score, is_broken):
    monkeypatch.setitem(DETECTORS, "dizzy", Detector("dizzy", "", lambda *_: Verdict(score)))
    decision = make_gate(detector="dizzy").check(TASK, STEPS, "pay[1]", timeout_s=0)
    assert (decision.approved, items()) == ((True, []) if score == 0.0 else (False, ["expired"]))
    (verdict,) = stored(tables.Verdict)
    assert ("The detector failed" in verdict.rationale) is is_broken


@pytest.mark.parametrize(
    ("second", "reason"),
    [("approve", Reason.APPROVED), ("reject", Reason.REJECTED)],
)
def test_all_required_reviewers_have_to_approve(make_gate, person, meanwhile, second, reason):
    def two_people():
        person("ann").answer("approve", "fine with me")
        person("bob").answer(second, "look at the date")

    meanwhile(two_people)
    decision = make_gate(reviews_per_item=2).check(TASK, STEPS, "pay[1]")
    assert (decision.approved, decision.reason) == (reason is Reason.APPROVED, reason)
    assert decision.feedback == "fine with me\nlook at the date"


def test_two_reviewers_who_want_different_actions_run_none(make_gate, person, meanwhile):
    def two_people():
        person("ann").answer("edit", edited_action="pay[3]")
        person("bob").answer("edit", edited_action="pay[4]")

    meanwhile(two_people)
    assert not make_gate(reviews_per_item=2).check(TASK, STEPS, "pay[1]").approved


def test_event_loop_goes_on_while_an_agent_waits(make_gate, person, meanwhile):
    async def agent():
        asked = asyncio.create_task(make_gate(poll_s=0.05).acheck(TASK, STEPS, "pay[1]"))
        turns = 0
        while not asked.done():
            await asyncio.sleep(0.005)
            turns += 1
            if turns == 20:
                meanwhile(person().answer, "approve")
        return turns, await asked

    turns, decision = asyncio.run(agent())
    assert decision.approved
    assert turns >= 20


@pytest.mark.parametrize("is_awaited", [True, False], ids=["awaited", "event loop ends at once"])
def test_cancelled_task_takes_its_item_out_of_the_queue(make_gate, person, items, is_awaited):
    async def agent():
        asked = asyncio.create_task(make_gate().acheck(TASK, STEPS, "pay[1]"))
        await asyncio.to_thread(person().claim)
        asked.cancel()
        if is_awaited:
            with pytest.raises(asyncio.CancelledError):
                await asked
        else:
            await asyncio.sleep(0)

    asyncio.run(agent())
    assert items() == ["cancelled"]


def test_task_that_is_cancelled_while_its_detector_thinks_leaves_nothing_behind(make_gate, monkeypatch, items):
    thinks, may_end = threading.Event(), threading.Event()

    def slow(_checkpoint, _seed):
        thinks.set()
        may_end.wait(10)
        return Verdict(1.0)

    monkeypatch.setitem(DETECTORS, "slow", Detector("slow", "", slow))

    async def agent():
        asked = asyncio.create_task(make_gate(detector="slow").acheck(TASK, STEPS, "pay[1]"))
        await asyncio.to_thread(thinks.wait, 10)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        may_end.set()

    asyncio.run(agent())
    assert items() == ["cancelled"]


def test_agent_that_comes_back_finds_its_own_item(make_gate, person, meanwhile, stored):
    gone = threading.Event()
    meanwhile(make_gate().check, TASK, STEPS, "pay[1]", task_id="march", cancel=gone)
    _, claim = person().claim()
    gate = make_gate()
    waiting = gate.ask(TASK, STEPS, "pay[1]", task_id="march", timeout_s=60)
    assert waiting.check.ask.item_id == claim.item_id
    assert len(stored(tables.Ask)) == 1
    gone.set()


def test_other_agent_with_the_same_question_keeps_its_item(make_gate, person, items):
    gate = make_gate()
    patient = gate.ask(TASK, STEPS, "pay[1]", task_id="march")
    hasty = gate.ask(TASK, STEPS, "pay[1]", task_id="march", timeout_s=0)
    assert hasty.look().reason is Reason.TIMEOUT
    assert items() == ["pending"]
    person().answer("approve")
    allowed = [one.look() for one in (patient, hasty)]
    assert [one.reason for one in allowed] == [Reason.APPROVED, Reason.APPROVED]
    begun = [gate.begin(one) for one in allowed]
    assert [one.reason for one in begun] == [Reason.APPROVED, Reason.ALREADY_HANDED_OUT]
    assert [one.approved for one in begun] == [True, False]


def change_ask(url, **values):
    with writing(url) as session:
        ask = session.get_one(tables.Ask, 1)
        for name, value in values.items():
            setattr(ask, name, value)
        session.add(ask)


def test_item_of_an_agent_that_is_dead_leaves_the_queue_and_may_be_asked_anew(make_gate, url, items, stored):
    gate = make_gate()
    gate.ask(TASK, STEPS, "pay[1]", task_id="march")
    change_ask(url, heartbeat_ms=now_ms() - DEAD_MS - 1)
    gate.ask(TASK, STEPS, "pay[2]", task_id="april")
    assert items() == ["expired", "pending"]
    assert gate.ask(TASK, STEPS, "pay[1]", task_id="march").look() is None
    assert items() == ["expired", "pending", "pending"]


def test_item_that_a_reviewer_holds_stays_though_its_agent_is_dead(make_gate, url, items, person):
    gate = make_gate(budget=2)
    gate.ask(TASK, STEPS, "pay[1]", task_id="march")
    _, claim = person().claim()
    change_ask(url, heartbeat_ms=now_ms() - DEAD_MS - 1)
    assert review_queue(url).expire_overdue(run_id=1, now_ms=now_ms()) == 0
    review_queue(url).release(item_id=claim.item_id, reviewer="ann", token=claim.token, now_ms=now_ms())
    assert review_queue(url).expire_overdue(run_id=1, now_ms=now_ms()) == 1
    assert review_queue(url).budget(run_id=1, trial=0).used == 0


def test_agent_is_dead_after_a_minute_without_a_heartbeat(make_gate, url, items):
    make_gate().ask(TASK, STEPS, "pay[1]")
    last_ms = now_ms()
    change_ask(url, heartbeat_ms=last_ms)
    assert [review_queue(url).expire_overdue(run_id=1, now_ms=last_ms + silent) for silent in (60_000, 60_001)] == [
        0,
        1,
    ]
    assert items() == ["expired"]


@pytest.mark.parametrize("over", ["deadline_ms", "heartbeat_ms"])
def test_item_that_nobody_waits_for_is_not_offered(make_gate, url, items, person, over):
    gate = make_gate()
    gate.ask(TASK, STEPS, "pay[1]", task_id="march")
    change_ask(url, **{over: now_ms() - DEAD_MS - 1})
    gate.ask(TASK, STEPS, "pay[2]", task_id="april")
    change_ask(url, answer=None)
    _, claim = person().claim()
    assert claim.item_id == 2
    assert items() == ["expired", "claimed"]


@pytest.mark.parametrize("ahead", ["deadline_ms", "heartbeat_ms"])
def test_item_of_a_clock_that_stood_a_year_ahead_does_not_wait_for_ever(make_gate, url, items, ahead):
    make_gate().ask(TASK, STEPS, "pay[1]")
    change_ask(url, **{ahead: now_ms() + 365 * 24 * 3_600_000})
    assert review_queue(url).expire_overdue(run_id=1, now_ms=now_ms()) == 1
    assert items() == ["expired"]


def test_clock_that_is_set_back_keeps_no_agent_waiting(make_gate, url):
    waiting = make_gate().ask(TASK, STEPS, "pay[1]", timeout_s=0.05)
    waiting.deadline_ms += 365 * 24 * 3_600_000
    time.sleep(0.06)
    assert waiting.look().reason is Reason.TIMEOUT


def test_decision_after_the_deadline_is_recorded_and_lets_nothing_run(make_gate, url, person, stored):
    gate = make_gate()
    waiting = gate.ask(TASK, STEPS, "pay[1]", task_id="march", timeout_s=1.0)
    run, claim = person().claim()
    time.sleep(1.05)
    late = decisions.submit(
        review_queue(url), run, claim, "ann", decisions.ReviewDecision("approve", "go on"), now_ms()
    )
    answer = waiting.look()
    assert (answer.approved, answer.reason, answer.feedback) == (False, Reason.TIMEOUT, "go on")
    assert [row.id for row in stored(tables.Decision)] == [late.id]
    told = {"item_id": claim.item_id, "decided after the deadline": True, "let run": False}
    assert details(stored, "gate: timeout") == [told]
    assert stored(tables.Intent) == []
    assert not gate.begin(answer).approved
    assert isinstance(gate.ask(TASK, STEPS, "pay[1]", task_id="march"), Wait)


@pytest.mark.at_length
def test_reviewer_who_holds_the_item_at_its_deadline_may_finish_without_effect(make_gate, url, person, stored):
    gate = make_gate()
    waiting = gate.ask(TASK, STEPS, "pay[1]", task_id="march", timeout_s=1.0)
    run, claim = person().claim()
    time.sleep(1.05)
    assert waiting.look().reason is Reason.TIMEOUT
    decisions.submit(review_queue(url), run, claim, "ann", decisions.ReviewDecision("approve"), now_ms())
    assert waiting.look().reason is Reason.TIMEOUT
    assert len(stored(tables.Decision)) == 1


def test_asking_again_does_not_move_the_deadline(make_gate, stored):
    gate = make_gate()
    gate.ask(TASK, STEPS, "pay[1]", task_id="march", timeout_s=5)
    (first,) = stored(tables.Ask)
    assert gate.ask(TASK, STEPS, "pay[1]", task_id="march", timeout_s=1_000).deadline_ms == first.deadline_ms
    assert [ask.deadline_ms for ask in stored(tables.Ask)] == [first.deadline_ms]


@pytest.mark.parametrize(("asked", "waits_s"), [(None, 1_800), (7_200, 7_200), (60, 60)])
def test_person_has_half_an_hour_or_what_the_agent_says(make_gate, stored, asked, waits_s):
    make_gate(timeout_s=asked).ask(TASK, STEPS, "pay[1]")
    (ask,) = stored(tables.Ask)
    assert ask.deadline_ms - ask.asked_ms == waits_s * 1_000


def test_waiting_agent_shows_that_it_lives(make_gate, stored):
    gate = make_gate()
    waiting = gate.ask(TASK, STEPS, "pay[1]")
    (before,) = stored(tables.Ask)
    time.sleep(0.01)
    waiting.beaten_ms = 0
    assert waiting.look() is None
    (after,) = stored(tables.Ask)
    assert after.heartbeat_ms > before.heartbeat_ms
    assert after.beats


def test_waiting_agent_sends_its_heartbeat_once_in_two_seconds(make_gate, url, stored):
    waiting = make_gate().ask(TASK, STEPS, "pay[1]")
    waiting.beaten_ms = 0
    assert waiting.look() is None
    assert now_ms() - waiting.beaten_ms < 2_000
    change_ask(url, heartbeat_ms=1)
    assert waiting.look() is None
    assert [ask.heartbeat_ms for ask in stored(tables.Ask)] == [1]


def test_decision_about_another_action_runs_nothing(make_gate, person, url):
    gate = make_gate()
    waiting = gate.ask(TASK, STEPS, "pay[1]")
    person().answer("approve")
    with writing(url) as session:
        session.get_one(tables.Decision, 1).action_digest = "of something else"
    assert waiting.look().reason is Reason.REJECTED


class Interrupted:
    """A cancellation that is asked in the moment in which somebody presses Ctrl+C."""

    def is_set(self):
        raise KeyboardInterrupt


def test_interrupted_agent_takes_its_item_out_of_the_queue(make_gate, items):
    with pytest.raises(KeyboardInterrupt):
        make_gate().check(TASK, STEPS, "pay[1]", cancel=Interrupted())
    assert items() == ["cancelled"]


def test_database_that_is_away_is_asked_again_until_the_deadline(make_gate, url, person, caplog):
    if not url.startswith("sqlite"):
        pytest.skip("only a file can be put elsewhere")
    waiting = make_gate().ask(TASK, STEPS, "pay[1]", task_id="march")
    person().answer("approve")
    kept = Path(make_url(url).database)
    kept.rename(kept.with_suffix(".away"))
    assert waiting.look() is None
    assert "The gate could not reach its database" in caplog.text
    waiting.deadline_ms = now_ms()
    with pytest.raises(StorageError):
        waiting.look()


def test_what_was_delivered_lets_nothing_run_for_a_check_that_holds_no_answer(make_gate, url, person):
    waiting = make_gate().ask(TASK, STEPS, "pay[1]", task_id="march")
    person().answer("approve")
    given = waiting.look()
    with writing(url) as session:
        ask = session.get_one(tables.Ask, waiting.check.ask.id)
        ask.answer = ask.action = ask.decision_id = None
        session.add(ask)
    again = waiting.look()
    assert (again.approved, again.reason) == (False, Reason.ALREADY_HANDED_OUT)
    assert (again.action, again.decision_id) == ("pay[1]", given.decision_id)


class Counting:
    """A cancellation that never comes and counts how often it is asked for, which is once a look."""

    looks = 0

    def is_set(self):
        self.looks += 1
        return False


@pytest.mark.at_length
@pytest.mark.parametrize("check", [Gate.check, lambda gate, *what, **more: asyncio.run(gate.acheck(*what, **more))])
def test_waiting_agent_looks_once_a_poll_interval(make_gate, check):
    counting = Counting()
    decision = check(make_gate(poll_s=0.1), TASK, STEPS, "pay[1]", timeout_s=0.35, cancel=counting)
    assert decision.reason is Reason.TIMEOUT
    assert 1 <= counting.looks <= 5


def test_many_waits_are_looked_at_together_and_only_those_with_news_look(make_gate, person, url, stored):
    gate = make_gate()
    waits = [gate.ask(TASK, STEPS, f"pay[{n}]", task_id=str(n)) for n in range(4)]
    late = gate.ask(TASK, STEPS, "pay[4]", task_id="4", timeout_s=0)
    for wait in (*waits, late):
        wait.beaten_ms = 0
    change_ask(url, heartbeat_ms=1)
    assert find_news(url, [*waits, late]) == [late]
    assert min(ask.heartbeat_ms for ask in stored(tables.Ask)) > 1
    person().answer("approve")
    waits[3].withdraw()
    assert [wait.look() is not None for wait in waits] == [wait in find_news(url, waits) for wait in waits]
    assert sorted(waits.index(wait) for wait in find_news(url, waits)) == [0, 3]


def test_waits_without_news_and_without_a_heartbeat_that_is_due_write_nothing(make_gate, url):
    waits, commits = [make_gate().ask(TASK, STEPS, "pay[1]", task_id="1")], []

    def note(connection):
        commits.append(connection)

    event.listen(Engine, "commit", note)
    try:
        assert (find_news(url, waits), len(commits)) == ([], 0)
        waits[0].beaten_ms = 0
        assert (find_news(url, waits), len(commits)) == ([], 1)
    finally:
        event.remove(Engine, "commit", note)


def test_spent_budget_is_news_unless_the_item_is_claimed(make_gate, person, url):
    gate = make_gate(budget=1)
    waits = [gate.ask(TASK, STEPS, f"pay[{n}]", task_id=str(n)) for n in range(2)]
    person().claim()
    (news,) = find_news(url, waits)
    assert news is waits[1]
    assert news.look().reason is Reason.BUDGET_SPENT
