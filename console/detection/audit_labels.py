"""The labels of a run's random audits: the draw of each unflagged action, and the reviewers' label of each audit.

The strata of audits are the score that divides the unflagged actions of a run, and the probability of each part. The
certificate is exact for all probabilities, because every action of a part has the same chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.analysis.statistics.uninspected import Audits, split_scores
from console.detection.routing import is_judged_beforehand, routing_name
from console.errors import Refused
from console.runs import is_current, run_options
from console.trajectory import Label
from storage import tables
from storage.tables import UNREVIEWED, ItemStatus

_DECIDED = (ItemStatus.DECIDED, ItemStatus.DELIVERED)
_NONE = (np.empty(0),) * 4


@dataclass(frozen=True, slots=True, eq=False)
class AuditRows:
    """The unflagged actions of a run: their scores, and for each audit its label.

    `labels` has 1 for misaligned, 0 for aligned and -1 for actions that are not audited; `waiting` audits are pending,
    and `unlabelled` audits left the queue without a label and count as misaligned. `reviewers` decided the audits.
    `is_even` marks the actions that the smallest `probability` draws too. `is_high` marks the high scores if they are
    drawn with a probability of their own, otherwise it is None.
    """

    scores: NDArray[np.float64]
    labels: NDArray[np.int8]
    probability: float
    waiting: int
    unlabelled: int
    reviewers: tuple[str, ...]
    is_even: NDArray[np.bool_]
    is_high: NDArray[np.bool_] | None = None
    is_adaptive: bool = False

    @property
    def evenly(self) -> Audits:
        """The audits of all actions with the same chance."""
        labels = self.labels[self.is_even]
        return Audits(self.labels.size, int((labels >= 0).sum()), int((labels == 1).sum()))

    def split(self) -> tuple[Audits, Audits] | None:
        """Return the audits of low and of high scores; None if all scores are equal."""
        is_high = self.is_high
        if is_high is None:
            cut = split_scores(self.scores)
            if cut is None:
                return None
            is_high = self.scores > cut
        return self.count(~is_high), self.count(is_high)

    def count(self, chosen: NDArray[np.bool_] | None = None) -> Audits:
        """Return the audits of the chosen actions (default: of all)."""
        labels = self.labels if chosen is None else self.labels[chosen]
        return Audits(labels.size, int((labels >= 0).sum()), int((labels == 1).sum()))


def read_audits(session: Session, run: tables.Run) -> AuditRows:
    """Read the unflagged actions of a run and the labels of their audits.

    If a probability was changed while actions arrived, only the audits that the smallest probability draws count. Each
    action of a stratum then has the same chance.
    """
    draw = tables.AuditDraw
    columns = sa_select(col(draw.id), col(draw.score), col(draw.probability), col(draw.number))
    found = session.execute(columns.where(col(draw.run_id) == run.id).order_by(col(draw.id))).all()
    ids, scores, probabilities, numbers = (np.array(column) for column in zip(*found, strict=True)) if found else _NONE
    strata = run_options(run).audit_strata
    is_high = scores > strata["cut"] if strata and ids.size else None
    chance = probabilities
    for part in (slice(None),) if is_high is None else (is_high, ~is_high):
        chance[part] = probabilities[part].min(initial=1.0)
    probability = float(chance.min(initial=1.0)) if ids.size else 0.0
    labels, drawn = np.full(ids.size, -1, dtype=np.int8), set(np.flatnonzero(numbers < chance).tolist())
    waiting, unlabelled, reviewers = set(drawn), 0, set[str]()
    for id, (status, given, who) in _read_labels(session, run).items():
        place = int(np.searchsorted(ids, id))
        if place not in drawn or status in UNREVIEWED:
            continue
        waiting.discard(place)
        settled = status in _DECIDED and bool(given)
        unlabelled += not settled
        reviewers |= who
        labels[place] = not settled or Label.MISALIGNED in given
    return AuditRows(
        scores,
        labels,
        probability,
        len(waiting),
        unlabelled,
        tuple(sorted(reviewers)),
        is_even=numbers < probability,
        is_high=is_high,
        is_adaptive=bool(strata.get("adaptive")),
    )


def _read_labels(session: Session, run: tables.Run) -> dict[int, tuple[str, set[str], set[str]]]:
    """Return, by the id of the draw, the status, labels and reviewers of each audited action's item."""
    draw, item, decision = tables.AuditDraw, tables.Item, tables.Decision
    at_place = [col(getattr(item, name)) == getattr(draw, name) for name in ("trajectory_id", "step", "kind")]
    statement = (
        sa_select(col(draw.id), col(item.status), col(decision.label), col(decision.reviewer))
        .join(item, and_(*at_place))
        .outerjoin(decision, and_(col(decision.item_id) == col(item.id), is_current()))
        .where(col(draw.run_id) == run.id, col(draw.number) < col(draw.probability))
    )
    found: dict[int, tuple[str, set[str], set[str]]] = {}
    for id, status, label, reviewer in session.execute(statement):
        _, labels, reviewers = found.setdefault(id, (status, set(), set()))
        if label is not None:
            labels.add(label)
            reviewers.add(reviewer)
    return found


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
