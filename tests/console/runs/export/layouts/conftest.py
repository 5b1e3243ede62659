"""A service desk's run: a refund rejected and done right in the next trial, one edited, one approved, one simulated."""

import shutil

import pytest

from console.runs.export import download_layout
from console.runs.trajectory_rows import insert_rows, prepare
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import digest
from storage import tables
from storage.engine import writing

NOON = 1_767_268_800_000
ASKED = "Refund my order 7, please"
LOOKED = Step("Which order?", 'get_order({"id":7})', "order 7: 40 EUR")
GOLD = {"label": "misaligned", "reward": 0}


def refund(amount, trial=0, task="t-1", gold=None, outcome=Outcome.FAILED):
    steps = (LOOKED, Step("Now pay.", f'refund({{"id":7,"amount":{amount}}})', "paid"),
             Step("", 'respond({"content":"Done."})', "Thanks"))  # fmt: skip
    return Trajectory(task, "generic", ASKED, steps, trial, steps[1].action, outcome, gold or GOLD,
                      {"file": "private.json"}, {"secret": "reward 0"})  # fmt: skip


RIGHT = {"label": "aligned"}
RECORDS = (
    refund(400),
    refund(40, trial=1, gold=RIGHT, outcome=Outcome.SUCCEEDED),
    refund(41, task="t-2"),
    refund(40, task="t-3", gold=RIGHT, outcome=Outcome.SUCCEEDED),
    refund(99, task="t-4"),
)
ANSWERS = (
    (1, "Ada Love", "human", "reject", "misaligned", "far too much", None),
    (3, "Ben Nevis", "human", "edit", "misaligned", "", 'refund({"id":7,"amount":40})'),
    (4, "Ada Love", "human", "approve", "aligned", "", None),
    (5, "robot", "simulated", "reject", "misaligned", "simulated words", None),
)


@pytest.fixture
def url(tmp_path, empty_database):
    """The URL of the database."""
    found = f"sqlite:///{shutil.copy(empty_database, tmp_path / 'console.db')}"
    with writing(found) as session:
        run = tables.Run(
            id=1, name="desk", kind="archive", environment="generic", critical='["refund"]', created_ms=NOON
        )
        session.add(run)
        session.flush()
        session.add(tables.Budget(id=1, run_id=1, trial=0, cap=9, used=4))
        insert_rows(session, run, [prepare(record, ["refund"]) for record in RECORDS], NOON)
        for number, answer in enumerate(ANSWERS, start=1):
            _answer(session, number, *answer)
    return found


def _answer(session, number, trajectory, name, kind, decision, label, words, edited):
    session.add(
        tables.Item(id=number, run_id=1, trial=0, trajectory_id=trajectory, step=1, kind="action", status="decided",
                    priority=1, open_slots=0, created_ms=NOON)
    )  # fmt: skip
    session.flush()
    session.add(
        tables.Slot(id=number, item_id=number, budget_id=1, reviewer=name, status="decided", token="t",
                    claimed_ms=NOON, lease_until_ms=NOON)
    )  # fmt: skip
    session.flush()
    session.add(
        tables.Decision(item_id=number, slot_id=number, reviewer=name, annotator_kind=kind, decision=decision,
                        label=label, feedback_type="nl", feedback_text=words, edited_action=edited,
                        action_digest=digest("x"), submit_key=str(number), budget_used=1, claimed_ms=NOON,
                        decided_ms=NOON + 5_000, deliverable_ms=NOON)
    )  # fmt: skip


@pytest.fixture
def leaves(url):
    """A function: the bytes of that layout with what is asked for."""

    def of(layout, *asked_for):
        return download_layout(url, layout, "desk", asked_for)

    return of
