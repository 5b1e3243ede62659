"""Layouts that other tools read: one file each, and one line in LAYOUTS; what they share is in `parts`."""

from __future__ import annotations

from console.runs.export.layouts import (
    argilla,
    hugging_face,
    inspect_log,
    label_studio,
    openai_messages,
    otlp,
    preferences,
)
from console.runs.export.layouts.parts.layout import Layout

__all__ = ["LAYOUTS", "Layout"]

LAYOUTS: dict[str, Layout] = {
    "openai-messages": openai_messages.LAYOUT,
    "dpo": preferences.DPO,
    "kto": preferences.KTO,
    "datasets": hugging_face.LAYOUT,
    "inspect": inspect_log.LAYOUT,
    "label-studio": label_studio.LAYOUT,
    "argilla": argilla.LAYOUT,
    "otlp": otlp.LAYOUT,
}
