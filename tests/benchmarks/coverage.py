"""Whether the coverage of a file names every loss: mutants, wrong readings, and formats without their own rules.

`python -m tests.benchmarks.coverage [FOLDER [NUMBER SEED ...]]` prints tables over the real logs in FOLDER
(`../shared/data/logs`) and the samples: for each seed 1,000 mutants in which one field with a call, an argument or
an answer has another name; each file read as every other format; and each kind read without its floor and its marks.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from console.errors import UnreadableFile
from console.runs.importers import IMPORTERS
from console.runs.importers.parts import coverage
from console.runs.importers.parts.files import plain_files
from console.runs.log_reading import FileReport, ImportChoice, read_file
from console.trajectory import Step, Trajectory, from_json
from console.trajectory.calls import read_action
from tests.console.runs.importers.samples import SAMPLES
from tests.real_logs import Read, calls_of, plain, read

FIELDS = (
    *("tool_calls", "function", "arguments", "args", "input", "name", "content", "text", "output", "parts", "action"),
    *("observation", "response", "result", "results", "message", "command", "value", "toolCalls", "function_call"),
    *("traj", "messages", "history", "trajectory", "payload", "answer", "kwargs"),
)
SEED = 26
Outcome = tuple[str, str]


def logs(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (name, JSON text) of the real logs of formats with an importer, and of the samples."""
    for path in sorted(folder.glob("*/*")) if folder.exists() else ():
        with tempfile.TemporaryDirectory() as unpacked:
            yield from ((path.name, plain.read_bytes()) for _, plain in plain_files(path, Path(unpacked)))
    yield from ((f"sample {name}", sample.content) for name, sample in SAMPLES.items())


def measured(
    name: str, content: bytes, format: str = "auto", *, lenient: bool = False, seen: list[Trajectory] | None = None
) -> FileReport | None:
    """Return the report of a reading, or None if the file is refused; `seen` takes the texts of all steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name.replace("sample ", "").replace("/", "-")
        path.write_bytes(content)
        try:
            spool = read_file(path, format, choice=ImportChoice(is_partial_accepted=lenient))
        except UnreadableFile:
            return None
        if seen is not None:
            seen += [from_json(body.decode()) for body in [*spool.lines][1::2]]
        spool.close()
        return spool.report


def summary(seen: list[Trajectory]) -> list[object]:
    """What a person could miss: the texts of the task and of the steps, the values of arguments, and pictures."""
    return [[one.instruction, one.opening, [_shown(step) for step in one.steps]] for one in seen]


def _shown(step: Step) -> list[object]:
    calls = [[call.name, sorted(_leaves(plain(call.arguments)))] for call in read_action(step.action)]
    return [step.thought, calls, step.observation, step.pictures]


def _leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in _leaves(one)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in _leaves(one)]
    return [str(value)]


def named(report: FileReport) -> Counter[str]:
    """Everything that a report names as unread or as read otherwise, with its number."""
    found = Counter({what: one.count for what, one in report.left_out.items()})
    if coverage := report.coverage:
        found.update({one.path: one.count for one in coverage.unread})
        found.update({"changed": coverage.calls.changed, "answers": coverage.calls.empty_answers})
        found[coverage.instead] += bool(coverage.instead)
    return found


def mutants(content: bytes, field: str, number: int, source: random.Random) -> Iterator[bytes]:
    """Yield copies of a log in which one occurrence, or every occurrence, of a field has another name."""
    found = [match.start() for match in re.finditer(rb'"%b"\s*:' % field.encode(), content)]
    for _ in range(min(number, len(found))):
        at = source.choice(found)
        yield content[: at + 1] + b"x_" + content[at + 1 :]
    if found:
        yield re.sub(rb'"%b"(\s*:)' % field.encode(), rb'"x_%b"\1' % field.encode(), content)


def judge(before: FileReport, held: list[object], name: str, content: bytes) -> str:
    """Return what became of a mutant: refused, unchanged (nothing was lost), named, or SILENT."""
    seen: list[Trajectory] = []
    after = measured(name, content, seen=seen)
    if after is None:
        return "refused"
    if summary(seen) == held:
        return "unchanged"
    return "named" if +(named(after) - named(before)) or after.fault else "SILENT"


def try_mutants(folder: Path, number: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Return the outcomes of `number` mutants, spread over logs and fields, and the silent ones."""
    source, tally = random.Random(seed), Counter[str]()
    silent: list[str] = []
    cases = []
    for name, content in logs(folder):
        seen: list[Trajectory] = []
        before = measured(name, content, seen=seen) if len(content) < 2**17 else None
        held = summary(seen)
        if before is not None:
            cases += [(name, content, field, before, held) for field in FIELDS if f'"{field}"'.encode() in content]
    source.shuffle(cases)
    each = -(-number // max(1, len(cases)))
    for name, content, field, before, held in cases:
        for mutant in mutants(content, field, each, source):
            if sum(tally.values()) >= number:
                return tally, silent
            outcome = judge(before, held, name, mutant)
            tally[outcome] += 1
            if outcome == "SILENT":
                silent.append(f"{name}: {field}")
    return tally, silent


def try_wrong_readings(folder: Path) -> tuple[int, int, list[str]]:
    """Return (pairs that lose a call, of these separated by the coverage, the others).

    A pair is separated if the wrong reading has a fault or explains less of the text than the right one.
    """
    pairs = separated = 0
    others = []
    for name, content in logs(folder):
        right = measured(name, content)
        if right is None or right.coverage is None or not right.calls:
            continue
        for format in IMPORTERS:
            wrong = measured(name, content, format, lenient=True) if format != right.format else None
            if wrong is None or wrong.coverage is None or wrong.calls >= right.calls:
                continue
            pairs += 1
            if wrong.fault or wrong.coverage.share < right.coverage.share:
                separated += 1
            else:
                others.append(f"{name} as {format}")
    return pairs, separated, others


def try_without_kind(folder: Path) -> dict[str, Counter[str]]:
    """Return the outcomes of each format's real logs if its marks and its floor are missing: coverage alone chooses."""
    found: dict[str, Counter[str]] = {}
    for path in sorted(folder.glob("*/*")):
        right = read(path)
        if right.refused:
            continue
        held, floors = IMPORTERS[right.format], coverage.FLOORS
        IMPORTERS[right.format] = replace(held, marks=(), also=(), recognises=lambda _path, _head: False)
        coverage.FLOORS = {name: floor for name, floor in floors.items() if name != right.format}
        try:
            other = read(path)
        finally:
            IMPORTERS[right.format], coverage.FLOORS = held, floors
        called, others = ([call for step in _steps(told) for call in calls_of(step)] for told in (right, other))
        lost = "calls lost, named" if other.named else "calls lost, SILENT"
        alike = "the same calls" if called == others else "as many calls in another dialect"
        same = alike if len(called) == len(others) else lost
        outcome = "refused" if other.refused else same
        found.setdefault(right.format, Counter())[outcome] += 1
    return found


def _steps(told: Read) -> Iterator[Step]:
    yield from (step for one in told.found for step in one.trajectory.steps)


def main(folder: str = "../shared/data/logs", number: str = "1000", *seeds: str) -> None:
    """Print the three tables."""
    base = Path(folder)
    for seed in map(int, seeds or (str(SEED),)):
        tally, silent = try_mutants(base, int(number), seed)
        print(f"mutants (seed {seed}):", dict(tally), "silent:", silent[:20], flush=True)
    pairs, separated, others = try_wrong_readings(base)
    print(f"wrong readings that lose a call: {pairs}, separated: {separated}; not: {others[:10]}")
    for format, outcomes in try_without_kind(base).items():
        print(f"without {format}: {dict(outcomes)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
