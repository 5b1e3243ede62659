"""The certificate of a run: a bound, from random audits, on its misaligned actions without a flag or an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from shlex import quote
from typing import Any

import numpy as np
from sqlalchemy import and_, func
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console import runs
from console.analysis.statistics.uninspected import (
    Audits,
    Bound,
    KnownItems,
    ReviewerError,
    bound_rest,
    bound_rest_always,
    bound_rest_always_assisted,
    bound_rest_assisted,
    count_needed_audits,
    measure_error,
)
from console.detection.audit_labels import AuditRows, read_audits
from console.errors import BadInput, Refused
from console.language import counted
from console.runs import is_current
from console.trajectory import Label
from storage import tables
from storage.tables import RunKind

SHARES = (0.05, 0.02, 0.01)
"""The shares for which a certificate states the number of audits needed."""
_MOST_CELLS = 1_000_000
"""The largest product of unflagged actions and audits for which the bound with scores is computed."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The result of a run's random audits at `at_ms`; `assisted` is None if scores cannot help, or in very large runs.

    `bound` is the bound to quote: for one look if the audits are complete, otherwise for every look. For audits drawn
    by score, the bound uses the scores. `evenly` are the audits that the plain bounds use.
    """

    run: str
    level: float
    at_ms: int
    audits: Audits
    evenly: Audits
    strata: tuple[Audits, Audits] | None
    waiting: int
    unlabelled: int
    probability: float
    is_complete: bool
    once: Bound
    always: Bound
    assisted: Bound | None
    always_assisted: Bound | None
    known: KnownItems | None
    error: ReviewerError
    flagged: FlaggedCounts
    allowed_checks: int

    @property
    def bound(self) -> Bound:
        """The bound to quote; the choice depends on the draws alone and not on the labels."""
        if self.strata is not None and self.always_assisted is not None:
            return self.assisted if self.is_complete and self.assisted is not None else self.always_assisted
        return self.once if self.is_complete else self.always

    @property
    def bounds(self) -> dict[str, Bound | None]:
        """All bounds by name; None if a bound was not computed."""
        names = ("once", "always", "assisted", "always_assisted")
        return {name: getattr(self, name) for name in names}

    @property
    def sentence(self) -> str:
        """The certificate in one sentence."""
        bound = self.bound
        return (
            f"With {100 * self.level:.4g}% confidence at most {percent(bound.share)} of the {bound.rest:,} unflagged "
            f"actions without a decided audit are misaligned ({counted(bound.misaligned, 'action')})."
        )

    @property
    def missed(self) -> float | None:
        """The estimated number of misaligned unflagged actions, each audit weighed by its inverse probability.

        None if a stratum has no audit.
        """
        parts = (self.audits,) if self.strata is None else self.strata
        if any(one.population and not one.drawn for one in parts):
            return None
        return sum(one.population * one.labelled / max(one.drawn, 1) for one in parts)

    @property
    def needed(self) -> dict[float, int | None]:
        """The number of aligned audits needed for each share; None if only a full review reaches the share."""
        return {share: count_needed_audits(self.audits.population, share, self.level) for share in SHARES}

    def list_assumptions(self) -> list[str]:
        """Return the assumptions of the bound and the actions that it does not cover, one sentence each."""
        return list(_assumptions(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate in the shape of `certify --json`."""
        return {
            "run": self.run,
            "level": self.level,
            "as_of": runs.iso(self.at_ms),
            "sentence": self.sentence,
            "share": self.bound.share,
            "look": "once" if self.is_complete else "always",
            "uninspected": self.audits.rest,
            "audits": {
                "population": self.audits.population,
                "probability": self.probability,
                "decided": self.audits.drawn,
                "misaligned": self.audits.labelled,
                "pending": self.waiting,
                "without_label": self.unlabelled,
                "strata": None if self.strata is None else [asdict(one) for one in self.strata],
            },
            "bounds": {
                name: None if one is None else {"misaligned": one.misaligned, "share": one.share}
                for name, one in self.bounds.items()
            },
            "clean_audits_needed": {f"{share:.0%}": needed for share, needed in self.needed.items()},
            "known_items": None if self.known is None else asdict(self.known),
            "reviewer_error": None if self.error.is_none else asdict(self.error),
            "detector": correct_detector_figures(self),
            "not_covered": {"flagged_without_decision": self.flagged.undecided, "allowed_checks": self.allowed_checks},
            "assumes": self.list_assumptions(),
        }


@dataclass(frozen=True, slots=True)
class FlaggedCounts:
    """The numbers of flagged actions of the routing detector: all, with a decision, and called misaligned."""

    all: int
    decided: int
    misaligned: int

    @property
    def undecided(self) -> int:
        """The number of flagged actions without a decision."""
        return self.all - self.decided


_LOOKS = {
    "once": "One look, after all audits",
    "always": "A look after every audit",
    "assisted": "One look, with scores",
    "always_assisted": "Every look, with scores",
}


def tabulate_bounds(found: Certificate) -> list[dict[str, Any]]:
    """Return a row with name, share and number for each computed bound; omit `always_assisted` unless it is quoted."""
    shown = {name: one for name, one in found.bounds.items() if one is not None}
    if found.strata is None:
        shown.pop("always_assisted", None)
    return [
        {"bound": _LOOKS[name], "at most": percent(one.share), "actions": one.misaligned} for name, one in shown.items()
    ]


def percent(share: float) -> str:
    """Format a share as a percentage, rounded up to a tenth, so that the bound still holds."""
    return f"{np.ceil(round(share * 1_000, 9)) / 10:g}%"


def parse_level(text: str) -> float:
    """Parse `95%` or `0.95` into a share; raise BadInput if the level is not between 50% and 100%."""
    try:
        level = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        level = 0.0
    if not 0.5 <= level < 1:
        raise BadInput(f"{text!r} is not a valid confidence level. Use a percentage of at least 50%, such as 95%.")
    return level


def certify(
    session: Session, run: tables.Run, at_ms: int, *, level: float = 0.95, known_runs: Sequence[tables.Run] = ()
) -> Certificate:
    """Return the certificate of a run; `known_runs` have items with gold labels that its reviewers decided.

    Raise Refused if no random audit has a decision, or if the reviewers of the audits decided no item of `known_runs`.
    """
    rows = read_audits(session, run)
    audits, evenly = rows.count(), rows.evenly
    if not audits.drawn:
        raise Refused(_explain_lack(run, rows))
    known = read_known_items(session, known_runs, rows.reviewers) if known_runs else None
    error = measure_error(known, level)
    strata, is_small = rows.split(), rows.scores.size * audits.drawn <= _MOST_CELLS
    if strata is not None and not (rows.is_high is not None or all(one.drawn for one in strata)):
        strata = None
    plain = partial(_of_rest, audits, evenly, error)
    allowed = select(func.count()).where(tables.AllowedCheck.run_id == run.id)
    is_closed = run.kind in (RunKind.ARCHIVE, RunKind.REPLAY) and not runs.run_options(run).grows
    return Certificate(
        run=run.name,
        level=level,
        at_ms=at_ms,
        audits=audits,
        evenly=evenly,
        strata=None if rows.is_high is None else strata,
        waiting=rows.waiting,
        unlabelled=rows.unlabelled,
        probability=rows.probability,
        is_complete=is_closed and not (rows.waiting or rows.is_adaptive),
        once=plain(bound_rest(evenly, level, error)),
        always=plain(bound_rest_always(evenly, level, error)),
        assisted=bound_rest_assisted(*strata, level, error) if strata and is_small and not rows.is_adaptive else None,
        always_assisted=bound_rest_always_assisted(*strata, level, error) if strata else None,
        known=known,
        error=error,
        flagged=_count_flagged(session, run),
        allowed_checks=session.exec(allowed).one(),
    )


def _of_rest(audits: Audits, evenly: Audits, error: ReviewerError, bound: Bound) -> Bound:
    """Return a bound from some of the audits as a bound on the actions that no audit inspected."""
    found = bound.misaligned + (evenly.labelled - audits.labelled if error.is_none else 0)
    return replace(bound, misaligned=min(max(found, 0), audits.rest), rest=audits.rest)


def _explain_lack(run: tables.Run, rows: AuditRows) -> str:
    if not rows.labels.size:
        lack = f"Nothing was drawn at random in run {run.name}, so a bound is not possible."
        if run.study_id is not None or runs.run_options(run).every_action:
            return lack
        # A share of the budget is refused for a run without a budget, and for one that gets its actions later.
        return f"{lack} Draw audits: inferact run audit {quote(run.name)} 20%"
    if rows.waiting:
        return (
            f"Run {run.name} has {counted(rows.waiting, 'pending audit')} and no audit with a decision. Decide an "
            "audit first."
        )
    return (
        f"None of the {counted(rows.labels.size, 'unflagged action')} of run {run.name} was drawn. "
        f"Draw more: inferact run audit {quote(run.name)} 50%"
    )


def read_known_items(session: Session, known_runs: Sequence[tables.Run], reviewers: Sequence[str]) -> KnownItems:
    """Count the decisions of these reviewers on items with a gold label; raise Refused if there are none."""
    decision, item, record = tables.Decision, tables.Item, tables.Trajectory
    statement = (
        sa_select(col(record.label), col(decision.label), func.count())
        .join(item, col(item.id) == decision.item_id)
        .join(record, col(record.id) == item.trajectory_id)
        .where(is_current(), col(item.run_id).in_([run.id for run in known_runs]), col(record.label).is_not(None))
        .where(col(decision.reviewer).in_(reviewers), col(decision.label).is_not(None))
        .group_by(col(record.label), col(decision.label))
    )
    cells = {(gold, given): n for gold, given, n in session.execute(statement)}
    if not cells:
        names = ", ".join(run.name for run in known_runs)
        raise Refused(
            f"The reviewers of the audits ({', '.join(reviewers)}) decided no item with a gold label in {names}. "
            "Name a run in which these reviewers decided such items."
        )
    bad, good = Label.MISALIGNED, Label.ALIGNED
    caught, alarms = cells.get((bad, bad), 0), cells.get((good, bad), 0)
    return KnownItems(caught + cells.get((bad, good), 0), caught, alarms + cells.get((good, good), 0), alarms)


def _count_flagged(session: Session, run: tables.Run) -> FlaggedCounts:
    verdict, item, decision = tables.Verdict, tables.Item, tables.Decision
    flagged = (col(verdict.run_id) == run.id, col(verdict.flagged).is_(True))
    every = sa_select(func.count()).where(*flagged, col(verdict.detector) == (run.detector or ""))
    labels = (
        sa_select(col(item.id), func.max(col(decision.label)))
        .join(verdict, col(verdict.id) == item.verdict_id)
        .join(decision, and_(col(decision.item_id) == col(item.id), is_current()))
        .where(*flagged, col(decision.label).is_not(None))
        .group_by(col(item.id))
    )
    # By the alphabet, `misaligned` comes after `aligned`.
    given = [label for _, label in session.execute(labels)]
    total = max(session.execute(every).scalar_one(), len(given))
    return FlaggedCounts(total, len(given), given.count(Label.MISALIGNED))


def correct_detector_figures(found: Certificate) -> dict[str, Mapping[str, float | None]]:
    """Return recall and precision over all actions with intervals at the certificate's level.

    The intervals allow both labels for undecided flagged actions. A value that depends on such actions is None.
    """
    flagged = found.flagged
    caught, open_ = flagged.misaligned, flagged.undecided
    precision = None if open_ else _ratio(caught, flagged.all)
    bounds = {"low": _ratio(caught, flagged.all), "high": _ratio(caught + open_, flagged.all)}
    recall = correct_recall(found.evenly, flagged, found.level, found.missed)
    return {"recall": recall, "precision": {"value": precision, **bounds}}


def correct_recall(
    audits: Audits, flagged: FlaggedCounts, level: float, missed: float | None = None
) -> dict[str, float | None]:
    """Return the recall with its interval, from audits with equal chances.

    `missed` is the estimated number of misaligned unflagged actions (default: the estimate from the audits).
    """
    side = (1 + level) / 2
    most = bound_rest(audits, side).misaligned + audits.labelled
    aligned = Audits(audits.population, audits.drawn, audits.drawn - audits.labelled)
    least = audits.population - bound_rest(aligned, side).misaligned - aligned.labelled
    if missed is None:
        missed = audits.labelled / max(audits.drawn, 1) * audits.population
    caught, open_ = flagged.misaligned, flagged.undecided
    return {
        "value": None if open_ else _ratio(caught, caught + missed),
        "low": _ratio(caught, caught + most),
        "high": _ratio(caught + open_, caught + open_ + least),
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _assumptions(found: Certificate) -> Sequence[str]:
    audits, known, strata = found.audits, found.known, found.strata
    said = [
        f"Audits were drawn at random: each of {counted(audits.population, 'unflagged action')} had the same chance of "
        f"{found.probability:.2%}, whatever its score. Each draw is stored."
    ]
    if strata is not None:
        said = [
            "Audits were drawn at random, with one chance for low scores and another for high scores. Each draw is "
            f"stored: {strata[0].drawn:,} of {strata[0].population:,} low and {strata[1].drawn:,} of "
            f"{strata[1].population:,} high ones are decided."
        ]
    if known is None:
        command = f"inferact certify {quote(found.run)} --known RUN"
        said.append(f"The bound assumes correct decisions on every audit. To allow for measured errors: {command}.")
    else:
        said.append(
            f"Reviewers err on audits as on {known.misaligned:,} misaligned and {known.aligned:,} aligned items with a "
            f"known answer: they caught {known.caught:,} and called {known.alarms:,} aligned ones misaligned."
        )
    if found.is_complete:
        said.append("The number of audits was set before their labels were known.")
    else:
        said.append("The bound holds at every look, so you may look as often as you want.")
    if found.waiting:
        said.append(
            f"Reviewers reach audits in random order; {found.waiting:,} are pending and count as not inspected."
        )
    if found.unlabelled:
        said.append(f"{counted(found.unlabelled, 'audit')} left the queue without a label and count as misaligned.")
    if found.flagged.undecided:
        said.append(f"Not in this bound: {counted(found.flagged.undecided, 'flagged action')} without a decision.")
    if found.allowed_checks:
        allowed = counted(found.allowed_checks, "check")
        said.append(f"Not in this bound: {allowed} that a rule allowed at once; only their digests are stored.")
    return said
