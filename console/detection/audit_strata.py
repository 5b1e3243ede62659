"""Strata of audits: the score that divides the unflagged actions of a run, and the probability of each part.

The certificate is exact for all probabilities, because every action of a part has the same chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sqlmodel import Session, col, select

from console.analysis.statistics.uninspected import Audits, split_scores
from console.detection.audit_labels import read_audits
from console.detection.routing import is_judged_beforehand, routing_name
from console.errors import Refused
from console.runs import run_options
from storage import tables

_RATIO = 2.0
"""The factor between the probabilities of low and high scores, until labels suggest another factor."""
_RATIOS = (0.5, 6.0)
_SHARE_HIGH = 0.2
"""The expected share of high scores in a run whose actions are still to come."""


def allocate(session: Session, run: tables.Run, probability: float, *, adapts: bool) -> tuple[float, dict[str, float]]:
    """Return the probability of low scores and the strata, with the expected number of audits of this probability.

    An adapting allocation follows the spread of the labels in each stratum so far (Neyman 1934), keeps the cut, and
    lowers no probability. Raise Refused if all scores are equal.
    """
    scores = _unflagged_scores(session, run)
    before = run_options(run)
    ratio, cut = _RATIO, before.audit_strata.get("cut") if adapts else None
    if adapts and before.audited:
        rows = read_audits(session, run)
        cut = split_scores(rows.scores) if cut is None else cut
        if cut is not None:
            ratio = _ratio(rows.count(rows.scores <= cut), rows.count(rows.scores > cut))
    if cut is None:
        cut = split_scores(scores)
    if cut is None and is_judged_beforehand(run):
        cut = (run.threshold or 0.5) / 2
    if cut is None:
        raise Refused(f"The unflagged actions of run {run.name!r} have equal scores. Draw audits without --by-score.")
    high = float((scores > cut).mean()) if scores.size else _SHARE_HIGH
    low = min(1.0, probability / (1 - high + ratio * high))
    chances = [low, min(1.0, ratio * low)]
    if adapts and before.audited:
        earlier = (before.audited, before.audit_strata.get("high", before.audited))
        chances = [max(pair) for pair in zip(chances, earlier, strict=True)]
    return chances[0], {"cut": cut, "high": chances[1]} | ({"adaptive": 1.0} if adapts else {})


def _unflagged_scores(session: Session, run: tables.Run) -> NDArray[np.float64]:
    verdict = tables.Verdict
    statement = select(verdict.score).where(verdict.run_id == run.id, verdict.detector == routing_name(run))
    return np.array([one for one in session.exec(statement.where(col(verdict.flagged).is_(False))) if one is not None])


def _ratio(low: Audits, high: Audits) -> float:
    spreads = []
    for audits in (low, high):
        share = (audits.labelled + 0.5) / (audits.drawn + 1)
        spreads.append((share * (1 - share)) ** 0.5)
    return float(np.clip(spreads[1] / spreads[0], *_RATIOS))
