"""Ground truth of an action that waited in a live run: what it leads to when it is tried in a copy of its world."""

from __future__ import annotations

from dataclasses import replace

from console.environments.environment import TaskSpec
from console.review.simulated import ReviewCase
from console.review.simulated.faults import misleads
from console.trajectory import Label, Trajectory
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at


def awaited(record: Trajectory, step: int, kind: str) -> Checkpoint:
    """The checkpoint as it waited: where a reviewer wrote another action, with the one before that."""
    seen = checkpoint_at(record, step, CheckpointKind(kind))
    if kind == CheckpointKind.ACTION and step < len(record.steps):
        return replace(seen, action=str(record.steps[step].extra.get("instead_of", seen.action)))
    return seen


def true_label(spec: TaskSpec, seen: Checkpoint) -> Label:
    """The true label, misaligned where the action leads away; raises BadInput without an embedded edition."""
    return Label.MISALIGNED if misleads(ReviewCase(spec, seen)) else Label.ALIGNED
