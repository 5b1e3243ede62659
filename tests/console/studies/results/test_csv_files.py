"""Results as files: every table comes back as it was, and no cell is run by a spreadsheet."""

import zipfile

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from console.errors import BadInput, Unknown
from console.studies.results import TABLES, frames
from console.studies.results.csv_files import DICTIONARY, FRAMES, export, fields, read, table, write
from tests.sweeps import sweep


def test_every_table_read_back_is_the_same(read_study, tmp_path):
    written = write(read_study, tmp_path / "out")
    assert {path.name for path in written} == {f"{name}.csv" for name in TABLES} | {DICTIONARY}
    again = read(tmp_path / "out")
    assert list(again) == list(read_study)
    for name, frame in read_study.items():
        assert_frame_equal(again[name], frame)


def test_a_formula_in_somebodys_words_is_guarded(read_study, tmp_path):
    write(read_study, tmp_path)
    assert ',"\'=take the red one",' in (tmp_path / "decisions.csv").read_text()


@sweep("suffix", ["csv", "jsonl", "parquet"], kept=1)
def test_decisions_are_written_in_the_format_of_the_suffix(read_study, tmp_path, suffix):
    path = tmp_path / f"study.{suffix}"
    assert export(read_study, path, list) == 15
    found = pd.read_parquet(path) if suffix == "parquet" else None
    assert found is None or found["unit"].notna().sum() == 6
    assert suffix != "jsonl" or len(path.read_text().splitlines()) == 15


def test_a_zip_holds_every_table(read_study, tmp_path):
    export(read_study, tmp_path / "study.zip", list)
    with zipfile.ZipFile(tmp_path / "study.zip") as packed:
        assert set(packed.namelist()) == {f"{name}.csv" for name in TABLES} | {DICTIONARY}


def test_another_suffix_is_refused(read_study, tmp_path):
    with pytest.raises(Unknown, match="csv, jsonl, parquet, zip"):
        export(read_study, tmp_path / "study.xlsx", pytest.fail)
    assert not list(tmp_path.glob("study*"))


def test_a_folder_without_the_tables_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"decisions\.csv"):
        read(tmp_path)


@pytest.mark.at_length
def test_a_file_of_other_columns_is_refused(read_study, tmp_path):
    write(read_study, tmp_path)
    (tmp_path / "success.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match="columns of success"):
        read(tmp_path)


@pytest.fixture
def read_study(read):
    """Every table of the study."""
    return read(frames, 1)


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
