"""The blocks of a Reflexion text log: trial headers, section headers and attempts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from console.errors import UnreadableFile
from console.runs.importers.parts.lines import CUT
from console.runs.importers.parts.triples import starts_step

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
class TrialHeader:
    """A trial header, with the number that it names."""

    number: int


@dataclass(frozen=True, slots=True)
class Summary:
    """How many records a trial header says that there are."""

    records: int


@dataclass(frozen=True, slots=True)
class OutcomeSection:
    """CORRECT, INCORRECT or HALTED."""

    name: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One question; `steps` are the lines of its thoughts, actions and observations."""

    line: int
    question: str
    opening: str
    memory: tuple[str, ...]
    steps: tuple[str, ...]
    answer: str | None


Block = TrialHeader | Summary | OutcomeSection | Attempt


def blocks(path: Path, lines: Iterable[tuple[int, str]]) -> Iterator[Block]:
    """The blocks in order; raises UnreadableFile where an attempt lacks its end."""
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
    """Whether attempts end with the correct answer, as the first one tells; None before it has ended."""
    previous: bool = False
    """Whether the text of an earlier trial is being quoted."""

    def inside(self, text: str) -> Iterator[Block]:
        if answer := _ANSWER.match(text):
            yield self._end(answer[1].strip() or None)
        elif not self.previous and (text.startswith("Question:") or _SECTION.match(text) or _TRIAL.match(text)):
            if self.answers or self.record[-1].strip():
                reason = 'the record before this line has no line "Correct answer:" at its end; get the whole file'
                raise UnreadableFile(str(self.path), reason, self.number)
            yield self._end(None)
            yield from self.between(text)
        else:
            self.previous = _END_PREVIOUS not in text and (self.previous or text.startswith(_PREVIOUS))
            self.record.append(text)

    def between(self, text: str) -> Iterator[Block]:
        if trial := _TRIAL.match(text):
            yield TrialHeader(int(trial[1]))
        elif section := _SECTION.match(text):
            yield OutcomeSection(section[1].upper())
        elif _SUMMARY.match(text):
            yield Summary(sum(int(count) for count in _COUNT.findall(text)))
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
    question, _, recalled = _cut_at_reminder(asked)
    before, _, earlier = _cut_at_reminder("\n".join(preface))
    return Attempt(
        line=line,
        question=question.strip(),
        opening="" if _PROMPT.match(before.strip()) else before.strip(),
        memory=(*_memory(earlier), *_memory(recalled)),
        steps=tuple(record[first:]),
        answer=answer,
    )


def _cut_at_reminder(text: str) -> tuple[str, str, str]:
    match = _AGAIN.search(text)
    return (text[: match.start()], match[0], text[match.end() :]) if match else (text, "", "")


def _memory(recalled: str) -> Iterator[str]:
    """The texts after the reminder: the quoted earlier trial as one, then each reflection."""
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
