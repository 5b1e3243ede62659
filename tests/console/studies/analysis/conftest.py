"""The tidy tables of the study that the results' tests write."""

import pytest

from console.studies.results import frames
from tests.study_rows import read, url

__all__ = ["read", "tables", "url"]


@pytest.fixture
def tables(read):
    """Every tidy table of the study."""
    return read(frames, 1)
