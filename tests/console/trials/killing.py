"""Kills a live run's process at random points and looks whether anything ran that may not, or ran twice, or was lost.

`python -m tests.console.trials.killing FOLDER --points N --seed S` prints what it found as JSON. Processes are forked,
so that a point costs no import; the parent opens the database only between two children.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import replace
from pathlib import Path

from sqlmodel import col, select

from console import runs
from console.database import database_url, now_ms, reading, review_queue
from console.review import decisions
from console.settings import settings
from console.trajectory.checkpoints import digest
from console.trials import engine, start
from storage import tables
from storage.check import check
from storage.engine import close
from storage.queue import Claim
from tests.console.trials.worlds import actor, office
from tests.console.trials.worlds import players as office_players

TASKS, TRIALS, PAUSE_S = 8, 3, 0.002
ENDED = ("succeeded", "failed", "halted", "rejected", "error")


def kill_at(folder: Path, points: int, seed: int) -> dict:
    """What was found at so many kills, run after run in one database."""
    chance, found = random.Random(seed), Counter()
    kills, number = 0, 0
    executions, steps = folder / "executions.txt", folder / "steps.txt"
    executions.touch()
    steps.touch()
    database_url()
    while kills < points or found["runs_open"]:
        close(database_url())
        child = os.fork()
        if child == 0:
            _as_child(f"run-{number}", number, executions, steps)
        limit = chance.uniform(0.01, 0.7) if kills < points else 60.0
        killed = _wait(child, limit)
        kills += killed
        found["lost_steps"] += _lost(f"run-{number}", steps)
        found["runs_open"] = int(killed)
        if not killed:
            _look(f"run-{number}", executions, found)
            number += 1
            executions.write_text("")
            steps.write_text("")
    return {"kills": kills, "runs": number, **found, "problems": len(check(database_url()))}


def _wait(child: int, limit_s: float) -> bool:
    """Whether the child had to be killed; one that fails by itself ends the test."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            if status:
                raise SystemExit(f"the engine ended by itself with status {status}")
            return False
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _as_child(name: str, seed: int, executions: Path, steps: Path) -> None:
    try:
        _work(name, seed, executions, steps)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _work(name: str, seed: int, executions: Path, steps: Path) -> None:
    """Starts the run if it is not there, then plays, reviews and advances it to its end."""
    cast = _players(executions, steps)
    with reading() as session:
        known = runs.find(session, name)
    if known is None:
        fields = {"detector_name": "random", "threshold": 0.3, "undo_ms": 0, "trials": TRIALS, "seed": seed}
        start.start_run(name, {"office": TASKS}, actor_and_environments=cast, **fields)
    while True:
        answered = _review(name)
        done = engine.advance(name, actor_and_environments=cast, concurrency=TASKS)
        if not (answered or done.delivered or done.revealed or done.queued):
            return


def _players(executions: Path, steps: Path):
    environment = office(executions)
    return replace(
        office_players(_plan), actor=actor(_plan, pause=PAUSE_S, seen=steps), environments={"office": environment}
    )


def _plan(view):
    """Seals midway and sends the wrong letter until told; every action names its trial, so none is alike."""
    number, trial = view.instruction.split()[-1].rstrip("."), view.seed % 1_009
    letter = number if view.memory or int(number) % 2 == 0 else "wrong"
    return [f"note try{trial}", f"seal {number} try{trial}", f"file try{trial}", f"send {letter} try{trial}"]


def _review(name: str) -> int:
    answered = 0
    while True:
        with reading() as session:
            run = runs.get(session, name)
            claim = decisions.claim_next_item(review_queue(), session, run, "ann", now_ms())
        if not isinstance(claim, Claim):
            return answered
        action = decisions.pending_action(claim) if claim.kind != "halted" else ""
        decisions.submit(review_queue(), run, claim, "ann", _verdict_on(action, claim), now_ms())
        answered += 1


def _verdict_on(action: str, claim: Claim) -> decisions.ReviewDecision:
    if claim.kind == "halted":
        return decisions.ReviewDecision("respond", feedback_text="go on")
    draw = int(digest(f"{action} {claim.run_id} {claim.trajectory_id}")[:4], 16) % 10
    if "wrong" in action or draw < 2:
        return decisions.ReviewDecision("reject", feedback_text="the right letter please")
    if draw < 4:
        return decisions.ReviewDecision("edit", feedback_text="this way", edited_action=f"{action} edited")
    return decisions.ReviewDecision("approve")


def _lost(name: str, steps: Path) -> int:
    """Trials that lost more than their last step: each line says what an Actor had seen written before it moved on."""
    with reading() as session:
        if runs.find(session, name) is None:
            return 0
        statement = (
            select(tables.Task.task_key, tables.Trajectory.trial, tables.Trajectory.n_steps)
            .join(tables.Trajectory, col(tables.Trajectory.task_id) == col(tables.Task.id))
            .join(tables.Run, col(tables.Run.id) == col(tables.Trajectory.run_id))
            .where(tables.Run.name == name)
        )
        written = {(key, trial): n for key, trial, n in session.exec(statement)}
    seen: dict[tuple[str, int], int] = {}
    for line in steps.read_text().splitlines():
        key, trial, done = line.split("|")
        seen[key, int(trial)] = max(seen.get((key, int(trial)), 0), int(done))
    return sum(written.get(place, 0) < done for place, done in seen.items())


def _look(name: str, executions: Path, found: Counter) -> None:
    """Adds what is wrong in a run that has ended."""
    ran = Counter(executions.read_text().splitlines())
    with reading() as session:
        run = runs.get(session, name)
        allowed = _allowed(session, run)
        outcomes = session.exec(select(tables.Trajectory.outcome).where(tables.Trajectory.run_id == run.id)).all()
        unfinished = session.exec(
            select(tables.Intent)
            .join(tables.Trajectory, col(tables.Trajectory.id) == col(tables.Intent.trajectory_id))
            .where(tables.Trajectory.run_id == run.id, col(tables.Intent.finished_ms).is_(None))
        ).all()
    found["executions"] += sum(ran.values())
    found["twice"] += sum(times > 1 for times in ran.values())
    found["without_approval"] += sum((line.split("|")[0], line.split("|")[2]) not in allowed for line in ran)
    found["not_ended"] += sum(outcome not in ENDED for outcome in outcomes)
    found["unknown"] += len(unfinished)


def _allowed(session, run: tables.Run) -> set[tuple[str, str]]:
    """(task, action) of every intent that a delivered approval or an unflagged verdict stands behind."""
    intent, record, task, verdict = tables.Intent, tables.Trajectory, tables.Task, tables.Verdict
    statement = (
        select(intent, task.task_key)
        .join(record, col(record.id) == col(intent.trajectory_id))
        .join(task, col(task.id) == col(record.task_id))
        .where(record.run_id == run.id)
    )
    allowed = set()
    for found, key in session.exec(statement).all():
        if found.decision_id is not None:
            decision = session.get_one(tables.Decision, found.decision_id)
            fits = decision.decision in ("approve", "edit") and decision.action_digest == digest(found.action)
            if fits and decision.delivered_ms is not None:
                allowed.add((key, found.action))
        else:
            judged = select(verdict).where(verdict.trajectory_id == found.trajectory_id, verdict.step == found.step)
            if not session.exec(judged).one().flagged:
                allowed.add((key, found.action))
    return allowed


def main() -> None:
    """Prints the findings of one round of kills as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    os.environ["INFERACT_DATA_DIR"] = str(wanted.folder / "data")
    settings.cache_clear()
    sys.stdout.write(json.dumps(kill_at(wanted.folder, wanted.points, wanted.seed)) + "\n")


if __name__ == "__main__":
    main()
