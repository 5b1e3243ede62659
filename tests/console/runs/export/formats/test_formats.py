from pathlib import Path

import pytest

from console.errors import Unknown
from console.runs.export import formats


def test_the_suffix_names_the_format_in_any_case():
    assert formats.format_of(Path("a.CSV")) is formats.FORMATS["csv"]


@pytest.mark.parametrize("name", ["a", "a.xlsx", ".csv"])
def test_another_suffix_is_refused_with_the_formats_there_are(name):
    with pytest.raises(Unknown, match="csv, jsonl, parquet"):
        formats.format_of(Path(name))


def test_every_format_file_is_listed():
    files = {path.stem for path in Path(formats.__file__).parent.glob("*.py")}
    assert files - {"__init__", "arrow", "columns"} == set(formats.FORMATS)
