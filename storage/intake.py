"""Trajectories in: tasks, trajectories and bodies by three passes of executemany inside the caller's transaction.

A task or trajectory is found by what identifies it, so that no id travels back and forth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session

from storage.queue.transaction import spoken

_TASK = """
INSERT INTO task (run_id, task_key, environment, instruction, instruction_digest)
VALUES (:run_id, :task_key, :environment, :instruction, :instruction_digest)
ON CONFLICT (run_id, task_key, instruction_digest) DO NOTHING"""

_TRAJECTORY = """
INSERT INTO trajectory (run_id, task_id, trial, environment, outcome, recorded_outcome, label, carried_over,
                        critical_action, n_steps, n_critical, digest, source, created_ms)
VALUES (:run_id,
        (SELECT id FROM task
         WHERE run_id = :run_id AND task_key = :task_key AND instruction_digest = :instruction_digest),
        :trial, :environment, :outcome, :recorded_outcome, :label, :carried_over, :critical_action, :n_steps,
        :n_critical, :digest, :source, :created_ms)"""

_BODY = """
INSERT INTO trajectory_body (trajectory_id, body)
VALUES ((SELECT id FROM trajectory WHERE run_id = :run_id AND digest = :digest), :body)"""


def insert_trajectories(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Inserts rows that hold every column of a task, a trajectory and its body; tasks that are there are kept."""
    if not rows:
        return
    session.flush()
    connection = session.connection()
    for statement in (_TASK, _TRAJECTORY, _BODY):
        connection.exec_driver_sql(spoken(statement, connection.dialect), list(rows))
