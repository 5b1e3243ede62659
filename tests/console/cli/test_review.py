"""`inferact review`: who may claim."""

import pytest

from console.cli import run_command
from tests.logs import purchase, write_log


@pytest.fixture
def queue(tmp_path, capsys):
    log = write_log(tmp_path / "kettles.jsonl", purchase(0, wrong=True))
    assert run_command(["trajectory", "import", str(log), "--run", "k"]) == 0
    assert run_command(["detect", "k", "--method", "full-validation"]) == 0
    capsys.readouterr()


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize("name", ["", "   ", "a\x1b[31m", "x" * 200])
def test_nobody_claims_under_a_name_that_cannot_be_read(name, capsys):
    assert run_command(["review", "claim", "--run", "k", "--reviewer", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.strip().splitlines()) == 1


@pytest.mark.usefixtures("queue")
def test_blanks_around_a_name_make_nobody_else(capsys):
    assert run_command(["review", "claim", "--run", "k", "--reviewer", " ada "]) == 0
    assert run_command(["review", "decide", "1", "--reviewer", "ada", "--decision", "approve"]) == 0


@pytest.mark.usefixtures("queue")
def test_a_free_name_becomes_a_reviewer_and_a_known_one_is_written_one_way(capsys):
    assert run_command(["review", "claim", "--run", "k", "--reviewer", "Ada"]) == 0
    assert "Ada is new here and may review from now on." in capsys.readouterr().err
    assert run_command(["review", "decide", "1", "--reviewer", "ADA", "--decision", "approve"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "by Ada." in said.out


@pytest.mark.usefixtures("queue")
def test_who_is_disabled_decides_nothing_here_either(capsys):
    assert run_command(["review", "claim", "--run", "k", "--reviewer", "Ada"]) == 0
    assert run_command(["person", "disable", "ada"]) == 0
    assert run_command(["review", "decide", "1", "--reviewer", "Ada", "--decision", "approve"]) == 1
    assert "Ada is disabled" in capsys.readouterr().err
