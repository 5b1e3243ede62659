"""The intake of one record: what of it was left out and why, the pictures in it, and how it was read."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.errors import UnreadableFile
from console.runs.importers.records import LeftOut
from console.trajectory import Picture

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
)
PICTURE_BYTES = 32 * 2**20
"""The largest picture that is kept."""


@dataclass(slots=True)
class Intake:
    """What reading one record notes beside its trajectory; `pictures` are bytes by digest."""

    path: Path
    line: int
    at: int = 0
    """The line that is being read, where a record is made of several; 0: its first."""
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    read_as: list[tuple[int, str, int]] = field(default_factory=list)
    """(number of the message, what of it, number of the step that it became part of; 0: the opening)."""

    def refusal(self, reason: str) -> UnreadableFile:
        """The refusal of the whole file for this record's sake."""
        return UnreadableFile(str(self.path), reason, self.at or self.line)

    @property
    def how_much(self) -> int:
        """How many things were left out so far."""
        return sum(one.count for one in self.left_out.values())

    def leave_out(self, what: str, count: int = 1) -> None:
        """Counts something that was not understood, such as `part of type input_audio`."""
        self.left_out.setdefault(what, LeftOut(self.at or self.line)).count += count

    def picture(self, data: object, told: str = "") -> Picture | None:
        """The picture in base64 or a data address, its type known by its bytes; None, counted, where it is none."""
        text = data if isinstance(data, str) else ""
        if text.startswith("data:"):
            _, _, text = text.partition(",")
        elif text.startswith(("http://", "https://", "file:", "gs:", "s3:", "attachment:")):
            self.leave_out("picture at an address, which is not fetched")
            return None
        try:
            raw = base64.b64decode(text, validate=False)
        except (binascii.Error, ValueError):
            raw = b""
        kind = media_type_of(raw)
        if kind is None or len(raw) > PICTURE_BYTES:
            self.leave_out(f"picture that cannot be shown ({told or 'no type'})")
            return None
        digest = hashlib.sha256(raw).hexdigest()
        self.pictures[digest] = raw
        return Picture(digest, kind, len(raw))


def media_type_of(raw: bytes) -> str | None:
    """The type of a picture by its first bytes; None for anything that a page would not show as a picture."""
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _SIGNATURES if raw.startswith(mark)), None)


def plain_object(value: object) -> dict[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def plain_list(value: object) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def word(value: object) -> str:
    """The value where it is a text, else an empty one: what a format calls a kind may be anything in a damaged log."""
    return value if isinstance(value, str) else ""
