"""An agent asks over HTTP, a person decides in another process, the agent hears it and reports the result."""

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlmodel import select

from console.database import reading
from console.runs import trajectory_list
from storage import tables


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


def test_what_the_detector_does_not_flag_may_run_at_once_and_its_result_is_kept(api, question):
    asked = question(detector="random", threshold=1.0)
    document = api.post("/checks", json=asked).json()
    assert document["decision"]["approved"] is True
    assert document["decision"]["reason"] == "not_flagged"
    assert document["decision"]["call"] == {"name": "buy", "arguments": asked["action"]["arguments"]}
    check_id = document["check_id"]
    first = api.post(f"/checks/{check_id}/result", json={"observation": "bought"})
    again = api.post(f"/checks/{check_id}/result", json={"observation": "bought twice?"})
    assert (first.status_code, first.json()) == (200, {"check_id": check_id, "recorded": True})
    assert (again.status_code, again.json()) == (200, {"check_id": check_id, "recorded": False})
    with reading() as session:
        record = trajectory_list.load(session, int(check_id.split("-")[0]))
    assert record.steps[-1].observation == "bought"


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


def test_a_go_ahead_is_given_once_and_its_result_recorded_once(api, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    decide(asked["run"], "approve")
    assert api.get(f"/checks/{check_id}?wait=5").json()["decision"]["approved"] is True
    for said in (api.get(f"/checks/{check_id}"), api.post("/checks", json=asked)):
        assert said.status_code == 200
        assert said.json()["check_id"] == check_id
        assert said.json()["decision"]["approved"] is False
        assert said.json()["decision"]["reason"] == "already_handed_out"
    results = [api.post(f"/checks/{check_id}/result", json={"observation": "done"}).json() for _ in range(2)]
    assert [one["recorded"] for one in results] == [True, False]
    with reading() as session:
        of_this = select(tables.Intent).where(tables.Intent.trajectory_id == int(check_id.split("-")[0]))
        intents = session.exec(of_this).all()
    assert len(intents) == 1
    assert intents[0].finished_ms is not None


def test_only_one_of_many_that_wait_gets_the_go_ahead(api, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(api.get, f"/checks/{check_id}?wait=20") for _ in range(8)]
        time.sleep(0.3)
        decide(asked["run"], "approve")
        answers = [one.result(timeout=30).json()["decision"] for one in waiting]
    assert sorted(answer["approved"] for answer in answers) == [False] * 7 + [True]


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


def test_a_check_stays_the_same_when_the_server_starts_anew(serve, question, decide):
    asked = question()
    before = serve()
    check_id = before.client.post("/checks", json=asked).json()["check_id"]
    before.process.kill()
    before.process.wait()
    decide(asked["run"], "edit", "", "buy[green]")
    after = serve()
    decision = after.client.get(f"/checks/{check_id}?wait=5").json()["decision"]
    assert (decision["approved"], decision["action"]) == (True, "buy[green]")


def test_the_same_question_asked_again_is_the_same_check(api, question):
    asked = question()
    first, second = (api.post("/checks", json=asked).json() for _ in range(2))
    other = api.post("/checks", json=asked | {"action": "buy[blue kettle]"}).json()
    assert first == second
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
    assert text in found["feedback"]


def test_without_a_go_ahead_there_is_no_result_to_report(api, question, decide):
    asked = question()
    check_id = api.post("/checks", json=asked).json()["check_id"]
    waiting = api.post(f"/checks/{check_id}/result", json={})
    assert waiting.status_code == 409
    assert "no go-ahead" in waiting.json()["error"]
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


@pytest.mark.parametrize("check_id", ["0-0", "999999-3", "nonsense", "1-", "-1-1", "1-2-3", "٣-١", "9" * 40 + "-1"])
def test_a_check_that_is_not_there_is_a_404(api, check_id):
    for said in (
        api.get(f"/checks/{check_id}"),
        api.delete(f"/checks/{check_id}"),
        api.post(f"/checks/{check_id}/result", json={}),
    ):
        assert said.status_code == 404
        assert said.json()["error"].startswith("No check named")


@pytest.mark.parametrize("wait", ["-1", "61", "soon", "nan", "inf"])
def test_a_wait_that_makes_no_sense_is_refused(api, question, wait):
    check_id = api.post("/checks", json=question()).json()["check_id"]
    said = api.get(f"/checks/{check_id}?wait={wait}")
    assert said.status_code == 422
    assert "wait is" in said.json()["error"]
