"""The reading of a log file: its records in a temporary file, and the report on all records.

If a reading leaves out calls or messages, the reading with the highest coverage among all formats replaces it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from string import ascii_letters
from typing import IO, Any

import orjson

from console.environments import ENVIRONMENTS
from console.errors import UnreadableFile
from console.runs.importers import IMPORTERS, UNKNOWN, find_call_patterns, read_log, readings
from console.runs.importers.parts.coverage import Coverage, OwnAccount, measure, refusal
from console.runs.importers.parts.explained import Explained
from console.runs.importers.records import Duplicate, Found, LeftOut, Skipped
from console.runs.secret_masking import Masker
from console.runs.trajectory_rows import list_imported_decisions, prepare
from console.trajectory.calls import read_action
from console.trajectory.checkpoints import is_thought

_ANSWER = "respond("
_CALLING = frozenset(ascii_letters) - frozenset("tTr")
"""The letters with which neither a thought nor an answer begins."""
_GUESSED_SHARE = 0.5
"""Minimum explained share of a reading if the file lacks the marks of the format."""
_IN_MEMORY = 24 * 2**20
_UNTOLD = ("notes", "environments", "coverage", "touched", "unasked")
_TOO_DEEP = "The JSON is nested too deeply. Flatten the JSON, or leave out parts that reviewers do not need."


@dataclass(slots=True)
class FileReport:
    """The report on one file: the numbers of imported, duplicate and skipped records, with the reasons for skips.

    `calls`, `answers` and `pictures` are the totals over all `trajectories`, including duplicates.
    """

    path: str
    format: str = ""
    read: int = 0
    imported: int = 0
    extended: int = 0
    duplicates: int = 0
    skipped: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)
    trajectories: int = 0
    calls: int = 0
    answers: int = 0
    pictures: int = 0
    decisions: int = 0
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    notes: list[dict[str, Any]] = field(default_factory=list)
    environments: set[str] = field(default_factory=set)
    touched: list[int] = field(default_factory=list)
    """The ids of the new and the extended trajectories."""
    coverage: Coverage | None = None
    patterns: list[str] = field(default_factory=list)
    """The patterns of critical actions that the import added to the run."""
    documents: list[str] = field(default_factory=list)
    """The documents, such as a README, beside this log in its archive."""
    unasked: int = 0
    """Number of trajectories without a request, which their log does not contain."""
    secrets: int = 0
    """Number of places with a masked key, token or password."""
    fault: str = ""
    """The reason why the reading is incomplete, or ""; only the option `is_partial_accepted` allows such an import."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the format of `trajectory import --json`."""
        told = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _UNTOLD}
        left_out = [{"what": what, "count": one.count, "line": one.line} for what, one in self.left_out.items()]
        later = {name: told.pop(name) for name in ("extended", "fault", "secrets", "patterns", "documents")}
        coverage = self.coverage.to_dict() if self.coverage else None
        report: dict[str, Any] = _encodable(told | {"left_out": left_out, **later, "coverage": coverage})
        return report


def _encodable(value: Any) -> Any:
    """Return the value with `?` for each lone surrogate, which a damaged log may hold and JSON cannot."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(one) for key, one in value.items()}
    return [_encodable(one) for one in value] if isinstance(value, list | tuple) else value


def _temporary() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(_IN_MEMORY)


@dataclass(slots=True)
class Spool:
    """The records of a file after a reading without errors, ready for one short write transaction."""

    report: FileReport
    lines: IO[bytes] = field(default_factory=_temporary)
    pictures: IO[bytes] = field(default_factory=_temporary)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The position of each picture by digest: (start, bytes)."""
    decisions: IO[bytes] = field(default_factory=_temporary)
    """Decisions from the log: each line holds a trajectory's digest and its decisions."""
    critical: dict[str, None] = field(default_factory=dict)
    """Patterns of the calls that the log itself marks as writing, and of the format if the run has no patterns."""
    masker: Masker | None = field(default_factory=Masker)
    """The masker for secrets in the file's records; None leaves the secrets in place."""

    def close(self) -> None:
        """Delete the temporary files."""
        self.lines.close()
        self.pictures.close()
        self.decisions.close()


@dataclass(frozen=True, slots=True)
class ImportChoice:
    """The options of an import. `is_partial_accepted`: accept an incomplete reading; `is_dry`: only read the file.
    `is_whole`: read a session as one trajectory; `has_secrets`: leave keys and tokens unmasked.
    """

    is_partial_accepted: bool = False
    is_dry: bool = False
    is_whole: bool = False
    has_secrets: bool = False


USUAL = ImportChoice()
"""The default options."""


def read_file(
    path: Path,
    format: str = "auto",
    patterns: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
    choice: ImportChoice = USUAL,
) -> Spool:
    """Read and check the whole file, and store its records in a temporary file. If the file is invalid, delete the
    temporary file and raise UnreadableFile.

    `patterns` are the run's critical-action patterns; the patterns of each record's environment also apply. If the
    reading leaves out calls or messages, use the reading with the highest coverage among the matching formats. Raise
    UnreadableFile if that reading is also incomplete, unless the choice accepts it.
    """
    spool = _first(path, format, patterns, progress, choice)
    if spool.report.fault and format == "auto":
        spool = _best(spool, path, patterns, choice) or spool
    report = spool.report
    if report.fault and (report.trajectories or not report.notes) and not (choice.is_partial_accepted or choice.is_dry):
        spool.close()
        raise refusal(path, report.format, report.fault)
    if not report.trajectories and not report.duplicates and not choice.is_partial_accepted:
        spool.close()
        why: dict[str, Any] = report.notes[0] if report.notes else {"line": None, "reason": "The file has no record."}
        further = f". {report.fault}" if report.fault else ""
        raise UnreadableFile(str(path), f"Nothing was imported. {why['reason']}{further}", why["line"])
    spool.lines.seek(0)
    return spool


def _first(
    path: Path, format: str, patterns: Sequence[str], progress: Callable[[int], None] | None, choice: ImportChoice
) -> Spool:
    """Return the reading of the first matching format; without a match, the best complete reading of any format."""
    try:
        return _read_as(path, format, patterns, progress, choice)
    except UnreadableFile as unknown:
        if not unknown.reason.startswith(UNKNOWN):
            raise
        best = _best(None, path, patterns, choice)
        if best is not None:
            return best
        raise


def _read_as(
    path: Path, format: str, patterns: Sequence[str], progress: Callable[[int], None] | None, choice: ImportChoice
) -> Spool:
    report = FileReport(path=str(path))
    report.format, records = read_log(path, format, progress, whole=choice.is_whole)
    importer = IMPORTERS[report.format]
    spool = Spool(report, masker=None if choice.has_secrets else Masker())
    spool.critical = {} if patterns else dict.fromkeys(importer.critical)
    account = OwnAccount() if importer.accounts else Explained(path.stat().st_size)
    try:
        for record in records:
            report.read += 1
            # A record too deep to be stored is refused with its line before its texts are counted.
            _spool(record, spool, patterns)
            if isinstance(record, Found):
                account.add(record)
        if isinstance(account, OwnAccount):
            report.coverage = account.coverage(report.calls)
        else:
            report.coverage = measure(path, account, importer, find_call_patterns(path))
    except orjson.JSONEncodeError as deep:
        spool.close()
        raise UnreadableFile(str(path), _TOO_DEEP) from deep
    except BaseException:
        spool.close()
        raise
    report.fault = report.coverage.fault(report.format)
    return spool


def _best(first: Spool | None, path: Path, patterns: Sequence[str], choice: ImportChoice) -> Spool | None:
    """Return the reading that explains most of the file, among all formats that can read the file."""
    best = first
    for name, fits in readings(path, first.report.format if first else ""):
        try:
            other = _read_as(path, name, patterns, None, choice)
        except UnreadableFile:
            continue
        if (fits or _is_sure(other)) and (best is None or _rank(other) > _rank(best)):
            best, other = other, best or other
        if other is not best:
            other.close()
    if first is not None and best is not first and best is not None and best.report.coverage is not None:
        best.report.coverage.instead = f"not read as {first.report.format}: {first.report.fault}"
    return best


def _is_sure(spool: Spool) -> bool:
    """Return whether the reading is complete, with calls and enough explained text, despite missing marks."""
    coverage = spool.report.coverage or Coverage()
    return not spool.report.fault and spool.report.calls > 0 and coverage.share >= _GUESSED_SHARE


def _rank(spool: Spool) -> tuple[bool, int, float]:
    coverage = spool.report.coverage or Coverage()
    return not spool.report.fault, -coverage.calls.lost - coverage.calls.doubled, coverage.share


def _spool(record: Found | Skipped | Duplicate, spool: Spool, patterns: Sequence[str]) -> None:
    report = spool.report
    if isinstance(record, Found):
        name = record.trajectory.environment
        report.environments.add(name)
        spool.critical |= dict.fromkeys(record.critical)
        patterns = (*patterns, *ENVIRONMENTS[name].critical, *spool.critical)
        try:
            ready = prepare(record.trajectory, patterns)
            told = record.trajectory
            if spool.masker and (masked := spool.masker.mask_record(told, ready.body)) is not told:
                record, ready = replace(record, trajectory=masked), prepare(masked, patterns)
        except orjson.JSONEncodeError as deep:
            raise UnreadableFile(report.path, _TOO_DEEP, record.line) from deep
        spool.lines.write(orjson.dumps([ready.task, ready.row]) + b"\n" + ready.body.encode() + b"\n")
        _tally(record, ready.row["digest"], spool)
        return
    report.notes.append({"line": record.line, "reason": record.reason})
    if isinstance(record, Duplicate):
        report.duplicates += 1
    else:
        report.skipped += 1


def _tally(record: Found, digest: str, spool: Spool) -> None:
    """Count the record in the report; keep its pictures and decisions for the transaction."""
    report, steps = spool.report, record.trajectory.steps
    report.trajectories += 1
    report.unasked += not record.trajectory.instruction
    report.secrets = spool.masker.masked if spool.masker else 0
    has_extra, pictures, plain = False, len(record.trajectory.pictures), 0
    for step in steps:
        action = step.action
        if action[:1] in _CALLING and "\n" not in action:
            plain += 1
        else:
            made, answered = count_acts(action)
            report.calls += made
            report.answers += answered
        pictures += len(step.pictures)
        has_extra = has_extra or bool(step.extra)
    report.calls += plain
    report.pictures += pictures
    for what, one in record.left_out.items():
        report.left_out.setdefault(what, LeftOut(one.line)).count += one.count
    for key, data in record.pictures.items():
        if key not in spool.places:
            spool.places[key] = (spool.pictures.seek(0, 2), len(data))
            spool.pictures.write(data)
    if has_extra and (decided := list_imported_decisions(steps)):
        spool.decisions.write(orjson.dumps([digest, decided]) + b"\n")


def count_acts(action: str) -> tuple[int, int]:
    """Return (calls, answers) in an action; an answer is a text to the user, and a thought counts as neither."""
    if not action.strip() or is_thought(action):
        return 0, 0
    if "\n" not in action:
        return (0, 1) if action.startswith(_ANSWER) else (1, 0)
    names = [call.name for call in read_action(action)] or [""]
    answers = names.count("respond")
    return len(names) - answers, answers
