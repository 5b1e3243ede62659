"""Every log format imports a file of 300 MB within the limit of memory, measured in a process of its own."""

import pytest

from console.runs.importers import BUILT_IN
from tests.benchmarks.importing import CONTENTS, LIMIT_MB, TEXTS, measured, repeated

FORMATS = (*CONTENTS, *TEXTS)


def test_no_format_is_left_out():
    assert {name.partition(",")[0] for name in FORMATS} == set(BUILT_IN)


@pytest.mark.at_length
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_300_mb_is_imported_within_the_memory_limit(name, tmp_path):
    found = measured(repeated(name, 300, tmp_path / "log"), tmp_path / "data")
    assert (found["rejected"], found["format"]) == ([], name.partition(",")[0])
    assert found["trajectories"] > 1_000
    assert found["peak"] <= LIMIT_MB
