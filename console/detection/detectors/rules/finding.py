"""The finding of a check, and how texts are quoted in its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: how strongly in [0, 1], one sentence for people, and the facts that the sentence tells.

    A finding that only predicts has no sentence; one whose facts stronger ones have told already is not said again.
    """

    strength: float
    sentence: str = ""
    facts: tuple[str, ...] = ()


def quoted(texts: Sequence[str], limit: int = 4) -> str:
    """The first few texts in quotation marks, for a sentence."""
    shown = ", ".join(f'"{one_line(text, 60)}"' for text in texts[:limit])
    return shown + (f" and {len(texts) - limit} more" if len(texts) > limit else "")


def one_line(text: str, limit: int) -> str:
    """The text on one line, cut with an ellipsis at `limit` characters."""
    flat = " ".join(text[: limit * 8].split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
