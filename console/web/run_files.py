"""The record that a file drawn from a run leaves; it stands alone, for every page that draws charts of runs uses it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from console.database import database_url
from console.runs import export
from console.web.sign_in import by_browser


def exporting(run_name: str | None) -> Callable[[str], None]:
    """Records that a file of the run, or without a name of several, leaves, under whoever opened this page."""
    return partial(export.record_file, database_url(), run_name, by_browser())
