"""Export of a run's records to a file: a table of one kind of record, or the layout of another tool.

To add a kind, write an ExportQuery and a line of KINDS in `kinds`; to add a layout, write a file in `layouts`.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile

import orjson
from sqlmodel import col, select

from console.auth import audit_log
from console.auth.audit_log import By
from console.errors import BadInput, Refused, Unknown
from console.runs.export.formats import FORMATS, Format, format_of
from console.runs.export.kinds import KINDS, TRAJECTORIES, WITH_PICTURES
from console.runs.export.layouts import LAYOUTS, Layout
from console.runs.export.layouts.parts.layout import ASKED_FOR, RunRecords
from console.runs.export.query import Open, pages
from storage import tables
from storage.engine import reading, writing
from storage.private_files import private_file

PICTURES = "pictures"
"""Name of the option that adds the bytes of pictures to exported trajectories."""
_GOLD = "gold_label"
_OUTCOME = "next_trial_outcome"


def export(url: str, kind: str, run_name: str, path: Path, *, researcher: bool = True, pictures: bool = False) -> int:
    """Write a run's records in the format of the file's suffix and return the number of rows; on error, write no file.

    `pictures` adds the bytes of each picture once, to trajectories in a .jsonl file only. Raise Unknown for an unknown
    kind, run or format; raise BadInput if the file cannot be written or cannot contain pictures.
    """
    format = format_of(path)
    with atomic_file(path) as stream:
        rows = _write(partial(reading, url), kind, run_name, format, stream, researcher, pictures)
        _record_export(url, run_name, kind, path.suffix.removeprefix("."), rows, None, [PICTURES] if pictures else ())
        return rows


def download(
    url: str, kind: str, run_name: str, format: str, *, researcher: bool, by: By | None = None, pictures: bool = False
) -> bytes:
    """Return a run's records as a file; omit gold labels and refuse kinds with outcomes if `researcher` is false."""
    if format not in FORMATS:
        raise Unknown("export format", format, FORMATS)
    stream = BytesIO()
    rows = _write(partial(reading, url), kind, run_name, FORMATS[format], stream, researcher, pictures)
    _record_export(url, run_name, kind, format, rows, by, [PICTURES] if pictures else ())
    return stream.getvalue()


def export_layout(
    url: str,
    layout: str,
    run_name: str,
    path: Path,
    asked_for: Collection[str] = (),
    licence: str = "unknown",
    left_out: Counter[str] | None = None,
) -> int:
    """Write a run in the layout of another tool and return the number of units written; on error, write no file.

    Count in `left_out`, by name, the parts of trajectories that the file cannot hold. If the path has no suffix, unpack
    a zipped folder to a new folder. Raise Unknown for an unknown layout, run or option, and BadInput for a wrong suffix
    or a path that cannot be written. Also raise the layout's errors.
    """
    chosen, source = _records(url, layout, run_name, asked_for, licence)
    unpacked = chosen.suffix == "zip" and not path.suffix
    if not unpacked and path.suffix != f".{chosen.suffix}":
        raise BadInput(
            f"The {layout} layout needs a .{chosen.suffix} file, but {path.name!r} has another suffix. Change the "
            "suffix."
        )
    if unpacked and path.exists():
        raise BadInput(f"{path} already exists. Choose a new folder for --out.")
    target = path.with_name(f"{path.name}.zip") if unpacked else path
    with atomic_file(target) as stream:
        count = chosen.write(source, stream)
        stream.flush()
        _check_units(_unfinished_path(target), chosen, count)
        _record_export(url, run_name, layout, chosen.suffix, count, None, asked_for)
    if left_out is not None:
        left_out.update(source.left_out)
    if unpacked:
        with ZipFile(target) as archive:
            archive.extractall(path)
        target.unlink()
    return count


def _check_units(path: Path, layout: Layout, count: int) -> None:
    """Read the written file again; raise Refused if its number of units differs from `count`."""
    if layout.suffix == "jsonl":
        with path.open("rb") as stream:
            held = sum(isinstance(orjson.loads(line), dict) for line in stream)
    elif layout.suffix == "json":
        held = len(orjson.loads(path.read_bytes()))
    elif layout.suffix == "eval":
        with ZipFile(path) as archive:
            held = sum(name.startswith("samples/") for name in archive.namelist())
    else:
        return
    if held != count:
        lost = f"The file holds {held} {layout.unit}, but {count} were written. Nothing was exported."
        raise Refused(f"{lost} Check the free disk space, then export again.")


def download_layout(
    url: str, layout: str, run_name: str, asked_for: Collection[str] = (), *, by: By | None = None
) -> bytes:
    """Return a run in the layout of another tool as bytes, for researchers; raise the errors of `export_layout`."""
    chosen, source = _records(url, layout, run_name, asked_for, "unknown")
    stream = BytesIO()
    _record_export(url, run_name, layout, chosen.suffix, chosen.write(source, stream), by, asked_for)
    return stream.getvalue()


def _records(
    url: str, layout: str, run_name: str, asked_for: Collection[str], licence: str
) -> tuple[Layout, RunRecords]:
    chosen, opened = LAYOUTS.pick(layout, also=KINDS), partial(reading, url)
    for name in asked_for:
        if name not in chosen.takes:
            raise Unknown("export option", name, chosen.takes)
    return chosen, RunRecords(opened, _find(opened, run_name), frozenset(asked_for), licence)


def _record_export(
    url: str, run_name: str, kind: str, format: str, rows: int, by: By | None, asked_for: Collection[str] = ()
) -> None:
    """Record the export before the file gets its final name, so that each exported file has a record."""
    told = {"format": format, "rows": rows} | ({"with": sorted(asked_for)} if asked_for else {})
    _record(url, run_name, kind, by, told)


def record_file(url: str, run_name: str | None, by: By | None, file: str) -> None:
    """Record the export of a file with data of a run, or of several runs if None; call this before writing the file."""
    _record(url, run_name, f"file {file}", by, {"format": file.rpartition(".")[2]})


def _record(url: str, run_name: str | None, subject: str, by: By | None, detail: dict[str, object]) -> None:
    with writing(url) as session:
        run = session.exec(select(tables.Run).where(tables.Run.name == run_name)).one() if run_name else None
        audit_log.record(session, run, "exported", time.time_ns() // 1_000_000, by=by, subject=subject, detail=detail)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose bytes replace the file at the end; only this user can read the file (0600).

    Raise BadInput if the file cannot be written.
    """
    part = _unfinished_path(path)
    try:
        with private_file(part) as stream:
            yield stream
        part.replace(path)
    except OSError as failed:
        raise BadInput(f"{path} cannot be written ({failed.strerror}). Choose another --out.") from failed
    finally:
        part.unlink(missing_ok=True)


def _unfinished_path(path: Path) -> Path:
    """Return the path of the unfinished file for this path."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _write(
    opened: Open, kind: str, run_name: str, format: Format, stream: BinaryIO, researcher: bool, pictures: bool
) -> int:
    if kind not in KINDS:
        raise LAYOUTS.refusal(kind, also=KINDS)
    if pictures and (KINDS[kind] is not TRAJECTORIES or format is not FORMATS["jsonl"]):
        raise BadInput(
            "Pictures can only be exported with trajectories. Export the kind trajectories to a .jsonl file."
        )
    source = WITH_PICTURES if pictures else KINDS[kind]
    if source.for_researchers and not researcher:
        raise Refused(
            f"The {kind} of a run reveal outcomes, so only researchers may export them. Ask a researcher for the file."
        )
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
