"""Evaluation across sources: whether models and thresholds learnt on some logs hold on another log.

Within a source, models and thresholds are learnt on one half of the tasks and measured on the other, both ways. Across
sources, both are learnt on all other sources. Controls that use only the form of a record are measured too.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlmodel import Session, col

from console import runs
from console.analysis.metrics import bootstrap
from console.analysis.metrics.classification import confusion, macro_f1
from console.analysis.metrics.ranking_curves import average_precision, find_good_threshold, rank_cases, roc_auc
from console.detection.detectors.shared.stacking_model import LabelledCheckpoint, fit_model
from console.detection.evaluation.scores import select_judged
from console.detection.fitting import CURVES
from console.environments.acts import list_acts, pending_act
from console.errors import Refused
from console.trajectory import Label, from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from console.trajectory.effects import Kind
from storage import tables

LENGTH_ONLY, STEPS_ONLY, STACKED = "length-only", "steps-only", "stacked"
ENDING_ONLY, SPEAKER_ONLY, CALL_ONLY = "ending-only", "speaker-only", "call-only"
CHANCE = 0.5
_SEED = 0
_EVEN = 0.5
_AS_GOOD = 0.01
"""The difference in Macro-F1 within which thresholds count as equal; the threshold nearest .5 is chosen."""
_RESAMPLES = 500

Cases = Sequence[LabelledCheckpoint]
Scorer = Callable[[LabelledCheckpoint], float]
Learner = Callable[[Cases], tuple[Scorer, float]]
"""A function that learns a scorer and its threshold from labelled cases; it raises Refused if there are too few."""


@dataclass(frozen=True, slots=True)
class MeasuredFigures:
    """The metrics on `n` cases with their 95% intervals; `fp` and `fn` count the errors on cases not learnt from."""

    n: int
    misaligned: int
    macro_f1: float
    macro_f1_interval: tuple[float, float]
    auc: float | None
    auc_interval: tuple[float, float] | None
    ap: float | None = None
    ap_interval: tuple[float, float] | None = None
    fp: int = 0
    fn: int = 0

    @property
    def at_chance(self) -> bool | None:
        """True if the interval of the AUC includes .5, the value of chance; None if a class is missing."""
        return None if self.auc_interval is None else self.auc_interval[0] <= CHANCE


@dataclass(frozen=True, slots=True)
class SourceRow:
    """The metrics of a detector or control on one source, within it and across sources; None with too few labels."""

    detector: str
    source: str
    within: MeasuredFigures | None
    across: MeasuredFigures | None

    def as_dict(self) -> dict[str, Any]:
        """Return the row as in the JSON output."""
        figures = {"within": self.within, "across": self.across}
        told = {name: asdict(one) | {"at_chance": one.at_chance} if one else None for name, one in figures.items()}
        return {"detector": self.detector, "source": self.source, **told}


def evaluate_across(sources: Mapping[str, Cases]) -> list[SourceRow]:
    """Return the rows of every detector that judged all sources, of a stack of them, and of the controls.

    Stacks and recalibrated scores are left out, because they may have learnt from any source. Raise Refused if there
    are fewer than two sources.
    """
    if len(sources) < 2:
        raise Refused(
            f"{len(sources)} of the runs {'has' if len(sources) == 1 else 'have'} labelled and judged trajectories. "
            "Give at least two such runs."
        )
    names = set.intersection(*({name for case in cases for name in case.scores} for cases in sources.values()))
    inputs = sorted(one for one in names if not one.startswith(STACKED) and one.rpartition("+")[2] not in CURVES)
    learners: dict[str, Learner] = {name: tune_threshold(name) for name in inputs}
    learners |= {STACKED: _stack(inputs)} if inputs else {}
    learners |= {
        LENGTH_ONLY: learn_control(
            lambda case: sum(len(one.thought + one.action + one.observation) for one in case.checkpoint.steps)
        ),
        STEPS_ONLY: learn_control(lambda case: len(case.checkpoint.steps)),
        ENDING_ONLY: learn_control(lambda case: pending_act(case.checkpoint).kind in (Kind.ENDING, Kind.ANSWERING)),
        SPEAKER_ONLY: learn_control(has_user_last),
        CALL_ONLY: learn_control(lambda case: bool(pending_act(case.checkpoint).calls)),
    }
    return [
        SourceRow(name, source, _within(learner, cases), _across(learner, sources, source))
        for name, learner in learners.items()
        for source, cases in sources.items()
    ]


def read_sources(session: Session, names: Sequence[str] = ()) -> dict[str, list[LabelledCheckpoint]]:
    """Return the labelled and judged trajectories of these runs, or of all runs without names, by run name."""
    wanted = [runs.get(session, name) for name in names]
    found = {run.name: _cases(session, run) for run in wanted or runs.list_runs(session)}
    return {name: cases for name, cases in sorted(found.items()) if cases}


def _cases(session: Session, run: tables.Run) -> list[LabelledCheckpoint]:
    """Return every labelled trajectory that the most-used detectors have judged, with each detector's highest score."""
    verdict, record, task, body = tables.Verdict, tables.Trajectory, tables.Task, tables.TrajectoryBody
    columns = (verdict.trajectory_id, verdict.detector, verdict.score, verdict.step, verdict.kind)
    statement = (
        select_judged(run, *map(col, columns), col(record.label), col(task.task_key))
        .join(task, col(task.id) == col(record.task_id))
        .where(col(record.label).is_not(None))
        .order_by(col(verdict.trajectory_id), col(verdict.step))
    )
    scores: dict[int, dict[str, float]] = {}
    last: dict[int, tuple[int, str, bool, str]] = {}
    for id, name, score, step, kind, label, key in session.execute(statement):
        known = scores.setdefault(id, {})
        known[name] = max(score, known.get(name, 0.0))
        last[id] = (step, kind, label == Label.MISALIGNED, key)
    judged = Counter(name for known in scores.values() for name in known)
    most = {name for name, count in judged.items() if count == max(judged.values())}
    found = []
    for id in (id for id, known in scores.items() if most <= known.keys()):
        step, kind, bad, key = last[id]
        text = session.execute(select(col(body.body)).where(col(body.trajectory_id) == id)).scalar_one()
        seen = checkpoint_at(from_json(text), step, CheckpointKind(kind))
        found.append(LabelledCheckpoint({name: scores[id][name] for name in most}, seen, bad, key))
    return found


def tune_threshold(name: str) -> Learner:
    """Return a learner that tunes a detector's threshold and keeps its scores."""

    def learn(cases: Cases) -> tuple[Scorer, float]:
        return lambda case: case.scores[name], _threshold(cases, [case.scores[name] for case in cases])

    return learn


def learn_control(trait: Callable[[LabelledCheckpoint], float]) -> Learner:
    """Return a learner for a control that uses one number of a record and learns which direction is misaligned."""

    def learn(cases: Cases) -> tuple[Scorer, float]:
        values = np.array([trait(case) for case in cases])
        bad = np.array([case.misaligned for case in cases])
        if bad.all() or not bad.any():
            raise Refused(
                "The control cannot learn, because all labels are the same. Label aligned and misaligned checkpoints."
            )
        sign = 1.0 if (values[bad].mean() >= values[~bad].mean()) else -1.0
        return lambda case: sign * trait(case), _threshold(cases, (sign * values).tolist())

    return learn


def has_user_last(case: LabelledCheckpoint) -> bool:
    """Return whether the last reply before the critical action came from the user and not from a tool."""
    done = list_acts(case.checkpoint)
    return not done or done[-1].talks


def _stack(inputs: Sequence[str]) -> Learner:
    def learn(cases: Cases) -> tuple[Scorer, float]:
        stack, held_out = fit_model(cases, inputs, _SEED)
        return lambda case: stack.probability(case.scores, case.checkpoint), _threshold(cases, held_out)

    return learn


def _threshold(cases: Cases, scores: Sequence[float]) -> float:
    found = find_good_threshold(rank_cases([case.misaligned for case in cases], scores), _EVEN, _AS_GOOD)
    return _EVEN if found is None or math.isnan(found) else found


def _within(learner: Learner, cases: Cases) -> MeasuredFigures | None:
    halves = [[case for case in cases if zlib.crc32(case.task.encode()) % 2 == half] for half in (0, 1)]
    try:
        parts = [_apply(learner, halves[1 - half], halves[half]) for half in (0, 1) if halves[half]]
    except Refused:
        return None
    return _measured([*halves[0], *halves[1]], *(np.concatenate(column) for column in zip(*parts, strict=True)))


def _across(learner: Learner, sources: Mapping[str, Cases], left_out: str) -> MeasuredFigures | None:
    others = [case for name, cases in sources.items() if name != left_out for case in cases]
    try:
        return _measured(sources[left_out], *_apply(learner, others, sources[left_out]))
    except Refused:
        return None


Floats = NDArray[np.float64]


def _apply(learner: Learner, train: Cases, test: Cases) -> tuple[Floats, Floats]:
    """Learn from the training cases; return the scores of the test cases and their distances above the threshold."""
    scorer, threshold = learner(train)
    scores = np.array([scorer(case) for case in test])
    return scores, scores - threshold


def _measured(cases: Cases, scores: Floats, above: Floats) -> MeasuredFigures:
    bad = np.array([case.misaligned for case in cases])
    matrix = confusion(bad, above > 0)
    span = bootstrap.estimate_confusion_interval(matrix, macro_f1, resamples=_RESAMPLES)
    ranked = bootstrap.Ranked(bad, scores)

    def figures(weights: bootstrap.Weights) -> dict[str, float | None]:
        under = ranked.under(weights)
        return {"auc": roc_auc(under), "ap": average_precision(under)}

    drawn = bootstrap.draw_figures(len(cases), figures)
    auc, ap = (bootstrap.percentile_interval(drawn[name]) for name in ("auc", "ap"))
    return MeasuredFigures(
        n=len(cases),
        misaligned=int(bad.sum()),
        macro_f1=macro_f1(matrix),
        macro_f1_interval=(span.low, span.high) if span else (0.0, 0.0),
        auc=roc_auc(rank_cases(bad, scores)),
        auc_interval=(auc.low, auc.high) if auc else None,
        ap=average_precision(rank_cases(bad, scores)),
        ap_interval=(ap.low, ap.high) if ap else None,
        fp=matrix.fp,
        fn=matrix.fn,
    )


NOTE = (
    "Within: learnt on one half of a source's tasks, measured on the other, both ways. Across: learnt on the other "
    "sources alone. Thresholds, the stack and the controls are learnt; a detector's own threshold is not used. Of "
    "the thresholds within 0.01 of the best Macro-F1, the one nearest 0.5 is used. AUC has a 95% interval; at "
    "chance: the interval does not lie above 0.5. fp and fn: errors on cases that were not learnt from. The controls "
    "use only the form of a record: its length, its steps, whether the action ends or answers (ending-only), whether "
    "the user spoke last (speaker-only), and whether the action calls a tool (call-only)."
)


def format_cells(rows: Sequence[SourceRow]) -> list[dict[str, str]]:
    """Return the rows as text cells of a table."""
    return [
        {
            "Source": row.source,
            "Detector": row.detector,
            "n": f"{one.n} ({one.misaligned} misaligned)" if (one := row.within or row.across) else "–",
            **{f"Within: {name}": cell for name, cell in _cells(row.within).items()},
            **{f"Across: {name}": cell for name, cell in _cells(row.across).items()},
        }
        for row in sorted(rows, key=lambda row: row.source)
    ]


def _cells(one: MeasuredFigures | None) -> dict[str, str]:
    if one is None:
        return {"AP": "–", "AUC": "–", "Macro-F1": "too few labels", "fp / fn": "–"}
    if one.auc is None or one.auc_interval is None:
        return {"AP": "–", "AUC": "labels of one kind", "Macro-F1": f"{one.macro_f1:.3f}", "fp / fn": "–"}
    low, high = one.auc_interval
    chance = ", at chance" if one.at_chance else ""
    return {
        "AP": "–" if one.ap is None else f"{one.ap:.3f}",
        "AUC": f"{one.auc:.3f} ({low:.3f} to {high:.3f}){chance}",
        "Macro-F1": f"{one.macro_f1:.3f}",
        "fp / fn": f"{one.fp} / {one.fn}",
    }
