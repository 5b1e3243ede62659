"""An agent asks over HTTP, a person decides in another process, the agent hears it and reports the result."""

import csv
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlmodel import select

from console import runs
from console.cli import run_command
from console.database import database_url, now_ms, reading, review_queue, writing
from console.review import decisions
from console.runs import maintenance, trajectory_list
from storage import tables
from storage.backup import backup, restore
from tests.serving import new_agent


def test_a_callers_patterns_and_a_new_run_name_open_nothing(api, question):
    said = api.post("/checks", json=question(critical=["never"]))
    assert (said.status_code, said.json()["status"]) == (202, "waiting")


def test_what_the_policy_allows_may_run_at_once_and_is_only_counted(api, question, let_run):
    said = api.post("/checks", json=question(run=let_run()))
    assert said.status_code == 200
    document = said.json()
    assert (document["check_id"], document["status"]) == (None, "decided")
    assert document["decision"]["approved"] is True
    assert document["decision"]["reason"] == "not_critical"


@pytest.mark.parametrize("tool", ["get_a.drop_database", "mcp__find_shop__refund_order"])
def test_a_namespace_with_an_allowed_name_lets_no_other_tool_run(api, question, let_run, tool):
    run = let_run("lookups", "rules: [{tool: [get_*, find_*], then: allow}]")
    allowed = api.post("/checks", json=question(run=run, action={"name": "mcp__shop__get_order", "arguments": {}}))
    assert allowed.json()["decision"]["reason"] == "not_critical"
    said = api.post("/checks", json=question(run=run, action={"name": tool, "arguments": {}}))
    assert (said.status_code, said.json()["status"]) == (202, "waiting")


def test_what_the_detector_does_not_flag_may_run_at_once_and_its_result_is_kept(api, question, let_run):
    action = {"name": "buy", "arguments": {"item": "green kettle", "amount": 20}}
    run = let_run("judged", "default: judge", detector="random", threshold=1.0)
    steps = [{"action": "find[kettle]", "observation": "a green kettle, 20 dollars"}]
    task = "Buy a green kettle for 20 dollars."
    asked = question(run=run, task=task, detector="random", threshold=1.0, steps=steps, action=action)
    document = api.post("/checks", json=asked).json()
    assert document["decision"]["approved"] is True
    assert document["decision"]["reason"] == "not_flagged"
    assert document["decision"]["call"] == {"name": "buy", "arguments": asked["action"]["arguments"]}
    check_id = document["check_id"]
    assert api.post(f"/checks/{check_id}/begin").status_code == 200
    first = api.post(f"/checks/{check_id}/result", json={"observation": "bought"})
    again = api.post(f"/checks/{check_id}/result", json={"observation": "bought twice?"})
    assert (first.status_code, first.json()) == (200, {"check_id": check_id, "recorded": True})
    assert (again.status_code, again.json()) == (200, {"check_id": check_id, "recorded": False})
    with reading() as session:
        record = trajectory_list.load(session, trajectory_of(session, check_id))
    assert record.steps[-1].observation == "bought"


def test_an_unflagged_action_of_an_unnamed_task_is_said_to_have_begun(api, question, let_run):
    run = let_run("judged", "default: judge", detector="random", threshold=1.0)
    steps = [{"action": "find[kettle]", "observation": "a green kettle, 20 dollars"}]
    action = {"name": "buy", "arguments": {"item": "green kettle", "amount": 20}}
    task = "Buy a green kettle for 20 dollars."
    asked = question(run=run, task=task, task_id=None, detector="random", threshold=1.0, steps=steps, action=action)
    check_id = api.post("/checks", json=asked).json()["check_id"]
    assert api.get(f"/checks/{check_id}").json()["decision"]["approved"] is True
    assert api.post(f"/checks/{check_id}/begin").status_code == 200
    decision = api.get(f"/checks/{check_id}").json()["decision"]
    assert (decision["approved"], decision["reason"]) == (False, "already_handed_out")


def test_a_decision_made_in_another_process_arrives_within_a_second(api, question, decide):
    asked = question()
    said = api.post("/checks", json=asked)
    assert (said.status_code, said.json()["status"]) == (202, "waiting")
    check_id = said.json()["check_id"]
    assert api.get(f"/checks/{check_id}").status_code == 202
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: (api.get(f"/checks/{check_id}?wait=30"), time.monotonic()))
        time.sleep(0.5)
        decide(asked["run"], "approve")
        decided = time.monotonic()
        answered, heard = waiting.result(timeout=20)
    assert heard - decided < 1.0
    assert answered.status_code == 200
    decision = answered.json()["decision"]
    assert (decision["approved"], decision["reason"]) == (True, "approved")
    assert decision["action"] == 'buy({"amount":90,"item":"red kettle"})'


def trajectory_of(session, check_id):
    return session.exec(select(tables.Ask.trajectory_id).where(tables.Ask.token == check_id)).one()


def test_a_go_ahead_begins_once_and_its_result_is_recorded_once(api, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    decide(asked["run"], "approve")
    fetched = [api.get(f"/checks/{check_id}?wait=5").json() for _ in range(3)] + [
        api.post("/checks", json=asked).json()
    ]
    assert [one["decision"]["approved"] for one in fetched] == [True] * 4
    early = api.post(f"/checks/{check_id}/result", json={"observation": "done"})
    assert early.status_code == 409
    assert f"/api/v1/checks/{check_id}/begin" in early.json()["error"]
    begun = api.post(f"/checks/{check_id}/begin")
    assert begun.status_code == 200
    assert begun.json() == fetched[0]
    replayed = api.post(f"/checks/{check_id}/begin")
    assert replayed.status_code == 409
    assert "already begun" in replayed.json()["error"]
    for said in (api.get(f"/checks/{check_id}"), api.post("/checks", json=asked)):
        assert said.status_code == 200
        assert said.json()["check_id"] == check_id
        assert said.json()["decision"]["approved"] is False
        assert said.json()["decision"]["reason"] == "already_handed_out"
    results = [api.post(f"/checks/{check_id}/result", json={"observation": "done"}).json() for _ in range(2)]
    assert [one["recorded"] for one in results] == [True, False]
    with reading() as session:
        of_this = select(tables.Intent).where(tables.Intent.trajectory_id == trajectory_of(session, check_id))
        intents = session.exec(of_this).all()
    assert len(intents) == 1
    assert intents[0].finished_ms is not None


def test_an_approval_of_before_a_restore_is_gone(api, question, decide, tmp_path):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    decide(asked["run"], "approve")
    assert api.get(f"/checks/{check_id}?wait=5").json()["decision"]["approved"]
    restore(database_url(), backup(database_url(), tmp_path / "copy.db"), keep_access=True)
    begun = api.post(f"/checks/{check_id}/begin")
    assert (begun.status_code, "restored from a backup" in begun.json()["error"]) == (410, True)
    decision = api.get(f"/checks/{check_id}").json()["decision"]
    assert (decision["approved"], decision["reason"]) == (False, "void")
    assert api.post("/checks", json=asked).status_code == 202


def test_an_approval_of_a_stopped_run_does_not_begin(api, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    decide(asked["run"], "approve")
    assert api.get(f"/checks/{check_id}?wait=5").json()["decision"]["approved"]
    with writing() as session:
        maintenance.set_stopped(session, runs.get(session, asked["run"]), True, now_ms())
    begun = api.post(f"/checks/{check_id}/begin")
    assert (begun.status_code, begun.json()["error"]) == (
        403,
        "An operator stopped the run, so its agents may not act. Stop, and submit the check again only when told to.",
    )
    with reading() as session:
        of_this = select(tables.Intent).where(tables.Intent.trajectory_id == trajectory_of(session, check_id))
        assert session.exec(of_this).all() == []


@pytest.mark.at_length
def test_all_that_wait_hear_of_the_go_ahead_and_only_one_begins(api, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(api.get, f"/checks/{check_id}?wait=20") for _ in range(8)]
        time.sleep(0.3)
        decide(asked["run"], "approve")
        answers = [one.result(timeout=30).json()["decision"] for one in waiting]
        begun = list(pool.map(lambda _: api.post(f"/checks/{check_id}/begin").status_code, range(8)))
    assert [answer["approved"] for answer in answers] == [True] * 8
    assert sorted(begun) == [200] + [409] * 7


@pytest.mark.at_length
def test_an_agent_that_hangs_up_does_not_lose_its_go_ahead(api, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    with pytest.raises(httpx.ReadTimeout):
        api.get(f"/checks/{check_id}?wait=30", timeout=0.5)
    time.sleep(0.3)
    decide(asked["run"], "approve")
    time.sleep(1.0)
    assert api.head(f"/checks/{check_id}").status_code == 405
    assert api.get(f"/checks/{check_id}").json()["decision"]["approved"] is True


@pytest.mark.at_length
def test_a_check_stays_the_same_when_the_server_starts_anew(serve, question, decide):
    asked = question()
    before = serve()
    check_id = before.client.post("/checks", json=asked).json()["check_id"]
    before.process.kill()
    before.process.wait()
    edited = 'buy({"item":"green kettle","amount":90})'
    decide(asked["run"], "edit", "", edited)
    after = serve()
    after.client.headers = before.client.headers
    decision = after.client.get(f"/checks/{check_id}?wait=5").json()["decision"]
    assert (decision["approved"], decision["edited"], decision["action"]) == (True, True, edited)


def test_the_same_question_asked_again_is_the_same_check(api, question):
    asked = question()
    first, second = (api.post("/checks", json=asked).json() for _ in range(2))
    other = api.post("/checks", json=asked | {"action": "buy[blue kettle]"}).json()
    assert (first["check_id"], first["status"]) == (second["check_id"], second["status"])
    assert 0 < second["seconds_left"] <= first["seconds_left"] <= 1_800
    assert other["check_id"] != first["check_id"]


@pytest.mark.parametrize(
    ("decision", "text", "edited", "reason", "approved", "action"),
    [
        ("reject", "It is red; green was asked for.", None, "rejected", False, "buy[red]"),
        ("respond", "Ask the user which size.", None, "responded", False, "buy[red]"),
        ("edit", "", "buy[green]", "edited", True, "buy[green]"),
    ],
)
def test_the_reviewers_words_and_actions_reach_the_agent(
    api, question, decide, decision, text, edited, reason, approved, action
):
    asked = question(action="buy[red]")
    check_id = api.post("/checks", json=asked).json()["check_id"]
    decide(asked["run"], decision, text, edited, label="misaligned" if decision == "respond" else None)
    found = api.get(f"/checks/{check_id}?wait=5").json()["decision"]
    assert (found["reason"], found["approved"], found["action"]) == (reason, approved, action)
    assert found["edited"] is (reason == "edited")
    assert text in found["feedback"]


def test_without_a_go_ahead_there_is_no_result_to_report(api, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    waiting = api.post(f"/checks/{check_id}/result", json={})
    assert waiting.status_code == 409
    assert "no approval" in waiting.json()["error"]
    decide(asked["run"], "reject", "no")
    api.get(f"/checks/{check_id}?wait=5")
    assert api.post(f"/checks/{check_id}/result", json={}).status_code == 409


def test_a_check_can_be_taken_back(api, question):
    check_id = api.post("/checks", json=question()).json()["check_id"]
    taken = api.delete(f"/checks/{check_id}")
    assert taken.status_code == 200
    assert taken.json()["decision"]["reason"] == "cancelled"
    assert api.get(f"/checks/{check_id}").json()["decision"]["approved"] is False


def test_a_check_that_nobody_answers_in_time_is_a_no(api, question):
    check_id = api.post("/checks", json=question(timeout_s=0.4)).json()["check_id"]
    decision = api.get(f"/checks/{check_id}?wait=10").json()["decision"]
    assert (decision["approved"], decision["reason"]) == (False, "timeout")


def test_waiting_blocks_nobody_else(api, question, let_run):
    let_run("easy too")
    check_id = api.post("/checks", json=question()).json()["check_id"]
    with ThreadPoolExecutor(40) as pool:
        waiting = [pool.submit(api.get, f"/checks/{check_id}?wait=3") for _ in range(40)]
        time.sleep(0.3)
        started = time.monotonic()
        assert api.get("/health").status_code == 200
        assert api.post("/checks", json=question(run="easy too")).status_code == 200
        took = time.monotonic() - started
        assert {one.result(timeout=30).status_code for one in waiting} == {202}
    assert took < 2.0


@pytest.mark.parametrize("check_id", ["1-1", "1", "nonsense", "0" * 32, "A" * 32, "٣" * 32, "9" * 400])
def test_a_check_that_is_not_there_is_a_404(api, check_id):
    for said in (
        api.post(f"/checks/{check_id}/begin"),
        api.get(f"/checks/{check_id}"),
        api.delete(f"/checks/{check_id}"),
        api.post(f"/checks/{check_id}/result", json={}),
    ):
        assert said.status_code == 404
        assert said.json()["error"].startswith("No check with id")


def test_a_stranger_with_the_check_s_id_neither_sees_takes_nor_cancels_it(api, stranger, admin, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    for other in (stranger, admin):
        assert all_refused(other, check_id)
    decide(asked["run"], "approve")
    for other in (stranger, admin):
        assert all_refused(other, check_id)
    assert api.get(f"/checks/{check_id}?wait=5").json()["decision"]["approved"] is True
    assert api.post(f"/checks/{check_id}/begin").status_code == 200


def all_refused(client, check_id):
    answers = (
        client.get(f"/checks/{check_id}?wait=1"),
        client.delete(f"/checks/{check_id}"),
        client.post(f"/checks/{check_id}/begin"),
        client.post(f"/checks/{check_id}/result", json={}),
    )
    return {answer.status_code for answer in answers} == {404}


def test_a_stranger_that_asks_the_very_same_asks_something_else(api, stranger, question, decide):
    asked = question()
    mine, theirs = (client.post("/checks", json=asked).json()["check_id"] for client in (api, stranger))
    assert mine != theirs
    decide(asked["run"], "approve")
    assert api.get(f"/checks/{mine}?wait=5").json()["decision"]["approved"] is True
    assert stranger.get(f"/checks/{theirs}").status_code == 202


def test_a_lost_reply_is_fetched_again(api, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    decide(asked["run"], "approve")
    time.sleep(0.1)
    with api.stream("GET", f"/checks/{check_id}") as lost:
        assert lost.status_code == 200
    for _ in range(2):
        assert api.get(f"/checks/{check_id}").json()["decision"]["approved"] is True
        assert api.post("/checks", json=asked).json()["decision"]["approved"] is True
    assert api.post(f"/checks/{check_id}/begin").status_code == 200


def test_a_late_reviewer_lets_nothing_run(api, question):
    asked = question(timeout_s=1.0)
    check_id = api.post("/checks", json=asked).json()["check_id"]
    with reading() as session:
        run = runs.get(session, asked["run"])
        claim = decisions.claim_next_item(review_queue(), session, run, "rita", now_ms())
    time.sleep(1.05)
    decisions.submit(review_queue(), run, claim, "rita", decisions.ReviewDecision("approve"), now_ms())
    decision = api.get(f"/checks/{check_id}").json()["decision"]
    assert (decision["approved"], decision["reason"]) == (False, "timeout")
    assert api.post(f"/checks/{check_id}/begin").status_code == 409


def test_an_agent_that_waits_is_dead_after_a_minute_and_one_that_comes_back_is_not(api, question):
    asked = question()
    waited, comes_back = (api.post("/checks", json=asked | {"action": name}).json()["check_id"] for name in ("a", "b"))
    api.get(f"/checks/{waited}?wait=0.1")
    api.get(f"/checks/{comes_back}")
    with reading() as session:
        run_id = runs.get(session, asked["run"]).id
    assert review_queue().expire_overdue(run_id=run_id, now_ms=now_ms() + 61_000) == 1
    assert api.get(f"/checks/{waited}").json()["decision"]["reason"] == "timeout"
    assert api.get(f"/checks/{comes_back}").status_code == 202


@pytest.mark.parametrize("wait", ["-1", "61", "soon", "nan", "inf"])
def test_a_wait_that_makes_no_sense_is_refused(api, question, wait):
    check_id = api.post("/checks", json=question()).json()["check_id"]
    said = api.get(f"/checks/{check_id}?wait={wait}")
    assert said.status_code == 422
    assert "wait is" in said.json()["error"]


def test_what_a_check_makes_is_recorded_as_the_agent_s(shared, api, module_data, question, tmp_path):
    with shared.client_with(new_agent(module_data, "shopper")) as client:
        assert client.post("/checks", json=question(run="shopped")).status_code == 202
    out = tmp_path / "events.csv"
    assert run_command(["export", "events", "--run", "shopped", "--out", str(out)]) == 0
    made = next(csv.DictReader(out.read_text().splitlines()))
    assert (made["kind"], made["actor"], made["door"], made["where"]) == ("run created", "shopper", "api", "127.0.0.1")
