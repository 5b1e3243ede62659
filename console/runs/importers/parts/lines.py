"""The beginning of a text file, and its lines one at a time with their numbers."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from json import JSONDecodeError
from pathlib import Path

from console.errors import UnreadableFile
from console.runs.importers.records import Progress

LINE_LIMIT_BYTES = 64 * 2**20
BOM = b"\xef\xbb\xbf"
NOT_UTF8 = "the text is not UTF-8; save the file as UTF-8 and import it again"
HAS_NUL = "there is a NUL byte, which no text log has; export the log again as plain UTF-8 text"
TOO_LONG = "the record is longer than 64 MB; split it, or leave out what no reviewer would read"
CUT = "the file ends in the middle of a record; it seems to be cut off, so get the whole file and import it again"

_REPORT_EVERY_BYTES = 2**18


def byte_lines(path: Path, progress: Progress | None = None) -> Iterator[tuple[int, bytes]]:
    """The lines with their ends, numbered from 1, without a byte order mark; raises UnreadableFile above 64 MB."""
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
    """The lines of a text log without their ends; raises UnreadableFile where one is not UTF-8, or has no end."""
    for number, raw in byte_lines(path, progress):
        if not raw.endswith(b"\n"):
            # A text log has no closing bracket: only the end of its last line tells a whole answer from half of one.
            raise UnreadableFile(str(path), CUT, number)
        yield number, decoded(raw, path, number).rstrip("\r\n")


def broken_json(broken: JSONDecodeError, raw: bytes, path: Path, line: int) -> UnreadableFile:
    """What to say of JSON that could not be read: that it is cut off where it ends too early, else where it breaks."""
    text = raw.decode(errors="replace").rstrip()
    ends_early = broken.pos >= len(text)
    where = line + (text.count("\n") if ends_early else broken.lineno - 1)
    if ends_early and not raw.endswith(b"\n"):
        return UnreadableFile(str(path), CUT, where)
    fault = broken.msg if ends_early else f"{broken.msg}, column {broken.colno}"
    return UnreadableFile(str(path), f"this is not valid JSON ({fault}); repair the line or export it again", where)


def decoded(raw: bytes, path: Path, line: int) -> str:
    """The bytes as text; raises UnreadableFile where they are not UTF-8, or hold a NUL."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as broken:
        raise UnreadableFile(str(path), NOT_UTF8, line + raw[: broken.start].count(b"\n")) from broken
    if "\0" in text:
        raise UnreadableFile(str(path), HAS_NUL, line + text[: text.index("\0")].count("\n"))
    return text


_UTF16 = "this is UTF-16 text; save it as UTF-8 and import it again"
_BINARY = "this is not a text file, so it is no log; choose the log itself (unpack it first if it is an archive)"
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\x1b")
_EMPTY = "the file is empty; check that the log was written completely"


def beginning_of(path: Path, size: int) -> bytes:
    """The first bytes, without a byte order mark; raises UnreadableFile where there are none or they are no text."""
    try:
        if path.is_dir():
            raise UnreadableFile(str(path), "this is a folder; name the files in it")
        if path.is_fifo():
            raise UnreadableFile(str(path), "this is a pipe, which can be read only once; save it to a file first")
        with path.open("rb") as stream:
            head = stream.read(size)
    except FileNotFoundError as missing:
        raise UnreadableFile(str(path), "there is no such file; check the path") from missing
    except OSError as refused:
        raise UnreadableFile(
            str(path), f"the file cannot be opened ({refused.strerror}); check its rights"
        ) from refused
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
