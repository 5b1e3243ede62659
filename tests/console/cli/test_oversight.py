"""`inferact oversight`: what inspections catch, from the command line."""

import csv
import json

import pytest

from console.cli import run_command
from console.database import reading
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.trajectory import Label
from tests.overseen import decide, queue
from tests.verdicts import a_run, judge

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


@pytest.fixture
def shop():
    """A run of five, four of them flagged; two decided."""
    a_run("shop", [BAD, GOOD, BAD, GOOD, BAD])
    judge("shop", "rules", [0.9, 0.8, 0.7, 0.6, 0.1])
    run = queue("shop", "rules", cap=2)
    decide(run, ["reject", "approve"])


@pytest.fixture
def inferact(capsys):
    """A function from a command to its exit code, stdout and stderr."""

    def run(*arguments):
        code = run_command(["oversight", *arguments])
        return code, *capsys.readouterr()

    return run


def test_the_run_s_name_alone_prints_every_order(shop, inferact):
    code, out, _ = inferact("shop")
    assert code == 0
    for order in ("as reviewed", "priority", "expected-cost", "fp-first", "random", "ideal"):
        assert order in out
    assert "caught by 10 further inspections" in out


def test_as_json_it_is_one_document_with_every_point(shop, inferact):
    code, out, _ = inferact("shop", "--policy", "priority,random", "--more", "1", "--json")
    document = json.loads(out)
    assert code == 0
    assert {name: document[name] for name in ("run", "trial", "labels", "spent", "more")} == {
        "run": "shop",
        "trial": 0,
        "labels": "gold",
        "spent": 2,
        "more": 1,
    }
    first = document["curves"][0]
    assert (first["policy"], first["caught"], first["more"], first["missed"]) == ("priority", 1, 1, 1)
    assert len(document["points"]) == 10
    assert document["points"][0]["low"] is None


def test_a_budget_moves_where_inspections_end_and_a_file_gets_the_points(shop, inferact, tmp_path):
    out_file = tmp_path / "curve.csv"
    code, out, _ = inferact("shop", "--policy", "fp-first", "--budget", "60%", "--out", str(out_file), "--json")
    assert code == 0
    assert json.loads(out)["spent"] == 3
    rows = list(csv.DictReader(out_file.read_text().splitlines()))
    assert [float(row["caught"]) for row in rows] == [0, 0, 0, 1, 2]
    with reading() as session:
        (event,) = audit_trail.list_entries(session, AuditFilter(kind="exported"))
    assert audit_trail.entry_sentence(event).endswith(" exported the file “curve.csv” of “shop”, on the command line.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody",), "No run named 'nobody'"),
        (("shop", "--policy", "best"), "No order of inspection named 'best'"),
        (("shop", "--policy", ","), "Name at least one order"),
        (("shop", "--trial", "7"), "No judged trial with number 7"),
        (("shop", "--budget", "much"), "is not a valid budget"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(shop, inferact, arguments, message):
    code, out, error = inferact(*arguments)
    assert code == 2
    assert out == ""
    assert message in error
    assert error.count("\n") == 1
