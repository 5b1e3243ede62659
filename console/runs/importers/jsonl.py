"""The canonical form: one trajectory per line, in the format of `Trajectory.to_json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from console.errors import BadInput, UnreadableFile
from console.runs.importers.parts.files import CUT
from console.runs.importers.parts.intake import Intake, plain_object, word
from console.runs.importers.parts.json_records import Record, objects
from console.runs.importers.parts.rewards import RESULT_FIELDS, list_doubts, read_result
from console.runs.importers.records import Entry, Found, Importer, LeftOut, Progress
from console.trajectory import Trajectory, from_dict

_MARKS = ((".task_id", ".instruction", ".steps"), (".task_id", ".trial", ".environment"))
_PICTURE = ((".picture.digest",),)
_NO_PICTURE = "The bytes of this picture do not match its digest. Export the log again."
_CALL = frozenset({"name", "id", "type"})


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the trajectories unchanged; raise UnreadableFile if a record is not a canonical trajectory or picture."""
    pictures: dict[str, bytes] = {}
    named: set[str] = set()
    for record in objects(path, progress, *_MARKS):
        if "picture" in record.value and "steps" not in record.value:
            pictures |= _picture(path, record)
            continue
        try:
            trajectory = from_dict(record.value)
        except BadInput as bad:
            raise UnreadableFile(str(path), str(bad), record.line) from bad
        trajectory, unknown = _with_result(trajectory, record)
        if record.replaced:
            trajectory = replace(trajectory, extra={**trajectory.extra, **record.notes})
        unknown = {what: one for what, one in unknown.items() if what not in named}
        named |= unknown.keys()
        yield Found(record.line, trajectory, left_out=unknown, pictures=pictures)
        pictures = {}
    if pictures:
        raise UnreadableFile(str(path), CUT)


def _with_result(trajectory: Trajectory, record: Record) -> tuple[Trajectory, dict[str, LeftOut]]:
    """Return (trajectory with the result from the record's usual result fields, fields kept in `extra`).

    The record's own `outcome` and `gold` have priority over the usual fields.
    """
    fields = record.value
    told = [name for name in RESULT_FIELDS if fields.get(name) is not None]
    if told and not fields.get("outcome") and not fields.get("gold"):
        outcome, gold = read_result(fields)
        rest = {name: value for name, value in trajectory.extra.items() if name not in told}
        trajectory = replace(trajectory, outcome=outcome, gold=gold, extra=rest)
    given = fields.get("extra") or {}
    kept = [f"field {name} of a record kept in extra" for name in trajectory.extra if name not in given]
    kept += list_doubts(fields) if told else []
    steps = fields["steps"]
    calls = [act for step in steps if isinstance(act := step.get("action"), dict)]
    if any("arguments" not in call and call.keys() - _CALL for call in calls):
        kept.append("field of a call that is none of name and arguments")
    if named := {one: None for step in trajectory.steps if step.extra for one in step.extra}:
        known = {name for step in steps for name in step.get("extra") or {}}
        kept += [f"field {name} of a step kept in extra" for name in named if name not in known]
    return trajectory, {what: LeftOut(record.line, 1) for what in kept}


def _picture(path: Path, record: Record) -> dict[str, bytes]:
    """Return the bytes of a picture by digest; a picture's line precedes the records with the picture."""
    intake = Intake(path, record.line)
    held = plain_object(record.value["picture"])
    if intake.picture(held.get("data")) is None or word(held.get("digest")) not in intake.pictures:
        raise intake.refusal(_NO_PICTURE)
    return intake.pictures


IMPORTER = Importer(
    "jsonl", "Canonical trajectories, one JSON object a line", read, _MARKS, also=_PICTURE, accounts=True
)
