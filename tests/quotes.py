"""Quotes of a checkpoint, as detectors make them."""

from __future__ import annotations

from console.trajectory.checkpoints import Checkpoint
from console.trajectory.requirements import Quote, QuotePlace, text_at


def find_quote(
    checkpoint: Checkpoint, text: str, place: QuotePlace = QuotePlace.REQUEST, step: int | None = None
) -> Quote | None:
    """The first quote of this exact text in a place, or None if not found."""
    whole = text_at(checkpoint, place, step)
    at = whole.find(text) if whole and text.strip() else -1
    return Quote(text, at, at + len(text), place, step) if at >= 0 else None
