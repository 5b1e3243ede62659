"""The beginning of a file: whether there is one, and whether it is text at all."""

from __future__ import annotations

import codecs
from pathlib import Path

from console.errors import UnreadableFile

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
