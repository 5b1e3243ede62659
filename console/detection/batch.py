"""Detection: verdicts for every checkpoint of a run, and review items for those that its routing detector flags.

A report counts what was done, detector by detector; the pending checkpoints are those without a fresh verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson
from sqlalchemy import not_, update
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console import runs
from console.database import now_ms, reading, writing
from console.detection import concurrent
from console.detection.concurrent import Asked, Job
from console.detection.detectors import UNPARSED, Detector, detector
from console.detection.detectors.shared.model_clients import Asking, Setup
from console.detection.detectors.verdict import NO_REPLY, PAPER_MODE
from console.detection.verdicts import enqueue, is_locked, judges_beforehand, keep_verdicts, refuse_changes, verdict_row
from console.errors import Refused
from console.llm.errors import Deferred, ModelError
from console.runs import audit_log, run_checkpoints
from console.runs.options import Costs, run_options
from console.trajectory import Outcome, Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint
from storage import tables


@dataclass(slots=True)
class DetectionReport:
    """What one detection did; `excluded` trajectories have no critical action, so nothing could be judged.

    `unparsed` verdicts (flagged, among all there are) come from replies that could not be read; `errors` checkpoints
    have no verdict, for the reasons counted in `problems`; `waiting` ones have none until a batch is done. The `mode`
    is paper where models are asked as the paper's reference code does. Requests, tokens and USD are those that the new
    verdicts rest on: detectors that share a reply count it each.
    """

    run: str
    detector: str
    threshold: float
    model: str | None = None
    judged: int = 0
    cached: int = 0
    checkpoints: int = 0
    flagged: int = 0
    unparsed: int = 0
    errors: int = 0
    problems: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    halted: int = 0
    excluded: int = 0
    queued: int = 0
    routing: bool = False
    mode: str = "console"
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None

    def note(self, row: dict[str, Any]) -> None:
        """Counts a new verdict."""
        parameters = orjson.loads(row["parameters"])
        self.judged += 1
        self.flagged += row["flagged"]
        self.unparsed += bool(parameters.get(UNPARSED))
        self.requests += row["requests"]
        self.prompt_tokens += row["prompt_tokens"]
        self.completion_tokens += row["completion_tokens"]
        if row["cost_usd"] is not None:
            self.cost_usd = (self.cost_usd or 0.0) + row["cost_usd"]

    def fail(self, failure: ModelError) -> None:
        """Counts a checkpoint without a verdict, or whose question waits in a batch."""
        if isinstance(failure, Deferred):
            self.waiting += 1
            return
        name = type(failure).__name__
        self.errors += 1
        self.problems[name] = self.problems.get(name, 0) + 1


@dataclass(frozen=True, slots=True)
class Detection:
    """The report of each detector, what the models were really asked, and what their endpoints did not give."""

    reports: list[DetectionReport]
    asked: Asked

    def lacks(self) -> list[str]:
        """One sentence for each model whose endpoint did not give all that was wanted."""
        return self.asked.lacks(paper=any(report.mode == PAPER_MODE for report in self.reports))


MODES = ("console", PAPER_MODE)
_PAGE = 200
Page = Sequence[int]
"""Ids of trajectories."""


@dataclass(frozen=True, slots=True)
class _Known:
    flagged: bool
    setup: str | None
    unparsed: bool
    answered: bool


@dataclass(slots=True)
class PendingCheckpoints:
    """A run's jobs; counts in `reports` what needs no verdict, or has one that is fresh."""

    run: tables.Run
    asking: Asking
    reports: dict[str, DetectionReport]
    _setups: dict[tuple[str, str], Setup] = field(default_factory=dict)

    def pages(self) -> list[Page]:
        """The run's trajectories that can be judged, in the order of their ids."""
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
        """What a verdict of that detector depends on, read once for each environment."""
        key = (judge.name, environment)
        if key not in self._setups:
            self._setups[key] = self.asking.setup(judge, environment, self.run.seed)
        return self._setups[key]

    def jobs(self, page: Page, judges: Sequence[Detector]) -> list[Job]:
        """The checkpoints of a page that at least one of the detectors has to judge."""
        with reading() as session:
            found = _bodies(session, page)
            known = {judge.name: _known_verdicts(session, judge, page) for judge in judges}
        jobs = []
        for trajectory_id, record in found:
            visible = self._visible(record, judges)
            for checkpoint in visible:
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
        stale = found.setup != self.setup(judge, checkpoint.environment).digest or not found.answered
        if stale and not is_locked(self.run, judge.name):
            return False
        report = self.reports[judge.name]
        report.cached += 1
        report.flagged += found.flagged
        report.unparsed += found.unparsed
        return True


def _bodies(session: Session, page: Page) -> list[tuple[int, Trajectory]]:
    body = tables.TrajectoryBody
    statement = select(body).where(col(body.trajectory_id).in_(page)).order_by(col(body.trajectory_id))
    return [(row.trajectory_id, from_json(row.body)) for row in session.exec(statement)]


def _known_verdicts(session: Session, judge: Detector, page: Page) -> dict[tuple[int, int, str], _Known]:
    verdict = tables.Verdict
    columns = (verdict.trajectory_id, verdict.step, verdict.kind, verdict.flagged, verdict.parameters)
    statement = sa_select(*map(col, columns)).where(
        col(verdict.detector) == judge.name, col(verdict.trajectory_id).in_(page)
    )
    found = {}
    for id, step, kind, flagged, text in session.execute(statement):
        parameters = orjson.loads(text)
        answered = NO_REPLY not in parameters
        found[id, step, kind] = _Known(flagged, parameters.get("setup"), bool(parameters.get(UNPARSED)), answered)
    return found


Progress = Callable[[int, int], None]


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
    """Judges what is not judged yet, then queues what the routing detector flags.

    The first method ever used on a run becomes its routing detector; `route` names another. Verdicts are made outside
    any transaction and recorded in short ones, so a killed detection goes on where it stopped. A live or gate run has
    judged its actions before they ran: its queue, its settings and those verdicts stay as they are. `progress` counts
    trajectories, those that ask models all together.

    Raises Refused, NoModel, SpendingCapReached and, where the endpoint only fails, ModelError; the verdicts so far are
    kept.
    """
    judges, asking = [detector(name) for name in dict.fromkeys(methods)], asking or Asking()
    labels = {judge.name: asking.label(judge) for judge in judges if judge.ask}
    modes = dict.fromkeys(labels, MODES[asking.paper])
    run = _prepare(run_name, judges, threshold, seed, route, stated)
    bars = {judge.name: _bar(run, judge, threshold) for judge in judges}
    reports = {
        name: DetectionReport(run.name, name, bar, labels.get(name), routing=name == run.detector)
        for name, bar in bars.items()
    }
    for judge in judges:
        reports[judge.name].mode = modes.get(judge.name, MODES[0])
        if not is_locked(run, judge.name):
            _move_threshold(run, judge, bars[judge.name])
    backlog = PendingCheckpoints(run, asking, reports)
    for judge in judges:
        if judge.ask is None:
            _judge_offline(backlog, judge, bars[judge.name], progress)
    asked = _ask_models(backlog, [judge for judge in judges if judge.ask], bars, progress)
    if not judges_beforehand(run) and run.detector in reports:
        reports[run.detector].queued = enqueue(run)
    return Detection(list(reports.values()), asked)


def detect(run_name: str, methods: Sequence[str], **options: Any) -> list[DetectionReport]:
    """The reports alone of the same detection."""
    return detect_and_tell(run_name, methods, **options).reports


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
        if run_options(run).rates_answers:
            raise Refused(
                f"Run {run_name!r} holds answers for people to judge; detectors judge the run they came from."
            )
        if judges_beforehand(run):
            session.expunge(run)
            refuse_changes(run, [judge.name for judge in judges], threshold, seed, route)
            run.seed = run.seed if seed is None else seed
            return run
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
            run.options = replace(run_options(run), costs=stated).to_json()
        session.add(run)
        judged = {"detectors": [judge.name for judge in judges]}
        audit_log.record(session, run, "judged", now_ms(), before=before, after=_settings(run), detail=judged)
        session.expunge(run)
    return run


def _settings(run: tables.Run) -> dict[str, object]:
    """What of a run says which of its actions a person is asked about."""
    return {"detector": run.detector, "threshold": run.threshold, "seed": run.seed}


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
) -> Asked:
    """Asks for all detectors at once, checkpoint by checkpoint; returns what was asked."""
    pages = backlog.pages() if judges else []
    count = _Count(sum(map(len, pages)), progress)
    if not pages:
        return Asked()

    def opened(page: Page) -> list[Job]:
        jobs = backlog.jobs(page, judges)
        count.open(page, jobs)
        return jobs

    reports = backlog.reports
    panel = concurrent.ConcurrentJudge(
        run=backlog.run,
        bars=bars,
        asking=backlog.asking,
        setup=backlog.setup,
        judged=lambda judge, row: reports[judge.name].note(row),
        failed=lambda judge, failure: reports[judge.name].fail(failure),
        over=lambda job: count.close(job.trajectory_id),
    )
    return concurrent.judge(panel, (partial(opened, page) for page in pages))


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
