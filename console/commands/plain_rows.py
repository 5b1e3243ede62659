"""Tables of figures as commands print them."""

from __future__ import annotations

from typing import Any


def plain_rows(frame: Any) -> list[dict[str, Any]]:
    """The rows of a pandas table, None for what is missing; whole numbers are whole again."""
    rows: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
