"""The settings of one data directory and no other, for a test or for what a whole file's tests share."""

import os
from contextlib import contextmanager

import pytest

from console.settings import settings

KEPT = {"INFERACT_REQUIRE_BROWSER", "INFERACT_SCREENSHOTS", "INFERACT_POSTGRES", "INFERACT_POSTGRES_FOLDER"}


@contextmanager
def at_home(folder):
    """Within it the console keeps its data there; every INFERACT_ setting of the developer's own shell is put aside."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("INFERACT_") and name not in KEPT]:
            patch.delenv(name)
        patch.setenv("INFERACT_DATA_DIR", str(folder))
        settings.cache_clear()
        yield folder
    settings.cache_clear()
