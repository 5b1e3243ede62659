"""A run with two tasks, a second trial, an undone and a revised decision, a halted trial and a spent budget."""

import shutil

import pytest
from sqlmodel import Session

from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import digest
from storage import tables
from storage.engine import writing

NOON = 1_767_268_800_000
FORMULA = '=HYPERLINK("http://example.test"),\n"go"'
BUY = "click[Buy Now]"
RECORDS = {
    1: Trajectory("shoes", "webshop", "red shoes", (Step("", "search[shoes]", "10 results"), Step("", BUY, "done"))),
    2: Trajectory("shoes", "webshop", "red shoes", (Step("", BUY, "sold out"), Step("", BUY, "done")), trial=1),
    3: Trajectory("lamp", "webshop", "a lamp", (Step("", "search[lamp]", ""),), outcome=Outcome.HALTED),
}


@pytest.fixture
def url(tmp_path, empty_database):
    """The URL of the filled database."""
    found = f"sqlite:///{shutil.copy(empty_database, tmp_path / 'console.db')}"
    with writing(found) as session:
        run = tables.Run(id=1, name="shop", kind="archive", environment="webshop", created_ms=NOON)
        other = tables.Run(id=2, name="other", kind="archive", environment="webshop", created_ms=NOON)
        session.add_all([run, other])
        session.flush()
        add_trajectories(session)
        add_queue(session)
    return found


def add_trajectories(session: Session) -> None:
    """Two tasks and three trajectories; the second trial of the shoes has two critical actions."""
    for id, key in enumerate(["shoes", "lamp"], start=1):
        session.add(
            tables.Task(id=id, run_id=1, task_key=key, environment="webshop", instruction=key, instruction_digest=key)
        )
    session.flush()
    for id, record in RECORDS.items():
        label = None if record.outcome is Outcome.HALTED else "misaligned"
        told = {"outcome": "halted" if label is None else "failed", "label": label}
        counts = {
            "n_steps": len(record.steps),
            "n_critical": 2 if id == 2 else 1,
        }
        session.add(
            tables.Trajectory(
                id=id, run_id=1, task_id=1 + (id == 3), trial=record.trial, environment="webshop", digest=str(id),
                recorded_outcome=told["outcome"], critical_action=label and BUY, created_ms=NOON, **told, **counts,
            )
        )  # fmt: skip
        session.flush()
        session.add(tables.TrajectoryBody(trajectory_id=id, body=record.to_json()))


LINE = '{"kind":"option","about":"","value":"8","standing":"broken","quote":["size 8",0,6],"evidence":null}'


def add_queue(session: Session) -> None:
    """Verdict, budget, items, claims, decisions, ledger and an event."""
    session.add(
        tables.Verdict(
            id=1, run_id=1, trajectory_id=1, step=1, kind="action", detector="rules", score=0.75, threshold=0.5,
            flagged=True, rationale="-no size", parameters='{"seed":1}', created_ms=NOON,
            requests=6, prompt_tokens=900, completion_tokens=40, cost_usd=0.0125,
        )
    )  # fmt: skip
    session.add(tables.Budget(id=1, run_id=1, trial=0, cap=2, used=1))
    session.flush()
    places = {1: ("decided", 1, "action", 1), 2: ("claimed", 0, "action", None), 3: ("pending", 1, "halted", None)}
    for id, (status, step, kind, verdict) in places.items():
        session.add(
            tables.Item(
                id=id, run_id=1, trial=0, trajectory_id=id, step=step, kind=kind, status=status, priority=0.5,
                verdict_id=verdict, created_ms=NOON,
            )
        )  # fmt: skip
    session.flush()
    session.add(
        tables.LineCorrection(
            id=1, item_id=1, detector="rules", reviewer="r1", line_key="k", line=LINE, created_ms=NOON,
        )
    )  # fmt: skip
    for id, status in ((1, "decided"), (2, "claimed")):
        session.add(
            tables.Slot(
                id=id, item_id=id, budget_id=1, reviewer=f"r{id}", status=status, token="t", units=1,
                claimed_ms=NOON, lease_until_ms=NOON + 600_000,
            )
        )  # fmt: skip
    session.flush()
    session.add(decision(1, 1, superseded=True, withdrawn_ms=NOON + 3_000, feedback_text="no"))
    session.add(decision(2, 2, delivered_ms=NOON + 9_001, feedback_text=FORMULA, answers='{"how-severe":2}'))
    for units, entry in ((1, "spent"), (1, "spent"), (-1, "returned")):
        session.add(
            tables.LedgerEntry(
                budget_id=1, item_id=1, slot_id=1, reviewer="r1", entry=entry, reason="claim", units=units, at_ms=NOON
            )
        )
    allowed = {"tool": "look", "rule": "looks", "agent": "bot", "action_digest": "d", "policy_version": 1}
    session.add(tables.AllowedCheck(run_id=1, at_ms=NOON, **allowed))
    session.add(tables.Event(run_id=1, at_ms=NOON, actor="r1", kind="decided", subject="item 1", detail='{"n":1}'))


def decision(id: int, revision: int, **fields: object) -> tables.Decision:
    """A revision of r1's rejection of item 1."""
    return tables.Decision(
        id=id, item_id=1, slot_id=1, reviewer="r1", decision="reject", label="misaligned", feedback_type="nl",
        action_digest=digest(BUY), submit_key=str(id), revision=revision, budget_cap=2, budget_used=1,
        claimed_ms=NOON, decided_ms=NOON + 1_234, deliverable_ms=NOON, **fields,
    )  # fmt: skip
