"""The settings of one data directory and no other, for a test or for what a whole file's tests share."""

import os
import sys
from contextlib import contextmanager

import pytest

from console.settings import settings

DATA = "INFERACT_DATA_DIR"
KEPT = {"INFERACT_REQUIRE_BROWSER", "INFERACT_SCREENSHOTS", "INFERACT_POSTGRES", "INFERACT_POSTGRES_FOLDER"}


@contextmanager
def at_home(folder):
    """Within it the console keeps its data there; every INFERACT_ setting of the developer's own shell is put aside."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DATA, str(folder))
        for name in [name for name in os.environ if name.startswith("INFERACT_") and name not in {*KEPT, DATA}]:
            patch.delenv(name)
        settings.cache_clear()
        yield folder
        # A page's thread reads the settings; it would keep this test's for the next one.
        if pages := sys.modules.get("console.web.live_fragments"):
            pages.stop_watching()
    settings.cache_clear()
