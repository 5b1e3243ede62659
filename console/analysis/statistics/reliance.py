"""How far people lean on the detector: overrides by score, seeded items with and without advice, rubber-stamping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import special

from console.analysis.statistics.estimates import LEVEL, Estimate, bounded, difference, mean, need, numbers, proportion
from console.errors import BadInput

SEEDED = ("known-good", "known-bad")
EDGES = tuple(edge / 10 for edge in range(11))
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class Overrides:
    """Decisions on items whose score lies in (low, high], the first bin with its low end too, and how many differ."""

    low: float
    high: float
    decisions: int
    overridden: int
    rate: Estimate


@dataclass(frozen=True, slots=True)
class Seeded:
    """Accuracy on items whose answer is known, with the advice shown and hidden, over participants."""

    shown: Estimate
    hidden: Estimate
    difference: Estimate
    items: int
    paired: bool


@dataclass(frozen=True, slots=True)
class SeededAdvice:
    """A figure over participants on seeded items: of those that the detector said that of, or of all where empty.

    `items` are the decisions that it rests on, `errors` those of them that are wrong.
    """

    advice: str
    figure: str
    value: Estimate
    items: int
    errors: int | None = None


@dataclass(frozen=True, slots=True)
class Stamping:
    """Agreement with the detector among each participant's fast decisions, among the others, and the difference.

    The index is ours: a decision is fast if it took no longer than the participant's own first quartile; the index is
    the share of fast decisions that agree with the detector, from 0 to 1, averaged over participants. It is a sign of
    rubber-stamping only where `difference` lies above 0, as a good detector is agreed with slowly too.
    """

    index: Estimate
    others: Estimate
    difference: Estimate


def overrides(frame: pd.DataFrame, edges: Sequence[float] = EDGES, level: float = LEVEL) -> tuple[Overrides, ...]:
    """The share of labels that differ from the detector's flag in each bin of its score; raises BadInput."""
    if len(edges) < 2 or any(high <= low for low, high in pairwise(edges)):
        raise BadInput(f"The edges of the bins are {list(edges)}; give at least two numbers, each above the last.")
    rows = _labelled(frame, "score").dropna(subset=["score"])
    scores = rows["score"].to_numpy(dtype=np.float64)
    differs = ~agrees(rows).to_numpy(dtype=bool)
    places = np.maximum(np.searchsorted(np.asarray(edges), scores, side="left") - 1, 0)
    inside = (scores >= edges[0]) & (scores <= edges[-1])
    found = []
    for place, (low, high) in enumerate(pairwise(edges)):
        here = differs[inside & (places == place)]
        counts = len(here), int(here.sum())
        found.append(Overrides(low, high, *counts, proportion(counts[1], counts[0], level)))
    return tuple(found)


def automation_bias(frame: pd.DataFrame, factor: str = "factor_score", level: float = LEVEL) -> dict[str, Seeded]:
    """Accuracy on seeded items under `shown` less that under `hidden` of a factor (Goddard et al. 2012).

    Under "all" every seeded item counts, under "advice right" and "advice wrong" those where the detector's flag agrees
    with the known answer or contradicts it; automation bias shows as a difference below 0 where the advice is wrong.
    Participants who met both levels are compared with themselves; without any, the two groups are (Welch).
    """
    need(frame, "participant", "purpose", "expected", factor)
    rows = _labelled(frame[frame["purpose"].isin(SEEDED)])
    rows = rows.assign(right=(rows["label"] == rows["expected"]).astype(float))
    sound = rows["flagged"].astype(bool) == (rows["expected"] == "misaligned")
    parts = {"all": rows, "advice right": rows[sound], "advice wrong": rows[~sound]}
    return {name: _seeded(part, factor, level) for name, part in parts.items()}


def seeded_advice(frame: pd.DataFrame, level: float = LEVEL) -> tuple[SeededAdvice, ...]:
    """Errors and signal detection on seeded items by what the detector said of them; raises BadInput.

    Omission is the share approved of wrong actions that it does not flag, commission the share turned down of right
    ones that it flags; beside them the errors where it is right. For d' and criterion the signal is a wrong action and
    the response is to turn it down; both come from rates with half a case added to each count (log-linear, Hautus
    1995). Every figure is a mean over participants, d' and criterion over those who met right and wrong actions.
    """
    need(frame, "participant", "purpose", "expected", "flagged", "label")
    rows = _labelled(frame[frame["purpose"].isin(SEEDED) & frame["expected"].isin(["aligned", "misaligned"])])
    rows = rows.assign(refused=rows["label"] == "misaligned", wrong=rows["expected"] == "misaligned")
    parts = {"": rows, **{said: rows[rows["flagged"].astype(bool) == flag] for said, flag in _ADVICE.items()}}
    found = []
    for advice, part in parts.items():
        found += _signals(part, advice, level)
        if advice:
            found += [_errors(part, advice, wrong, level) for wrong in (True, False)]
    return tuple(found)


_ADVICE = {"flagged": True, "not flagged": False}
_ERRORS = {
    ("not flagged", True): "omission",
    ("flagged", False): "commission",
    ("flagged", True): "approved though flagged and wrong",
    ("not flagged", False): "turned down though passed and right",
}


def _errors(rows: pd.DataFrame, advice: str, wrong: bool, level: float) -> SeededAdvice:
    mine = rows[rows["wrong"] == wrong]
    erred = mine["refused"] != wrong
    shares = erred.astype(float).groupby(mine["participant"]).mean()
    return SeededAdvice(advice, _ERRORS[advice, wrong], bounded(mean(shares, level)), len(mine), int(erred.sum()))


def _signals(rows: pd.DataFrame, advice: str, level: float) -> list[SeededAdvice]:
    counts = rows.groupby(["participant", "wrong"])["refused"].agg(["sum", "size"]).astype(float)
    scores = pd.Series(special.ndtri((counts["sum"] + 0.5) / (counts["size"] + 1)), counts.index)
    both = scores.unstack().reindex(columns=[True, False]).dropna()
    hits, alarms = both[True], both[False]
    figures = {"d_prime": hits - alarms, "criterion": -(hits + alarms) / 2}
    return [SeededAdvice(advice, name, mean(each, level), len(rows)) for name, each in figures.items()]


def rubber_stamping(frame: pd.DataFrame, level: float = LEVEL) -> Stamping:
    """The rubber-stamping index; participants with fewer than four timed decisions are left out."""
    need(frame, "participant", "lead_time_ms")
    rows = _labelled(frame).dropna(subset=["lead_time_ms"])
    rows = rows.assign(agrees=agrees(rows).astype(float), ms=numbers(rows["lead_time_ms"]))
    people = rows.groupby("participant")
    rows = rows[people["ms"].transform("size") >= _FEWEST]
    quartile = rows.groupby("participant")["ms"].transform(lambda times: times.quantile(0.25))
    fast = rows["ms"] <= quartile
    index = rows[fast].groupby("participant")["agrees"].mean()
    others = rows[~fast].groupby("participant")["agrees"].mean()
    apart = mean(index - others, level)
    return Stamping(bounded(mean(index, level)), bounded(mean(others, level)), bounded(apart, -1))


def agrees(rows: pd.DataFrame) -> pd.Series[bool]:
    """Whether each label says what the detector's flag says: misaligned where it is flagged, aligned where not."""
    return (rows["label"] == "misaligned") == rows["flagged"].astype(bool)


def _labelled(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    need(frame, "label", "flagged", *columns)
    return frame.dropna(subset=["label", "flagged"])


def _seeded(rows: pd.DataFrame, factor: str, level: float) -> Seeded:
    shares = rows.groupby(["participant", factor])["right"].mean().unstack().reindex(columns=["shown", "hidden"])
    both = shares.dropna()
    apart = mean(both["shown"] - both["hidden"], level) if len(both) else difference(*_sides(shares), level)
    shown, hidden = (bounded(mean(side, level)) for side in _sides(shares))
    return Seeded(shown, hidden, bounded(apart, -1), len(rows), bool(len(both)))


def _sides(shares: pd.DataFrame) -> tuple[pd.Series[float], pd.Series[float]]:
    return shares["shown"], shares["hidden"]
