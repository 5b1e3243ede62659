"""The same three lines over HTTP: a gate that asks a served console with an agent's token."""

import asyncio
import threading
import time

import pytest
from sqlmodel import select

from console.database import reading
from console.errors import BadInput
from console.gate import Gate, Reason
from storage.tables import Intent, Item
from tests.serving import free_port, new_agent

TASK, STEPS = "Pay the March bill only.", [("look", "two bills")]


@pytest.fixture
def gate(shared, api, module_data):
    """A function that makes a gate on the shared server, as an agent of its own."""

    def make(run, **more):
        token = new_agent(module_data, f"agent of {run}")
        usual = {"detector": "full-validation", "undo_s": 0, "url": shared.url, "token": token}
        return Gate(run, **(usual | more))

    return make


@pytest.fixture
def soon(decide):
    """A function that answers the next item of a run as soon as it is there."""
    threads = []

    def work(run, *answer):
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                decide(run, *answer)
            except Exception:
                time.sleep(0.05)
            else:
                return

    def start(run, *answer):
        threads.append(threading.Thread(target=work, args=(run, *answer)))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join(30)


def rows(table):
    with reading() as session:
        found = list(session.exec(select(table)))
        session.expunge_all()
    return found


def test_approved_action_runs_once_and_its_result_is_kept(gate, soon):
    asking = gate("served")
    soon("served", "approve")
    decision = asking.check(TASK, STEPS, "pay[1]", task_id="march")
    assert (decision.approved, decision.reason, decision.action) == (True, Reason.APPROVED, "pay[1]")
    asking.done(decision, "paid")
    assert [intent.finished_ms is not None for intent in rows(Intent) if intent.action == "pay[1]"] == [True]
    again = asking.check(TASK, STEPS, "pay[1]", task_id="march")
    assert (again.approved, again.reason) == (False, Reason.ALREADY_HANDED_OUT)


def test_words_of_a_rejection_arrive_also_where_nothing_blocks(gate, soon):
    soon("awaited", "reject", "That is April.")
    decision = asyncio.run(gate("awaited").acheck(TASK, STEPS, {"name": "pay", "arguments": {"bill": 2}}))
    assert (decision.approved, decision.reason, decision.feedback) == (False, Reason.REJECTED, "That is April.")


def test_action_that_is_not_flagged_begins_at_once(gate, let_run):
    let_run("calm", "default: judge", detector="random", threshold=1.0)
    decision = gate("calm", detector="random", threshold=1.0).check(TASK, STEPS, "pay[calm]", task_id="march")
    assert (decision.approved, decision.reason) == (True, Reason.NOT_FLAGGED)
    assert len([intent for intent in rows(Intent) if intent.action == "pay[calm]"]) == 1


def test_nobody_in_time_is_a_no(gate):
    decision = gate("late", timeout_s=0.3).check(TASK, STEPS, "pay[1]")
    assert (decision.approved, decision.reason) == (False, Reason.TIMEOUT)


def test_cancelled_question_leaves_the_queue(gate):
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    decision = gate("cancelled").check(TASK, STEPS, "pay[1]", cancel=cancel)
    assert (decision.approved, decision.reason) == (False, Reason.CANCELLED)


def test_cancelled_task_takes_its_check_back(gate):
    async def agent():
        asked = asyncio.create_task(gate("left").acheck(TASK, STEPS, "pay[left]"))
        await asyncio.sleep(1.0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    before = len(rows(Item))
    asyncio.run(agent())
    assert [item.status for item in rows(Item)[before:]] == ["cancelled"]


def test_wrong_token_lets_nothing_run_and_says_why(gate):
    decision = gate("wrong", token="not-a-token").check(TASK, STEPS, "pay[1]")
    assert (decision.approved, decision.reason) == (False, Reason.UNREACHABLE)
    assert "inferact agent add" in decision.feedback


def test_console_that_is_not_there_lets_nothing_run(monkeypatch):
    monkeypatch.setattr("console.gate.http_client._GRACE_S", 0.5)
    away = Gate("bot", url=f"http://127.0.0.1:{free_port()}", token="t", timeout_s=0.1, undo_s=0)
    assert (away.check(TASK, STEPS, "pay[1]").reason) is Reason.UNREACHABLE
    assert (asyncio.run(away.acheck(TASK, STEPS, "pay[1]")).approved) is False


def test_question_goes_on_where_the_console_was_away(serve, decide, data_dir):
    first = serve()
    token = first.client.headers["authorization"].removeprefix("Bearer ")
    asked = Gate("bot", "full-validation", undo_s=0, url=first.url, token=token)
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(asked.check(TASK, STEPS, "pay[1]", task_id="march")))
    waiting.start()
    while not rows(Item):
        time.sleep(0.05)
    port = first.url.rsplit(":", 1)[1]
    first.stop()
    decide("bot", "approve")
    serve(port=int(port))
    waiting.join(30)
    assert [(answer.approved, answer.reason) for answer in answers] == [(True, Reason.APPROVED)]
    assert len(rows(Item)) == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"url": "http://127.0.0.1:1"}, "inferact agent add"), ({"token": "t"}, "served console")],
)
def test_address_and_token_go_together(settings, said):
    with pytest.raises(BadInput, match=said):
        Gate("bot", **settings)
