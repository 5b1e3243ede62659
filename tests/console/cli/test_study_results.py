"""`inferact study results`, `inferact study report`, `inferact export study`, on a study written row by row."""

import json
import re
from zipfile import ZipFile

import pytest

from console.cli import run_command
from console.database import reading, writing
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from tests.study_rows import fill, third_condition
from tests.sweeps import sweep


@pytest.fixture(autouse=True)
def study():
    """The study in the database of the settings."""
    with writing() as session:
        fill(session)


def exported():
    """The files that the audit says were made of the study."""
    with reading() as session:
        return [one.detail["what"] for one in audit_trail.list_entries(session, AuditFilter(kind="study exported"))]


@pytest.mark.at_length
def test_results_print_a_table(capsys):
    assert run_command(["study", "results", "pilot"]) == 0
    out = capsys.readouterr().out
    assert "2 of 3 people have finished;" in out
    assert "rules-shown" in out


@pytest.mark.at_length
def test_a_pair_that_nobody_did_both_of_is_not_estimable_in_results_and_report(tmp_path, capsys):
    with writing() as session:
        third_condition(session)
    assert run_command(["study", "results", "pilot", "--table", "differences"]) == 0
    out = capsys.readouterr().out
    number = re.search(r"^(\d)\. Not estimable: no participant answered in both\.$", out, re.M)[1]
    apart = [line.split() for line in out.splitlines() if "rules-hidden" in line and "rules-third" in line]
    assert {line[-1] for line in apart} == {number}
    assert run_command(["study", "report", "pilot", "--out", str(tmp_path / "out.zip")]) == 0
    with ZipFile(tmp_path / "out.zip") as packed:
        page = packed.read("report.html").decode()
    assert "rules-hidden minus rules-third is not estimable: no participant answered in both." in page
    assert exported() == ["out.zip"]


@pytest.mark.at_length
def test_results_as_json_are_one_document(capsys):
    assert run_command(["study", "results", "pilot", "--table", "people", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["study"], found["table"], found["finished"]) == ("pilot", "people", 2)
    accuracy = next(row for row in found["rows"] if row["figure"] == "right decisions")
    assert accuracy["value"] == 0.5


@sweep(
    ("arguments", "said"),
    [
        (["study", "results", "none"], "study"),
        (["study", "results", "pilot", "--table", "x"], "differences"),
        (["study", "report", "none", "--out", "x"], "study"),
        (["export", "study", "--out", "x.csv"], "--study"),
        (["export", "study", "--run", "shop", "--out", "x.csv"], "No study named 'shop'"),
        (["export", "decisions", "--study", "pilot", "--out", "x.csv"], "--study"),
        (["export", "decisions", "--out", "x.csv"], "--run"),
        (["export", "study", "--study", "pilot", "--out", "x.doc"], "zip"),
    ],
)
def test_what_is_not_there_is_refused_in_one_sentence(arguments, said, capsys):
    assert run_command(arguments) == 2
    refused = capsys.readouterr().err
    assert said in refused
    assert refused.count("\n") == 1


@sweep("suffix", ["csv", "jsonl", "parquet", "zip"], kept=2)
def test_a_study_is_exported_in_every_format(tmp_path, suffix, capsys):
    out = tmp_path / f"pilot.{suffix}"
    assert run_command(["export", "study", "--study", "pilot", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["study"]) == ("study", "pilot")
    assert told["rows"] == 15 or suffix == "zip"
    assert out.stat().st_size
    assert run_command(["export", "study", "--study", "pilot", "--out", str(tmp_path / "pilot.docx")]) != 0
    assert exported() == [out.name]
