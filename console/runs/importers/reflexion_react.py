"""The text logs of Reflexion's ReAct agents on HotPotQA: sections by outcome, with or without trial headers."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from os import SEEK_END
from pathlib import Path
from typing import IO

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.files import CUT, starts_step, steps_of, text_lines
from console.runs.importers.records import Duplicate, Entry, Found, Importer, Progress, with_critical_action
from console.trajectory import Label, Outcome, Step, Trajectory, from_json

_TRIAL = re.compile(r"^\W*BEGIN TRIAL\s+(\d+)\W*$", re.IGNORECASE)
_SUMMARY = re.compile(r"^\W*Trial summary:", re.IGNORECASE)
_COUNT = re.compile(r"(?:Correct|Incorrect|Halted):\s*(\d+)", re.IGNORECASE)
_SECTION = re.compile(r"^\W*BEGIN\s+(CORRECT|INCORRECT|HALTED)\s+AGENTS\W*$", re.IGNORECASE)
_RULE = re.compile(r"^\s*[-#=*]*\s*$")
_ANSWER = re.compile(r"^Correct answer:\s*(.*)$")
_AGAIN = re.compile(r"You have attempted to answer (?:the )?following question before and failed\.")
_PREVIOUS, _END_PREVIOUS = "Previous trial:", "(END PREVIOUS TRIAL)"
_PROMPT = re.compile(r"^Solve a question answering task")


@dataclass(frozen=True, slots=True)
class Header:
    """A header: a trial with its `number`, a summary with its number of `records`, or a `section` such as CORRECT."""

    number: int | None = None
    records: int | None = None
    section: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at one question; `steps` are the lines of its thoughts, actions and observations."""

    line: int
    question: str
    opening: str
    memory: tuple[str, ...]
    steps: tuple[str, ...]
    answer: str | None


Block = Header | Attempt


def blocks(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Block]:
    """Yield the blocks in order; raise UnreadableFile if the end of an attempt is missing."""
    log = _Log(path)
    for number, text in lines:
        log.number = number
        if log.record:
            yield from log.inside(text)
        else:
            yield from log.between(text)
    yield from log.close()


@dataclass(slots=True)
class _Log:
    path: Path
    number: int = 0
    begun: int = 0
    preface: list[str] = field(default_factory=list)
    record: list[str] = field(default_factory=list)
    answers: bool | None = None
    """True if attempts end with the correct answer, as the first attempt does; None before its end."""
    previous: bool = False
    """True if the text quotes an earlier trial."""

    def inside(self, text: str) -> Iterator[Block]:
        if answer := _ANSWER.match(text):
            yield self._end(answer[1].strip() or None)
        elif not self.previous and (text.startswith("Question:") or _SECTION.match(text) or _TRIAL.match(text)):
            if self.answers or self.record[-1].strip():
                reason = 'The record before this line has no line "Correct answer:" at its end. Get the whole file.'
                raise UnreadableFile(str(self.path), reason, self.number)
            yield self._end(None)
            yield from self.between(text)
        else:
            self.previous = _END_PREVIOUS not in text and (self.previous or text.startswith(_PREVIOUS))
            self.record.append(text)

    def between(self, text: str) -> Iterator[Block]:
        if trial := _TRIAL.match(text):
            yield Header(number=int(trial[1]))
        elif section := _SECTION.match(text):
            yield Header(section=section[1].upper())
        elif _SUMMARY.match(text):
            yield Header(records=sum(map(int, _COUNT.findall(text))))
        elif text.startswith("Question:"):
            self.begun, self.record, self.previous = self.number, [text], False
        elif not _RULE.match(text):
            self.preface.append(text)

    def close(self) -> Iterator[Block]:
        if not self.record and not self.preface:
            return
        if not self.record or self.answers or self.record[-1].strip():
            raise UnreadableFile(str(self.path), CUT, self.number)
        yield self._end(None)

    def _end(self, answer: str | None) -> Attempt:
        if self.answers is None:
            self.answers = answer is not None
        attempt = _attempt(self.begun, self.preface, self.record, answer)
        self.preface, self.record = [], []
        return attempt


def _attempt(line: int, preface: list[str], record: list[str], answer: str | None) -> Attempt:
    ends = [index for index, text in enumerate(record) if _END_PREVIOUS in text]
    after = ends[-1] + 1 if ends else 0
    first = next((i for i in range(after, len(record)) if starts_step(record[i])), len(record))
    asked = "\n".join(record[:first]).removeprefix("Question:")
    question, recalled = (*_AGAIN.split(asked, maxsplit=1), "")[:2]
    before, earlier = (*_AGAIN.split("\n".join(preface), maxsplit=1), "")[:2]
    return Attempt(
        line=line,
        question=question.strip(),
        opening="" if _PROMPT.match(before.strip()) else before.strip(),
        memory=(*_memory(earlier), *_memory(recalled)),
        steps=tuple(record[first:]),
        answer=answer,
    )


def _memory(recalled: str) -> Iterator[str]:
    """Yield the texts after the reminder sentence: the quoted earlier trial, then each reflection."""
    quoted, end, rest = recalled.rpartition(_END_PREVIOUS)
    if end:
        yield quoted.partition(_PREVIOUS)[2].strip()
    entry: list[str] = []
    for line in rest.partition("Reflections:")[2].splitlines():
        if line.startswith("- ") and entry:
            yield "\n".join(entry).strip()
            entry = []
        if line.strip():
            entry.append(line.removeprefix("- "))
    if entry:
        yield "\n".join(entry).strip()


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
    """Return whether the file begins with a section header, or with a question, thoughts and actions."""
    return any(match and match.start() < _PREFACE_BYTES for match in (_HEADER.search(head), _RECORD.search(head)))


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the attempts, each task once per trial; raise UnreadableFile if the end of a record is missing."""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        listing = _Listing(path, spool)
        for block in blocks(path, text_lines(path, progress)):
            yield from listing.take(block)
        yield from listing.close()


@dataclass(slots=True)
class _Listing:
    """The state of an import. The state keeps only digests of finished attempts of the current and the previous trial.

    The spool file holds the attempts that a better attempt may replace, as lines of canonical JSON.
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
    """The position of each attempt in the spool file, and its line in the log."""
    digests: dict[tuple[str, int], bytes] = field(default_factory=dict)
    solved: set[str] = field(default_factory=set)

    def take(self, block: Block) -> Iterator[Entry]:
        if isinstance(block, Attempt):
            self.listed += 1
            yield from self._attempt(block)
        elif block.number is not None:
            yield from self._begin_trial(block.number)
        elif block.records is not None:
            self.expected = block.records
        else:
            self.passed.add(self.section)
            self.section = block.section
            if self._no_better_can_come():
                yield from self._release()

    def close(self) -> Iterator[Entry]:
        if self.expected is not None and self.listed < self.expected:
            reason = f"The last trial lists {self.listed} of the {self.expected} records in its header. {CUT}"
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
        is_replaceable = found.trajectory.outcome in (Outcome.HALTED, Outcome.ERROR) and not self._no_better_can_come()
        if (task_id, self.trial) in self.digests or (is_replaceable and task_id in self.waiting):
            yield self._twice(found.line)
        elif is_replaceable:
            self._put_by(found)
        else:
            if task_id in self.waiting:
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
        parts = [[step.thought, step.action, step.observation] for step in trajectory.steps]
        self.digests[key] = hashlib.blake2b(orjson.dumps(parts), digest_size=16).digest()
        same = self.digests[key] == before if trajectory.steps else task_id in self.solved
        if trajectory.outcome is Outcome.SUCCEEDED:
            self.solved.add(task_id)
        return Found(found.line, trajectory.as_carried_over()) if same else found

    def _trajectory(self, block: Attempt) -> Trajectory:
        steps = steps_of(block.steps)
        outcome, label = _outcome(self.section, steps)
        gold = ({"label": str(label)} if label else {}) | ({"answer": block.answer} if block.answer else {})
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
    """Return an id for a question without an id; the id is equal in every trial and file."""
    return "q-" + hashlib.sha1(question.strip().encode(), usedforsecurity=False).hexdigest()[:12]


def _outcome(section: str, steps: tuple[Step, ...]) -> tuple[Outcome, Label | None]:
    if not steps:
        return Outcome.ERROR, None
    if section:
        return _OUTCOMES[section]
    answered = _ANSWERED.match(steps[-1].observation)
    return _OUTCOMES[answered[1]] if answered else (Outcome.FINISHED, None)


IMPORTER = Importer(_NAME, "Reflexion's ReAct text logs (HotPotQA)", read, recognises=recognises)
