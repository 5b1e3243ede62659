"""Log files: archives, parquet and Inspect's `.eval`, their first bytes and lines, and the steps of ReAct prompts."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any

import orjson

from console.errors import UnreadableFile
from console.runs.importers.records import Progress
from console.trajectory import Step

LINE_LIMIT_BYTES = 64 * 2**20
BOM = b"\xef\xbb\xbf"
NOT_UTF8 = "The text is not UTF-8. Save the file as UTF-8, then import it again."
HAS_NUL = "The text contains a NUL byte. Export the log again as plain UTF-8 text."
TOO_LONG = "The record is longer than 64 MB. Split the record, or leave out parts that reviewers do not need."
CUT = "The file is cut off in the middle of a record. Get the whole file, then import it again."

_REPORT_EVERY_BYTES = 2**18


def byte_lines(path: Path, progress: Progress | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line with its end) without a byte order mark; raise UnreadableFile for lines over 64 MB."""
    number = done = reported = 0
    with path.open("rb", buffering=2**20) as stream:
        while line := stream.readline(LINE_LIMIT_BYTES + 1):
            number += 1
            done += len(line)
            if len(line) > LINE_LIMIT_BYTES:
                raise UnreadableFile(str(path), TOO_LONG, number)
            if progress is not None and done - reported >= _REPORT_EVERY_BYTES:
                progress(done)
                reported = done
            yield number, line.removeprefix(BOM) if number == 1 else line
    if progress is not None and done != reported:
        progress(done)


def text_lines(path: Path, progress: Progress | None = None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text log without line ends; raise UnreadableFile if a line is not UTF-8 or has no end."""
    for number, raw in byte_lines(path, progress):
        if not raw.endswith(b"\n"):
            # A text log has no closing bracket: only the end of its last line tells a whole answer from half of one.
            raise UnreadableFile(str(path), CUT, number)
        yield number, decode(raw, path, number).rstrip("\r\n")


def broken_json(broken: json.JSONDecodeError, raw: bytes, path: Path, line: int) -> UnreadableFile:
    """Return the error for invalid JSON: a truncated file (without a last line break), else the reason and position."""
    text = raw.decode(errors="replace").rstrip()
    ends_early = broken.pos >= len(text)
    where = line + (text.count("\n") if ends_early else broken.lineno - 1)
    if ends_early and not raw.endswith(b"\n"):
        return UnreadableFile(str(path), CUT, where)
    fault = broken.msg if ends_early else f"{broken.msg}, column {broken.colno}"
    reason = f"This is not valid JSON ({fault}). Fix the line or export the log again, then import it."
    return UnreadableFile(str(path), reason, where)


def decode(raw: bytes, path: Path, line: int) -> str:
    """Return the bytes as text; raise UnreadableFile if the bytes are not UTF-8 or contain a NUL."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as broken:
        raise UnreadableFile(str(path), NOT_UTF8, line + raw[: broken.start].count(b"\n")) from broken
    if "\0" in text:
        raise UnreadableFile(str(path), HAS_NUL, line + text[: text.index("\0")].count("\n"))
    return text


_UTF16 = "This is UTF-16 text. Save the file as UTF-8, then import it again."
_BINARY = "This is not a text file. Choose the log itself, and unpack an archive first."
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\x1b")
_EMPTY = "The file is empty. Check that the log was written completely."


def beginning_of(path: Path, size: int) -> bytes:
    """Return the first bytes without a byte order mark; raise UnreadableFile if the file is empty or not text."""
    try:
        if path.is_dir():
            raise UnreadableFile(str(path), "This is a folder. Name the files in the folder.")
        if path.is_fifo():
            raise UnreadableFile(
                str(path), "This is a pipe, which can be read only once. Save the output to a file first."
            )
        with path.open("rb") as stream:
            head = stream.read(size)
    except FileNotFoundError as missing:
        raise UnreadableFile(str(path), "The file does not exist. Check the path.") from missing
    except OSError as refused:
        reason = f"The file cannot be opened ({refused.strerror}). Check its permissions."
        raise UnreadableFile(str(path), reason) from refused
    _refuse_other_than_text(path, head)
    return head.removeprefix(codecs.BOM_UTF8)


def _refuse_other_than_text(path: Path, head: bytes) -> None:
    if not head.removeprefix(codecs.BOM_UTF8).strip() and len(head) < 2**16:
        raise UnreadableFile(str(path), _EMPTY)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _every_other_is_nul(head):
        raise UnreadableFile(str(path), _UTF16, 1)
    if head.startswith((b"\x89PNG", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"%PDF", b"SQLite format 3\x00")):
        raise UnreadableFile(str(path), _BINARY)
    if len(head) - len(head.translate(None, _CONTROLS)) > len(head) // 20:
        raise UnreadableFile(str(path), _BINARY)


def _every_other_is_nul(head: bytes) -> bool:
    sample = head[:1024]
    evens, odds = sample[::2], sample[1::2]
    return any(
        part.count(b"\0") > 0.8 * len(part) and other.count(b"\0") * 5 < len(other)
        for part, other in ((evens, odds), (odds, evens))
        if part and other
    )


_MARKER = re.compile(r"^(Thought|Action|Observation)(?:\s+(\d+))?\s*:[ \t]?(.*)$", re.IGNORECASE | re.DOTALL)
_ORDER = {"thought": 0, "action": 1, "observation": 2}


def steps_of(lines: Iterable[str]) -> tuple[Step, ...]:
    """Return the steps in these lines; a line without a marker belongs to the part before it.

    A numbered marker counts only if its number continues the sequence; treat any other as a quote in an observation.
    """
    steps: list[dict[str, list[str]]] = []
    part, number = "", 0
    for line in lines:
        match = _MARKER.match(line)
        if match and _goes_on(match, part, number):
            name, given = match[1].lower(), int(match[2] or 0)
            if not steps or given != number or _ORDER[name] <= _ORDER[part]:
                steps.append({})
            part, number = name, given
            steps[-1][part] = [match[3]]
        elif steps:
            steps[-1][part].append(line)
    return tuple(_step(parts) for parts in steps)


def _step(parts: dict[str, list[str]]) -> Step:
    thought, action, observation = ("\n".join(parts.get(name, ())).strip() for name in _ORDER)
    return Step(thought, action, observation)


def starts_step(line: str) -> bool:
    """Return whether the line starts a thought, an action or an observation."""
    return _MARKER.match(line) is not None


def _goes_on(match: re.Match[str], part: str, number: int) -> bool:
    if match[2] is None:
        return not number
    given = int(match[2])
    follows = part == "" or given == number + 1
    return follows or (given == number and _ORDER[match[1].lower()] > _ORDER[part])


UNPACKED_BYTES = 4 * 2**30
"""Maximum unpacked size in bytes, as a protection against malicious archives."""

_GZIP, _ZSTD, _ZIP, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1"
_ZSTD_MEMBER = 93
_TAR_AT = 257
"""The position of the magic bytes in a tar archive."""
_DOCUMENT = re.compile(
    r"(?i)(?:readme|licen[cs]e|notice|copying|changelog|contributing)(?:[._-].*)?|base_state\.json|"
    r".*\.(?:md|rst|png|jpe?g|gif|webp|svg|ico|pdf|css)"
)
_ABOUT_SESSION = re.compile(r"session_[^/]*/(?:session|agents/agent_[^/]*/agent|multi_agents/.*)\.json\Z")
"""The files of Strands beside the messages of a session."""
_EVENT_FILE = re.compile(r"(?:event-|message_)\d+\b.*\.json")
_TOLD = ("messages", "conversations", "trajectory", "traj", "history")
_AS_TEXT = re.compile(rf'"(?:{"|".join(_TOLD)})"\s*:\s*"\s*\[\s*\{{\s*\\"'.encode())
"""A conversation that is a JSON text in a record."""
_DEEPEST = 3
_DAMAGED = "The archive is damaged or cut off. Get the whole file, then import it again."
_LOCKED = "The archive has a password. Unpack the archive, then import the files."
_TOO_LARGE = f"The file unpacks to more than {UNPACKED_BYTES // 2**30} GB. Split the file."
# What pyarrow raises are kinds of ValueError and OSError; it is loaded only when needed, because of its size.
_BROKEN = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, tarfile.TarError, RuntimeError)


def plain_files(
    path: Path, folder: Path, label: str = "", documents: list[str] | None = None, depth: int = 0
) -> Iterator[tuple[str, Path]]:
    """Yield (label, path) of the file, or of each file in an archive; raise UnreadableFile on failure.

    Write unpacked files with their names to `folder`, and unpack nested archives to a depth of three. Skip documents in
    archives, and add their labels to `documents`.
    """
    label = label or str(path)
    if path.is_dir():
        yield from _joined_events(((label, one) for one in sorted(path.iterdir()) if is_event_file(one)), folder)
        return
    kind = _beginning(path)
    unpack = next((work for mark, work in _UNPACKING if kind.startswith(mark)), None)
    unpack = _untar if unpack is None and kind[_TAR_AT:].startswith(b"ustar") else unpack
    unpack = _parsed_lines if unpack is None and _AS_TEXT.search(_beginning(path, 2**16)) else unpack
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
        raise UnreadableFile(label, _LOCKED if "password" in str(broken) else _DAMAGED) from broken
    if documents is not None:
        documents += (f"{label}/{name}" for name, _ in members if is_document(name))
    for name, member in _joined_events((one for one in members if not is_document(one[0])), inner):
        yield from plain_files(member, inner, f"{label}/{name}" if name else label, documents, depth + 1)


def is_event_file(path: Path) -> bool:
    """Return whether the file holds a single event, and the other events of its conversation are beside it."""
    return _EVENT_FILE.fullmatch(path.name) is not None


def _joined_events(files: Iterable[tuple[str, Path]], folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield (label, path) of the files; join the event files of each conversation to one file with an event a line."""
    conversations: dict[Path, list[tuple[str, Path]]] = {}
    for label, path in files:
        if is_event_file(path):
            conversations.setdefault(path.parent, []).append((label, path))
        else:
            yield label, path
    for number, (parent, events) in enumerate(conversations.items()):
        own = parent.parent if parent.name in ("events", "messages") else parent
        place = folder / f"{own.name}-{number}.jsonl" if number else folder / f"{own.name}.jsonl"
        with place.open("wb") as out:
            for _, path in sorted(events, key=lambda event: (len(event[1].name), event[1].name)):
                out.write(path.read_bytes().replace(b"\n", b" ") + b"\n")
        yield events[0][0].rpartition("/")[0] or events[0][0], place


def _beginning(path: Path, size: int = _TAR_AT + 8) -> bytes:
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as stream:
                return stream.read(size)
    return b""


def _parsed_lines(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the JSON lines of a file, with the conversations in them that are JSON texts as JSON."""
    with path.open("rb") as lines, (folder / path.name).open("wb") as out:
        for line in lines:
            with suppress(orjson.JSONDecodeError, TypeError):
                record = orjson.loads(line.removeprefix(BOM))
                line = orjson.dumps(record | {name: _held(record[name]) for name in _TOLD if name in record}) + b"\n"
            out.write(line)
    yield "", folder / path.name


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


def _untar(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    with tarfile.open(path, "r:") as archive:
        members = [one for one in archive.getmembers() if one.isfile() and _is_shown(one.name)]
        if sum(one.size for one in members) > UNPACKED_BYTES:
            raise UnreadableFile(str(path), _TOO_LARGE)
        for one in sorted(members, key=lambda member: member.name):
            place = folder.joinpath(*(part for part in PurePosixPath(one.name).parts if part not in ("/", "..")))
            if (stream := archive.extractfile(one)) is not None:
                yield one.name, _written(stream, place, path)


def is_document(name: str) -> bool:
    """Return whether a file in a folder or archive only describes the logs beside it, such as a README."""
    return bool(_DOCUMENT.fullmatch(PurePosixPath(name).name) or _ABOUT_SESSION.search(name))


def _is_shown(name: str) -> bool:
    return not any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """Return an archive member as a stream; decompress zstd here, because the standard library cannot read zstd."""
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


_SAMPLE = re.compile(r"samples/(.*?)(?:_epoch_(\d+))?\.json")


def _place_of(sample: re.Match[str]) -> tuple[int, bool, str]:
    """Return the sort key of a sample in Inspect's order: by epoch, then by id, with numbers by value."""
    return int(sample[2] or 0), not sample[1].isdigit(), sample[1].zfill(20) if sample[1].isdigit() else sample[1]


def _evaluation(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], place: Path) -> Path:
    """Write an Inspect log as one JSON object with one sample per line, as in the `.json` form of Inspect."""
    by_name = {one.filename: one for one in members}
    with _member(archive, by_name.get("header.json") or by_name["_journal/start.json"]) as stream:
        # Python writes NaN for a metric without a value, which orjson does not read.
        header = {"status": "started", **json.loads(stream.read(), parse_constant=lambda _name: None)}
    samples = sorted((m for name in by_name if (m := _SAMPLE.fullmatch(name))), key=_place_of)
    with place.open("wb") as out:
        kept = {name: value for name, value in header.items() if name != "samples"}
        out.write(orjson.dumps(kept)[:-1] + b',"samples":[')
        for number, name in enumerate(samples):
            out.write(b",\n" if number else b"\n")
            with _member(archive, by_name[name[0]]) as stream:
                out.write(stream.read().replace(b"\n", b" "))
        out.write(b"\n]}\n")
    return place


def _parquet_lines(path: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the rows of a parquet file as canonical lines; parse fields that hold JSON as text."""
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
