"""The capacity of a run's reviewers: sensitivity and pace against time on task and load, and when to stop.

Known answers come from seeded items, and from labels of logs. Labels of live runs do not count, because only approved
actions have them. Time on task begins again after a break of 30 minutes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import median
from typing import Any

import numpy as np
import orjson
from sqlalchemy import and_, case, func
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.analysis.statistics.capacity import LEAST, Capacity, KnownDecisions, estimate_capacity
from console.analysis.statistics.estimates import estimate_proportion, show_intervals
from console.auth import audit_log
from console.errors import Refused
from console.language import _
from console.runs import IS_SEEDED, IS_TAKEN, is_current, run_options
from console.runs.status import read_counts
from console.trajectory import Label
from storage import tables
from storage.tables import RunKind

BREAK_MS = 30 * 60_000
"""The time between two decisions, in ms, above which a new session begins."""
MOST_DECISIONS = 2_000
"""The number of a reviewer's latest decisions that are read."""
SCOPE = f"The figures cover a reviewer's latest {MOST_DECISIONS:,} decisions in all runs."
_HOUR_MS, _WINDOW_MS, _MOST_LOAD = 3_600_000, 10 * 60_000, 200
COLUMNS = ("reviewer", "hour", "decisions", "seconds", "misaligned", "hits", "sensitivity", "aligned", "alarms")
"""The columns of the table by hour of work."""


@dataclass(frozen=True, slots=True)
class _Decided:
    at_ms: int
    seconds: float
    hours: float
    load: float
    expected: str | None
    is_called: bool
    in_run: bool


@dataclass(frozen=True, slots=True)
class ReviewerCapacity:
    """A reviewer's capacity now, after `hours` on task with `load` decisions an hour, and figures by hour of work."""

    reviewer: str
    hours: float
    load: float
    capacity: Capacity
    by_hour: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the capacity in the shape of `review capacity --json`."""
        found, effects = self.capacity, dict[str, Any]()
        for name, fitted in (("hits", found.hits), ("alarms", found.alarms)):
            for unit, one in fitted.items():
                effects[f"{name}_by_{unit}"] = {"value": one.value, "low": one.bounds[0], "high": one.bounds[1]}
        low, high = found.now.bounds
        return {
            "reviewer": self.reviewer,
            "hours": round(self.hours, 3),
            "load": self.load,
            "next_inspection": found.verdict,
            "value": found.now.value,
            "value_low": low,
            "value_high": high,
            "lowers_from_h": found.lowers_from_h,
            "log_odds": effects,
            "note": found.note,
            "by_hour": list(self.by_hour),
        }

    @property
    def sentence(self) -> str:
        """The effect of the next inspection in one sentence."""
        limit = self.capacity.lowers_from_h
        if self.capacity.verdict == "cannot tell":
            why = self.capacity.note or "The interval of the effect on safety includes 0."
            said = f"{self.reviewer}: inconclusive. {why}"
            return said if limit is None else f"{said} Inspections lower safety from hour {limit:.1f} of work."
        said = f"{self.reviewer}: the next inspection is expected to {self.capacity.verdict[:-1]} safety"
        if limit is not None and self.capacity.verdict == "raises":
            return f"{said}. From hour {limit:.1f} of work, inspections are expected to lower it."
        return f"{said}."


def measure_capacity(
    session: Session,
    run: tables.Run,
    now_ms: int,
    reviewers: Sequence[str] | None = None,
    *,
    until_ms: int | None = None,
) -> list[ReviewerCapacity]:
    """Return the capacity of the run's reviewers (default: all with a decision in the run).

    With `until_ms`, known items decided later do not count, so that a figure does not reveal a recent known item.
    """
    decision, item = tables.Decision, tables.Item
    in_run = select(decision.reviewer).join(item, col(item.id) == decision.item_id).where(is_current())
    # Adding 0 keeps the planner from reading all items of the run to find a decision of one reviewer.
    own = in_run.where(col(item.run_id) + 0 == run.id).limit(1)
    given = (session.exec(own.where(decision.reviewer == name)).first() for name in reviewers or ())
    every = (name for _, _, name, *_ in ([] if reviewers else read_counts(session, run, "decision")))
    names = sorted({name for name in (*given, *every) if name})
    count, found = cache(partial(_count_called, session, run)), []
    for name in names:
        rows = _read_decided(session, run, name)
        usable = [row for row in rows if row.expected is not None and (until_ms is None or row.at_ms <= until_ms)]
        known = KnownDecisions(
            np.array([row.hours for row in usable], dtype=np.float64),
            np.array([row.load for row in usable], dtype=np.float64),
            np.array([row.expected == Label.MISALIGNED for row in usable], dtype=bool),
            np.array([row.is_called for row in usable], dtype=bool),
        )
        # The decisions of a large run are counted only for a share that is needed.
        called, decided = count() if min(known.counts) >= LEAST else (0, 0)
        last = rows[-1]
        is_at_work = now_ms - last.at_ms <= BREAK_MS
        hours = last.hours + (now_ms - last.at_ms) / _HOUR_MS if is_at_work else 0.0
        load = sum(now_ms - row.at_ms <= _WINDOW_MS for row in rows) * (_HOUR_MS / _WINDOW_MS)
        capacity = estimate_capacity(known, called, decided, hours, load)
        found.append(ReviewerCapacity(name, hours, load, capacity, tuple(_by_hour(name, rows))))
    return found


def is_beyond_capacity(session: Session, run: tables.Run, reviewer: str, now_ms: int) -> bool:
    """Return whether the reviewer's next inspection is expected to lower safety."""
    found = measure_capacity(session, run, now_ms, [reviewer], until_ms=now_ms - BREAK_MS)
    return any(one.capacity.verdict == "lowers" for one in found)


def describe_own_capacity(session: Session, run: tables.Run, reviewer: str, now_ms: int) -> str:
    """Describe to the reviewer the effect of the next inspection; an empty text if it is inconclusive."""
    for found in measure_capacity(session, run, now_ms, [reviewer], until_ms=now_ms - BREAK_MS):
        limit = found.capacity.lowers_from_h
        if found.capacity.verdict == "lowers":
            return _("Your next inspection in {run} is expected to lower safety. Take a break of 30 minutes.").format(
                run=run.name
            )
        if limit is not None:
            words = _("In {run}, your inspections are expected to lower safety from hour {hour} of work.")
            return words.format(run=run.name, hour=f"{limit:.1f}")
    return ""


def set_stop(session: Session, run: tables.Run, stops: bool, now_ms: int) -> None:
    """Set whether the run gives no further item to a reviewer whose next inspection is expected to lower safety.

    Raise Refused for the run of a study, whose participants all get the same items.
    """
    if run.study_id is not None:
        raise Refused(f"Run {run.name!r} belongs to a study, whose participants all get the same items.")
    options = run_options(run)
    run.options = replace(options, stops_at_capacity=stops).to_json()
    session.add(run)
    audit_log.record(session, run, "capacity set", now_ms, before=options.stops_at_capacity, after=stops)


def _count_called(session: Session, run: tables.Run) -> tuple[int, int]:
    """Return the numbers of the run's decisions with the label misaligned, and of all decisions with a label."""
    decision, item = tables.Decision, tables.Item
    called = func.count(case((col(decision.label) == Label.MISALIGNED, 1)))
    labels = select(called, func.count(col(decision.label))).join(item, col(item.id) == decision.item_id)
    return session.exec(labels.where(item.run_id == run.id, IS_TAKEN, is_current(), ~IS_SEEDED)).one()


def _read_decided(session: Session, run: tables.Run, reviewer: str) -> list[_Decided]:
    """Return the reviewer's latest decisions in all runs, with time on task and load; the first is at 0 hours."""
    decision, item, record, seeded = tables.Decision, tables.Item, tables.Trajectory, tables.SeededItem
    statement = (
        sa_select(
            *map(col, (decision.claimed_ms, decision.decided_ms, decision.label, item.run_id, record.label)),
            *map(col, (tables.Run.kind, seeded.expected, seeded.reviewers)),
        )
        .join(item, col(item.id) == decision.item_id)
        .join(record, col(record.id) == item.trajectory_id)
        .join(tables.Run, col(tables.Run.id) == item.run_id)
        .outerjoin(seeded, and_(col(seeded.item_id) == col(item.id)))
        .where(col(decision.reviewer) == reviewer, is_current())
        .order_by(col(decision.id).desc())
        .limit(MOST_DECISIONS)
    )
    latest = sorted(session.execute(statement), key=lambda row: row.decided_ms)
    found: list[_Decided] = []
    began = oldest = 0
    for claimed_ms, at_ms, label, run_id, gold, kind, expected, known_by in latest:
        if not found or at_ms - found[-1].at_ms > BREAK_MS:
            began = claimed_ms
        while at_ms - latest[oldest].decided_ms > _WINDOW_MS:
            oldest += 1
        load = min(len(found) - oldest, _MOST_LOAD) * (_HOUR_MS / _WINDOW_MS)
        answer = expected if kind not in (RunKind.ARCHIVE, RunKind.REPLAY) else expected or gold
        if label is None or (known_by is not None and reviewer in orjson.loads(known_by)):
            answer = None
        hours = max(at_ms - began, 0) / _HOUR_MS
        seconds = (at_ms - claimed_ms) / 1_000
        found.append(_Decided(at_ms, seconds, hours, load, answer, label == Label.MISALIGNED, run_id == run.id))
    return found


def _by_hour(reviewer: str, rows: Sequence[_Decided]) -> list[dict[str, Any]]:
    hours: defaultdict[int, list[_Decided]] = defaultdict(list)
    for row in rows:
        hours[int(row.hours) + 1].append(row)
    table = []
    for hour, part in sorted(hours.items()):
        bad, good = ([row for row in part if row.expected == label] for label in (Label.MISALIGNED, Label.ALIGNED))
        hits = sum(row.is_called for row in bad)
        share = estimate_proportion(hits, len(bad))
        low, high = share.bounds
        figures = {"misaligned": len(bad), "hits": hits, "sensitivity": share.value}
        figures |= {"sensitivity_low": low, "sensitivity_high": high, "aligned": len(good)}
        figures |= {"alarms": sum(row.is_called for row in good)}
        seconds = median(row.seconds for row in part)
        table.append({"reviewer": reviewer, "hour": hour, "decisions": len(part), "seconds": seconds, **figures})
    return table


def in_words(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row by hour with rounded seconds, and the sensitivity and its interval as one text."""
    return show_intervals(row, ".0%", "sensitivity") | {"seconds": round(row["seconds"], 1)}
