"""Following of log files that grow: new critical actions are judged and queued as they appear in the files.

The agent does not wait for a decision. All state is in the database, so that a restart after a crash neither repeats
nor loses items.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory

import orjson
from sqlmodel import Session, col, select

from console import runs
from console.auth import audit_log
from console.database import now_ms, reading, review_queue, writing
from console.detection import audit_draws, batch
from console.detection.detectors import Detector, detector
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.routing import flagged_item
from console.detection.verdicts import DetectionReport, judge_as_row, store_verdicts
from console.errors import BadInput
from console.runs import ingest
from console.runs.importers.records import SHELL_TOOLS
from console.runs.log_reading import FileReport, ImportChoice
from console.trajectory.checkpoints import Checkpoint
from storage import tables
from storage.queue import NewItem
from storage.tables import ItemStatus

_TAIL_BYTES = 2**20
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """The place of a coding agent's sessions: a folder, by its variable or below the home folder, and file names."""

    variable: str
    home: str
    inside: str
    names: str

    @property
    def folder(self) -> Path:
        """The folder of the sessions on this machine."""
        set_to = os.environ.get(self.variable) if self.variable else None
        return (Path(set_to) if set_to else Path.home() / self.home) / self.inside


AGENTS = {
    "claude-code": AgentFolder("CLAUDE_CONFIG_DIR", ".claude", "projects", "*.jsonl"),
    "codex": AgentFolder("CODEX_HOME", ".codex", "sessions", "rollout-*.jsonl"),
    "gemini-cli": AgentFolder("", ".gemini", "tmp", "chats/session-*.json*"),
    "pi": AgentFolder("", ".pi/agent", "sessions", "*.jsonl"),
    "copilot-cli": AgentFolder("COPILOT_HOME", ".copilot", "session-state", "events.jsonl"),
    "cursor": AgentFolder("", ".cursor", "projects", "agent-transcripts/*/*.jsonl"),
}


@dataclass(slots=True)
class Follower:
    """A follower of files and folders, which imports new content into a run and queues the critical actions.

    `sources` are paths or names in `AGENTS`. Files in folders count if they changed within `days`. If `only_flagged`,
    only actions that the detector flags are queued. `audited` is a share of the other actions, such as `5%`, that are
    drawn at random and queued too.
    """

    run: str
    sources: Sequence[str]
    method: str = "rules"
    critical: Sequence[str] = SHELL_TOOLS
    days: float = 1.0
    only_flagged: bool = False
    audited: str = ""
    seen: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """The size and time of change (ns) of each file when it was last read."""

    def start(self) -> None:
        """Prepare the run, and judge the actions that an interrupted follower left; raise BadInput for bad sources."""
        judge = detector(self.method)
        if judge.ask is not None:
            raise BadInput(
                f"{judge.name} uses a model, which is too slow to follow a file. Use a detector without a model."
            )
        for source in self.sources:
            if source not in AGENTS and not Path(source).exists():
                raise BadInput(f"{source} is neither a file, a folder nor one of {', '.join(AGENTS)}. Check the path.")
        with writing() as session:
            is_new = runs.find(session, self.run) is None
            run = runs.archive(session, self.run, now_ms())
            if is_new:  # An agent that knows the seed could predict which of its actions are audited.
                run.seed = SystemRandom().getrandbits(31)
            every = not (self.only_flagged or self.audited)
            run.options = replace(runs.run_options(run), every_action=every, followed=True).to_json()
            if self.audited:
                audit_draws.set_audits(session, run, self.audited, now_ms(), after=True)
            if not runs.patterns(run):
                run.critical = orjson.dumps([*self.critical]).decode()
            session.add(run)
            detail = {"sources": [*self.sources], "patterns": runs.patterns(run)}
            audit_log.record(session, run, "followed", now_ms(), detail=detail)
        batch.run_detection(self.run, [self.method])

    def poll(self) -> Iterator[FileReport]:
        """Yield the report of each file that changed, after its new critical actions are queued."""
        for path in self._files():
            try:
                state = path.stat()
            except OSError:
                continue
            now = (state.st_size, state.st_mtime_ns)
            if self.seen.get(path) == now or not state.st_size:
                continue
            report = _import(path, self.run)
            self.seen[path] = now
            if report is not None:
                queue_new(self.run, detector(self.method), report.touched)
                yield report

    def watch(self, every_s: float, tell: Callable[[FileReport], None], goes_on: Callable[[], bool]) -> None:
        """Poll until `goes_on` is false; wait between two polls unless `every_s` is 0, longer if reading takes long."""
        while goes_on():
            begun = time.monotonic()
            for report in self.poll():
                tell(report)
            time.sleep(every_s and max(every_s, time.monotonic() - begun))

    def _files(self) -> Iterator[Path]:
        oldest = time.time() - self.days * _DAY_S
        for source in self.sources:
            agent = AGENTS.get(source)
            root = agent.folder if agent else Path(source)
            if not root.is_dir():
                yield from [root] if root.is_file() else []
                continue
            found = root.rglob(agent.names if agent else "*")
            yield from sorted(one for one in found if _is_recent(one, oldest) and not one.name.startswith("."))


def _is_recent(path: Path, oldest: float) -> bool:
    try:
        return path.is_file() and path.stat().st_mtime >= oldest
    except OSError:
        return False


def _import(path: Path, run: str) -> FileReport | None:
    """Import the complete lines of the file; return None if there are none yet."""
    with TemporaryDirectory(prefix="inferact-follow-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        if not _cut_half_line(copy):
            return None
        return ingest.import_file(
            copy, run, "auto", lambda _: None, ImportChoice(is_partial_accepted=True), known_as=str(path)
        )


def _cut_half_line(path: Path) -> bool:
    """Remove a last line that is still being written; return whether anything is left."""
    with path.open("r+b") as stream:
        size = stream.seek(0, os.SEEK_END)
        start = max(0, size - _TAIL_BYTES)
        stream.seek(start)
        tail = stream.read()
        head, _, last = tail.rpartition(b"\n")
        if last.strip() and (head or not start) and not _is_json(last) and b"\n" in tail and head.lstrip()[:1] == b"{":
            stream.truncate(start + len(head) + 1)
        return stream.seek(0, os.SEEK_END) > 0


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def queue_new(run_name: str, judge: Detector, trajectories: Sequence[int]) -> int:
    """Judge the critical actions of these trajectories without a verdict, queue them, and return the number of items.

    An earlier step withdrew the items of actions that were removed from their trajectory.
    """
    if not trajectories:
        return 0
    with reading() as session:
        run = runs.get(session, run_name)
        cap = runs.cap(session, run)
        session.expunge(run)
    options = runs.run_options(run)
    bar = judge.threshold if run.threshold is None else run.threshold
    reports = {judge.name: DetectionReport(run.name, judge.name, bar, None)}
    backlog = batch.PendingCheckpoints(run, ModelOptions(), reports)
    jobs = backlog.jobs(trajectories, [judge])
    rows = [judge_as_row(run, judge, bar, job.trajectory_id, job.checkpoint, now_ms()) for job in jobs]
    if rows:
        with writing() as session:
            store_verdicts(session, rows)
    shown = {(job.trajectory_id, job.checkpoint.index, str(job.checkpoint.kind)): job.checkpoint for job in jobs}
    with writing() as session:
        items = [*_new_items(session, run, options, shown)]
    queue = review_queue()
    queue.open_budgets(run.id or 0, sorted({item.trial for item in items}), cap)
    return queue.put(items)


def _new_items(
    session: Session, run: tables.Run, options: runs.RunOptions, shown: dict[tuple[int, int, str], Checkpoint]
) -> Iterator[NewItem]:
    verdict, record, task = tables.Verdict, tables.Trajectory, tables.Task
    among = sorted({trajectory_id for trajectory_id, _, _ in shown})
    statement = (
        select(verdict, record.trial, task.task_key)
        .join(record, col(record.id) == verdict.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(verdict.detector == run.detector, col(verdict.trajectory_id).in_(among))
    )
    for found, trial, key in session.exec(statement).all():
        place = (found.trajectory_id, found.step, found.kind)
        if place not in shown:
            continue
        draw = None if options.every_action else _draw(session, run, options, found, key, trial)
        item = flagged_item(run, options, trial, found, partial(shown.__getitem__, place), now_ms())
        if found.flagged or options.every_action:
            yield item
        elif draw is not None and draw.number < draw.probability:
            yield audit_draws.place_live_audit(item, found.threshold, draw.number, draw.probability)


def _draw(
    session: Session, run: tables.Run, options: runs.RunOptions, found: tables.Verdict, key: str, trial: int
) -> tables.AuditDraw | None:
    """Store and return the draw of an unflagged action; None if the run has no audits or the action is flagged."""
    number = audit_draws.draw_number(run, key, trial, found.step, found.kind)
    draw = audit_draws.build_draw(run, options, found, number, now_ms())
    if draw is not None:
        audit_draws.store_draw(session, draw)
    return draw


def count_pending(run_name: str) -> int:
    """Return the number of pending items of the run."""
    with reading() as session:
        run = runs.get(session, run_name)
        item = tables.Item
        return len(session.exec(select(item.id).where(item.run_id == run.id, item.status == ItemStatus.PENDING)).all())
