"""Layouts of files for other tools; `parts` is shared code. To add a layout, write a file and a line in BUILT_IN."""

from __future__ import annotations

from console.runs.export.layouts import annotation, fine_tuning, hugging_face, inspect_log, otlp
from console.runs.export.layouts.parts.layout import Layout
from console.settings import Registry

BUILT_IN: dict[str, Layout] = {
    "openai-messages": fine_tuning.OPENAI_MESSAGES,
    "dpo": fine_tuning.DPO,
    "kto": fine_tuning.KTO,
    "datasets": hugging_face.LAYOUT,
    "inspect": inspect_log.LAYOUT,
    "label-studio": annotation.LABEL_STUDIO,
    "argilla": annotation.ARGILLA,
    "otlp": otlp.LAYOUT,
}
LAYOUTS = Registry("export", "inferact.layouts", Layout, BUILT_IN)
