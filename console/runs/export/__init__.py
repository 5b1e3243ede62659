"""A run's records as a file: decisions, items, trajectories, verdicts, budget, events, or a layout of other tools.

A new kind is one file here and one line in KINDS; a new layout one file in `layouts` and one line in LAYOUTS.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile

from sqlmodel import col, select

from console.auth.origin import By
from console.errors import BadInput, Refused, Unknown
from console.runs import audit_log
from console.runs.export.budget import BUDGET
from console.runs.export.decisions import DECISIONS
from console.runs.export.events import EVENTS
from console.runs.export.formats import FORMATS, Format, format_of
from console.runs.export.items import ITEMS
from console.runs.export.layouts import LAYOUTS, Layout
from console.runs.export.layouts.parts.reviewed import ASKED_FOR, RunRecords
from console.runs.export.query import ExportQuery, Open, pages
from console.runs.export.trajectories import TRAJECTORIES, WITH_PICTURES
from console.runs.export.verdicts import VERDICTS
from storage import tables
from storage.engine import reading, writing

KINDS: dict[str, ExportQuery] = {
    "decisions": DECISIONS,
    "items": ITEMS,
    "trajectories": TRAJECTORIES,
    "verdicts": VERDICTS,
    "budget": BUDGET,
    "events": EVENTS,
}

__all__ = [
    "ASKED_FOR",
    "FORMATS",
    "KINDS",
    "LAYOUTS",
    "PICTURES",
    "atomic_file",
    "download",
    "download_layout",
    "export",
    "export_layout",
    "record_file",
]

PICTURES = "pictures"
"""What trajectories leave without unless somebody asks for it: the bytes of the pictures in them."""
_GOLD = "gold_label"
_OUTCOME = "next_trial_outcome"


def export(
    url: str, kind: str, run_name: str, path: Path, *, researcher: bool = True, pictures: bool = False
) -> int:  # fmt: skip
    """Writes a run's records to a file whose suffix names the format, whole or not at all; returns how many rows.

    `pictures` puts the bytes of the pictures beside trajectories in a .jsonl file, each once. Raises Unknown for a
    kind, run or format that there is not, BadInput where the file cannot be written, or for pictures elsewhere.
    """
    format = format_of(path)
    with atomic_file(path) as stream:
        rows = _write(partial(reading, url), kind, run_name, format, stream, researcher, pictures)
        _tell(url, run_name, kind, path.suffix.removeprefix("."), rows, None, [PICTURES] if pictures else ())
        return rows


def download(
    url: str, kind: str, run_name: str, format: str, *, researcher: bool, by: By | None = None, pictures: bool = False
) -> bytes:  # fmt: skip
    """A run's records as the bytes of a csv, jsonl or parquet file; raises as `export` does, and Refused.

    Only researchers get gold labels, and the kinds that tell outcomes.
    """
    if format not in FORMATS:
        raise Unknown("export format", format, FORMATS)
    stream = BytesIO()
    rows = _write(partial(reading, url), kind, run_name, FORMATS[format], stream, researcher, pictures)
    _tell(url, run_name, kind, format, rows, by, [PICTURES] if pictures else ())
    return stream.getvalue()


def export_layout(
    url: str, layout: str, run_name: str, path: Path, asked_for: Collection[str] = (), licence: str = "unknown"
) -> int:
    """Writes a run in the layout of another tool, whole or not at all; returns how many of its unit.

    A zipped folder goes to a new folder where the path has no suffix. Raises Unknown for a layout, run or thing asked
    for that there is not, BadInput for another suffix or where it cannot be written, and what the layout raises.
    """
    chosen = _layout(layout)
    source = _records(url, chosen, run_name, asked_for, licence)
    unpacked = chosen.suffix == "zip" and not path.suffix
    if not unpacked and path.suffix != f".{chosen.suffix}":
        raise BadInput(f"The {layout} layout is a .{chosen.suffix} file; {path.name!r} names another kind of file.")
    if unpacked and path.exists():
        raise BadInput(f"{path} is there already; choose a new folder for --out.")
    target = path.with_name(f"{path.name}.zip") if unpacked else path
    with atomic_file(target) as stream:
        count = chosen.write(source, stream)
        _tell(url, run_name, layout, chosen.suffix, count, None, asked_for)
    if unpacked:
        with ZipFile(target) as archive:
            archive.extractall(path)
        target.unlink()
    return count


def download_layout(
    url: str, layout: str, run_name: str, asked_for: Collection[str] = (), *, by: By | None = None
) -> bytes:
    """A run in the layout of another tool, as bytes; for researchers. Raises as `export_layout` does."""
    chosen = _layout(layout)
    source = _records(url, chosen, run_name, asked_for, "unknown")
    stream = BytesIO()
    _tell(url, run_name, layout, chosen.suffix, chosen.write(source, stream), by, asked_for)
    return stream.getvalue()


def _layout(name: str) -> Layout:
    if name not in LAYOUTS:
        raise Unknown("export", name, [*KINDS, *LAYOUTS])
    return LAYOUTS[name]


def _records(url: str, layout: Layout, run_name: str, asked_for: Collection[str], licence: str) -> RunRecords:
    for name in asked_for:
        if name not in layout.takes:
            raise Unknown("thing to ask for", name, layout.takes)
    opened = partial(reading, url)
    return RunRecords(opened, _find(opened, run_name), frozenset(asked_for), licence)


def _tell(
    url: str, run_name: str, kind: str, format: str, rows: int, by: By | None, asked_for: Collection[str] = ()
) -> None:
    """Records the export before its file has its name: what cannot be recorded does not leave."""
    told = {"format": format, "rows": rows} | ({"with": sorted(asked_for)} if asked_for else {})
    _record(url, run_name, kind, by, told)


def record_file(url: str, run_name: str | None, by: By | None, file: str) -> None:
    """Records that a file drawn from a run, or without one from several, leaves the console; call it before it does."""
    _record(url, run_name, f"file {file}", by, {"format": file.rpartition(".")[2]})


def _record(url: str, run_name: str | None, subject: str, by: By | None, detail: dict[str, object]) -> None:
    with writing(url) as session:
        run = session.exec(select(tables.Run).where(tables.Run.name == run_name)).one() if run_name else None
        audit_log.record(session, run, "exported", time.time_ns() // 1_000_000, by=by, subject=subject, detail=detail)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes take the file's place at the end; raises BadInput where it cannot be written."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        part.replace(path)
    except OSError as failed:
        raise BadInput(f"{path} cannot be written ({failed.strerror}); choose another --out.") from failed
    finally:
        part.unlink(missing_ok=True)


def _write(
    opened: Open, kind: str, run_name: str, format: Format, stream: BinaryIO, researcher: bool, pictures: bool
) -> int:  # fmt: skip
    if kind not in KINDS:
        raise Unknown("export", kind, [*KINDS, *LAYOUTS])
    if pictures and (KINDS[kind] is not TRAJECTORIES or format is not FORMATS["jsonl"]):
        raise BadInput("Pictures go with trajectories in a .jsonl file, which an import reads back.")
    source = WITH_PICTURES if pictures else KINDS[kind]
    if source.for_researchers and not researcher:
        raise Refused(f"The {kind} of a run tell how its trials ended; only researchers may export them.")
    run = _find(opened, run_name)
    hidden = set() if researcher else {_GOLD, _OUTCOME} if run.blind else {_GOLD}
    shown = [index for index, column in enumerate(source.columns) if column.name not in hidden]
    columns = [source.columns[index] for index in shown]
    found = pages(opened, source, run)
    if hidden:
        found = ([tuple(row[index] for index in shown) for row in page] for page in found)
    return format.write(columns, found, stream)


def _find(opened: Open, name: str) -> tables.Run:
    with opened() as session:
        run = session.exec(select(tables.Run).where(tables.Run.name == name)).first()
        if run is None:
            listed = select(tables.Run.name).where(col(tables.Run.study_id).is_(None))
            raise Unknown("run", name, session.exec(listed).all())
        session.expunge(run)
        return run
