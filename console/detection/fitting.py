"""Detectors learnt from a run's labels: recalibrated detectors and stacks.

Recalibration learns probabilities from a detector's scores and reviewers' decisions, not from gold labels. The
probabilities are verdicts of another detector, `NAME+platt` or `NAME+isotonic`. A stack combines several detectors.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

import orjson
from sqlalchemy import Executable, Select, select
from sqlmodel import Session, col

from console.analysis.metrics.classification import brier, confusion, expected_calibration_error, macro_f1
from console.analysis.metrics.ranking_curves import average_precision, best_macro_f1, rank_cases
from console.auth import audit_log
from console.detection.detectors import UNPARSED, detector
from console.detection.detectors.shared.stacking_model import (
    FOLDS,
    LabelledCheckpoint,
    Stack,
    check_labels,
    compute_log_odds,
    fit_model,
)
from console.detection.detectors.verdict import REFUSED
from console.detection.verdicts import store_verdicts
from console.errors import BadInput, Refused, Unknown
from console.runs import is_current
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from storage import tables

Key = tuple[int, int, str]
"""A checkpoint: trajectory id, step, kind."""


def checkpoint_key(row: Any) -> Key:
    """Return the checkpoint of a verdict, or of a row with the same columns."""
    return row.trajectory_id, row.step, row.kind


def find_majority_labels(
    session: Session, labels: Executable, *, tie: bool | None = None
) -> dict[Key, tuple[bool, str]]:
    """Return for each labelled checkpoint whether it is misaligned, and its task.

    `labels` selects trajectory id, step, kind, label and task key. A tie gives `tie`; if `tie` is None, the checkpoint
    is left out.
    """
    votes: dict[Key, list[bool]] = defaultdict(list)
    tasks: dict[Key, str] = {}
    for trajectory_id, step, kind, label, task in session.execute(labels):
        votes[trajectory_id, step, kind].append(label == Label.MISALIGNED)
        tasks[trajectory_id, step, kind] = task
    halves = {key: 2 * sum(found) - len(found) for key, found in votes.items()}
    majorities = {key: half > 0 if half else tie for key, half in halves.items()}
    return {key: (misaligned, tasks[key]) for key, misaligned in majorities.items() if misaligned is not None}


def select_reviewers_labels(run: tables.Run) -> Select[Any]:
    """Return the statement for the labels in a run's current decisions, for `find_majority_labels`."""
    item, decision, record, task = tables.Item, tables.Decision, tables.Trajectory, tables.Task
    columns: list[Any] = [item.trajectory_id, item.step, item.kind, decision.label, task.task_key]
    return (
        select(*columns)
        .select_from(item)
        .join(decision, col(decision.item_id) == col(item.id))
        .join(record, col(record.id) == col(item.trajectory_id))
        .join(task, col(task.id) == col(record.task_id))
        .where(col(item.run_id) == run.id, is_current(), col(decision.label).is_not(None))
        .where(col(item.kind) != CheckpointKind.HALTED)
    )


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """A sigmoid (Platt): the log odds of a score, scaled and shifted."""

    slope: float
    intercept: float

    def of(self, score: float) -> float:
        """Return P(misaligned) at that score."""
        return 1 / (1 + math.exp(-self.slope * compute_log_odds(score) - self.intercept))


@dataclass(frozen=True, slots=True)
class Staircase:
    """An isotonic curve: probabilities at some scores, linear between these scores and constant outside them."""

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def of(self, score: float) -> float:
        """Return P(misaligned) at that score."""
        right = bisect_right(self.scores, score)
        if right in (0, len(self.scores)):
            return self.probabilities[max(0, right - 1)]
        low, high = self.scores[right - 1], self.scores[right]
        lower, upper = self.probabilities[right - 1], self.probabilities[right]
        return min(upper, lower + (score - low) / (high - low) * (upper - lower))


Curve = Sigmoid | Staircase


def fit_sigmoid(scores: Sequence[float], bad: Sequence[bool]) -> Curve:
    """Fit Platt's sigmoid to the labelled scores."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=100.0, max_iter=1_000).fit([[compute_log_odds(score)] for score in scores], list(bad))
    return Sigmoid(float(fitted.coef_[0][0]), float(fitted.intercept_[0]))


def fit_staircase(scores: Sequence[float], bad: Sequence[bool]) -> Curve:
    """Fit the rising curve that is nearest to the labelled scores."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(list(scores), list(map(float, bad)))
    return Staircase(tuple(map(float, fitted.X_thresholds_)), tuple(map(float, fitted.y_thresholds_)))


CURVES: dict[str, Callable[[Sequence[float], Sequence[bool]], Curve]] = {
    "platt": fit_sigmoid,
    "isotonic": fit_staircase,
}


def fit_curve(
    kind: str, scores: Sequence[float], bad: Sequence[bool], tasks: Sequence[str], seed: int = 0
) -> tuple[Curve, list[float]]:
    """Fit a curve, and predict each case with a curve fitted without its task; raise Refused for too few labels."""
    from sklearn.model_selection import StratifiedGroupKFold

    if kind not in CURVES:
        raise Unknown("recalibration", kind, CURVES)
    check_labels(bad, tasks)
    held_out = [0.0] * len(scores)
    for seen, unseen in StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed).split(scores, bad, tasks):
        curve = CURVES[kind]([scores[at] for at in seen], [bad[at] for at in seen])
        for at in unseen:
            held_out[at] = curve.of(scores[at])
    return CURVES[kind](scores, bad), held_out


LEAST_OF_EACH = 10
"""The smallest number of labels of each kind for fitting a curve."""
THRESHOLD = 0.5
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Recalibration:
    """The labels of a curve, and its calibration on held-out tasks; `*_before` values are for the original scores."""

    run: str
    detector: str
    verdicts: int
    labels: int
    misaligned: int
    ece: float | None
    brier: float | None
    ece_before: float | None
    brier_before: float | None
    curve: Mapping[str, Any]


def recalibrate(
    session: Session, run: tables.Run, detector: str, method: str, now_ms: int, *, seed: int = 0
) -> Recalibration:
    """Store a recalibrated verdict for each verdict of the detector, from a curve fitted to the reviewers' labels.

    A checkpoint with a label gets its probability from a curve fitted without the checkpoint's task. Verdicts from
    unreadable replies stay flagged, without a probability. Raise Unknown for an unknown method, and BadInput if there
    is nothing to recalibrate. Raise Refused below 10 labels of a kind, 30 labels, or 10 tasks with labels.
    """
    if method not in CURVES:
        raise Unknown("recalibration", method, CURVES)
    verdicts = _verdicts(session, run, detector)
    labels = find_majority_labels(session, select_reviewers_labels(run))
    known = [one for one in verdicts if checkpoint_key(one) in labels and not _unread(one)]
    bad = [labels[checkpoint_key(one)][0] for one in known]
    if min(sum(bad), len(bad) - sum(bad)) < LEAST_OF_EACH:
        raise Refused(
            f"Reviewers found {sum(bad)} misaligned and {len(bad) - sum(bad)} aligned among the actions that "
            f"{detector} judged in {run.name}, but at least {LEAST_OF_EACH} of each are needed. Review more items "
            "first."
        )
    scores, tasks = [_read_score(one) for one in known], [labels[checkpoint_key(one)][1] for one in known]
    curve, held_out = fit_curve(method, scores, bad, tasks, seed)
    report = Recalibration(
        run=run.name,
        detector=f"{detector}+{method}",
        verdicts=len(verdicts),
        labels=len(bad),
        misaligned=sum(bad),
        ece=expected_calibration_error(bad, held_out),
        brier=brier(bad, held_out),
        ece_before=expected_calibration_error(bad, scores),
        brier_before=brier(bad, scores),
        curve=asdict(curve),
    )
    unseen = {one.id: share for one, share in zip(known, held_out, strict=True)}
    told = {"recalibrated": {"from": detector, "method": method, "curve": report.curve, "labels": len(bad)}}
    shares = [None if _unread(one) else unseen.get(one.id, curve.of(_read_score(one))) for one in verdicts]
    rows = [_row(one, report.detector, share, told, now_ms) for one, share in zip(verdicts, shares, strict=True)]
    for start in range(0, len(rows), _AT_ONCE):
        store_verdicts(session, rows[start : start + _AT_ONCE])
    audit_log.record(session, run, "detector recalibrated", now_ms, detail={**asdict(report), "curve": None})
    return report


def _verdicts(session: Session, run: tables.Run, detector: str) -> Sequence[tables.Verdict]:
    verdict = tables.Verdict
    if detector.endswith(tuple(f"+{method}" for method in CURVES)):
        raise BadInput(f"{detector} is a recalibrated detector. Name the original detector.")
    mine = (col(verdict.run_id) == run.id, col(verdict.detector) == detector)
    found = session.scalars(select(verdict).where(*mine).order_by(col(verdict.id))).all()
    if not found:
        raise BadInput(
            f"{detector} has no verdicts in {run.name}. Judge the run first: inferact detect {quote(run.name)} "
            f"--method {quote(detector)}"
        )
    return found


def _row(
    one: tables.Verdict, name: str, probability: float | None, told: Mapping[str, Any], now_ms: int
) -> dict[str, Any]:
    """Return the row of a recalibrated verdict, without the usage of the original verdict."""
    unread = {UNPARSED: True} if probability is None else {}
    unread |= {REFUSED: True} if one.score is None else {}
    score = one.score if probability is None else probability
    kept = ("run_id", "trajectory_id", "step", "kind", "inferred_task", "rationale", "model", "seed", "requirements")
    return {name: getattr(one, name) for name in kept} | {
        "prompt_fingerprint": one.prompt_fingerprint,
        "detector": name,
        "score": score,
        "probability": probability,
        "threshold": THRESHOLD,
        "flagged": probability is None or probability > THRESHOLD,
        "parameters": orjson.dumps({**told, **unread}).decode(),
        "raw": None,
        "latency_ms": 0.0,
        "created_ms": now_ms,
    }


def _unread(one: tables.Verdict) -> bool:
    return bool(orjson.loads(one.parameters).get(UNPARSED))


def _read_score(one: tables.Verdict) -> float:
    """Return the score of a readable verdict; raise BadInput if the score is missing."""
    if one.score is None:
        raise BadInput(f"the verdict {one.id} of {one.detector} has no score. Detect again")
    return one.score


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
    """Fit a stack to labels of reviewers or gold labels of a run; raise BadInput or Unknown for unusable inputs."""
    for name in inputs:
        if "@" in name or detector(name).name == "stacked":
            raise BadInput(f"{name} cannot be an input of a stack. Name detectors without models.")
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
    mine = (col(verdict.run_id) == run.id, col(verdict.detector).in_(inputs), col(verdict.score).is_not(None))
    statement = select(*map(col, columns)).where(*mine)
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
