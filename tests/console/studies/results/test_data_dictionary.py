"""The data dictionary names every column that there is, once, with its type."""

import pytest

from console.studies.results import TABLES
from console.studies.results.csv_files import FRAMES, fields, table


def test_every_table_has_its_columns_in_the_dictionary():
    assert list(TABLES) == list(FRAMES)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_exactly_the_columns_of_the_dictionary(read, name):
    frame = read(TABLES[name], 1)
    wanted = fields(name, ["detector", "score"])
    assert list(frame.columns) == [field.name for field in wanted]


def test_every_column_is_explained():
    told = table(["detector"])
    assert told["meaning"].str.len().gt(5).all()
    assert not told.duplicated(["table", "column"]).any()
    assert "factor_detector" in set(told["column"])
