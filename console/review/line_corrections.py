"""Requirement lines of an item: the table of its verdict, and a reviewer's corrections ("not what was asked").

A correction keeps the line as the reviewer saw it, because a later detection may replace the verdict.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from sqlalchemy import func
from sqlmodel import Session, col, select

from console.errors import BadInput, Refused
from console.language import _
from console.runs.status import EVERY, Sample, draw_sample, read_counts, select_verdicts
from console.trajectory.checkpoints import CheckpointKind
from console.trajectory.requirements import Line, RequirementTable, Standing
from storage import tables

_KEY_CHARS = 16


def read_record_table(session: Session, run: tables.Run, trajectory_id: int) -> RequirementTable | None:
    """Return the table of a record's first critical action, preferably of the routing detector, or None."""
    verdict = tables.Verdict
    statement = (
        select(verdict)
        .where(verdict.run_id == run.id, verdict.trajectory_id == trajectory_id, verdict.kind == CheckpointKind.ACTION)
        .where(col(verdict.requirements).is_not(None))
        .order_by(col(verdict.step), col(verdict.detector) != (run.detector or ""), col(verdict.id))
    )
    found = session.exec(statement.limit(1)).first()
    return RequirementTable.from_json(found.requirements) if found else None


def key_of(line: Line) -> str:
    """Return the key of a line in corrections and on pages: a digest of its kind, its binding and its value."""
    return hashlib.sha256(orjson.dumps(line.key)).hexdigest()[:_KEY_CHARS]


def toggle_correction(session: Session, item_id: int, key: str, reviewer: str, now_ms: int) -> bool:
    """Correct a line, or undo the reviewer's correction; return whether the line is now corrected.

    Raise Refused if the item belongs to a study, or BadInput if its verdict does not have the line.
    """
    correction, item = tables.LineCorrection, session.get_one(tables.Item, item_id)
    if session.get_one(tables.Run, item.run_id).study_id is not None:
        raise Refused(_("Lines cannot be corrected in a study. Decide on the item instead."))
    made = select(correction).where(
        correction.item_id == item_id,
        correction.reviewer == reviewer,
        correction.line_key == key,
        col(correction.withdrawn_ms).is_(None),
    )
    if (before := session.exec(made).first()) is not None:
        before.withdrawn_ms = now_ms
        return False
    verdict = session.get(tables.Verdict, item.verdict_id) if item.verdict_id else None
    table = RequirementTable.from_json(verdict.requirements) if verdict else None
    line = next((line for line in table.lines if key_of(line) == key), None) if table else None
    if verdict is None or line is None:
        raise BadInput(_("The verdict no longer has this line. Reload the page."))
    session.add(
        correction(
            item_id=item_id,
            detector=verdict.detector,
            model=verdict.model,
            reviewer=reviewer,
            line_key=key,
            line=orjson.dumps(RequirementTable((line,)).to_dict()["lines"][0]).decode(),
            created_ms=now_ms,
        )
    )
    return True


def last_change(session: Session) -> int:
    """Return the time of the last correction or undo, in ms since 1970; 0 if there is none."""
    correction = tables.LineCorrection
    made, undone = session.exec(select(func.max(correction.created_ms), func.max(correction.withdrawn_ms))).one()
    return max(made or 0, undone or 0)


@dataclass(slots=True)
class LineCounts:
    """The requirement lines of a detector in a run, by status, and the corrected lines.

    `verdicts` counts verdicts with a table, `dropped` unverified lines, and `unchecked` verdicts without a met or
    broken line. These are counts of the `sample`, and all others of the run. `reviewed` lines belong to decided or
    corrected items; an escalation is not a decision. A line with several corrections counts once.
    """

    detector: str
    verdicts: int = 0
    unchecked: int = 0
    lines: int = 0
    broken: int = 0
    not_shown: int = 0
    cannot_tell: int = 0
    met: int = 0
    dropped: int = 0
    reviewed: int = 0
    corrected_lines: int = 0
    corrected_broken: int = 0
    sample: Sample = EVERY

    @property
    def corrected_share(self) -> float | None:
        """The share of the reviewed lines that reviewers corrected, or None if no line was reviewed."""
        return self.corrected_lines / self.reviewed if self.reviewed else None

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, the share and the size of the sample as JSON values."""
        counts = {name: value for name, value in asdict(self).items() if name != "sample"}
        return counts | {"corrected_share": self.corrected_share} | self.sample.to_dict()


def count_lines(session: Session, run: tables.Run) -> list[LineCounts]:
    """Count the requirement lines of the run's verdicts and their corrections, by detector."""
    verdict, sample = tables.Verdict, draw_sample(session, run)
    counts: dict[str, LineCounts] = {}
    columns, has_table = (col(verdict.detector), col(verdict.requirements)), col(verdict.requirements).is_not(None)
    for name, text in session.execute(select_verdicts(run, sample, *columns).where(has_table).order_by(columns[0])):
        # A table is read as JSON here: building its lines would take five times as long.
        table, found = orjson.loads(text), counts.setdefault(name, LineCounts(name, sample=sample))
        standings = Counter(line["standing"] for line in table["lines"])
        checked = standings[Standing.MET] + standings[Standing.BROKEN]
        found.verdicts += 1
        found.unchecked += not checked and not table["harmless"]
        found.lines += standings.total()
        found.broken += standings[Standing.BROKEN]
        found.not_shown += standings[Standing.NOT_SHOWN]
        found.cannot_tell += standings[Standing.CANNOT_TELL]
        found.met += standings[Standing.MET]
        found.dropped += table["dropped"]
    for _trial, name, _who, lines, _last_ms in read_counts(session, run, "lines"):
        counts.setdefault(name, LineCounts(name, sample=sample)).reviewed = lines
    for detector, keys in _corrected(session, run).items():
        found = counts.setdefault(detector, LineCounts(detector, sample=sample))
        found.corrected_lines = len(keys)
        found.corrected_broken = sum(standing == Standing.BROKEN for *_place, standing in keys)
    return list(counts.values())


def _corrected(session: Session, run: tables.Run) -> dict[str, set[tuple[int, str, str]]]:
    correction, item = tables.LineCorrection, tables.Item
    statement = (
        select(correction.detector, correction.item_id, correction.line_key, func.min(correction.line))
        .join(item, col(item.id) == correction.item_id)
        # Adding 0 makes the planner begin with the corrections, which are few.
        .where(col(item.run_id) + 0 == run.id, col(correction.withdrawn_ms).is_(None))
        .group_by(col(correction.detector), col(correction.item_id), col(correction.line_key))
    )
    found: dict[str, set[tuple[int, str, str]]] = defaultdict(set)
    for detector, item_id, key, line in session.exec(statement):
        found[detector].add((item_id, key, orjson.loads(line)["standing"]))
    return found
