"""Containers of logs: gz, zst and zip archives, Inspect's `.eval` and parquet, unpacked to plain files."""

from __future__ import annotations

import gzip
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any

import orjson

from console.errors import UnreadableFile

UNPACKED_BYTES = 4 * 2**30
"""What one file may become: more is an archive made to fill a disk, or a job for smaller ones."""

_GZIP, _ZSTD, _ZIP, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1"
_ZSTD_MEMBER = 93
_DEEPEST = 3
_DAMAGED = "the archive is damaged or cut off; get the whole file and import it again"
_TOO_LARGE = f"it unpacks to more than {UNPACKED_BYTES // 2**30} GB; split it"
# What pyarrow raises are kinds of ValueError and OSError; it is loaded where it is needed alone, for its size.
_BROKEN = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)


def plain_files(path: Path, folder: Path, label: str = "", depth: int = 0) -> Iterator[tuple[str, Path]]:
    """(what to call it, where it stands) of each plain file in a file, itself where it is plain; raises UnreadableFile.

    What is unpacked goes into the folder, members of an archive under their own names.
    """
    label = label or str(path)
    kind = _beginning(path)
    unpack = next((work for mark, work in _UNPACKING if kind.startswith(mark)), None)
    if unpack is None or depth == _DEEPEST:
        yield label, path
        return
    inner = folder / f"{depth}-{path.name}"
    inner.mkdir(parents=True, exist_ok=True)
    try:
        members = list(unpack(path, inner))
    except UnreadableFile:
        raise
    except _BROKEN as broken:
        locked = "password" in str(broken)
        raise UnreadableFile(label, "the archive is locked; unpack it yourself" if locked else _DAMAGED) from broken
    for name, member in members:
        yield from plain_files(member, inner, f"{label}/{name}" if name else label, depth + 1)


def _beginning(path: Path) -> bytes:
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as stream:
                return stream.read(8)
    return b""


def _gunzip(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    with gzip.open(path, "rb") as packed:
        stream: Any = packed
        yield "", _written(stream, folder / path.name.removesuffix(".gz"), path)


def _unzstd(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    with _unzstd_stream(path) as stream:
        yield "", _written(stream, folder / path.name.removesuffix(".zst"), path)


def _unzip(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    with zipfile.ZipFile(path) as archive:
        members = [one for one in archive.infolist() if not one.is_dir() and _is_shown(one.filename)]
        if sum(one.file_size for one in members) > UNPACKED_BYTES:
            raise UnreadableFile(str(path), _TOO_LARGE)
        names = {one.filename for one in members}
        if any(name.startswith("samples/") for name in names) and names & {"header.json", "_journal/start.json"}:
            yield "", _evaluation(archive, members, folder / path.name)
            return
        for one in sorted(members, key=lambda member: member.filename):
            place = folder.joinpath(*(part for part in PurePosixPath(one.filename).parts if part not in ("/", "..")))
            with _member(archive, one) as stream:
                yield one.filename, _written(stream, place, path)


def _is_shown(name: str) -> bool:
    return not any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """A member as a stream; those in zstd, which the standard library does not know, are unpacked here."""
    if member.compress_type != _ZSTD_MEMBER:
        return archive.open(member)
    raw: Any = archive.fp
    raw.seek(member.header_offset + 26)
    lengths = raw.read(4)
    raw.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), 1)
    return _unzstd_stream(BytesIO(raw.read(member.compress_size)))


def _unzstd_stream(packed: Path | BytesIO) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(packed) if isinstance(packed, Path) else packed, compression="zstd")


def _evaluation(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], place: Path) -> Path:
    """Inspect's log as the one JSON object that its `.json` form is, a sample a line."""
    by_name = {one.filename: one for one in members}
    with _member(archive, by_name.get("header.json") or by_name["_journal/start.json"]) as stream:
        header = {"status": "started", **orjson.loads(stream.read())}
    samples = sorted(name for name in by_name if name.startswith("samples/") and name.endswith(".json"))
    with place.open("wb") as out:
        kept = {name: value for name, value in header.items() if name != "samples"}
        out.write(orjson.dumps(kept)[:-1] + b',"samples":[')
        for number, name in enumerate(samples):
            out.write(b",\n" if number else b"\n")
            with _member(archive, by_name[name]) as stream:
                out.write(stream.read().replace(b"\n", b" "))
        out.write(b"\n]}\n")
    return place


def _parquet_lines(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """The rows of a parquet file as canonical lines; fields that hold JSON as text become what they hold."""
    import pyarrow.parquet as pq

    place = folder / f"{path.name.removesuffix('.parquet')}.jsonl"
    # A buffer keeps a row group, which may be the whole file, from being read at once, and each thread takes its own.
    with place.open("wb") as out, pq.ParquetFile(path, buffer_size=2**20, pre_buffer=False) as table:
        for batch in table.iter_batches(batch_size=64, use_threads=False):
            for row in batch.to_pylist():
                out.write(_canonical(row) + b"\n")
    yield "", place


def _canonical(row: dict[str, Any]) -> bytes:
    if isinstance(row.get("trajectory"), str):
        return str(row["trajectory"]).encode()
    return orjson.dumps({name: _held(value) for name, value in row.items() if value is not None}, default=str)


def _held(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("[", "{"):
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(value)
    return value


def _written(stream: IO[bytes], place: Path, path: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as out:
        while chunk := stream.read(2**20):
            out.write(chunk)
            if out.tell() > UNPACKED_BYTES or shutil.disk_usage(place.parent).free < 2**28:
                raise UnreadableFile(str(path), _TOO_LARGE)
    return place


_UNPACKING = ((_GZIP, _gunzip), (_ZSTD, _unzstd), (_ZIP, _unzip), (_PARQUET, _parquet_lines))
