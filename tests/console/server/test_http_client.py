"""The same three lines over HTTP: a gate that asks a served console with an agent's token."""

import asyncio
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from inferact_client import CheckRefused, ClientError, Gate
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, writing
from console.errors import BadInput
from console.gate.policy import policy_store
from storage.tables import Intent, Item
from tests.serving import free_port, new_agent
from tests.sweeps import sweep

TASK, STEPS = "Pay the March bill only.", [("look", "two bills")]
PAUSE_S = 0.29


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
                answer[0]() if callable(answer[0]) else decide(run, *answer)
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
    assert (decision.approved, decision.reason, decision.action) == (True, "approved", "pay[1]")
    asking.done(decision, "paid")
    assert [intent.finished_ms is not None for intent in rows(Intent) if intent.action == "pay[1]"] == [True]
    again = asking.check(TASK, STEPS, "pay[1]", task_id="march")
    assert (again.approved, again.reason) == (False, "already_handed_out")


def test_words_of_a_rejection_arrive_also_where_nothing_blocks(gate, soon):
    soon("awaited", "reject", "That is April.")
    decision = asyncio.run(gate("awaited").acheck(TASK, STEPS, {"name": "pay", "arguments": {"bill": 2}}))
    assert (decision.approved, decision.reason, decision.feedback) == (False, "rejected", "That is April.")


def test_action_that_is_not_flagged_begins_at_once(gate, let_run):
    let_run("calm", "default: judge", detector="random", threshold=1.0)
    decision = gate("calm", detector="random", threshold=1.0).check(TASK, STEPS, "pay[calm]", task_id="march")
    assert (decision.approved, decision.reason) == (True, "not_flagged")
    assert len([intent for intent in rows(Intent) if intent.action == "pay[calm]"]) == 1


def test_schema_of_the_tool_goes_along_and_binds_the_edit(gate, soon, decide):
    schema = {"type": "object", "properties": {"bill": {"type": "integer", "maximum": 3}}}
    answers = []

    def edit():
        with pytest.raises(BadInput, match="does not match the schema of pay"):
            decide("schemed", "edit", edited='pay({"bill":4})')
        answers.append(decide("schemed", "edit", edited='pay({"bill":3})'))

    soon("schemed", edit)
    action = {"name": "pay", "arguments": {"bill": 2}}
    decision = gate("schemed").check(TASK, STEPS, action, tool_schema=schema)
    assert (decision.edited, decision.action, len(answers)) == (True, 'pay({"bill":3})', 1)


@pytest.mark.at_length
def test_agent_chooses_no_judge_where_a_common_policy_rules(serve, data_dir):
    server = serve()
    with writing() as session:
        policy_store.save(session, None, "default: judge", "ada", now_ms())
    token = new_agent(data_dir, "chooser")
    lax = {"detector": "random", "threshold": 1.0, "undo_s": 0.0, "url": server.url, "token": token}
    decision = Gate("fresh", **lax).check(TASK, STEPS, "look[1]", task_id="a", deadline_s=2)
    # What the detector that it names flags, by that one's own threshold, is asked about beside.
    assert decision.reason == "timeout"
    with reading() as session:
        run = runs.get(session, "fresh")
        assert (run.detector, run.threshold, run.undo_ms) == ("rules", None, 5_000)


def test_go_ahead_that_the_policy_took_back_does_not_begin(api, question, let_run):
    run = let_run("taken back", "default: judge", detector="random", threshold=1.0)
    action = {"name": "buy", "arguments": {"item": "green kettle", "amount": 20}}
    seen = [{"action": "find[kettle]", "observation": "a green kettle, 20 dollars"}]
    task = "Buy a green kettle for 20 dollars."
    sent = question(run=run, task=task, steps=seen, action=action, detector="random", threshold=1.0)
    check_id = api.post("checks", json=sent).json()["check_id"]
    with writing() as session:
        policy_store.save(session, runs.get(session, run), "default: deny", "ada", now_ms())
    refused = api.post(f"checks/{check_id}/begin")
    assert (refused.status_code, "Submit the action again" in refused.json()["error"]) == (403, True)


def test_nobody_in_time_is_a_no(gate):
    decision = gate("late", deadline_s=0.3).check(TASK, STEPS, "pay[1]")
    assert (decision.approved, decision.reason) == (False, "timeout")


def test_agent_leaves_in_its_time_and_comes_back_for_the_answer(gate, let_run, decide):
    let_run("patient", "rules: [{then: ask, deadline: 3d}]")
    asking = gate("patient")
    first = asking.check(TASK, STEPS, "pay[1]", task_id="march", deadline_s=1)
    assert (first.approved, first.reason) == (False, "timeout")
    decide("patient", "approve")
    again = asking.check(TASK, STEPS, "pay[1]", task_id="march", deadline_s=20)
    assert "Ask again" in first.message
    assert (again.approved, again.reason, again.check_id) == (True, "approved", first.check_id)


def test_cancelled_question_leaves_the_queue(gate):
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    decision = gate("cancelled").check(TASK, STEPS, "pay[1]", cancel=cancel)
    assert (decision.approved, decision.reason) == (False, "cancelled")


@pytest.mark.at_length
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
    assert (decision.approved, decision.reason) == (False, "refused")
    assert "inferact agent add" in decision.feedback


def test_console_that_is_not_there_lets_nothing_run():
    away = Gate("bot", url=f"http://127.0.0.1:{free_port()}", token="t", deadline_s=0.1, undo_s=0)
    assert (away.check(TASK, STEPS, "pay[1]").reason) == "unreachable"
    assert (asyncio.run(away.acheck(TASK, STEPS, "pay[1]")).approved) is False


@pytest.mark.at_length
def test_question_goes_on_where_the_console_was_away(serve, decide, data_dir):
    first = serve()
    token = first.client.headers["authorization"].removeprefix("Bearer ")
    asked = Gate("bot", detector="full-validation", undo_s=0, url=first.url, token=token)
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
    assert [(answer.approved, answer.reason) for answer in answers] == [(True, "approved")]
    assert len(rows(Item)) == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"url": "http://127.0.0.1:1"}, "inferact agent add"), ({"token": "t"}, "served console")],
)
def test_address_and_token_go_together(settings, said):
    with pytest.raises(ClientError, match=said):
        Gate("bot", **settings)


class Scripted(BaseHTTPRequestHandler):
    """A console that answers as the test says, and notes what it was asked."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(f"{self.command} {self.path.removeprefix('/api/v1/')}")
        status, document = self.server.answers.pop(0)
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.do_POST()

    def do_DELETE(self):
        self.do_POST()

    def log_message(self, *_):
        """Says nothing."""


@pytest.fixture
def scripted():
    """A function that makes a gate on a console that gives these answers, with the list of what it was asked."""
    servers = []

    def make(*answers):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
        server.answers, server.asked = list(answers), []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        url = f"http://127.0.0.1:{server.server_address[1]}"
        return Gate("bot", url=url, token="t", deadline_s=60, undo_s=0), server.asked

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


def decided(approved=True, reason="approved", check_id="c" * 32):
    said = {"approved": approved, "action": "pay[1]", "feedback": "", "reason": reason, "score": 0.5}
    return {"check_id": check_id, "status": "decided", "decision": said | {"item_id": 3, "decision_id": 4}}


WAITING = {"check_id": "c" * 32, "status": "waiting", "decision": None}


@pytest.mark.at_length
def test_what_no_console_says_is_asked_again_until_there_is_an_answer(scripted):
    lost = [(500, {"error": "broken"}), (502, b"<html>"), (200, b"[1]"), (503, {"error": "away"})]
    asking, asked = scripted(
        *lost, (202, WAITING), (503, {}), (202, WAITING), (200, decided()), (500, {}), (200, decided())
    )
    began = time.monotonic()
    decision = asking.check(TASK, STEPS, "pay[1]")
    assert time.monotonic() - began > 6 * PAUSE_S
    assert (decision.approved, decision.reason, decision.item_id, decision.decision_id, decision.score) == (
        True, "approved", 3, 4, 0.5,
    )  # fmt: skip
    look, begin = f"GET checks/{'c' * 32}?wait=20", f"POST checks/{'c' * 32}/begin"
    assert asked == ["POST checks"] * 5 + [look, "POST checks", look, begin, begin]


@pytest.mark.at_length
def test_console_that_is_away_is_left_in_peace_between_two_questions(scripted):
    asking, asked = scripted((503, {}), (200, decided(True, "not_critical", None)))
    began = time.monotonic()
    assert asyncio.run(asking.acheck(TASK, STEPS, "pay[1]")).approved
    assert time.monotonic() - began > PAUSE_S
    assert asked == ["POST checks"] * 2


@sweep(("status", "reason"), [(409, "already_handed_out"), (403, "denied"), (404, "refused"), (422, "refused")], kept=2)
def test_go_ahead_that_does_not_begin_lets_nothing_run_and_says_why(scripted, status, reason):
    asking, _ = scripted((200, decided()), (status, {"error": "Not now."}))
    decision = asking.check(TASK, STEPS, "pay[1]")
    assert (decision.approved, str(decision.reason), decision.feedback) == (False, reason, "Not now.")


@sweep("answer", [decided(False, "rejected"), decided(True, "not_critical", None)], kept=1)
def test_what_need_not_begin_is_asked_once(scripted, answer):
    asking, asked = scripted((200, answer))
    assert asking.check(TASK, STEPS, "pay[1]").approved is answer["decision"]["approved"]
    assert asked == ["POST checks"]


@sweep("said", ["yes", 1, None], kept=1)
def test_only_the_word_true_lets_an_action_run(scripted, said):
    asking, _ = scripted((200, decided(said)))
    assert asking.check(TASK, STEPS, "pay[1]").approved is False


def test_result_is_sent_until_it_is_heard_and_no_more(scripted):
    asking, asked = scripted((200, decided()), (200, decided()), (503, {}), (200, {}), (409, {"error": "Not begun."}))
    decision = asking.check(TASK, STEPS, "pay[1]")
    began = time.monotonic()
    asking.done(decision, "paid")
    assert time.monotonic() - began > PAUSE_S
    with pytest.raises(CheckRefused, match="Not begun"):
        asking.done(decision, "paid")
    assert asked[2:] == [f"POST checks/{'c' * 32}/result"] * 3


class Interrupted:
    """A cancellation that is asked in the moment in which somebody presses Ctrl+C."""

    def is_set(self):
        raise KeyboardInterrupt


@pytest.mark.at_length
def test_interrupted_agent_takes_its_check_back(scripted):
    asking, asked = scripted((202, WAITING), (202, WAITING), (200, {}))
    with pytest.raises(KeyboardInterrupt):
        asking.check(TASK, STEPS, "pay[1]", cancel=Interrupted())
    assert asked == ["POST checks", "POST checks", f"DELETE checks/{'c' * 32}"]


@pytest.mark.at_length
def test_event_loop_that_ends_at_any_moment_of_a_cancellation_takes_the_check_back(scripted):
    async def agent(asking, asked, turns):
        waiting = asyncio.create_task(asking.acheck(TASK, STEPS, "pay[1]"))
        while len(asked) < 2:
            await asyncio.sleep(0.01)
        waiting.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)

    for turns in range(6):
        asking, asked = scripted(*[(202, WAITING)] * 9)
        asyncio.run(agent(asking, asked, turns))
        assert asked[-1] == f"DELETE checks/{'c' * 32}", f"after {turns} turns: {asked}"


def test_go_ahead_whose_begin_nobody_hears_lets_nothing_run(scripted):
    asking, _ = scripted((200, decided()), *[(503, {})] * 50)
    decision = asking.check(TASK, STEPS, "pay[1]", deadline_s=1)
    assert (decision.approved, decision.reason, decision.action) == (False, "unreachable", "pay[1]")
    assert decision.feedback == "The console could not be reached before the action began, so it must not run."
