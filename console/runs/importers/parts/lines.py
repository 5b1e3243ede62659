"""Lines of a file, one at a time, with their numbers."""

from __future__ import annotations

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
