"""What `db restore` says: what went back, what ended, and what the operator has to do."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from console import runs
from console.auth import agents, people, sessions
from console.auth.people import Role
from console.cli import run_command
from console.database import now_ms, writing
from console.gate import Gate
from console.gate.policy import policy_store


@pytest.fixture
def copy(tmp_path):
    """A backup, after which a policy changed, and a person got access."""
    with writing() as session:
        policy_store.save(session, None, "{default: ask}", "ada", 1)
        ada = people.add_person(session, "Ada", [Role.ADMIN], 1)
        sessions.open_session(session, ada, now_ms())
        agents.add(session, "bot", 1)
    Gate("shop-bot").ask("pay", [], "pay(1)", task_id="t")
    path = tmp_path / "copy.db"
    assert run_command(["db", "backup", str(path)]) == 0
    with writing() as session:
        policy_store.save(session, runs.get(session, "shop-bot"), "{default: deny}", "bob", 1)
        people.add_person(session, "Eve", [Role.REVIEWER], 1)
    return path


def test_the_command_says_what_went_back(copy, capsys):
    assert run_command(["db", "restore", str(copy)]) == 0
    out = capsys.readouterr().out
    for said in (
        "epoch 2 begins. The previous file is kept as ",
        "1 void check, 1 cancelled item. Agents must submit checks again",
        "1 session, 0 unused links. Invite people again: inferact person invite NAME.",
        "1 agent token. Give each agent a new token: inferact agent renew NAME.",
        "People who differ from the previous file: Eve.",
        "Policies that differ from the previous file: shop-bot.",
    ):
        assert said in out
    assert run_command(["policy", "show", "shop-bot"]) == 0
    shown = capsys.readouterr().out
    assert "also applies, from a database that a restore replaced:\n{default: deny}" in shown
    assert "Choose with: inferact policy set shop-bot FILE" in shown
    assert run_command(["db", "check"]) == 0
    assert "Epoch 2." in capsys.readouterr().out
    assert run_command(["agent", "list"]) == 0
    assert "without a token" in capsys.readouterr().out


def test_kept_access_is_not_said_to_end(copy, capsys):
    assert run_command(["db", "restore", str(copy), "--keep-access", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["access_kept"], said["sessions_ended"], said["tokens_ended"], said["epoch"]) == (True, 0, 0, 2)
    assert said["policies"] == ["shop-bot"]


def test_a_backup_that_another_program_changed_is_refused_unless_it_is_accepted(copy, capsys):
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE policy SET text = '{default: allow}'")
    assert run_command(["db", "restore", str(copy)]) == 1
    assert "--accept-changed" in capsys.readouterr().err
    assert run_command(["db", "restore", str(copy), "--accept-changed"]) == 0
    assert "Accepted: the audit log of the backup has 1 problem. Audit: policy 1 was" in capsys.readouterr().out


def test_a_folder_of_backups_keeps_the_newest(tmp_path, capsys):
    with writing():
        pass
    folder = tmp_path / "backups"
    folder.mkdir()
    old = [folder / f"console-2026010{day}T000000Z.db" for day in (1, 2, 3)]
    for path in (*old, folder / "mine.db"):
        path.touch()
    capsys.readouterr()
    assert run_command(["db", "backup", str(folder), "--keep", "2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["removed"] == [str(old[1]), str(old[0])]
    assert sorted(folder.iterdir()) == sorted([Path(said["backup"]), old[2], folder / "mine.db"])
    assert run_command(["db", "backup", str(folder / "mine.db"), "--keep", "2"]) == 1
    assert "is not a folder" in capsys.readouterr().err
