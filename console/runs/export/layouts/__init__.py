"""Layouts that other tools read: a file here and a line in BUILT_IN each, or a plug-in; `parts` is shared code."""

from __future__ import annotations

from console.plugins import Registry
from console.runs.export.layouts import (
    annotation,
    hugging_face,
    inspect_log,
    openai_messages,
    otlp,
    preferences,
)
from console.runs.export.layouts.parts.layout import Layout

__all__ = ["LAYOUTS", "Layout"]

BUILT_IN: dict[str, Layout] = {
    "openai-messages": openai_messages.LAYOUT,
    "dpo": preferences.DPO,
    "kto": preferences.KTO,
    "datasets": hugging_face.LAYOUT,
    "inspect": inspect_log.LAYOUT,
    "label-studio": annotation.LABEL_STUDIO,
    "argilla": annotation.ARGILLA,
    "otlp": otlp.LAYOUT,
}
LAYOUTS = Registry("export", "inferact.layouts", Layout, BUILT_IN)
