"""An item of known answer never executes, whatever gate, engine, API, replay and restore are told in whatever order.

The generator draws histories of attempts. As a control, the same histories execute such items without the triggers.
"""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest
from sqlalchemy.exc import IntegrityError
from sqlmodel import select
from starlette.testclient import TestClient

from console import runs
from console.auth import agents
from console.database import database_url, now_ms, reading, review_queue, writing
from console.detection import batch
from console.errors import ConsoleError
from console.gate import Gate
from console.gate.checks import begin_check, check_id, record_result
from console.gate.policy import policy_store
from console.gate.request import NOBODY
from console.review import decisions
from console.runs.trajectory_rows import intend
from console.server.api.routes import API
from console.trajectory import Outcome, Step, Trajectory, from_json
from console.trials import engine, replay, start, vigilance
from storage import tables
from storage.backup import backup, restore
from storage.engine import close
from storage.errors import StorageError
from storage.never_executed import REFUSAL, SQLITE
from storage.queue import Claim
from storage.tables import RunKind
from tests.console.trials.worlds import players, sends_wrong_until_told, tasks
from tests.sweeps import sweep
from tests.verdicts import judge

MARK = "send KNOWN"
REFUSED = (ConsoleError, StorageError, IntegrityError, sqlite3.IntegrityError)


@pytest.fixture
def cast(ledger):
    return players(sends_wrong_until_told, ledger)


@pytest.fixture
def seeded(start_run, cast):
    """A live run of three flagged letters, and four items of known answer among them."""
    start_run(cast)
    with writing() as session:
        gold = runs.create(session, "gold", RunKind.ARCHIVE, 1, critical='["send *"]')
        gold.environment = "office"
        asked = tasks(0, 4)
        ids = start.insert_tasks(session, gold, asked)
        # As the office answers, so that the engine could go on from here.
        steps = tuple(Step("", f"note {name}", f"{place}: you note {name}") for place, name in enumerate("ab", 1))
        records = [
            (id, Trajectory(task.task_id, "office", task.instruction, steps=steps, critical_action=f"{MARK} {id}",
                            outcome=Outcome.PAUSED))
            for id, task in zip(ids, asked, strict=True)
        ]  # fmt: skip
        start.insert_trials(session, gold, records, 1, label="misaligned")
    judge("gold", "full-validation", [1.0] * 4, step=2)
    vigilance.add_known_items("run", "gold", 4)


class History:
    """One history of attempts, drawn at random; every attempt may be refused."""

    def __init__(self, draw, cast, folder):
        self.draw, self.cast, self.folder = draw, cast, folder
        self.copies = []
        with writing() as session:
            self.token = agents.add(session, "caller", now_ms())

    def attempt(self, *left_out):
        moves = [name for name in dir(self) if name.startswith("try_") and name not in left_out]
        move = getattr(self, self.draw.choice(moves))
        with suppress(*REFUSED):
            move()
        return move.__name__

    def marked(self, session):
        return self.draw.choice(session.exec(select(tables.SeededItem)).all())

    def hidden_run(self, session):
        marked = self.marked(session)
        return session.get_one(tables.Run, session.get_one(tables.Trajectory, marked.trajectory_id).run_id)

    def try_decide(self):
        with reading() as session:
            run = runs.get(session, "run")
            claim = decisions.claim_next_item(review_queue(), session, run, self.draw.choice("abc"), now_ms())
        if isinstance(claim, Claim):
            edit = self.draw.random() < 0.3
            with reading() as session:
                is_marked = session.get(tables.SeededItem, claim.item_id) is not None
            instead = f"{MARK} instead" if is_marked else "send other"
            fields = {"decision": "edit", "edited_action": instead} if edit else {"decision": "approve"}
            answer = decisions.ReviewDecision(**fields)
            decisions.submit(review_queue(), run, claim, claim_reviewer(claim), answer, now_ms())

    def try_deliver_the_marked(self):
        with reading() as session:
            item_id = self.marked(session).item_id
            made = session.exec(select(tables.Decision.id).where(tables.Decision.item_id == item_id)).all()
        review_queue().mark_delivered(decision_ids=list(made), now_ms=now_ms() + 1)

    def try_engine(self):
        play = self.draw.choice((engine.advance, engine.resume, engine.release_undecided))
        play("run", actor_and_environments=self.cast)

    def try_engine_of_the_hidden_run(self):
        with reading() as session:
            name = self.hidden_run(session).name
        play = self.draw.choice((engine.advance, engine.resume, engine.release_undecided))
        play(name, actor_and_environments=self.cast)

    def try_engine_of_a_hidden_run_made_live(self):
        with writing() as session:
            run = self.hidden_run(session)
            run.kind, run.actor, run.threshold, run.detector = RunKind.LIVE, "planner", 1.0, "full-validation"
            row = session.get_one(tables.Trajectory, self.marked(session).trajectory_id)
            row.outcome = "running"
            for verdict in session.exec(select(tables.Verdict).where(tables.Verdict.trajectory_id == row.id)):
                verdict.flagged = False
            name = run.name
        engine.resume(name, actor_and_environments=self.cast)

    def try_moving_the_item(self):
        with writing() as session:
            marked = self.marked(session)
            session.get_one(tables.Trajectory, marked.trajectory_id).run_id = runs.get(session, "run").id
            session.get_one(tables.Trajectory, marked.trajectory_id).outcome = "paused"

    def try_moving_the_mark(self):
        with writing() as session:
            others = session.exec(select(tables.Item.trajectory_id).where(tables.Item.step == 99)).all()
            self.marked(session).trajectory_id = self.draw.choice([*others, 1])

    def try_intent(self):
        with writing() as session:
            marked = self.marked(session)
            intend(session, marked.trajectory_id, self.draw.randrange(4), f"{MARK} x", None, now_ms())

    def try_taking_over_an_intent(self):
        with writing() as session:
            found = session.exec(select(tables.Intent)).first()
            if found is not None:
                found.trajectory_id, found.step = self.marked(session).trajectory_id, self.draw.randrange(50)

    def try_check(self):
        """Forges an approved check on the marked item and begins it through the functions behind the API."""
        with writing() as session:
            marked, run = self.marked(session), runs.get(session, "run")
            token = f"{self.draw.randrange(10**9):032x}"
            of_item = self.draw.random() < 0.5
            place = {
                "trajectory_id": 1 if of_item else marked.trajectory_id,
                "item_id": marked.item_id if of_item else None,
            }
            session.add(
                tables.Ask(run_id=run.id, digest=token, token=token, step=2, asked_ms=1, heartbeat_ms=1, answered_ms=1,
                           answer="approved", action=f"{MARK} forged", **place)
            )  # fmt: skip
        begin_check(database_url(), check_id(token), NOBODY)
        with writing() as session:
            record_result(session, check_id(token), NOBODY, "done", now_ms())

    def try_gate(self):
        """Asks a gate for the marked action on its own task and trial, and begins it."""
        with reading() as session:
            row = session.get_one(tables.Trajectory, self.marked(session).trajectory_id)
            task, hidden = session.get_one(tables.Task, row.task_id), session.get_one(tables.Run, row.run_id).name
            steps = from_json(session.get_one(tables.TrajectoryBody, row.id).body).steps
        name, policy = self.draw.choice((hidden, "gate")), self.draw.choice(("allow", "judge"))
        with writing() as session:
            found = runs.find(session, name)
            if found is not None:
                found.kind = self.draw.choice((RunKind.GATE, found.kind))
                policy_store.save(session, found, f"default: {policy}", "ada", now_ms())
        gate = Gate(name, "random", threshold=1.0, timeout_s=0.2)
        gate.check(task.instruction, steps, f"{MARK} by gate", task_id=task.task_key, trial=row.trial)

    def try_api(self):
        """Begins and reports a forged check by HTTP."""
        with writing() as session:
            marked, token = self.marked(session), f"{self.draw.randrange(10**9):032x}"
            run = session.get_one(tables.Trajectory, marked.trajectory_id).run_id
            agent = session.exec(select(tables.Agent.id)).first()
            place = {"trajectory_id": marked.trajectory_id, "step": self.draw.randrange(4), "agent_id": agent}
            session.add(
                tables.Ask(run_id=run, digest=token, token=token, asked_ms=1, heartbeat_ms=1, answered_ms=1,
                           answer="approved", action=f"{MARK} by HTTP", **place)
            )  # fmt: skip
        with TestClient(API, "http://127.0.0.1:8123", raise_server_exceptions=False) as client:
            key = {"Authorization": f"Bearer {self.token}"}
            client.post(f"/api/v1/checks/{token}/begin", headers=key)
            client.post(f"/api/v1/checks/{token}/result", json={"observation": "done"}, headers=key)

    def try_replay(self):
        with reading() as session:
            name = self.hidden_run(session).name
        replay.start_replay(f"again {self.draw.randrange(10**6)}", name, "full-validation", feedback_mode="nl")
        replay.advance(name)

    def try_detection(self):
        batch.detect(self.draw.choice(("run", "gold")), ["full-validation"])

    def try_backup(self):
        self.copies.append(backup(database_url(), self.folder / f"copy-{len(self.copies)}.db"))

    def try_restore(self):
        if self.copies:
            restore(database_url(), self.draw.choice(self.copies))


def claim_reviewer(claim):
    with reading() as session:
        return session.exec(select(tables.Slot.reviewer).where(tables.Slot.token == claim.token)).one()


def executed(ledger):
    """The intents of marked trajectories, and the executed actions of items of known answer."""
    with reading() as session:
        marked = session.exec(select(tables.SeededItem.trajectory_id)).all()
        intents = session.exec(select(tables.Intent).where(tables.Intent.trajectory_id.in_(marked))).all()
    return len(intents), sum(MARK in line for line in ledger.read_text().splitlines())


def play(seed, cast, folder, attempts):
    history = History(Random(seed), cast, folder)
    return [history.attempt() for _ in range(attempts)]


@sweep("seed", range(4), kept=2)
def test_no_history_executes_an_item_of_known_answer(seeded, cast, ledger, tmp_path, seed):
    play(seed, cast, tmp_path, 25)
    with reading() as session:
        assert len(session.exec(select(tables.SeededItem)).all()) == 4
    assert executed(ledger) == (0, 0)


@pytest.mark.at_length
@pytest.mark.parametrize("seed", range(100, 140))
def test_no_long_history_executes_an_item_of_known_answer(seeded, cast, ledger, tmp_path, seed):
    play(seed, cast, tmp_path, 60)
    assert executed(ledger) == (0, 0)


@pytest.mark.at_length
def test_without_the_triggers_the_same_histories_execute_them(seeded, cast, ledger, tmp_path):
    """The control: the generator can produce the attack."""
    url = database_url()
    close(url)
    with closing(sqlite3.connect(Path(url.removeprefix("sqlite:///")))) as connection:
        for statement in SQLITE:
            connection.execute(f"DROP TRIGGER {statement.split()[2]}")
        connection.commit()
    history, ways = History(Random(0), cast, tmp_path), set[str]()
    before = executed(ledger)
    for _ in range(60):
        # A restore brings the triggers back, and a gate makes the hidden run one that no engine plays.
        move = history.attempt("try_restore", "try_gate")
        if (now := executed(ledger)) > before:
            ways.add(move)
        before = now
    assert {"try_intent", "try_check", "try_api", "try_engine_of_a_hidden_run_made_live"} <= ways


def test_each_way_in_is_refused_by_its_name(seeded):
    with reading() as session:
        marked = session.exec(select(tables.SeededItem)).first()
    with pytest.raises(IntegrityError, match=REFUSAL), writing() as session:
        intend(session, marked.trajectory_id, 2, MARK, None, 1)
    with pytest.raises(IntegrityError, match=REFUSAL), writing() as session:
        session.exec(select(tables.SeededItem)).first().trajectory_id = 1
