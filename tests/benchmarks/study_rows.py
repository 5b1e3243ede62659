"""A finished study of any size, written straight into a database: what results are read from, without the work."""

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import orjson  # noqa: E402
from sqlalchemy import insert  # noqa: E402

from console.database import database_url, now_ms  # noqa: E402
from console.studies.design import FACTORS, Design, conditions  # noqa: E402
from console.studies.design.model import Participants, TaskSource  # noqa: E402
from storage import tables  # noqa: E402
from storage.engine import writing  # noqa: E402

PEOPLE, TRIALS = 40, 4
_LEFT_FREE = 900
"""Of the thousand places of an arm's trial, those from here on stay empty."""

_START, _PAUSE, _WORDS = 1_767_268_800_000, 40_000, "take the red one that costs 24.99 dollars"


def design(tasks: int) -> Design:
    """Four conditions within participants, every task decided on in every trial."""
    return Design(
        name="big", source=TaskSource(environment="webshop"), tasks=tasks, trials=TRIALS, budget=str(tasks), seed=1,
        factors={"detector": ("rules", "random"), "score": ("shown", "hidden")},
        participants=Participants(human=PEOPLE),
    )  # fmt: skip


def fill(decisions: int) -> int:
    """Writes a study with at least so many decisions into the database of the settings; returns how many."""
    tasks = -(-decisions // (PEOPLE * 4 * TRIALS))
    plan = design(tasks)
    with writing(database_url()) as session:
        connection = session.connection()
        study = tables.Study(
            name=plan.name, design=plan.model_dump_json(), join_code="BIG", status="closed", created_ms=now_ms()
        )
        session.add(study)
        session.flush()
        for table, rows in _rows(plan, study.id or 0):
            if rows:
                connection.execute(insert(table), rows)
    return PEOPLE * 4 * TRIALS * tasks


def decide_once_more(number: int) -> None:
    """Writes one more task with one more decision of the first participant, another for each number from 0."""
    at, key = _LEFT_FREE + number, f"late-{number}"
    task = {"id": 10_000 + at, "run_id": 1, "task_key": key, "environment": "webshop", "instruction": key,
            "instruction_digest": key}  # fmt: skip
    with writing(database_url()) as session:
        connection = session.connection()
        for table, row in ((tables.Task, task), *_decided(Random(number), 1, "P001", 0, at, key)):
            connection.execute(insert(table), [row])


def _rows(plan: Design, study_id: int) -> Iterator[tuple[type, list[dict[str, object]]]]:
    rng, arms = Random(plan.seed), conditions(plan)
    for number in range(1, PEOPLE + 1):
        who = {"id": number, "study_id": study_id, "number": number, "code": f"P{number:03d}", "stage": "finished",
               "secret": f"s{number}", "joined_ms": _START, "finished_ms": _START + 10}  # fmt: skip
        yield tables.Participant, [who]
        for position, arm in enumerate(arms, 1):
            run_id = (number - 1) * len(arms) + position
            keys = [f"task-{(position - 1) * plan.tasks + at}" for at in range(plan.tasks)]
            yield tables.Run, [_run(run_id, study_id, arm.levels["detector"])]
            yield tables.Assignment, [{
                "study_id": study_id, "participant_id": number, "position": position, "condition": arm.name,
                "levels": orjson.dumps({name: arm.levels[name] for name in FACTORS}).decode(),
                "tasks": orjson.dumps(keys).decode(), "run_id": run_id, "status": "done",
            }]  # fmt: skip
            yield from _arm(rng, run_id, who["code"], keys)


def _run(run_id: int, study_id: int, detector: str) -> dict[str, object]:
    return {"id": run_id, "name": f"big-{run_id}", "kind": "replay", "environment": "webshop", "study_id": study_id,
            "detector": detector, "trials": TRIALS, "created_ms": _START}  # fmt: skip


def _arm(rng: Random, run_id: int, code: object, keys: list[str]) -> Iterator[tuple[type, list[dict[str, object]]]]:
    yield tables.Task, [
        {"id": run_id * 10_000 + at, "run_id": run_id, "task_key": key, "environment": "webshop", "instruction": key,
         "instruction_digest": key} for at, key in enumerate(keys)
    ]  # fmt: skip
    yield (
        tables.Budget,
        [
            {"id": run_id * 10 + trial, "run_id": run_id, "trial": trial, "cap": len(keys), "used": len(keys)}
            for trial in range(TRIALS)
        ],
    )
    made: dict[type, list[dict[str, object]]] = {}
    for trial in range(TRIALS):
        for at, key in enumerate(keys):
            for table, row in _decided(rng, run_id, code, trial, at, key):
                made.setdefault(table, []).append(row)
    yield from made.items()


def _decided(
    rng: Random, run_id: int, code: object, trial: int, at: int, key: str
) -> Iterator[tuple[type, dict[str, object]]]:
    number = (run_id * TRIALS + trial) * 1_000 + at
    wrong = rng.random() < 0.6 - 0.1 * trial
    said = wrong if rng.random() < 0.85 else not wrong
    score, began = round(rng.uniform(0.5, 1.0), 4), _START + (run_id % 4 * TRIALS + trial) * 10_000_000 + at * _PAUSE
    ends = began + rng.randint(5_000, 39_000)
    yield tables.Trajectory, {
        "id": number, "run_id": run_id, "task_id": run_id * 10_000 + at, "trial": trial, "environment": "webshop",
        "outcome": "rejected" if said else "failed" if wrong else "succeeded", "recorded_outcome": "failed",
        "label": "misaligned" if wrong else "aligned", "critical_action": "click[Buy Now]", "n_steps": 5,
        "n_critical": 1, "digest": f"{number}", "created_ms": _START,
    }  # fmt: skip
    yield tables.Verdict, {
        "id": number, "run_id": run_id, "trajectory_id": number, "step": 4, "kind": "action", "detector": "rules",
        "score": score, "threshold": 0.5, "flagged": True, "created_ms": _START,
    }  # fmt: skip
    yield tables.Item, {
        "id": number, "run_id": run_id, "trial": trial, "trajectory_id": number, "step": 4, "kind": "action",
        "status": "delivered", "priority": score, "open_slots": 0, "verdict_id": number, "created_ms": _START,
    }  # fmt: skip
    yield tables.Slot, {
        "id": number, "item_id": number, "budget_id": run_id * 10 + trial, "reviewer": code, "status": "decided",
        "token": "t", "claimed_ms": began, "lease_until_ms": ends,
    }  # fmt: skip
    entry = {"budget_id": run_id * 10 + trial, "item_id": number, "slot_id": number, "reviewer": code}
    yield tables.LedgerEntry, {**entry, "entry": "spend", "reason": "claim", "units": 1, "at_ms": began}
    yield tables.LedgerEntry, {**entry, "entry": "settle", "reason": "decide", "units": 0, "at_ms": ends}
    yield tables.Decision, {
        "item_id": number, "slot_id": number, "reviewer": code, "decision": "reject" if said else "approve",
        "label": "misaligned" if said else "aligned", "feedback_type": "nl", "feedback_text": _WORDS if said else "",
        "action_digest": "d", "submit_key": f"k{number}", "budget_used": at + 1, "claimed_ms": began,
        "decided_ms": ends, "deliverable_ms": ends, "delivered_ms": ends,
    }  # fmt: skip
