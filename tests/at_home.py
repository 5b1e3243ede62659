"""The settings of one data directory and no other, for a test or for what a whole file's tests share."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

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
        # A thread of an earlier page may have begun to read the settings before, and would keep what it read.
        settings.cache_clear()
        while any(thread.name == "live-fragments" for thread in threading.enumerate()):
            if settings().data_dir == Path(folder):
                break
            settings.cache_clear()
        yield folder
    settings.cache_clear()
