"""The notes on one record: the omitted parts with reasons, the pictures, and the interpretation of the messages."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
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
"""Maximum size in bytes of a stored picture."""


@dataclass(slots=True)
class Intake:
    """Notes from the reading of one log record; `format` is the log's format, `pictures` are bytes by digest."""

    path: Path
    line: int
    format: str = ""
    at: int = 0
    """The current line if a record has several; 0 means its first line."""
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)
    read_as: list[tuple[int, str, int]] = field(default_factory=list)
    """A list of (message number, part, step number), with 0 for the opening."""

    @property
    def source(self) -> dict[str, Any]:
        """The source of a trajectory from this record: file, line and format."""
        return {"file": self.path.name, "line": self.line, "format": self.format}

    def refusal(self, reason: str) -> UnreadableFile:
        """Return the error for the whole file, with the position of this record."""
        return UnreadableFile(str(self.path), reason, self.at or self.line)

    @property
    def how_much(self) -> int:
        """The number of left-out parts so far."""
        return sum(one.count for one in self.left_out.values())

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count a part that the importer cannot interpret, such as `part of type input_audio`."""
        # A lone surrogate in the name of a part cannot be printed.
        what = what.encode(errors="replace").decode()
        self.left_out.setdefault(what, LeftOut(self.at or self.line)).count += count

    def expected(self, holder: Mapping[str, Any], what: str, *names: str) -> Any:
        """Return the first of the fields with a value, or None; count `what` as left out if all fields are missing."""
        if not any(name in holder for name in names):
            self.leave_out(f"{what} without its {' or '.join(names)}")
        return next((holder[name] for name in names if holder.get(name) is not None), None)

    def picture(self, data: object, told: str = "") -> Picture | None:
        """Return the picture if the data are base64 or a data URL; otherwise count it as left out and return None."""
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
    """Return the media type of a picture, based on its first bytes, or None if a page cannot show the picture."""
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in _SIGNATURES if raw.startswith(mark)), None)


def plain_object(value: object) -> dict[str, Any]:
    """Return the value if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


def plain_list(value: object) -> list[Any]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def word(value: object) -> str:
    """Return the value if it is a string, else ""; in a damaged log, a field may have any type."""
    return value if isinstance(value, str) else ""


def as_text(value: object) -> str:
    """Return a string unchanged, and any other value as JSON with spaces after separators."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def collect_fields(holder: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the named fields with a non-empty value, for the trajectory's `extra`."""
    return {name: holder[name] for name in names if holder.get(name)}


Part = Mapping[str, Any]

_PICTURES = ("image", "input_image", "image_url", "blob", "inlinedata", "inline_data", "image_file")
_FILES = ("input_file", "file", "document", "computer_screenshot")


def is_picture(part: Part) -> bool:
    """Return whether the part's type is a picture or a file."""
    return word(part.get("type")).lower() in (*_PICTURES, *_FILES)


def read_picture(part: Part, texts: list[str], pictures: list[Picture], intake: Intake) -> None:
    """Add the part's picture and its text to the lists; count other files and web addresses as left out."""
    data, told = picture_data(part) or ("", "")
    if told and not told.startswith("image"):
        intake.leave_out(f"part of type {part.get('type')} ({told})")
    elif picture := intake.picture(data, told):
        pictures.append(picture)
        texts.append(picture.text)


def picture_data(part: Part) -> tuple[object, str] | None:
    """Return (data or address, type) of a part, or None if the part has neither."""
    source = plain_object(part.get("source"))
    for holder in (source, plain_object(part.get("image_url")), plain_object(part.get("file")), part):
        told = next((holder[key] for key in ("media_type", "mime_type", "mimeType") if holder.get(key)), "")
        for name in ("data", "base64", "bytes", "blob", "content", "file_data", "image_url", "image", "url"):
            if isinstance(holder.get(name), str) and holder[name]:
                data = holder[name]
                return data, word(told) or (data[5:40].partition(";")[0] if data.startswith("data:") else "")
    return None


_CALL_FIELD = re.compile(r"(?:^|_)(?:call|invocation|action|tool_?use)s?$|(?:Call|Invocation|Action)s?$")
_KNOWN_CALLS = frozenset({"tool_calls", "invalid_tool_calls", "function_call", "toolInvocations"})
_PROSE = 24
"""Minimum length in characters of a text of several words that may be a message's content."""


def holds_prose(message: Part) -> bool:
    """Return whether any field of the message holds a long text of several words."""
    texts = (value for value in message.values() if isinstance(value, str))
    return any(len(text) >= _PROSE and " " in text for text in texts)


def tell_unknown_calls(message: Part, intake: Intake) -> None:
    """Count fields that seem to hold calls as left out, for a message without any known call."""
    for name, value in message.items():
        if value and name not in _KNOWN_CALLS and _CALL_FIELD.search(name):
            intake.leave_out(f"field {name} of a message")
