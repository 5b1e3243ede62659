"""Detection: verdicts for every checkpoint of a run, and review items for those that its routing detector flags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import orjson
from sqlalchemy import not_, update
from sqlmodel import col

from console import runs
from console.database import writing
from console.detection import concurrent, routing_lock
from console.detection.concurrent import Job
from console.detection.detectors import UNPARSED, Detector, detector
from console.detection.detectors.shared.model_clients import Asking
from console.detection.enqueue import enqueue
from console.detection.pending import Page, PendingCheckpoints
from console.detection.report import Detection, DetectionReport
from console.detection.verdicts import keep_verdicts, verdict_row
from console.llm import ClientUsage
from console.runs.costs import Costs
from storage import tables

Progress = Callable[[int, int], None]


def detect(
    run_name: str,
    methods: Sequence[str],
    *,
    threshold: float | None = None,
    seed: int | None = None,
    route: str | None = None,
    progress: Progress | None = None,
    asking: Asking | None = None,
    stated: Costs | None = None,
) -> list[DetectionReport]:
    """Judges what is not judged yet, then queues what the routing detector flags.

    The first method ever used on a run becomes its routing detector; `route` names another. Verdicts are made outside
    any transaction and recorded in short ones, so a killed detection goes on where it stopped. A live or gate run has
    judged its actions before they ran: its queue, its settings and those verdicts stay as they are.
    """
    return detect_and_tell(
        run_name,
        methods,
        threshold=threshold,
        seed=seed,
        route=route,
        progress=progress,
        asking=asking,
        stated=stated,
    ).reports


def detect_and_tell(
    run_name: str,
    methods: Sequence[str],
    *,
    threshold: float | None = None,
    seed: int | None = None,
    route: str | None = None,
    progress: Progress | None = None,
    asking: Asking | None = None,
    stated: Costs | None = None,
) -> Detection:
    """The same, with what the models were asked; `progress` counts trajectories, those that ask models all together.

    Raises Refused, NoModel, SpendingCapReached and, where the endpoint only fails, ModelError; the verdicts so far are
    kept.
    """
    judges, asking = [detector(name) for name in dict.fromkeys(methods)], asking or Asking()
    labels = {judge.name: asking.label(judge) for judge in judges if judge.ask}
    run = _prepare(run_name, judges, threshold, seed, route, stated)
    bars = {judge.name: _bar(run, judge, threshold) for judge in judges}
    reports = {
        name: DetectionReport(run.name, name, bar, labels.get(name), routing=name == run.detector)
        for name, bar in bars.items()
    }
    for judge in judges:
        if not routing_lock.is_locked(run, judge.name):
            _move_threshold(run, judge, bars[judge.name])
    backlog = PendingCheckpoints(run, asking, reports)
    for judge in judges:
        if judge.ask is None:
            _judge_offline(backlog, judge, bars[judge.name], progress)
    tally = _ask_models(backlog, [judge for judge in judges if judge.ask], bars, progress)
    if not routing_lock.judges_beforehand(run) and run.detector in reports:
        reports[run.detector].queued = enqueue(run)
    return Detection(list(reports.values()), tally)


def _prepare(
    run_name: str,
    judges: Sequence[Detector],
    threshold: float | None,
    seed: int | None,
    route: str | None,
    stated: Costs | None,
) -> tables.Run:
    with writing() as session:
        run = runs.get(session, run_name)
        if routing_lock.judges_beforehand(run):
            session.expunge(run)
            routing_lock.refuse_changes(run, [judge.name for judge in judges], threshold, seed, route)
            run.seed = run.seed if seed is None else seed
            return run
        routing = detector(route or run.detector or judges[0].name)
        run.seed = run.seed if seed is None else seed
        judging_route = any(judge.name == routing.name for judge in judges)
        if threshold is not None and judging_route:
            run.threshold = threshold
        elif routing.name != run.detector or run.threshold is None:
            run.threshold = routing.threshold
        run.detector = routing.name
        if stated is not None:
            run.options = orjson.dumps(orjson.loads(run.options) | {"costs": dict(stated)}).decode()
        session.add(run)
        session.flush()
        session.expunge(run)
    return run


def _bar(run: tables.Run, judge: Detector, threshold: float | None) -> float:
    if threshold is not None:
        return threshold
    return run.threshold if judge.name == run.detector and run.threshold is not None else judge.threshold


def _judge_offline(backlog: PendingCheckpoints, judge: Detector, bar: float, progress: Progress | None) -> None:
    """Judges page by page, one short transaction each."""
    pages, done = backlog.pages(), 0
    total = sum(map(len, pages))
    for page in pages:
        jobs = backlog.jobs(page, [judge])
        rows = [verdict_row(backlog.run, judge, bar, job.trajectory_id, job.checkpoint) for job in jobs]
        for row in rows:
            backlog.reports[judge.name].note(row)
        if rows:
            with writing() as session:
                keep_verdicts(session, rows)
        done += len(page)
        if progress:
            progress(done, total)


def _ask_models(
    backlog: PendingCheckpoints, judges: Sequence[Detector], bars: Mapping[str, float], progress: Progress | None
) -> ClientUsage:
    """Asks for all detectors at once, checkpoint by checkpoint; returns what was asked."""
    pages = backlog.pages() if judges else []
    count = _Count(sum(map(len, pages)), progress)
    if not pages:
        return ClientUsage()

    def opened(page: Page) -> list[Job]:
        jobs = backlog.jobs(page, judges)
        count.open(page, jobs)
        return jobs

    reports = backlog.reports
    asked = concurrent.ConcurrentJudge(
        run=backlog.run,
        bars=bars,
        asking=backlog.asking,
        setup=backlog.setup,
        judged=lambda judge, row: reports[judge.name].note(row),
        failed=lambda judge, failure: reports[judge.name].fail(failure),
        over=lambda job: count.close(job.trajectory_id),
    )
    return concurrent.judge(asked, (partial(opened, page) for page in pages))


@dataclass(slots=True)
class _Count:
    """Trajectories with nothing left to judge, told to `progress` as they become more."""

    total: int
    progress: Progress | None
    done: int = 0
    left: Counter[int] = field(default_factory=Counter)

    def open(self, page: Page, jobs: Sequence[Job]) -> None:
        """Takes a page's jobs in; its other trajectories are done."""
        todo = Counter(job.trajectory_id for job in jobs)
        self.left += todo
        self.done += len(page) - len(todo)

    def close(self, trajectory_id: int) -> None:
        """Takes one job off."""
        self.left[trajectory_id] -= 1
        self.done += self.left[trajectory_id] == 0
        if self.progress:
            self.progress(self.done, self.total)


def _move_threshold(run: tables.Run, judge: Detector, bar: float) -> None:
    """Applies the threshold to the verdicts there are; one that could not be read stays flagged."""
    verdict = tables.Verdict
    mine = (col(verdict.run_id) == run.id, col(verdict.detector) == judge.name, col(verdict.threshold) != bar)
    readable = not_(col(verdict.parameters).contains(f'"{UNPARSED}":true'))
    with writing() as session:
        session.execute(update(verdict).where(*mine, readable).values(threshold=bar, flagged=verdict.score > bar))
        session.execute(update(verdict).where(*mine).values(threshold=bar))
