"""The report with its tables, in a folder or in one zip."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from console.designs import Design
from console.results import files
from console.runs.export.atomic_file import atomic_file
from console.study_report.page import Told, html

REPORT = "report.html"


def write(design: Design, frames: Mapping[str, pd.DataFrame], told: Told, folder: Path) -> list[Path]:
    """Writes report.html and every table as CSV into the folder; raises BadInput where it cannot."""
    page = html(design, frames, told).encode()
    written = files.write(frames, folder)
    with atomic_file(folder / REPORT) as stream:
        stream.write(page)
    return [folder / REPORT, *written]


def bundle(design: Design, frames: Mapping[str, pd.DataFrame], told: Told) -> bytes:
    """The same as a zip."""
    return files.archive(frames, {REPORT: html(design, frames, told).encode()})
