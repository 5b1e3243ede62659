"""Commands that read never create a database; those that start work create it and print where."""

import shlex
import threading

import pytest

from console.cli import _STARTS_WORK, run_command
from console.gate import Gate
from tests.doors.table import TABLE
from tests.sweeps import sweep

READERS = sorted(set(TABLE["commands"]) - set(_STARTS_WORK))


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Where the settings say that a database is; nothing is there."""
    for thread in threading.enumerate():
        # The script of a page that an earlier test left behind would create the database of these settings.
        if "script" in thread.name.lower():
            thread.join(30)
    monkeypatch.setenv("INFERACT_DATABASE_URL", f"sqlite:///{tmp_path}/mistyped/console.db")
    return tmp_path / "mistyped" / "console.db"


@pytest.mark.parametrize("command", ["db check", "db", "doctor", "run list", "worker --once", "db upgrade"])
@pytest.mark.parametrize("emptied", [False, True])
def test_a_missing_or_emptied_database_is_refused_and_left_alone(command, emptied, path, capsys):
    if emptied:
        path.parent.mkdir()
        path.touch()
    assert run_command(command.split()) == 1
    error = capsys.readouterr().err
    assert str(path) in error
    assert "INFERACT_DATABASE_URL" in error
    assert len(error.splitlines()) == 1
    assert path.exists() == emptied
    assert not emptied or path.read_bytes() == b""


@sweep("command", READERS, kept=30)
def test_no_command_that_reads_creates_a_database(command, path, tmp_path):
    words = TABLE["commands"][command]["with"]
    slots = dict.fromkeys(("log", "policy", "design", "item", "session", "taken"), "1")
    run_command([*command.split(), *shlex.split(words.format(**slots, folder=tmp_path, database=f"sqlite:///{path}"))])
    assert not path.parent.exists()


@pytest.mark.parametrize("command", ["agent add bot --json", "run start --env webshop --tasks 1 --name shop --json"])
def test_a_command_that_starts_work_creates_the_database_and_prints_where(command, path, capsys):
    assert run_command(command.split()) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines()[0] == f"Created a new database: sqlite:///{path}"
    assert printed.out.startswith("{")
    assert run_command(["db", "check"]) == 0


def test_following_logs_creates_the_database_and_prints_where(path, tmp_path, capsys):
    (tmp_path / "s.jsonl").touch()
    assert run_command(["follow", str(tmp_path / "s.jsonl"), "--once"]) == 0
    assert capsys.readouterr().err == f"Created a new database: sqlite:///{path}\n"


def test_a_gate_creates_the_database_and_prints_where(path, capsys):
    Gate("bot").open()
    assert capsys.readouterr().err == f"Created a new database: sqlite:///{path}\n"


def test_a_backup_is_restored_where_no_database_is(path, empty_database):
    assert run_command(["db", "restore", str(empty_database)]) == 0
    assert run_command(["db", "check"]) == 0
