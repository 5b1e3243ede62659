"""What of a run has no fresh verdict yet: jobs, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console.database import reading
from console.detection.concurrent import Job
from console.detection.detectors import UNPARSED, Detector
from console.detection.detectors.shared.model_clients import Asking, Setup
from console.detection.report import DetectionReport
from console.detection.routing_lock import is_locked
from console.runs.checkpoints import run_checkpoints
from console.trajectory import Outcome, Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint
from storage import tables

_PAGE = 200
Page = Sequence[int]
"""Ids of trajectories."""


@dataclass(frozen=True, slots=True)
class _Known:
    flagged: bool
    setup: str | None
    unparsed: bool


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
        if not is_locked(self.run, judge.name) and found.setup != self.setup(judge, checkpoint.environment).digest:
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
        found[id, step, kind] = _Known(flagged, parameters.get("setup"), bool(parameters.get(UNPARSED)))
    return found
