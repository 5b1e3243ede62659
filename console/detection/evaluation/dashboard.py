"""Evaluation dashboard: the metrics of a run's detectors for one page, and the table behind each chart about them.

The metrics are computed once per database state; the exported CSV of a table reproduces its chart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sqlmodel import Session

from console import runs
from console.analysis.metrics.classification import BINS, Confusion, macro_f1
from console.analysis.metrics.classification import reliability as bins_of
from console.analysis.metrics.ranking_curves import Ranking, rank_cases
from console.detection.evaluation import comparison, paper, scores
from console.detection.evaluation.metrics import measure_detector
from console.detection.evaluation.scores import UNKNOWN, Population, Scores, Totals, read_totals
from console.runs.status import Sample, draw_sample
from storage import tables
from storage.tables import RunKind


@dataclass(frozen=True, eq=False)
class Dashboard:
    """A run's scores and their metrics; `known` holds the labelled trajectories of each detector with labels."""

    version: tuple[Any, ...]
    run: str
    environment: str
    halted_free: bool
    reviews: int
    is_gate: bool
    cap: int | None
    population: Population
    scores: dict[str, Scores]
    known: dict[str, Scores]
    spending: pd.DataFrame
    sample: Sample

    @cached_property
    def figures(self) -> dict[str, dict[str, Any]]:
        """Each detector's metrics with intervals, the best Macro-F1 first; empty if labels are missing."""
        figures = {name: measure_detector(one) for name, one in self.known.items()}
        return dict(sorted(figures.items(), key=lambda entry: (-entry[1]["macro_f1"], entry[0])))

    @property
    def excluded(self) -> dict[str, int]:
        """The number of trajectories that a detector's metrics exclude: halted, without a label, without a verdict."""
        return {name: self.population.n - one.n for name, one in self.known.items()}

    @property
    def both_classes(self) -> bool:
        """True if any detector's trajectories have labels of both classes."""
        return any(0 < int(one.misaligned.sum()) < one.n for one in self.known.values())

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The table behind each chart about all detectors, by chart."""
        ordered = [self.known[name] for name in self.figures]
        drawn = {
            "pr-curve": pr_table(ordered),
            "roc-curve": roc_table(ordered),
            "reliability": reliability_table(ordered),
        }
        same = pd.CategoricalDtype(list(self.figures))
        ordered_alike = {name: table.astype({"detector": same}) for name, table in drawn.items()}
        return ordered_alike | {"flag-overlap": comparison.tabulate_overlap(self.scores)}

    def figure_table(self) -> pd.DataFrame:
        """Return columns detector, cases, figure, value, low, high (missing if undefined).

        `cases` is `all`, or `parsed_only` for the metrics of readable replies alone.
        """
        rows: list[tuple[Any, ...]] = []
        for name, known in self.figures.items():
            bounds = known["intervals"]
            for figure, value in {**_plain(known), "excluded": self.excluded[name]}.items():
                low_high = bounds.get(figure) or {}
                rows.append((name, "all", figure, value, low_high.get("low"), low_high.get("high")))
            rows += [(name, "parsed_only", *entry, None, None) for entry in _plain(known["parsed_only"] or {}).items()]
        columns = ["detector", "cases", "figure", "value", "low", "high"]
        return pd.DataFrame(rows, columns=columns).astype({"value": float, "low": float, "high": float})


def _plain(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if name not in ("intervals", "parsed_only")}


def build_dashboard(session: Session, run: tables.Run, totals: Totals | None = None) -> Dashboard:
    """Return the current evaluation of a run; `totals` are those of its sample, if known."""
    totals = totals or read_totals(session, run, draw_sample(session, run))
    by_detector = scores.read_scores(session, run, totals.sample, totals)
    return Dashboard(
        version=dashboard_version(session, run, totals),
        run=run.name,
        environment=run.environment,
        halted_free=run.halted_free,
        reviews=run.reviews_per_item,
        is_gate=run.kind == RunKind.GATE,
        cap=runs.cap(session, run),
        population=totals.population,
        scores=by_detector,
        known={name: known for name, one in by_detector.items() if (known := one.labelled).n},
        spending=comparison.tabulate_spending(session, run, totals),
        sample=totals.sample,
    )


def dashboard_version(session: Session, run: tables.Run, totals: Totals | None = None) -> tuple[Any, ...]:
    """Return a value that changes whenever the run's dashboard changes."""
    totals = totals or read_totals(session, run, draw_sample(session, run))
    return (run.id, *totals.version, run.budget_cap, run.budget_percent, run.halted_free, run.reviews_per_item)


_FINE = 400
"""The number of steps in a drawn curve; the CSV of the scores contains all points."""
_HISTOGRAM_BINS = 20
_SWEEP = 101
_LABELS = {1: "misaligned", 0: "aligned", UNKNOWN: "no label"}


def score_table(found: Iterable[Scores]) -> pd.DataFrame:
    """Return columns trajectory_id, trial, gold_label, detector, score, probability, threshold, flagged, unparsed."""
    return _joined(
        {
            "trajectory_id": one.ids,
            "trial": one.trials,
            "gold_label": [_LABELS[code] if code != UNKNOWN else None for code in one.labels.tolist()],
            "detector": one.detector,
            "score": one.scores,
            "probability": one.probabilities,
            "threshold": one.threshold,
            "flagged": one.flagged(),
            "unparsed": one.unparsed,
        }
        for one in found
    )


def pr_table(found: Iterable[Scores]) -> pd.DataFrame:
    """Return recall and precision by falling threshold, for detectors with any misaligned trajectory."""
    rows = []
    for one, ranked in _ranked(found):
        if ranked.positives:
            at = _thinned(ranked.recall, ranked.precision)
            points = {"threshold": ranked.scores[at], "recall": ranked.recall[at], "precision": ranked.precision[at]}
            rows.append({"detector": one.detector, **points, "share_misaligned": ranked.positives / one.n})
    return _joined(rows)


def roc_table(found: Iterable[Scores]) -> pd.DataFrame:
    """Return false-alarm and detection rates by falling threshold from (0, 0), for detectors with both classes."""
    rows = []
    for one, ranked in _ranked(found):
        if ranked.both_classes:
            alarms, caught = ranked.fp / ranked.negatives, ranked.recall
            at = _thinned(alarms, caught)
            rows.append(
                {
                    "detector": one.detector,
                    "threshold": np.append(np.nan, ranked.scores[at]),
                    "false_alarm_rate": np.append(0.0, alarms[at]),
                    "detection_rate": np.append(0.0, caught[at]),
                }
            )
    return _joined(rows)


def reliability_table(found: Iterable[Scores]) -> pd.DataFrame:
    """Return a table with ten bins of equal width for each detector that outputs probabilities."""
    edges, rows = np.linspace(0.0, 1.0, BINS + 1), []
    for one in (every.calibrated for every in found):
        if one.n:
            bins = bins_of(one.misaligned, one.probabilities)
            rows.append(
                {
                    "detector": one.detector,
                    "bin_low": edges[:-1],
                    "bin_high": edges[1:],
                    "n": bins.counts,
                    "mean_probability": bins.mean_probability,
                    "share_misaligned": bins.share_misaligned,
                }
            )
    return _joined(rows)


def histogram_table(one: Scores) -> pd.DataFrame:
    """Return twenty equal bins of a detector's scores, by label."""
    rows = []
    for code in np.unique(one.labels):
        counts, edges = np.histogram(one.scores[one.labels == code], _HISTOGRAM_BINS, range=(0.0, 1.0))
        rows.append({"label": _LABELS[int(code)], "bin_low": edges[:-1], "bin_high": edges[1:], "n": counts})
    return _joined(rows)


def confusion_table(counted: Confusion) -> pd.DataFrame:
    """Return the four cells of a confusion matrix."""
    misaligned = [("misaligned", True, counted.tp), ("misaligned", False, counted.fn)]
    aligned = [("aligned", True, counted.fp), ("aligned", False, counted.tn)]
    return pd.DataFrame([*misaligned, *aligned], columns=["label", "flagged", "n"])


def sweep_table(one: Scores, population: Population, *, halted_free: bool, reviews: int = 1) -> pd.DataFrame:
    """Return by threshold Macro-F1 over the labelled trajectories, and the run's inspections, with `reviews` each."""
    known, halted = one.labelled, 0 if halted_free else sum(population.halted.values())
    at = np.linspace(0.0, 1.0, _SWEEP)
    caught, alarms = (_above(known.where(known.labels == code), at) for code in (1, 0))
    bad = int(known.misaligned.sum())
    matrices = [
        Confusion(int(tp), int(fp), bad - int(tp), known.n - bad - int(fp))
        for tp, fp in zip(caught, alarms, strict=True)
    ]
    values = [macro_f1(matrix) if matrix.n else np.nan for matrix in matrices]
    return pd.DataFrame(
        {"threshold": at, "macro_f1": values, "inspections": reviews * population.scaled(_above(one, at) + halted)}
    )


def inspections_table(
    one: Scores, population: Population, threshold: float, cap: int | None, *, halted_free: bool, reviews: int = 1
) -> pd.DataFrame:
    """Return columns trial, flagged, halted, inspections, budget and beyond_budget (both missing without a `cap`).

    Each of an item's `reviews` uses one inspection. From a sample, the numbers are estimates for the whole run.
    """
    flagged, rows = one.flagged(threshold), []
    for trial in sorted({*np.unique(one.trials).tolist(), *population.halted}):
        own = np.array([(flagged & (one.trials == trial)).sum(), population.halted.get(trial, 0)])
        n, halted = population.scaled(own).tolist()
        needed = reviews * (n + (0 if halted_free else halted))
        rows.append((trial, n, halted, needed, cap, None if cap is None else max(needed - cap, 0)))
    return pd.DataFrame(rows, columns=["trial", "flagged", "halted", "inspections", "budget", "beyond_budget"]).astype(
        {"budget": "Int64", "beyond_budget": "Int64"}
    )


def published_table(
    environment: str, figures: Mapping[str, Mapping[str, Any]], metric: str, title: str
) -> pd.DataFrame:
    """Return a metric of each detector as measured here and as printed in the paper for that environment."""
    rows: list[tuple[Any, ...]] = []
    for name, known in figures.items():
        bounds = known["intervals"].get(metric) or {"low": np.nan, "high": np.nan}
        if known[metric] is not None:
            rows.append((name, "here", known[metric], bounds["low"], bounds["high"], title))
    for one in paper.read_printed_figures(environment):
        if one.metric == metric:
            rows.append((one.detector, f"{paper.SOURCE}, {one.model}", one.value, np.nan, np.nan, title))
    return pd.DataFrame(rows, columns=["detector", "source", "value", "low", "high", "metric"])


def _ranked(found: Iterable[Scores]) -> Iterable[tuple[Scores, Ranking]]:
    for one in found:
        yield one, rank_cases(one.misaligned, one.scores)


def _above(one: Scores, at: NDArray[np.float64]) -> NDArray[np.int64]:
    sure = np.sort(one.scores[~one.unparsed])
    return int(one.unparsed.sum()) + sure.size - np.searchsorted(sure, at, side="right")


def _thinned(*axes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices at which a curve moves by one drawing step, and its last index."""
    places: list[NDArray[np.int64]] = [np.array([axes[0].size - 1])]
    for axis in axes:
        steps = np.floor(axis * _FINE)
        places.append(np.append(0, np.flatnonzero(np.diff(steps)) + 1))
    found = np.unique(np.concatenate(places))
    if found.size <= 4 * _FINE:
        return found
    return found[np.linspace(0, found.size - 1, 4 * _FINE).astype(np.int64)]


def _joined(parts: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    frames = [pd.DataFrame(part) for part in parts]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame({"detector": [], "label": [], "n": []})
