"""The worker frees, advances and sends what is due, and stops when it is told to."""

import base64
import os
import signal
import time
from pathlib import Path

import pytest
from sqlmodel import select

from console import runs
from console.cli import run_command
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.review import decisions
from console.review.decisions import ReviewDecision
from console.runs import ingest, workers
from console.runs.workers import lock_run
from console.settings import settings
from console.trials import start
from console.trials.engine import resume
from console.trials.replay import start_replay
from storage.tables import AllowedCheck, Ask, Decision, Item, Trajectory
from tests.forking import Forked
from tests.logs import purchase, write_log
from tests.sweeps import sweep

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def replay(tmp_path):
    """A replay run of one task, wrong in trial 0 and right in trial 1, that waits for a reviewer."""
    records = [purchase(0, wrong=True), purchase(0, wrong=False, trial=1)]
    ingest.import_file(write_log(tmp_path / "two.jsonl", *records), "log", "auto", lambda _: None)
    start_replay("again", "log", "rules", undo_ms=0)
    return "again"


@pytest.fixture
def answered():
    """A function that answers the next item of a run."""

    def answer(run_name, decision="reject", text="too dear"):
        queue = review_queue()
        with reading() as session:
            run = runs.get(session, run_name)
            claim = decisions.claim_next_item(queue, session, run, "rita", now_ms())
            return decisions.submit(queue, run, claim, "rita", ReviewDecision(decision, text), now_ms())

    return answer


class Worker:
    """A running `inferact worker`."""

    def __init__(self, data, log):
        env = {name: value for name, value in os.environ.items() if not name.startswith("INFERACT_")}
        env |= {"INFERACT_DATA_DIR": str(data), "PYTHONPATH": str(ROOT)}
        self._log = log
        self._process = Forked(["worker", "--every", "0.2"], cwd=data.parent, env=env, output=log)
        self.kill, self.send_signal = self._process.kill, self._process.send_signal
        await_that(lambda: self.said().startswith("Working. Stop with Ctrl+C.\n"))

    def said(self):
        """What it has printed so far."""
        return self._log.read_text() if self._log.exists() else ""

    def wait(self):
        """Its exit code, once it has ended."""
        return self._process.wait(timeout=60)


@pytest.fixture
def start_worker(data_dir):
    """A function that starts `inferact worker`."""
    started = []

    def begin():
        started.append(Worker(data_dir, data_dir.parent / f"worker-{len(started)}.log"))
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        one.wait()


@pytest.fixture
def worker(start_worker):
    """A running `inferact worker`."""
    return start_worker()


def listed():
    with reading() as session:
        return workers.list_workers(session, now_ms())


def await_that(is_so):
    until = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)


def trials_of(run_name):
    with reading() as session:
        run = runs.get(session, run_name)
        return sorted(session.exec(select(Trajectory.trial).where(Trajectory.run_id == run.id)))


def test_one_round_advances_a_run_whose_decisions_are_due(replay, answered, capsys):
    answered(replay)
    assert run_command(["worker", "--once"]) == 0
    assert "again: 1 decision delivered, 1 task got its next trial" in capsys.readouterr().out
    assert trials_of(replay) == [0, 1]


def test_the_line_of_a_round_names_what_can_still_be_taken_back(tmp_path, answered, capsys):
    records = [purchase(number, wrong=True) for number in range(2)]
    ingest.import_file(write_log(tmp_path / "two.jsonl", *records), "log", "auto", lambda _: None)
    start_replay("slow", "log", "rules", undo_ms=60_000)
    answered("slow")
    # The claim of the second item settles the first answer.
    answered("slow")
    assert run_command(["worker", "--once"]) == 0
    line = capsys.readouterr().out
    assert line.startswith("slow: 1 decision delivered")
    assert "1 decision can still be undone; it is delivered at " in line


def test_a_round_with_nothing_to_do_says_nothing(replay, capsys):
    assert run_command(["worker", "--once"]) == 0
    assert capsys.readouterr().out == ""
    assert trials_of(replay) == [0]


def test_a_lapsed_claim_is_free_again(replay, capsys):
    queue = review_queue()
    with reading() as session:
        run = runs.get(session, replay)
        queue.claim(run_id=run.id, trial=0, reviewer="rita", now_ms=now_ms() - 10_000, lease_ms=1_000)
    run_command(["worker", "--once"])
    assert "1 claim expired and returned to the queue." in capsys.readouterr().out
    with reading() as session:
        assert session.exec(select(Item)).one().status == "pending"


def test_a_run_that_another_process_works_on_is_left_alone(answered, capsys, caplog):
    start.start_run(
        "shop", {"hotpotqa": 2}, actor_name="scripted", detector_name="full-validation", trials=2, undo_ms=0
    )
    resume("shop")
    answered("shop", "reject", "Look again.")
    with reading() as session:
        run = runs.get(session, "shop")
    with lock_run(run):
        assert run_command(["worker", "--once"]) == 0
    assert "Another process is working on" in caplog.text
    assert run_command(["worker", "--once"]) == 0
    assert "shop: 1 decision delivered" in capsys.readouterr().out


def test_an_item_whose_agent_went_away_expires(capsys):
    gate = Gate("bot", "full-validation")
    gate.ask("buy", [], "buy[1]", task_id="t")
    with writing() as session:
        ask = session.exec(select(Ask)).one()
        ask.heartbeat_ms = 0
        session.add(ask)
    run_command(["worker", "--once"])
    assert "bot: 1 item expired" in capsys.readouterr().out
    with reading() as session:
        assert session.exec(select(Item)).one().status == "expired"


@sweep("number", [signal.SIGTERM, signal.SIGINT], kept=1)
def test_it_works_until_it_is_told_to_stop(replay, answered, worker, number):
    answered(replay)
    await_that(lambda: "again: 1 decision delivered" in worker.said())
    worker.send_signal(number)
    assert worker.wait() == 0
    assert "Traceback" not in worker.said()
    assert trials_of(replay) == [0, 1]


@pytest.mark.at_length
def test_a_worker_is_listed_and_ends_after_it_is_drained(replay, answered, worker, capsys):
    answered(replay)
    await_that(lambda: [one.jobs_done for one in listed()] == [1])
    assert listed()[0].status == "working"
    assert run_command(["worker", "drain"]) == 0
    assert "1 worker will end" in capsys.readouterr().out
    assert worker.wait() == 0
    assert run_command(["worker", "list"]) == 0
    assert "stopped" in capsys.readouterr().out


def test_two_workers_share_the_runs_and_one_continues_when_the_other_is_killed(tmp_path, answered, start_worker):
    records = [purchase(0, wrong=True), purchase(0, wrong=False, trial=1)]
    ingest.import_file(write_log(tmp_path / "two.jsonl", *records), "log", "auto", lambda _: None)
    names = [f"again-{number}" for number in range(6)]
    for name in names:
        start_replay(name, "log", "rules", undo_ms=0)
    one, other = start_worker(), start_worker()
    for name in names[:3]:
        answered(name)
    await_that(lambda: all(trials_of(name) == [0, 1] for name in names[:3]))
    one.kill()
    for name in names[3:]:
        answered(name)
    await_that(lambda: all(trials_of(name) == [0, 1] for name in names))
    other.send_signal(signal.SIGTERM)
    assert other.wait() == 0
    said = one.said() + other.said()
    assert [said.count(f"{name}: 1 decision delivered") <= 1 for name in names] == [True] * 6
    with reading() as session:
        assert len(session.exec(select(Decision.id).where(Decision.delivered_ms == None)).all()) == 0  # noqa: E711


def test_a_replay_that_another_process_continues_is_left_alone(replay, answered, caplog):
    answered(replay)
    with reading() as session:
        run = runs.get(session, replay)
    with lock_run(run):
        assert run_command(["worker", "--once"]) == 0
    assert "Another process is working on" in caplog.text
    assert trials_of(replay) == [0]


def test_a_webhook_that_cannot_be_used_stops_it_at_once(monkeypatch, capsys):
    monkeypatch.setenv("INFERACT_WEBHOOK_URL", "http://127.0.0.1/")
    monkeypatch.setenv("INFERACT_WEBHOOK_SECRET", base64.b64encode(b"x").decode())
    settings.cache_clear()
    started = time.monotonic()
    assert run_command(["worker"]) == 2
    assert time.monotonic() - started < 5
    assert "too short" in capsys.readouterr().err


def test_allowed_checks_are_kept_for_the_days_of_the_setting(replay, monkeypatch):
    monkeypatch.setenv("INFERACT_KEEP_ALLOWED_DAYS", "30")
    settings.cache_clear()
    day_ms, said = 86_400_000, {"tool": "look", "action_digest": "d", "rule": "rule 1", "agent": "bot"}
    with writing() as session:
        run_id = runs.get(session, replay).id
        for days in (31, 29):
            session.add(AllowedCheck(run_id=run_id, policy_version=1, at_ms=now_ms() - days * day_ms, **said))
    assert run_command(["worker", "--once"]) == 0
    with reading() as session:
        assert session.exec(select(AllowedCheck.id)).all() == [2]
