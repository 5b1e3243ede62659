"""The text logs of Reflexion's ReAct agents on HotPotQA: sections by outcome, with or without trial headers."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from os import SEEK_END
from pathlib import Path
from typing import IO, Any

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.lines import CUT, text_lines
from console.runs.importers.parts.reflexion_blocks import Attempt, Block, OutcomeSection, Summary, TrialHeader, blocks
from console.runs.importers.parts.triples import steps_of
from console.runs.importers.records import Duplicate, Entry, Found, Importer, Progress, with_critical_action
from console.trajectory import Label, Outcome, Step, Trajectory, from_json

_NAME = "reflexion-react"
_FINISHED = {"CORRECT", "INCORRECT"}
_OUTCOMES = {
    "CORRECT": (Outcome.SUCCEEDED, Label.ALIGNED),
    "INCORRECT": (Outcome.FAILED, Label.MISALIGNED),
    "HALTED": (Outcome.HALTED, None),
}
_PREFACE_BYTES = 2048
_IN_MEMORY = 16 * 2**20
_HEADER = re.compile(rb"^[-\s]*BEGIN\s+(?:CORRECT|INCORRECT|HALTED)\s+AGENTS|^\s*BEGIN TRIAL\s+\d+\s*$", re.MULTILINE)
_RECORD = re.compile(rb"^Question:.*?^Thought(?: \d+)?:.*?^Action(?: \d+)?:", re.MULTILINE | re.DOTALL)
_ANSWERED = re.compile(r"^Answer is (CORRECT|INCORRECT)\b")


def recognises(path: Path, head: bytes) -> bool:
    """Whether it begins with a section header, or with a question and its thoughts and actions."""
    return any(match and match.start() < _PREFACE_BYTES for match in (_HEADER.search(head), _RECORD.search(head)))


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The attempts of every trial, each task once a trial; raises UnreadableFile where a record lacks its end."""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        listing = _Listing(path, spool)
        for block in blocks(path, text_lines(path, progress)):
            yield from listing.take(block)
        yield from listing.close()


@dataclass(slots=True)
class _Listing:
    """Where the reading stands; of attempts already passed on only digests are kept, those of one trial back.

    Those that a better one may yet replace wait on the spool, a line of canonical JSON each.
    """

    path: Path
    spool: IO[bytes]
    trial: int = 0
    counts_from: int = 1
    section: str = ""
    passed: set[str] = field(default_factory=set)
    expected: int | None = None
    listed: int = 0
    waiting: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Where each waits on the spool, and the line on which it begins in the log."""
    digests: dict[tuple[str, int], bytes] = field(default_factory=dict)
    solved: set[str] = field(default_factory=set)

    def take(self, block: Block) -> Iterator[Entry]:
        match block:
            case TrialHeader(number=number):
                yield from self._begin_trial(number)
            case Summary(records=records):
                self.expected = records
            case OutcomeSection(name=name):
                self.passed.add(self.section)
                self.section = name
                if self._no_better_can_come():
                    yield from self._release()
            case Attempt():
                self.listed += 1
                yield from self._attempt(block)

    def close(self) -> Iterator[Entry]:
        if self.expected is not None and self.listed < self.expected:
            reason = f"the last trial lists {self.listed} of the {self.expected} records in its header; {CUT}"
            raise UnreadableFile(str(self.path), reason)
        yield from self._release()

    def _begin_trial(self, named: int) -> Iterator[Entry]:
        yield from self._release()
        self.counts_from = min(self.counts_from, named)
        number = named - self.counts_from
        if number == self.trial + 1:
            self.digests = {key: value for key, value in self.digests.items() if key[1] == self.trial}
        self.trial, self.expected, self.listed = number, None, 0
        self.section, self.passed = "", set()

    def _attempt(self, block: Attempt) -> Iterator[Entry]:
        found = Found(block.line, self._trajectory(block))
        task_id = found.trajectory.task_id
        has_rival = task_id in self.waiting
        if (task_id, self.trial) in self.digests:
            yield self._twice(found.line)
        elif found.trajectory.outcome in (Outcome.HALTED, Outcome.ERROR) and not self._no_better_can_come():
            if has_rival:
                yield self._twice(found.line)
            else:
                self._put_by(found)
        else:
            if has_rival:
                yield self._twice(self.waiting.pop(task_id)[1])
            yield self._pass_on(found)

    def _no_better_can_come(self) -> bool:
        return self.section not in _FINISHED and self.passed >= _FINISHED

    def _put_by(self, found: Found) -> None:
        self.waiting[found.trajectory.task_id] = self.spool.seek(0, SEEK_END), found.line
        # The number of a trial may be one that no record of the canonical form has.
        self.spool.write(replace(found.trajectory, trial=0).to_json().encode() + b"\n")

    def _release(self) -> Iterator[Entry]:
        for start, line in self.waiting.values():
            self.spool.seek(start)
            yield self._pass_on(Found(line, replace(from_json(self.spool.readline()), trial=self.trial)))
        self.waiting = {}
        self.spool.truncate(0)

    def _twice(self, line: int) -> Duplicate:
        return Duplicate(line, f"trial {self.trial} lists this question twice; the finished record is kept")

    def _pass_on(self, found: Found) -> Found:
        trajectory = found.trajectory
        task_id, key = trajectory.task_id, (trajectory.task_id, self.trial)
        before = self.digests.get((task_id, self.trial - 1))
        self.digests[key] = _digest(trajectory.steps)
        same = self.digests[key] == before if trajectory.steps else task_id in self.solved
        if trajectory.outcome is Outcome.SUCCEEDED:
            self.solved.add(task_id)
        return Found(found.line, trajectory.as_carried_over()) if same else found

    def _trajectory(self, block: Attempt) -> Trajectory:
        steps = steps_of(block.steps)
        outcome, label = _outcome(self.section, steps)
        gold: dict[str, Any] = {"label": str(label)} if label else {}
        if block.answer:
            gold["answer"] = block.answer
        trajectory = Trajectory(
            task_id=task_id_of(block.question),
            environment="hotpotqa",
            instruction=block.question,
            steps=steps,
            trial=self.trial,
            outcome=outcome,
            gold=gold,
            source={"file": self.path.name, "line": block.line, "format": _NAME},
            opening=block.opening,
            memory=block.memory,
        )
        return with_critical_action(trajectory)


def task_id_of(question: str) -> str:
    """The id of a question that nobody gave one, the same in every trial and file."""
    return "q-" + hashlib.sha1(question.strip().encode(), usedforsecurity=False).hexdigest()[:12]


def _outcome(section: str, steps: tuple[Step, ...]) -> tuple[Outcome, Label | None]:
    if not steps:
        return Outcome.ERROR, None
    if section:
        return _OUTCOMES[section]
    answered = _ANSWERED.match(steps[-1].observation)
    return _OUTCOMES[answered[1]] if answered else (Outcome.FINISHED, None)


def _digest(steps: tuple[Step, ...]) -> bytes:
    parts = [[step.thought, step.action, step.observation] for step in steps]
    return hashlib.blake2b(orjson.dumps(parts), digest_size=16).digest()


IMPORTER = Importer(_NAME, "Reflexion's ReAct text logs (HotPotQA)", read, recognises=recognises)
