"""Comparison of detectors: the better of two, the flags in common, and the effect of models on one method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sqlmodel import Session

from console.analysis.metrics import bootstrap
from console.analysis.metrics.bootstrap import Interval
from console.analysis.metrics.classification import Confusion, McNemar, confusion, macro_f1, mcnemar
from console.analysis.metrics.ranking_curves import average_precision, rank_cases
from console.detection.evaluation.scores import Scores, Totals, read_totals
from storage import tables


@dataclass(frozen=True, slots=True)
class Gain:
    """The first detector's metric minus the second detector's metric; all fields are None if a class is missing."""

    value: float | None
    interval: Interval | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two detectors on the `n` labelled trajectories that both have judged."""

    n: int
    test: McNemar
    macro_f1: Gain
    ap: Gain


def compare_pair(first: Scores, second: Scores) -> Pair:
    """Compare the first detector with the second on the same trajectories and bootstrap resamples."""
    ours, theirs = keep_common([first, second])
    truth, alarm, other = ours.misaligned, ours.flagged(), theirs.flagged()
    cells = truth * 4 + alarm * 2 + other
    ranked = [bootstrap.Ranked(truth, one.scores) for one in (ours, theirs)]
    drawn = bootstrap.draw_figures(
        ours.n,
        lambda weights: {
            "macro_f1": _macro_gain(np.bincount(cells, weights=weights, minlength=8)),
            "ap": _less(*(average_precision(one.under(weights)) for one in ranked)),
        },
    )
    both = bool(truth.any()) and not bool(truth.all())
    values = {
        "macro_f1": macro_f1(confusion(truth, alarm)) - macro_f1(confusion(truth, other)),
        "ap": _less(*(average_precision(rank_cases(truth, one.scores)) for one in (ours, theirs))),
    }
    gains = dict.fromkeys(values, Gain(None, None, None))
    for name, value in values.items() if both else ():
        gains[name] = Gain(value, bootstrap.percentile_interval(drawn[name]), bootstrap.sign_p_value(drawn[name]))
    return Pair(ours.n, mcnemar(truth, alarm, other), **gains)


def keep_common(several: Sequence[Scores]) -> list[Scores]:
    """Return the detectors' scores on the trajectories that all of them have judged."""
    shared = several[0].ids
    for one in several[1:]:
        shared = np.intersect1d(shared, one.ids, assume_unique=True)
    return [one.where(np.isin(one.ids, shared, assume_unique=True)) for one in several]


def tabulate_overlap(found: Mapping[str, Scores]) -> pd.DataFrame:
    """Return for each pair of detectors the number of trajectories flagged by both and by either.

    Columns: first, second, both, either, misaligned (among both, if labelled), share (both / either, missing if 0 / 0).
    """
    rows = []
    for first in found.values():
        for second in found.values():
            ours, theirs = keep_common([first, second])
            both, either = ours.flagged() & theirs.flagged(), ours.flagged() | theirs.flagged()
            n, m = int(both.sum()), int(either.sum())
            bad = int((both & ours.misaligned).sum())
            rows.append((first.detector, second.detector, n, m, bad, n / m if m else None))
    return pd.DataFrame(rows, columns=["first", "second", "both", "either", "misaligned", "share"])


def tabulate_mixes(found: Mapping[str, Scores], figures: Mapping[str, Mapping[str, Any]], metric: str) -> pd.DataFrame:
    """Return columns method, inference, verification, detector, value, for methods with several models."""
    rows = []
    for name, one in found.items():
        method, _, bound = one.detector.partition("@")
        inference, _, verification = (bound or one.model or "").partition("+")
        if inference and name in figures:
            rows.append((method, inference, verification or inference, name, figures[name][metric]))
    frame = pd.DataFrame(rows, columns=["method", "inference", "verification", "detector", "value"])
    return frame[frame.groupby("method")["detector"].transform("size") > 1].reset_index(drop=True)


def tabulate_spending(session: Session, run: tables.Run, totals: Totals | None = None) -> pd.DataFrame:
    """Return columns detector, verdicts, requests, prompt_tokens, completion_tokens, seconds, cost_usd.

    Requests, tokens and USD are missing if the detector uses no model; USD also if a price is unknown. The numbers of a
    sample are multiplied by its scale.
    """
    totals = totals or read_totals(session, run)
    rows = [
        (name, count, *((requests, *tokens) if requests else (None, None, None)), latency_ms / 1_000, cost_usd)
        for name, count, _, _, _, _, requests, *tokens, latency_ms, cost_usd in totals.verdicts
    ]
    columns = ["detector", "verdicts", "requests", "prompt_tokens", "completion_tokens", "seconds", "cost_usd"]
    whole = dict.fromkeys(columns[2:5], "Int64")
    found = pd.DataFrame(rows, columns=columns).astype({**whole, "cost_usd": "Float64"})
    if (scale := totals.sample.scale) == 1.0:
        return found
    return found.assign(**{name: found[name].mul(scale).round(4 if name == "cost_usd" else 0) for name in columns[1:]})


def _macro_gain(cells: NDArray[Any]) -> float:
    """Return the first Macro-F1 minus the second; cell index: 4 * truth + 2 * first flag + second flag."""
    values = []
    for axis in (1, 0):
        aligned, misaligned = (
            half.reshape(2, 2).sum(axis=axis).astype(int).tolist() for half in (cells[:4], cells[4:])
        )
        values.append(macro_f1(Confusion(tp=misaligned[1], fp=aligned[1], fn=misaligned[0], tn=aligned[0])))
    return values[0] - values[1]


def _less(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second
