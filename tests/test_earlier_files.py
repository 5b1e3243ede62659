"""A database, exports, answers of commands and a study's tables written by an earlier version are read the same.

`tests/earlier` holds what version 0.1.0 wrote before its code moved into the rooms of today: a dump of a database with
an archive, a replay, a live run, a gate run and a finished study, and what each command said about it.
"""

import csv
import json
import shutil
import sqlite3
from itertools import zip_longest
from pathlib import Path

import pandas as pd
import pytest

from console.cli import run_command
from console.database import reading
from console.runs.importers import read_log
from console.studies.analysis import computations
from console.studies.results import csv_files, frames
from console.studies.sessions import lifecycle

EARLIER = Path(__file__).with_name("earlier")
EXPORTS = sorted(path.name for path in (EARLIER / "exports").iterdir())
SINCE = {
    "decisions": ["edited", "door", "policy_version", "rule", "seen_digest", "reason_codes"],
    "events": ["door", "where", "before", "after", "content_digest", "previous_hash", "hash"],
}
"""Columns that came to the end of a kind's export since."""
SINCE_IN_STUDIES = {"decisions": ["closed_ms"]}
"""The same of the tables of a study."""
ANSWERS = {
    "run-list": ["run", "list"],
    "evaluate-kettles": ["evaluate", "kettles"],
    **{
        f"{noun}-{verb}-{run}": [noun, verb, *(["--run", run] if verb == "list" else [run])]
        for noun, verb in (("run", "status"), ("trajectory", "list"), ("review", "list"))
        for run in ("kettles", "replayed", "live", "bot")
    },
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The earlier database as a file."""
    path = tmp_path_factory.mktemp("earlier") / "console.db"
    connection = sqlite3.connect(path)
    connection.executescript((EARLIER / "console.sql").read_text())
    connection.close()
    return path


@pytest.fixture(autouse=True)
def earlier(loaded, data_dir):
    """A copy of the earlier database in this test's data directory."""
    data_dir.mkdir(parents=True, exist_ok=True)
    shutil.copy(loaded, data_dir / "console.db")


def test_every_file_of_earlier_is_compared():
    assert {path.stem for path in (EARLIER / "answers").iterdir()} == set(ANSWERS)
    assert len(EXPORTS) == 26


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_of_the_earlier_database_is_the_earlier_export(name, tmp_path):
    run, kind = Path(name).stem.rsplit("-", 1)
    assert run_command(["export", kind, "--run", run, "--out", str(tmp_path / name)]) == 0
    # What was added since stands at the end, of a row or of a line's object.
    now, then = rows(tmp_path / name), rows(EARLIER / "exports" / name)
    if name.endswith(".csv"):
        assert now[0] == then[0] + SINCE.get(kind, [])
    for row, earlier_row in zip_longest(now, then):
        assert row[: len(earlier_row)] == earlier_row


def rows(path):
    """The rows of a CSV file with its header, or the items of each line of a JSONL file."""
    if path.suffix == ".jsonl":
        return [list(json.loads(line).items()) for line in path.read_text().splitlines()]
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_command_says_of_the_earlier_database_what_it_said_then(name, capsys):
    assert run_command([*ANSWERS[name], "--json"]) == 0
    earlier = json.loads((EARLIER / "answers" / f"{name}.json").read_text())
    assert _of_then(json.loads(capsys.readouterr().out), earlier) == earlier


def _of_then(rows, earlier):
    """The answer without what rows have gained at their end since."""
    if not isinstance(earlier, list) or not earlier:
        return rows
    names = list(earlier[0])
    assert all(list(row)[: len(names)] == names for row in rows)
    return [{name: row[name] for name in names} for row in rows]


def test_an_earlier_export_of_trajectories_is_imported_again_whole(capsys):
    path = EARLIER / "exports" / "kettles-trajectories.jsonl"
    assert len(list(read_log(path, "auto")[1])) == 9
    assert run_command(["trajectory", "import", str(path), "--run", "again", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["imported"] == 9


def test_the_tables_of_the_earlier_study_are_the_earlier_tables(tmp_path):
    with reading() as session:
        found = frames(session, lifecycle.get(session, "pilot").id)
    csv_files.write(found, tmp_path)
    for path in (EARLIER / "study").glob("*.csv"):
        now, then = (tmp_path / path.name).read_text(), path.read_text()
        # The dictionary tells of the tables that came since, and may tell a meaning better.
        if path.name == "dictionary.csv":
            now, then = (["|".join(row[:3]) for row in csv.reader(text.splitlines())] for text in (now, then))
            now = [row for row in now if row in then]
        elif added := SINCE_IN_STUDIES.get(path.stem):
            now, then = (list(csv.reader(text.splitlines())) for text in (now, then))
            assert now[0] == then[0] + added
            now = [row[: -len(added)] for row in now]
        assert now == then, path.name


def test_a_report_of_the_earlier_tables_computes_what_the_database_gives(tmp_path):
    with reading() as session:
        found = frames(session, lifecycle.get(session, "pilot").id)
    read_back = csv_files.read(EARLIER / "study")
    read_back["plan"] = found["plan"]  # it was not written then
    for name, compute in computations().items():
        pd.testing.assert_frame_equal(compute(read_back), compute(found), obj=name)


def test_the_report_of_the_earlier_study_is_written(tmp_path):
    assert run_command(["study", "report", "pilot", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "oracle" in page
    assert {path.name for path in (EARLIER / "study").iterdir()} <= {path.name for path in tmp_path.iterdir()}
