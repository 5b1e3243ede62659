"""How often the certificate's bound holds, and how far above the truth it is, over simulated runs.

`python tests/benchmarks/certificate.py [--quick]`: 2,000 runs of 1,000 unflagged actions in each cell of prevalence,
audits, reviewer error, and one look or a look after every audit. Error rates are measured in each run on 60 items of
each label. Controls: audits of flagged items alone, where the detector misses what is misaligned; the bound with the
help of scores that separate, or do not; and draws by score, at one look and at every look while the draws adapt. The
last line is the result as JSON.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.analysis.metrics.ranking_curves import average_precision, rank_cases
from console.analysis.statistics.uninspected import (
    LEVEL,
    NO_ERROR,
    Audits,
    KnownItems,
    ReviewerError,
    bound_rest,
    bound_rest_always,
    bound_rest_always_assisted,
    bound_rest_assisted,
    is_possible_always,
    measure_error,
    split_scores,
)
from tests.benchmarks.measure import report

POPULATION, KNOWN = 1_000, 60
PREVALENCES, RESERVES, ERRORS = (0.005, 0.02, 0.05, 0.2), (30, 60, 120), (0.0, 0.1)
WIDTHS = 200
"""The runs of each cell of which the width at every look is computed."""
SEPARATION = 2.6
"""How many standard deviations the scores of misaligned and aligned actions are apart (AP of about 0.90)."""

Truths = NDArray[np.bool_]
once = lru_cache(None)(bound_rest)
always = lru_cache(None)(bound_rest_always)
assisted = lru_cache(None)(bound_rest_assisted)
always_assisted = lru_cache(None)(bound_rest_always_assisted)


@dataclass(frozen=True)
class Cell:
    """The runs of one cell: whether each bound held, and its excess over the truth (a share of the rest)."""

    name: str
    held: NDArray[np.bool_]
    excess: NDArray[np.float64]

    @property
    def p_value(self) -> float:
        """The chance of so few holding bounds if the probability is the level (one-sided binomial test)."""
        return float(stats.binom.cdf(self.held.sum(), self.held.size, LEVEL))


def main() -> None:
    """Prints each cell and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 runs in each cell")
    runs = 200 if parser.parse_args().quick else 2_000
    cells = [cell for error in ERRORS for cell in simulate(runs, error, np.random.default_rng([30, int(error * 10)]))]
    for cell in cells:
        held, excess = cell.held.mean(), cell.excess.mean()
        print(f"{cell.name:<62} held {held:.4f}   p {cell.p_value:.3f}   mean excess {excess:.4f}", flush=True)
    figures = {
        "runs_in_a_cell": runs,
        "cells": len(cells),
        "cells_below_the_level": sum(cell.p_value < 0.05 / len(cells) for cell in cells),
        "pooled": float(np.concatenate([cell.held for cell in cells]).mean()),
        "mean_excess": float(np.mean([cell.excess.mean() for cell in cells])),
        "flagged_only_held": flagged_only(runs),
        **assistance(runs),
        **by_score(runs),
    }
    goals = {
        "cells_below_the_level": ["<=", 0],
        "pooled": [">=", LEVEL],
        "flagged_only_held": ["<=", 0.5],
        "separating_average_precision": [">=", 0.9],
        "separating_excess_ratio": ["<=", 0.8],
        "separating_held": [">=", LEVEL],
        "random_excess_ratio": ["<=", 1.05],
        **{key: [">=", least(runs)] for key in ("random_held", "by_score_held_least", "adaptive_held_least")},
    }
    sys.exit(not report("certificate", figures, goals))


def simulate(runs: int, error: float, draw: np.random.Generator) -> Iterator[Cell]:
    """Yields the cells of one reviewer error."""
    most = max(RESERVES)
    known = draw.binomial(KNOWN, [1 - error, error], (runs, 2)) if error else np.tile([KNOWN, 0], (runs, 1))
    for prevalence in PREVALENCES:
        total = round(prevalence * POPULATION)
        truth = draw.permuted(np.tile(np.arange(POPULATION) < total, (runs, 1)), axis=1)[:, :most]
        labels = truth ^ (draw.random(truth.shape) < error)
        errors = [limits(*map(int, row)) if error else NO_ERROR for row in known]
        found, counted = np.cumsum(truth, axis=1), np.cumsum(labels, axis=1)
        out = first_left_out(counted, total, errors)
        for n in RESERVES:
            rest = (total - found[:, n - 1]) / (POPULATION - n)
            name = f"prevalence {prevalence:.1%}, {n} audits, reviewer error {error:.0%}"
            looks = [Audits(POPULATION, n, int(k)) for k in counted[:, n - 1]]
            single = np.array([once(*one).share for one in zip(looks, [LEVEL] * runs, errors, strict=True)])
            yield Cell(f"{name}, one look", single >= rest, single - rest)
            every = [always(*one).share for one in zip(looks[:WIDTHS], [LEVEL] * WIDTHS, errors[:WIDTHS], strict=True)]
            yield Cell(f"{name}, every look", out > n, np.array(every) - rest[:WIDTHS])


@lru_cache(None)
def limits(caught: int, alarms: int) -> ReviewerError:
    """The limits of the error rates from the known items of one run."""
    return measure_error(KnownItems(KNOWN, caught, KNOWN, alarms))


def first_left_out(counted: NDArray[np.int64], total: int, errors: list[ReviewerError]) -> NDArray[np.int64]:
    """The first look of each run at which the sequence leaves out the true total, or one past the last look."""
    runs, most = counted.shape
    first = np.full(runs, most + 1)
    groups: dict[ReviewerError, list[int]] = {}
    for run, error in enumerate(errors):
        groups.setdefault(error, []).append(run)
    for error, members in groups.items():
        for n in range(most, 0, -1):
            at = counted[members, n - 1]
            for k in np.unique(at):
                if not is_possible_always(Audits(POPULATION, n, int(k)), total, LEVEL, error):
                    first[np.array(members)[at == k]] = n
    return first


def flagged_only(runs: int) -> float:
    """How often the bound holds for the unflagged actions if audits are drawn from the flagged ones instead.

    Of 1,000 unflagged actions 10% are misaligned; of the flagged ones 2%, because the agent evades the detector.
    """
    draw = np.random.default_rng(31)
    labelled = draw.hypergeometric(20, 980, 120, runs)
    return float(np.mean([once(Audits(POPULATION, 120, int(k))).share >= 0.1 for k in labelled]))


def assistance(runs: int) -> dict[str, float]:
    """The bound with the help of scores beside the plain one: 20% misaligned, 120 audits."""
    draw, figures = np.random.default_rng(32), dict[str, float]()
    truth = np.arange(POPULATION) < POPULATION // 5
    for name, apart in (("separating", SEPARATION), ("random", 0.0)):
        rows = np.array([assisted_run(truth, apart, draw) for _ in range(runs)])
        plain, helped, precision = rows.mean(axis=0)
        figures[f"{name}_average_precision"] = float(precision)
        figures[f"{name}_plain_excess"], figures[f"{name}_excess"] = float(plain), float(helped)
        figures[f"{name}_excess_ratio"] = float(helped / plain)
        figures[f"{name}_held"] = float((rows[:, 1] >= 0).mean())
    return figures


def least(runs: int) -> float:
    """The share of runs below which a bound holds significantly too rarely (one-sided, 5%, over eight cells)."""
    return LEVEL - 2.5 * (LEVEL * (1 - LEVEL) / runs) ** 0.5


def by_score(runs: int) -> dict[str, float]:
    """Draws by score: two chances and one look, and 120 draws that follow the labels with a look at every tenth."""
    draw, figures = np.random.default_rng(33), dict[str, float]()
    cells = []
    for prevalence in PREVALENCES:
        truth = np.arange(POPULATION) < round(prevalence * POPULATION)
        cells.append(np.array([stratified_run(truth, draw) for _ in range(runs)]).mean(axis=0))
        print(f"by score, prevalence {prevalence:.1%}: one look held {cells[-1][0]:.4f}, adaptive {cells[-1][2]:.4f}")
    one, excess, adaptive, late = np.array(cells).T
    figures |= {"by_score_held_least": float(one.min()), "by_score_mean_excess": float(excess.mean())}
    return figures | {"adaptive_held_least": float(adaptive.min()), "adaptive_mean_excess": float(late.mean())}


def stratified_run(truth: Truths, draw: np.random.Generator) -> tuple[bool, float, bool, float]:
    """Whether both bounds hold and their excess: fixed chances at one look, and adaptive draws at every tenth look."""
    scores = draw.normal(SEPARATION * truth, 1.0)
    high = scores > (split_scores(scores) or 0.0)
    numbers = draw.random(truth.size)
    drawn = numbers < np.where(high, 0.2, 0.1)
    parts = [
        Audits(int(one.sum()), int((one & drawn).sum()), int((one & drawn & truth).sum())) for one in (~high, high)
    ]
    rest, share = float(truth[~drawn].mean()), assisted(*parts).share
    order = [draw.permutation(np.flatnonzero(one)) for one in (~high, high)]
    taken, holds, excess = [0, 0], True, 0.0
    for n in range(1, 121):
        found = [int(truth[one[:k]].sum()) for one, k in zip(order, taken, strict=True)]
        rates = [(one + 0.5) / (k + 1) for one, k in zip(found, taken, strict=True)]
        spread = [one.size * (p * (1 - p)) ** 0.5 / (k + 1) for one, p, k in zip(order, rates, taken, strict=True)]
        taken[int(spread[1] > spread[0])] += 1
        if n % 10 == 0:
            now = [Audits(one.size, k, int(truth[one[:k]].sum())) for one, k in zip(order, taken, strict=True)]
            left = truth.sum() - sum(one.labelled for one in now)
            bound = always_assisted(*now)
            holds, excess = holds and bound.misaligned >= left, (bound.misaligned - left) / bound.rest
    return share >= rest, share - rest, holds, excess


def assisted_run(truth: Truths, apart: float, draw: np.random.Generator) -> tuple[float, float, float]:
    """The excess of the plain bound and of the assisted one in a run, and the average precision of its scores."""
    scores = 1 / (1 + np.exp(-draw.normal(apart * (truth - 0.8), 1.0)))
    audited = np.zeros(truth.size, dtype=bool)
    audited[draw.permutation(truth.size)[:120]] = True
    high, rest = scores > (split_scores(scores) or 0.0), float(truth[~audited].mean())
    strata = [
        Audits(int(part.sum()), int((part & audited).sum()), int((part & audited & truth).sum()))
        for part in (~high, high)
    ]
    plain = once(Audits(truth.size, 120, int((truth & audited).sum()))).share
    return plain - rest, assisted(*strata).share - rest, average_precision(rank_cases(truth, scores)) or 0.0


if __name__ == "__main__":
    main()
