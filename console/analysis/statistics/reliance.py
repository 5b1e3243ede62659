"""Reliance on the detector: overrides by score, seeded items with and without advice, and rubber-stamping."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import special

from console.analysis.statistics.estimates import (
    Estimate,
    clip_interval,
    estimate_difference,
    estimate_mean,
    estimate_proportion,
    require_columns,
    to_floats,
)

SEEDED = ("known-good", "known-bad")
_EDGES = tuple(edge / 10 for edge in range(11))
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class Overrides:
    """Decisions on items with a score in (low, high], and the number of overrides; the first bin includes 0."""

    low: float
    high: float
    decisions: int
    overridden: int
    rate: Estimate


@dataclass(frozen=True, slots=True)
class Seeded:
    """Accuracy on items with a known answer, with the advice shown and hidden, over participants."""

    shown: Estimate
    hidden: Estimate
    difference: Estimate
    items: int
    paired: bool


@dataclass(frozen=True, slots=True)
class SeededAdvice:
    """A metric over participants for seeded items with this advice (all if empty), with its decisions and errors."""

    advice: str
    figure: str
    value: Estimate
    items: int
    errors: int | None = None


@dataclass(frozen=True, slots=True)
class Stamping:
    """Agreement with the detector in fast decisions and in other decisions, and the difference.

    The index is specific to this console: a decision is fast if its time is at most the first quartile of the
    participant's own times. The index is the share of fast decisions that agree with the detector, from 0 to 1,
    averaged over participants. It indicates rubber-stamping only if `difference` is above 0, since reviewers agree with
    a good detector in slow decisions too.
    """

    index: Estimate
    others: Estimate
    difference: Estimate


def compute_overrides(frame: pd.DataFrame) -> tuple[Overrides, ...]:
    """Compute the share of labels that differ from the detector's flag, by tenths of the detector's score (0 to 1)."""
    rows = _labelled(frame, "score").dropna(subset=["score"])
    scores = rows["score"].to_numpy(dtype=np.float64)
    differs = ~_find_agreement(rows).to_numpy(dtype=bool)
    places = np.maximum(np.searchsorted(np.asarray(_EDGES), scores, side="left") - 1, 0)
    found = []
    for place, (low, high) in enumerate(pairwise(_EDGES)):
        here = differs[places == place]
        counts = len(here), int(here.sum())
        found.append(Overrides(low, high, *counts, estimate_proportion(counts[1], counts[0])))
    return tuple(found)


def estimate_automation_bias(frame: pd.DataFrame, factor: str = "factor_score") -> dict[str, Seeded]:
    """Compare the accuracy on seeded items under `shown` and `hidden` of a factor (Goddard et al. 2012).

    "all" uses every seeded item; "advice right" and "advice wrong" use the items whose flag agrees with or contradicts
    the known answer. A difference below 0 with wrong advice shows automation bias. The comparison is within
    participants who have both levels; if there are none, the two groups are compared (Welch).
    """
    require_columns(frame, "participant", "purpose", "expected", factor)
    rows = _labelled(frame[frame["purpose"].isin(SEEDED)])
    rows = rows.assign(right=(rows["label"] == rows["expected"]).astype(float))
    sound = rows["flagged"].astype(bool) == (rows["expected"] == "misaligned")
    parts = {"all": rows, "advice right": rows[sound], "advice wrong": rows[~sound]}
    return {name: _seeded(part, factor) for name, part in parts.items()}


def estimate_seeded_advice(frame: pd.DataFrame) -> tuple[SeededAdvice, ...]:
    """Compute errors and signal detection on seeded items by the detector's advice.

    Omission is the share of wrong actions without a flag that were approved, commission the share of right actions with
    a flag that were rejected; errors under right advice are returned too. For d' and criterion the signal is a wrong
    action and the response is a rejection. Both use rates with half a case added to each count (log-linear, Hautus
    1995). Every metric is a mean over participants; d' and criterion use only participants with both right and wrong
    actions. Raise BadInput if a column is missing.
    """
    require_columns(frame, "participant", "purpose", "expected", "flagged", "label")
    rows = _labelled(frame[frame["purpose"].isin(SEEDED) & frame["expected"].isin(["aligned", "misaligned"])])
    rows = rows.assign(refused=rows["label"] == "misaligned", wrong=rows["expected"] == "misaligned")
    parts = {"": rows, **{said: rows[rows["flagged"].astype(bool) == flag] for said, flag in _ADVICE.items()}}
    found = []
    for advice, part in parts.items():
        found += _signals(part, advice)
        if advice:
            found += [_errors(part, advice, wrong) for wrong in (True, False)]
    return tuple(found)


_ADVICE = {"flagged": True, "not flagged": False}
_ERRORS = {
    ("not flagged", True): "omission",
    ("flagged", False): "commission",
    ("flagged", True): "approved wrong action despite a flag",
    ("not flagged", False): "rejected right action without a flag",
}


def _errors(rows: pd.DataFrame, advice: str, wrong: bool) -> SeededAdvice:
    mine = rows[rows["wrong"] == wrong]
    erred = mine["refused"] != wrong
    shares = clip_interval(estimate_mean(erred.astype(float).groupby(mine["participant"]).mean()))
    return SeededAdvice(advice, _ERRORS[advice, wrong], shares, len(mine), int(erred.sum()))


def _signals(rows: pd.DataFrame, advice: str) -> list[SeededAdvice]:
    counts = rows.groupby(["participant", "wrong"])["refused"].agg(["sum", "size"]).astype(float)
    scores = pd.Series(special.ndtri((counts["sum"] + 0.5) / (counts["size"] + 1)), counts.index)
    both = scores.unstack().reindex(columns=[True, False]).dropna()
    hits, alarms = both[True], both[False]
    figures = {"d_prime": hits - alarms, "criterion": -(hits + alarms) / 2}
    return [SeededAdvice(advice, name, estimate_mean(each), len(rows)) for name, each in figures.items()]


def estimate_rubber_stamping(frame: pd.DataFrame) -> Stamping:
    """Compute the rubber-stamping index; participants with fewer than four timed decisions are left out."""
    require_columns(frame, "participant", "lead_time_ms")
    rows = _labelled(frame).dropna(subset=["lead_time_ms"])
    rows = rows.assign(agrees=_find_agreement(rows).astype(float), ms=to_floats(rows["lead_time_ms"]))
    rows = rows[rows["ms"] > 0]
    rows = rows[rows.groupby("participant")["ms"].transform("size") >= _FEWEST]
    quartile = rows.groupby("participant")["ms"].transform(lambda times: times.quantile(0.25))
    fast = rows["ms"] <= quartile
    index = rows[fast].groupby("participant")["agrees"].mean()
    others = rows[~fast].groupby("participant")["agrees"].mean()
    apart = clip_interval(estimate_mean(index - others), -1)
    return Stamping(clip_interval(estimate_mean(index)), clip_interval(estimate_mean(others)), apart)


def _find_agreement(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return for each row whether the label agrees with the flag: misaligned if flagged, aligned if not."""
    return (rows["label"] == "misaligned") == rows["flagged"].astype(bool)


def _labelled(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    require_columns(frame, "label", "flagged", *columns)
    return frame.dropna(subset=["label", "flagged"])


def _seeded(rows: pd.DataFrame, factor: str) -> Seeded:
    shares = rows.groupby(["participant", factor])["right"].mean().unstack().reindex(columns=["shown", "hidden"])
    both, sides = shares.dropna(), (shares["shown"], shares["hidden"])
    apart = estimate_mean(both["shown"] - both["hidden"]) if len(both) else estimate_difference(*sides)
    shown, hidden = (clip_interval(estimate_mean(side)) for side in sides)
    return Seeded(shown, hidden, clip_interval(apart, -1), len(rows), bool(len(both)))
