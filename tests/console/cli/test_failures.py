"""Failures of the surroundings: one sentence on stderr and an exit code, never a traceback."""

import os
import resource
import sqlite3

import pytest

from console.cli import run_command
from console.cli.output import describe_failure
from tests.logs import purchase, write_log


@pytest.fixture
def refused(capsys, monkeypatch):
    """A function that runs a command under these settings: (exit code, its one sentence)."""

    def run(*arguments, **settings):
        for name, value in settings.items():
            monkeypatch.setenv(f"INFERACT_{name}", str(value))
        code = run_command([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.strip().splitlines()) == 1
        return code, err

    return run


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"PORT": "soon"}, "INFERACT_PORT"),
        ({"PORT": 99_999}, "INFERACT_PORT is invalid: Input should be less than or equal to 65535."),
        ({"LANGUAGE": "fr"}, "INFERACT_LANGUAGE is invalid: unknown language. Choose one of en, de."),
    ],
)
def test_a_setting_of_the_wrong_kind_is_named(refused, settings, why):
    code, err = refused("run", "list", **settings)
    assert code == 2
    assert why in err


def test_what_cannot_be_served_is_refused_before_an_address_is_printed(refused):
    code, err = refused("serve", WEBHOOK_URL="foo")
    assert code == 2
    assert "INFERACT_WEBHOOK_URL" in err


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_port_that_no_machine_has_is_refused(refused, command):
    code, err = refused(command, "--port", 99_999)
    assert code == 2
    assert "65535" in err


def test_a_database_of_an_unknown_kind_is_refused(refused):
    code, err = refused("run", "list", DATABASE_URL="abacus://here")
    assert code == 2
    assert "INFERACT_DATABASE_URL" in err


def test_a_data_directory_that_is_a_file_is_named(refused, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("here already")
    code, err = refused("run", "list", DATABASE_URL=f"sqlite:///{taken}/console.db")
    assert code == 1
    assert str(taken) in err


def test_a_full_disk_is_said_in_one_refusal(refused, tmp_path):
    log = write_log(tmp_path / "log.jsonl", *(purchase(n, wrong=True) for n in range(2_000)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, before[1]))
        code, err = refused("trajectory", "import", log, "--run", "r")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 1
    assert "refused the change" in err
    assert len(err) < 300


def test_a_pipe_is_refused_at_once(refused, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code, err = refused("trajectory", "import", tmp_path / "pipe", "--run", "r")
    assert code == 2
    assert "Save the output to a file first" in err


def test_an_actor_without_a_model_does_not_start_in_silence(capsys):
    code = run_command(["run", "start", "--env", "webshop", "--tasks", "1", "--actor", "react", "--name", "r"])
    assert code == 1
    assert "inferact run resume r" in capsys.readouterr().err


def test_a_fault_of_ours_is_not_blamed_on_the_surroundings():
    assert describe_failure(ModuleNotFoundError("no module", name="console.nothing")) is None
    assert describe_failure(sqlite3.OperationalError("disk I/O error"))[1] == 1
