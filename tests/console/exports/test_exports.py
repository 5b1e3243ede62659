from pathlib import Path

import pytest

from console import exports
from console.errors import Unknown


def test_the_suffix_names_the_format_in_any_case():
    assert exports.format_of(Path("a.CSV")) is exports.FORMATS["csv"]


@pytest.mark.parametrize("name", ["a", "a.xlsx", ".csv"])
def test_another_suffix_is_refused_with_the_formats_there_are(name):
    with pytest.raises(Unknown, match="csv, jsonl, parquet"):
        exports.format_of(Path(name))


def test_every_format_file_is_listed():
    files = {path.stem for path in Path(exports.__file__).parent.glob("*.py")}
    assert files - {"__init__", "arrow", "columns"} == set(exports.FORMATS)
