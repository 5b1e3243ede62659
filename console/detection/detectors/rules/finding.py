"""Findings of checks, and quotations in their sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: its strength in [0, 1], a sentence for people, and the facts that the sentence mentions.

    A finding without a sentence only affects the score. Facts that stronger findings mention are not repeated.
    """

    strength: float
    sentence: str = ""
    facts: tuple[str, ...] = ()


def quoted(texts: Sequence[str], limit: int = 4) -> str:
    """Return the first few texts in quotation marks."""
    shown = ", ".join(f'"{one_line(text, 60)}"' for text in texts[:limit])
    return shown + (f" and {len(texts) - limit} more" if len(texts) > limit else "")


def one_line(text: str, limit: int) -> str:
    """Return the text on one line, cut with an ellipsis at `limit` characters."""
    flat = " ".join(text[: limit * 8].split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
