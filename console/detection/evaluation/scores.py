"""Scores of a run's detectors by trajectory, the basis of every metric of detectors.

A trajectory's score is the maximum over its checkpoints, so that a curve needs no threshold. Halted and carried-over
trajectories are never scored (InferAct, section 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Select, case, func, not_, select
from sqlmodel import Session, col

from console.detection.detectors import UNPARSED
from console.detection.detectors.verdict import MODE, PAPER_MODE
from console.runs.status import EVERY, Sample, select_verdicts
from console.trajectory import Label, Outcome
from storage import tables

UNKNOWN = -1
"""The label of a trajectory that has no label in its source."""
OWN = "console"
"""The mode of verdicts that were computed in the console's own way."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """One detector's trajectories by ascending id; `labels` has 1 for misaligned, 0 for aligned, -1 for unknown.

    `probabilities` may be NaN; `unparsed` marks scores from unreadable replies. `mode` is `paper` or `mixed` if all or
    some verdicts were computed as in the paper. `refused` counts checkpoints that the model refused to judge.
    """

    detector: str
    model: str | None
    threshold: float
    ids: NDArray[np.int64]
    trials: NDArray[np.int64]
    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    unparsed: NDArray[np.bool_]
    mode: str = OWN
    refused: int = 0

    @property
    def n(self) -> int:
        """The number of trajectories."""
        return self.ids.size

    @property
    def misaligned(self) -> NDArray[np.bool_]:
        """True for trajectories labelled misaligned."""
        misaligned: NDArray[np.bool_] = self.labels == 1
        return misaligned

    def flagged(self, threshold: float | None = None) -> NDArray[np.bool_]:
        """Return a mask of the scores above the threshold (the verdicts' own if None) or from unreadable replies."""
        limit = self.threshold if threshold is None else threshold
        flags: NDArray[np.bool_] = (self.scores > limit) | self.unparsed
        return flags

    def where(self, mask: NDArray[np.bool_]) -> Scores:
        """Return the scores of the selected trajectories."""
        arrays = ("ids", "trials", "labels", "scores", "probabilities", "unparsed")
        return replace(self, **{name: getattr(self, name)[mask] for name in arrays})

    @property
    def labelled(self) -> Scores:
        """The scores of labelled trajectories."""
        return self.where(self.labels != UNKNOWN)

    @property
    def parsed(self) -> Scores:
        """The scores of trajectories without an unreadable reply."""
        return self.where(~self.unparsed)

    @property
    def calibrated(self) -> Scores:
        """The scores of trajectories with a probability."""
        return self.where(~np.isnan(self.probabilities))


def read_scores(
    session: Session, run: tables.Run, sample: Sample = EVERY, totals: Totals | None = None
) -> dict[str, Scores]:
    """Return the scores of every detector of a run, by detector name; `totals` are the sample's, if known."""
    by_detector: dict[str, list[Any]] = {}
    for row in session.execute(_statement(run, sample)):
        by_detector.setdefault(row[0], []).append(row)
    refused = (totals or read_totals(session, run, sample)).refused
    return {name: replace(_arrays(name, rows), refused=refused.get(name, 0)) for name, rows in by_detector.items()}


def select_judged(run: tables.Run, *columns: Any, sample: Sample = EVERY) -> Select[Any]:
    """Select these columns of a run's verdicts that have a score, without halted and carried-over trajectories."""
    verdict, record = tables.Verdict, tables.Trajectory
    own = select_verdicts(run, sample, *columns).where(col(record.carried_over).is_(False))
    return own.where(col(record.recorded_outcome) != Outcome.HALTED, col(verdict.score).is_not(None))


@dataclass(frozen=True, slots=True)
class Population:
    """The numbers of trajectories: `judgeable`, `halted` by trial, and `copies` that were carried over.

    The run has `scale` times as many trajectories; it is above 1 if these are a sample.
    """

    judgeable: int
    halted: dict[int, int]
    copies: int = 0
    scale: float = 1.0

    @property
    def n(self) -> int:
        """The number of trajectories without copies."""
        return self.judgeable + sum(self.halted.values())

    def scaled(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return these numbers of trajectories as estimates for the whole run."""
        return np.array(np.rint(counts * self.scale), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a sample's verdicts by detector and of its trajectories by trial.

    `verdicts` has (detector, verdicts, highest id, latest time, sum of thresholds, verdicts with a score, requests,
    prompt tokens, completion tokens, latency in ms, cost in USD), and `trajectories` (trial, halted ones, ones to
    judge, copies of earlier trials, highest id, ones with a label).
    """

    sample: Sample
    verdicts: tuple[tuple[Any, ...], ...]
    trajectories: tuple[tuple[Any, ...], ...]

    @property
    def version(self) -> tuple[Any, ...]:
        """A value that changes with any verdict, threshold or trajectory of the sample."""
        # A server may add up decimal numbers in another order the next time.
        return (self.sample.total, *(row[:-2] for row in self.verdicts), *self.trajectories)

    @property
    def refused(self) -> dict[str, int]:
        """The number of checkpoints that a model refused to judge, by detector."""
        return {row[0]: row[1] - row[5] for row in self.verdicts if row[1] > row[5]}

    @property
    def population(self) -> Population:
        """The number of trajectories to judge, of halted trajectories and of copies of earlier trials."""
        halted = {trial: ended for trial, ended, others, *_ in self.trajectories if ended or others}
        judgeable, copies = (sum(row[at] for row in self.trajectories) for at in (2, 3))
        return Population(judgeable, halted, copies, self.sample.scale)


def read_totals(session: Session, run: tables.Run, sample: Sample = EVERY) -> Totals:
    """Return the totals of the run's verdicts and trajectories in the sample."""
    verdict, record = tables.Verdict, tables.Trajectory
    summed = (verdict.requests, verdict.prompt_tokens, verdict.completion_tokens, verdict.latency_ms, verdict.cost_usd)
    newest = (func.max(col(verdict.id)), func.max(col(verdict.created_ms)), func.sum(col(verdict.threshold)))
    counts = (*newest, func.count(col(verdict.score)), *(func.sum(col(one)) for one in summed))
    verdicts = select_verdicts(run, sample, col(verdict.detector), func.count(), *counts)
    halted, own = col(record.recorded_outcome) == Outcome.HALTED, col(record.carried_over).is_(False)
    kinds = (func.sum(case((one, 1), else_=0)) for one in (own & halted, own & not_(halted), not_(own)))
    known = func.max(col(record.id)), func.count(col(record.label))
    trials = select(col(record.trial), *kinds, *known).where(*sample.conditions(run))
    found = (
        session.execute(statement.group_by(by).order_by(by)).all()
        for statement, by in ((verdicts, col(verdict.detector)), (trials, col(record.trial)))
    )
    return Totals(sample, *(tuple(map(tuple, rows)) for rows in found))


def _statement(run: tables.Run, sample: Sample) -> Any:
    verdict, record = tables.Verdict, tables.Trajectory
    paper = col(verdict.parameters).contains(f'"{MODE}":"{PAPER_MODE}"')
    unread = col(verdict.parameters).contains(f'"{UNPARSED}":true')
    return (
        select_judged(
            run,
            col(verdict.detector),
            col(record.id),
            col(record.trial),
            col(record.label),
            func.max(col(verdict.score)),
            func.max(col(verdict.probability)),
            func.max(case((unread, 1), else_=0)),
            func.max(col(verdict.threshold)),
            func.max(col(verdict.model)),
            func.sum(case((paper, 1), else_=0)),
            func.count(),
            sample=sample,
        )
        .group_by(col(verdict.detector), col(record.id), col(record.trial), col(record.label))
        .order_by(col(verdict.detector), col(record.id))
    )


_CODES = {Label.MISALIGNED: 1, Label.ALIGNED: 0}


def _arrays(name: str, rows: list[Any]) -> Scores:
    _, ids, trials, labels, scores, probabilities, unparsed, thresholds, models, papers, all_of = zip(
        *rows, strict=True
    )
    return Scores(
        detector=name,
        model=next((model for model in models if model), None),
        threshold=max(thresholds),
        ids=np.array(ids, dtype=np.int64),
        trials=np.array(trials, dtype=np.int64),
        labels=np.array([_CODES.get(label, UNKNOWN) for label in labels], dtype=np.int64),
        scores=np.array(scores, dtype=np.float64),
        probabilities=np.array([np.nan if value is None else value for value in probabilities], dtype=np.float64),
        unparsed=np.array(unparsed, dtype=np.bool_),
        mode=OWN if not any(papers) else PAPER_MODE if papers == all_of else "mixed",
    )
