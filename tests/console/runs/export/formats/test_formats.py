from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from console.errors import Unknown
from console.runs.export import formats


def test_the_suffix_names_the_format_in_any_case():
    assert formats.format_of(Path("a.CSV")) is formats.FORMATS["csv"]


@pytest.mark.parametrize("name", ["a", "a.xlsx", ".csv"])
def test_another_suffix_is_refused_with_the_formats_there_are(name):
    with pytest.raises(Unknown, match="csv, jsonl, parquet"):
        formats.format_of(Path(name))


def test_every_writer_is_listed():
    modules = formats, *(import_module(f"{formats.__name__}.{one.name}") for one in iter_modules(formats.__path__))
    written = {value for module in modules for name, value in vars(module).items() if name.startswith("write")}
    assert written == {format.write for format in formats.FORMATS.values()}
