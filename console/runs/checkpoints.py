"""The checkpoints of a run's trajectories: under its own critical patterns, with or without their ends."""

from __future__ import annotations

from console import runs
from console.environments import environment
from console.trajectory import Trajectory
from console.trajectory.checkpoints import Checkpoint, checkpoints
from storage import tables


def run_checkpoints(run: tables.Run, record: Trajectory) -> list[Checkpoint]:
    """The checkpoints of a trajectory under the run's own patterns and its choice about end checkpoints."""
    ends = environment(record.environment).ends if run.ends is None else run.ends
    return checkpoints(record, runs.patterns(run), ends=ends)
