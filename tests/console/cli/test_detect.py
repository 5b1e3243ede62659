"""`inferact recalibrate` says what was learnt, or in one sentence why nothing was."""

import pytest
import typer
from typer.testing import CliRunner

from console.cli.detect import recalibrate
from console.errors import Refused
from console.trajectory import Label
from tests.verdicts import a_run, judge


@pytest.fixture
def command():
    app = typer.Typer()
    app.command()(recalibrate)
    return lambda *arguments: CliRunner().invoke(app, list(arguments), catch_exceptions=True)


def test_without_reviews_it_refuses_in_one_sentence(command):
    a_run("r", [Label.MISALIGNED, Label.ALIGNED])
    judge("r", "rules", [0.9, 0.1])
    done = command("r", "--detector", "rules", "--method", "isotonic")
    assert isinstance(done.exception, Refused)
    assert "at least 10 of each" in str(done.exception)
    assert done.stdout == ""
