"""The canonical form: one trajectory per line, as `Trajectory.to_json` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from console.errors import BadInput, UnreadableFile
from console.runs.importers.parts.files import CUT
from console.runs.importers.parts.intake import Intake, plain_object, word
from console.runs.importers.parts.json_records import Record, objects
from console.runs.importers.records import Entry, Found, Importer, Progress
from console.trajectory import from_dict

_MARKS = ((".task_id", ".instruction", ".steps"), (".task_id", ".trial", ".environment"))
_PICTURE = ((".picture.digest",),)
_NO_PICTURE = "The bytes of this picture do not match its digest. Export the log again."


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the trajectories unchanged; raise UnreadableFile if a record is not a canonical trajectory or picture."""
    pictures: dict[str, bytes] = {}
    for record in objects(path, progress, *_MARKS):
        if "picture" in record.value and "steps" not in record.value:
            pictures |= _picture(path, record)
            continue
        try:
            trajectory = from_dict(record.value)
        except BadInput as bad:
            raise UnreadableFile(str(path), str(bad), record.line) from bad
        if record.replaced:
            trajectory = replace(trajectory, extra={**trajectory.extra, **record.notes})
        yield Found(record.line, trajectory, pictures=pictures)
        pictures = {}
    if pictures:
        raise UnreadableFile(str(path), CUT)


def _picture(path: Path, record: Record) -> dict[str, bytes]:
    """Return the bytes of a picture by digest; the picture's line precedes the records that show the picture."""
    intake = Intake(path, record.line)
    held = plain_object(record.value["picture"])
    if intake.picture(held.get("data")) is None or word(held.get("digest")) not in intake.pictures:
        raise intake.refusal(_NO_PICTURE)
    return intake.pictures


IMPORTER = Importer("jsonl", "Canonical trajectories, one JSON object a line", read, _MARKS, also=_PICTURE)
