"""Checkpoints as detectors and reviewers saw them, by trajectory, step and kind."""

from __future__ import annotations

from collections.abc import Iterable

from sqlmodel import Session, col, select

from console.review.simulated.ground_truth import awaited
from console.trajectory import from_json
from console.trajectory.checkpoints import Checkpoint
from storage import tables

Key = tuple[int, int, str]
"""Trajectory id, step, kind."""
_AT_ONCE = 500


def checkpoints_of(session: Session, keys: Iterable[Key]) -> dict[Key, Checkpoint]:
    """The checkpoint at each key."""
    wanted: dict[int, list[Key]] = {}
    for key in keys:
        wanted.setdefault(key[0], []).append(key)
    ids, body = sorted(wanted), tables.TrajectoryBody
    found: dict[Key, Checkpoint] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = col(body.trajectory_id).in_(ids[start : start + _AT_ONCE])
        for id, text in session.exec(select(body.trajectory_id, body.body).where(some)):
            trajectory = from_json(text)
            found |= {key: awaited(trajectory, key[1], key[2]) for key in wanted[id]}
    return found
