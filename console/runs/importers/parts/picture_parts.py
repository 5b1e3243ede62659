"""Pictures among the parts of messages and results, wherever a dialect puts their bytes.

It stands alone because results and messages share it, and because no other part has so many forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.runs.importers.parts.intake import Intake, plain_object, word
from console.trajectory import Picture

Part = Mapping[str, Any]

_PICTURES = frozenset(
    {
        *("image", "input_image", "image_url", "blob", "inlinedata", "inline_data", "image_file"),
        *("input_file", "file", "document", "computer_screenshot"),
    }
)


def is_picture(part: Part) -> bool:
    """Whether the part is of a type that holds pictures or files."""
    return word(part.get("type")).lower() in _PICTURES


def read_picture(part: Part, texts: list[str], pictures: list[Picture], intake: Intake) -> None:
    """Adds the picture and its words; a file of another type, or an address, is counted as left out."""
    data, told = picture_data(part) or ("", "")
    if told and not told.startswith("image"):
        intake.leave_out(f"part of type {part.get('type')} ({told})")
    elif picture := intake.picture(data, told):
        pictures.append(picture)
        texts.append(picture.text)


def picture_data(part: Part) -> tuple[object, str] | None:
    """The data, or the address, and the type that a part tells; None where it holds neither."""
    source = plain_object(part.get("source"))
    for holder in (source, plain_object(part.get("image_url")), plain_object(part.get("file")), part):
        told = next((holder[key] for key in ("media_type", "mime_type", "mimeType") if holder.get(key)), "")
        for name in ("data", "base64", "bytes", "blob", "content", "file_data", "image_url", "image", "url"):
            if isinstance(holder.get(name), str) and holder[name]:
                data = holder[name]
                return data, word(told) or (data[5:40].partition(";")[0] if data.startswith("data:") else "")
    return None
