"""Pictures of pages, written where INFERACT_SCREENSHOTS names a folder."""

import os
from pathlib import Path


def screenshot(page, name):
    """Writes what the page shows."""
    folder = os.environ.get("INFERACT_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")
