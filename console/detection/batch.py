"""Detection of a run: a verdict for every checkpoint, and review items for flagged checkpoints.

A checkpoint is pending for a detector if its verdict is missing or stale.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

import orjson
from sqlalchemy import not_, update
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console import runs
from console.auth import audit_log
from console.database import now_ms, reading, review_queue, writing
from console.detection import audit_draws
from console.detection.concurrent import ConcurrentJudge, Job
from console.detection.detectors import UNPARSED, Detector, detector
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.detectors.verdict import NO_REPLY, PAPER_MODE, REFUSED
from console.detection.routing import (
    flagged_and_halted_items,
    is_judged_beforehand,
    is_locked,
    obsolete_items,
    refuse_changes,
)
from console.detection.verdicts import (
    Detection,
    DetectionReport,
    DetectionUsage,
    Setup,
    find_setup,
    judge_as_row,
    store_verdicts,
)
from console.errors import Refused
from console.review import inbox
from console.runs import Costs, RunOptions, run_checkpoints, run_options
from console.trajectory import Outcome, Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint
from storage import tables
from storage.tables import RunKind

MODES = ("console", PAPER_MODE)
_PAGE = 200
Page = Sequence[int]
"""Ids of trajectories."""


@dataclass(frozen=True, slots=True)
class _Known:
    flagged: bool
    setup: str | None
    unparsed: bool
    refused: bool


@dataclass(slots=True)
class PendingCheckpoints:
    """The pending checkpoints of a run; `reports` counts the excluded, halted and judged checkpoints."""

    run: tables.Run
    asking: ModelOptions
    reports: dict[str, DetectionReport]
    _setups: dict[tuple[str, str], Setup] = field(default_factory=dict)

    def pages(self) -> list[Page]:
        """Return the ids of the run's trajectories that can be judged, in pages, by rising id."""
        record = tables.Trajectory
        statement = (
            select(record.id)
            .where(record.run_id == self.run.id, col(record.carried_over).is_(False))
            .where(col(record.recorded_outcome).not_in([Outcome.ERROR, Outcome.RUNNING]))
            .order_by(col(record.id))
        )
        with reading() as session:
            ids = [id for id in session.exec(statement) if id is not None]
        return [ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE)]

    def setup(self, judge: Detector, environment: str) -> Setup:
        """Return the setup of the detector's verdicts, computed once for each environment."""
        key = (judge.name, environment)
        if key not in self._setups:
            self._setups[key] = find_setup(judge, self.asking, environment, self.run.seed)
        return self._setups[key]

    def jobs(self, page: Page, judges: Sequence[Detector]) -> list[Job]:
        """Return the checkpoints of a page that are pending for at least one of the detectors."""
        body = tables.TrajectoryBody
        with reading() as session:
            statement = select(body).where(col(body.trajectory_id).in_(page)).order_by(col(body.trajectory_id))
            found = [(row.trajectory_id, from_json(row.body)) for row in session.exec(statement)]
            known = {judge.name: _known_verdicts(session, judge, page) for judge in judges}
        jobs = []
        for trajectory_id, record in found:
            for checkpoint in self._visible(record, judges):
                lacking = [judge for judge in judges if not self._fresh(judge, trajectory_id, checkpoint, known)]
                if lacking:
                    jobs.append(Job(trajectory_id, checkpoint, tuple(lacking)))
        return jobs

    def _visible(self, record: Trajectory, judges: Sequence[Detector]) -> list[Checkpoint]:
        halted = record.outcome is Outcome.HALTED
        visible = [] if halted else run_checkpoints(self.run, record)
        for judge in judges:
            report = self.reports[judge.name]
            report.halted += halted
            report.excluded += not halted and not visible
            report.checkpoints += len(visible)
        return visible

    def _fresh(
        self,
        judge: Detector,
        trajectory_id: int,
        checkpoint: Checkpoint,
        known: dict[str, dict[tuple[int, int, str], _Known]],
    ) -> bool:
        found = known[judge.name].get((trajectory_id, checkpoint.index, str(checkpoint.kind)))
        if found is None:
            return False
        stale = found.setup != self.setup(judge, checkpoint.environment).digest
        if stale and not is_locked(self.run, judge.name):
            return False
        report = self.reports[judge.name]
        report.cached += 1
        report.flagged += found.flagged
        report.unparsed += found.unparsed
        report.refused += found.refused
        return True


def _known_verdicts(session: Session, judge: Detector, page: Page) -> dict[tuple[int, int, str], _Known]:
    verdict = tables.Verdict
    columns = (verdict.trajectory_id, verdict.step, verdict.kind, verdict.flagged, verdict.parameters)
    statement = sa_select(*map(col, columns)).where(
        col(verdict.detector) == judge.name, col(verdict.trajectory_id).in_(page)
    )
    found = {}
    for id, step, kind, flagged, text in session.execute(statement):
        parameters = orjson.loads(text)
        setup = None if NO_REPLY in parameters else parameters.get("setup")
        found[id, step, kind] = _Known(flagged, setup, bool(parameters.get(UNPARSED)), bool(parameters.get(REFUSED)))
    return found


Progress = Callable[[int, int], None]


def run_detection(
    run_name: str,
    methods: Sequence[str],
    *,
    threshold: float | None = None,
    seed: int | None = None,
    route: str | None = None,
    progress: Progress | None = None,
    asking: ModelOptions | None = None,
    stated: Costs | None = None,
) -> Detection:
    """Judge the pending checkpoints of a run, queue the flagged checkpoints, and return the reports.

    The first method used on a run becomes its routing detector, unless `route` names another detector. An interrupted
    detection can be continued. Live and gate runs keep their queue, settings and routing verdicts. `progress` counts
    trajectories, once for each offline detector and once for all detectors that use models. Raise Refused if the run
    rates answers or its routing detector is locked, and NoModel without a model. Raise SpendingCapReached at the cap,
    and ModelError if every request fails.
    """
    judges, asking = [detector(name) for name in dict.fromkeys(methods)], asking or ModelOptions()
    labels = {judge.name: asking.label(judge) for judge in judges if judge.ask}
    run, options = _prepare(run_name, judges, threshold, seed, route, stated)
    bars = {judge.name: _bar(run, judge, threshold) for judge in judges}
    reports = {
        name: DetectionReport(run.name, name, bar, labels.get(name), routing=name == run.detector)
        for name, bar in bars.items()
    }
    for judge in judges:
        reports[judge.name].mode = MODES[asking.paper and judge.name in labels]
        if not is_locked(run, judge.name):
            _move_threshold(run, judge, bars[judge.name])
    backlog = PendingCheckpoints(run, asking, reports)
    for judge in judges:
        if judge.ask is None:
            _judge_offline(backlog, judge, bars[judge.name], progress)
    asked = _ask_models(backlog, [judge for judge in judges if judge.ask], bars, progress)
    if not is_judged_beforehand(run) and run.detector in reports:
        reports[run.detector].queued = queue_flagged(run, options)
    with reading() as session:
        queue_note = "" if any(one.queued for one in reports.values()) else inbox.explain_empty_queue(session, run)
    return Detection(list(reports.values()), asked, asked.explain_lacking(paper=asking.paper), queue_note)


def queue_flagged(run: tables.Run, options: RunOptions, *, had_audits: bool = False) -> int:
    """Queue flagged and halted trajectories, withdraw other pending items, and return the number of new items.

    Earlier draws of audits are only replaced if the run has audits, or had them before.
    """
    queue, run_id = review_queue(), run.id or 0
    if options.audited or had_audits:
        with writing() as session:
            audit_draws.draw_again(session, run, options, now_ms())
    with reading() as session:
        cap = runs.cap(session, run)
        items = flagged_and_halted_items(session, run, options, now_ms())
        withdrawn = obsolete_items(session, run, items)
        trials = {item.trial for item in items}
        if run.kind != RunKind.LIVE:  # The engine opens those of live runs.
            of_run = select(tables.Trajectory.trial).where(tables.Trajectory.run_id == run_id)
            trials |= set(session.exec(of_run.distinct()))
    if withdrawn:
        queue.cancel(item_ids=withdrawn, now_ms=now_ms())
    queue.open_budgets(run_id, sorted(trials), cap)
    return queue.put(items)


class Spread(StrEnum):
    """The spread of audits over scores: even, more over high scores, or as the labels so far suggest."""

    EVEN = "even"
    SCORE = "score"
    ADAPTIVE = "adaptive"


def set_audits(run_name: str, wanted: str, spread: Spread = Spread.EVEN, *, after: bool = False) -> audit_draws.Reserve:
    """Set the share of unflagged actions that are audited, and queue the drawn actions of a run that is judged already.

    With `after`, actions that are still to come are audited after they ran. Return the reserve. Raise BadInput or
    Refused, as `audit_draws.set_audits` does.
    """
    with writing() as session:
        run, allocate = runs.get(session, run_name), None
        if spread is not Spread.EVEN:
            from console.detection import audit_labels  # numpy and scipy, which few commands need

            allocate = partial(audit_labels.allocate, session, run, adapts=spread is Spread.ADAPTIVE)
        options = audit_draws.set_audits(session, run, wanted, now_ms(), allocate, after=after)
        session.flush()
        session.expunge(run)
    if not is_judged_beforehand(run) and run.detector:
        queue_flagged(run, options, had_audits=True)
    with reading() as session:
        return audit_draws.count_draws(session, run)


def detect(run_name: str, methods: Sequence[str], **options: Any) -> list[DetectionReport]:
    """Judge as `run_detection` does, and return only the reports."""
    return run_detection(run_name, methods, **options).reports


def _prepare(
    run_name: str,
    judges: Sequence[Detector],
    threshold: float | None,
    seed: int | None,
    route: str | None,
    stated: Costs | None,
) -> tuple[tables.Run, RunOptions]:
    with writing() as session:
        run = runs.get(session, run_name)
        options = run_options(run)
        if options.rates_answers:
            raise Refused(
                f"Run {run_name!r} is a rating of answers. Run detectors on the run of these answers instead."
            )
        if is_judged_beforehand(run):
            session.expunge(run)
            refuse_changes(run, [judge.name for judge in judges], threshold, seed, route)
            run.seed = run.seed if seed is None else seed
            return run, options
        before = _settings(run)
        routing = detector(route or run.detector or judges[0].name)
        run.seed = run.seed if seed is None else seed
        judging_route = any(judge.name == routing.name for judge in judges)
        if threshold is not None and judging_route:
            run.threshold = threshold
        elif run.threshold is None or run.detector not in (None, routing.name):
            run.threshold = routing.threshold
        run.detector = routing.name
        if stated is not None:
            options = replace(options, costs=stated)
            run.options = options.to_json()
        session.add(run)
        judged = {"detectors": [judge.name for judge in judges]}
        audit_log.record(session, run, "judged", now_ms(), before=before, after=_settings(run), detail=judged)
        session.expunge(run)
    return run, options


def _settings(run: tables.Run) -> dict[str, object]:
    return {"detector": run.detector, "threshold": run.threshold, "seed": run.seed}


def _bar(run: tables.Run, judge: Detector, threshold: float | None) -> float:
    if threshold is not None:
        return threshold
    return run.threshold if judge.name == run.detector and run.threshold is not None else judge.threshold


def _judge_offline(backlog: PendingCheckpoints, judge: Detector, bar: float, progress: Progress | None) -> None:
    pages, done = backlog.pages(), 0
    total = sum(map(len, pages))
    for page in pages:
        jobs = backlog.jobs(page, [judge])
        rows = [judge_as_row(backlog.run, judge, bar, job.trajectory_id, job.checkpoint, now_ms()) for job in jobs]
        for row in rows:
            backlog.reports[judge.name].note(row)
        if rows:
            with writing() as session:
                store_verdicts(session, rows)
        done += len(page)
        if progress:
            progress(done, total)


def _ask_models(
    backlog: PendingCheckpoints, judges: Sequence[Detector], bars: Mapping[str, float], progress: Progress | None
) -> DetectionUsage:
    pages = backlog.pages() if judges else []
    if not pages:
        return DetectionUsage()
    count = _Count(sum(map(len, pages)), progress)

    def opened(page: Page) -> list[Job]:
        jobs = backlog.jobs(page, judges)
        count.open(page, jobs)
        return jobs

    reports = backlog.reports
    panel = ConcurrentJudge(
        run=backlog.run,
        bars=bars,
        asking=backlog.asking,
        setup=backlog.setup,
        judged=lambda judge, row: reports[judge.name].note(row),
        failed=lambda judge, failure: reports[judge.name].fail(failure),
        over=lambda job: count.close(job.trajectory_id),
    )
    return asyncio.run(panel.judge(partial(opened, page) for page in pages))


@dataclass(slots=True)
class _Count:
    """The number of trajectories with no pending checkpoint, reported to `progress` as it grows."""

    total: int
    progress: Progress | None
    done: int = 0
    left: Counter[int] = field(default_factory=Counter)

    def open(self, page: Page, jobs: Sequence[Job]) -> None:
        """Add a page's jobs; count its other trajectories as done."""
        todo = Counter(job.trajectory_id for job in jobs)
        self.left += todo
        self.done += len(page) - len(todo)

    def close(self, trajectory_id: int) -> None:
        """Remove one job of a trajectory."""
        self.left[trajectory_id] -= 1
        self.done += self.left[trajectory_id] == 0
        if self.progress:
            self.progress(self.done, self.total)


def _move_threshold(run: tables.Run, judge: Detector, bar: float) -> None:
    """Apply the threshold to the stored verdicts; verdicts from unreadable replies stay flagged."""
    verdict = tables.Verdict
    mine = (col(verdict.run_id) == run.id, col(verdict.detector) == judge.name, col(verdict.threshold) != bar)
    readable = not_(col(verdict.parameters).contains(f'"{UNPARSED}":true'))
    with writing() as session:
        session.execute(update(verdict).where(*mine, readable).values(threshold=bar, flagged=col(verdict.score) > bar))
        session.execute(update(verdict).where(*mine).values(threshold=bar))
