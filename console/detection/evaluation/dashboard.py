"""Evaluation dashboard: the metrics of a run's detectors for one page, computed once per database state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from sqlmodel import Session

from console import runs
from console.detection.evaluation import chart_data, comparison, scores
from console.detection.evaluation.metrics import measure_detector
from console.detection.evaluation.scores import Population, Scores, count_population
from storage import tables


@dataclass(frozen=True, eq=False)
class Dashboard:
    """A run's scores and their metrics; `known` holds the labelled trajectories of detectors that have any."""

    version: tuple[Any, ...]
    run: str
    environment: str
    halted_free: bool
    cap: int | None
    population: Population
    scores: dict[str, Scores]
    known: dict[str, Scores]
    spending: pd.DataFrame

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
        """Whether any detector's trajectories have labels of both classes."""
        return any(0 < int(one.misaligned.sum()) < one.n for one in self.known.values())

    def measure(self) -> None:
        """Compute every metric now instead of on first use."""
        self.table("pr-curve")

    def table(self, chart: str) -> pd.DataFrame:
        """Return the table behind a chart about all detectors; raise KeyError if the chart is unknown."""
        return self._tables[chart]

    @cached_property
    def _tables(self) -> dict[str, pd.DataFrame]:
        ordered = [self.known[name] for name in self.figures]
        drawn = {
            "pr-curve": chart_data.pr_table(ordered),
            "roc-curve": chart_data.roc_table(ordered),
            "reliability": chart_data.reliability_table(ordered),
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


def build_dashboard(session: Session, run: tables.Run) -> Dashboard:
    """Return the current evaluation of a run."""
    by_detector = scores.read_scores(session, run)
    return Dashboard(
        version=dashboard_version(session, run),
        run=run.name,
        environment=run.environment,
        halted_free=run.halted_free,
        cap=runs.cap(session, run),
        population=count_population(session, run),
        scores=by_detector,
        known={name: known for name, one in by_detector.items() if (known := one.labelled).n},
        spending=comparison.tabulate_spending(session, run),
    )


def dashboard_version(session: Session, run: tables.Run) -> tuple[Any, ...]:
    """Return a value that changes whenever the run's dashboard changes."""
    return (*scores.scores_version(session, run), run.budget_cap, run.budget_percent, run.halted_free)
