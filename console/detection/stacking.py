"""Stacking of a run's detectors, learnt from its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from sqlalchemy import Select, select
from sqlmodel import Session, col

from console.analysis.metrics.classification import brier, confusion, expected_calibration_error, macro_f1
from console.analysis.metrics.ranking_curves import average_precision, best_macro_f1, rank_cases
from console.detection.detectors import detector
from console.detection.detectors.shared.stacking_model import LabelledCheckpoint, Stack, fit_model
from console.detection.majority import Key, checkpoint_key, find_majority_labels, select_reviewers_labels
from console.errors import BadInput, Refused, Unknown
from console.trajectory import from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from storage import tables

LABELS = ("reviewers", "gold")


@dataclass(frozen=True, slots=True)
class StackFit:
    """The labels from which a stack was learnt, and the stack's metrics on held-out tasks."""

    labels: int
    misaligned: int
    macro_f1: float
    threshold: float
    ap: float | None
    ece: float | None
    brier: float | None


def fit_stack(
    session: Session, run: tables.Run, inputs: Sequence[str], *, labels: str = "reviewers", seed: int = 0
) -> tuple[Stack, StackFit]:
    """Fit a stack to the run's labelled checkpoints (by reviewers or gold); raise BadInput, Unknown or Refused."""
    for name in inputs:
        if "@" in name or detector(name).name == "stacked":
            raise BadInput(f"{name} cannot be an input of a stack; name detectors without models.")
    if labels not in LABELS:
        raise Unknown("source of labels", labels, LABELS)
    selected = select_reviewers_labels(run) if labels == "reviewers" else _gold(run)
    # Reviewers who disagree half and half count as misaligned: an alarm too many costs less.
    cases = _cases(session, run, inputs, find_majority_labels(session, selected, tie=True))
    stack, held_out = fit_model(cases, inputs, seed)
    return stack, _learnt([case.misaligned for case in cases], held_out)


def _gold(run: tables.Run) -> Select[Any]:
    verdict, record, task = tables.Verdict, tables.Trajectory, tables.Task
    columns: list[Any] = [verdict.trajectory_id, verdict.step, verdict.kind, record.label, task.task_key]
    return (
        select(*columns)
        .join(record, col(record.id) == col(verdict.trajectory_id))
        .join(task, col(task.id) == col(record.task_id))
        .where(col(verdict.run_id) == run.id, col(record.label).is_not(None), col(record.carried_over).is_(False))
        .distinct()
    )


def _cases(
    session: Session, run: tables.Run, inputs: Sequence[str], known: dict[Key, tuple[bool, str]]
) -> list[LabelledCheckpoint]:
    verdict, body = tables.Verdict, tables.TrajectoryBody
    columns = (verdict.trajectory_id, verdict.step, verdict.kind, verdict.detector, verdict.score)
    statement = select(*map(col, columns)).where(col(verdict.run_id) == run.id, col(verdict.detector).in_(inputs))
    scores: dict[Key, dict[str, float]] = {}
    for row in session.execute(statement):
        if checkpoint_key(row) in known:
            scores.setdefault(checkpoint_key(row), {})[row.detector] = row.score
    whole = {key: found for key, found in scores.items() if len(found) == len(set(inputs))}
    if not whole:
        raise Refused(
            f"Run {run.name!r} has no labelled checkpoint with a verdict of each of {', '.join(inputs)}. "
            f"Run: inferact detect {quote(run.name)} --method {quote(','.join(inputs))}"
        )
    ids = {key[0] for key in whole}
    of_run = select(col(tables.Trajectory.id)).where(col(tables.Trajectory.run_id) == run.id)
    bodies = session.execute(select(col(body.trajectory_id), col(body.body)).where(col(body.trajectory_id).in_(of_run)))
    records = {id: from_json(text) for id, text in bodies if id in ids}
    return [
        LabelledCheckpoint(found, checkpoint_at(records[key[0]], key[1], CheckpointKind(key[2])), *known[key])
        for key, found in sorted(whole.items())
    ]


def _learnt(bad: Sequence[bool], held_out: Sequence[float]) -> StackFit:
    ranked = rank_cases(list(bad), list(held_out))
    best = best_macro_f1(ranked)
    threshold = best.threshold if best else 0.5
    matrix = confusion(list(bad), [share > threshold for share in held_out])
    return StackFit(
        labels=len(bad),
        misaligned=sum(bad),
        macro_f1=macro_f1(matrix),
        threshold=threshold,
        ap=average_precision(ranked),
        ece=expected_calibration_error(list(bad), list(held_out)),
        brier=brier(list(bad), list(held_out)),
    )
