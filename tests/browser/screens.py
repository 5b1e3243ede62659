"""What a page shows and tries: pictures, written where INFERACT_SCREENSHOTS names a folder, and refused loads."""

import os
from pathlib import Path

LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation",
    event => window.violations.push(event.violatedDirective + " " + event.blockedURI));
"""


def screenshot(page, name):
    """Writes what the page shows."""
    folder = os.environ.get("INFERACT_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")
