"""Layouts that other tools read. Each layout has one file here and one line in BUILT_IN; layouts of other packages are
plug-ins.

`parts` holds code that layouts share.
"""

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
