"""`inferact db`: what each command prints, and that a head and a copy cover everything that happened."""

import json
import platform
import sqlite3
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version

import pytest
from sqlalchemy import make_url, text

import console.cli.db
from console.auth import agents
from console.cli import run_command
from console.cli.db import _print_facts, _went_back
from console.database import database_url, now_ms, writing
from console.gate import Gate
from console.settings import settings
from storage.check import chain_end, check
from storage.engine import close
from storage.new_epoch import RestoreReport
from tests import postgres


@pytest.fixture
def told(capsys):
    """A function that runs a command and returns its exit code, its output (parsed, if JSON), and its errors."""

    def run(*command):
        capsys.readouterr()
        code = run_command(list(map(str, command)))
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in command else out, err

    return run


@pytest.fixture
def busy():
    """A database with an event of access and with events of a gate's run."""
    with writing() as session:
        agents.add(session, "bot", now_ms())
    Gate("shop-bot").ask("pay", [], "pay(1)", task_id="t")
    return database_url()


def test_a_head_covers_the_events_of_each_run_so_far(busy, told, tmp_path):
    code, before, _ = told("db", "check")
    assert (code, "Run inferact db head to include them" in before) == (0, True)
    kept = tmp_path / "heads.txt"
    code, head, _ = told("db", "head", "--out", kept, "--json")
    events, last_hash = chain_end(busy)
    assert (code, head["events"], head["hash"], head["file"]) == (0, events, last_hash, str(kept))
    assert len(head["at"]) == len("2026-01-01T00:00:00.000Z")
    assert kept.read_text() == f"{events}:{last_hash} {head['at']}\n"
    code, after, _ = told("db", "check")
    assert (code, "Run inferact db head" in after) == (0, False)
    assert f"The audit log has {events} events, last hash {last_hash[:16]}. Epoch 1." in after
    assert told("db", "head", "--json")[1]["file"] is None
    assert told("db", "head")[1].startswith(f"{events}:{last_hash} 20")


def test_check_prints_each_problem_and_fails(busy, told):
    url = f"sqlite:///{busy.removeprefix('sqlite:///')}"
    code, sound, _ = told("db", "check", "--json")
    events, last_hash = chain_end(url)
    assert (code, sound) == (
        0,
        {"database": url, "problems": [], "audit": {"events": events, "hash": last_hash}, "epoch": 1},
    )
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE agent SET name = 'cat'")
    problem = "Audit: agent 1 was changed outside the console: who (name, name_key)."
    code, found, err = told("db", "check", "--json")
    assert (code, found["problems"]) == (1, [problem])
    assert f"{url} has 1 problem. Restore a backup: inferact db restore FILE" in err
    assert told("db", "check")[:2] == (1, f"{problem}\n")


def test_a_backup_and_a_restore_name_their_files(busy, told, tmp_path):
    copy = tmp_path / "copy.db"
    assert told("db", "backup", copy, "--json")[:2] == (0, {"backup": str(copy), "removed": []})
    code, said, _ = told("db", "backup", tmp_path / "other.db")
    assert (code, said) == (0, f"Backed up to {tmp_path / 'other.db'}.\n")
    code, said, _ = told("db", "restore", copy, "--json")
    assert (code, said["restored"], said["epoch"], said["checks_void"]) == (0, str(copy), 2, 1)
    assert (said["unread"], said["changed"], said["access_kept"]) == ("", [], False)
    assert said["kept"].startswith(f"{busy.removeprefix('sqlite:///')}.replaced-")
    assert told("db", "upgrade", "--json")[1] == {"database": busy, "upgraded": True}
    assert told("db", "upgrade")[:2] == (0, f"{busy} is up to date.\n")


def test_a_copy_is_complete_and_tells_its_digests(busy, told, tmp_path):
    target = f"sqlite:///{tmp_path / 'target.db'}"
    code, said, _ = told("db", "copy", busy, target, "--json")
    events, last_hash = chain_end(busy)
    assert (code, said["source"], said["target"]) == (0, busy, target)
    assert said["audit"] == {"events": events, "hash": last_hash}
    assert {"name": "agent", "rows": 1} in [{name: row[name] for name in ("name", "rows")} for row in said["tables"]]
    assert check(target) == []
    code, _, err = told("db", "copy", busy, target)
    assert (code, "already has data" in err) == (1, True)
    code, _, err = told("db", "copy", busy, busy)
    assert (code, "is the source itself. Name another database" in err) == (1, True)
    code, said, _ = told("db", "copy", busy, f"sqlite:///{tmp_path / 'again.db'}")
    assert (code, said.startswith("Copied "), "tables; all digests are equal." in said) == (0, True, True)


def test_a_copy_of_a_source_that_changes_meanwhile_is_refused(busy, told, tmp_path, monkeypatch):
    copy = console.cli.db.copy_database

    def copied(source, target):
        found = copy(source, target)
        with writing() as session:
            agents.add(session, "late", now_ms())
        return found

    monkeypatch.setattr(console.cli.db, "copy_database", copied)
    code, _, err = told("db", "copy", busy, f"sqlite:///{tmp_path / 'target.db'}")
    assert (code, "The source changed during the copy." in err) == (1, True)


def test_doctor_tells_version_settings_and_problems(busy, told, data_dir):
    code, said, _ = told("doctor", "--json")
    assert code == 0
    assert {name: said[name] for name in ("database", "database_problems", "epoch", "data_dir", "undelivered")} == {
        **{"database": busy, "database_problems": [], "epoch": 1, "data_dir": str(data_dir), "undelivered": []},
    }
    assert (said["version"], said["python"]) == (version("inferact-console"), platform.python_version())
    assert (said["data_dir_writable"], said["name_clashes"], said["detectors"]) == (True, [], [])
    assert said["plugins"] == []
    assert (version("streamlit"), "set OPENAI_BASE_URL" in said["model"]) == (said["streamlit"], True)


def test_doctor_prints_a_row_a_fact_and_a_table_of_detectors_and_of_plugins(capsys):
    _print_facts({"model": "small", "name_clashes": []}, [], [])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.startswith(("model", "name"))] == [
        ["model", "small"],
        ["name_clashes", "none"],
    ]
    assert not [line for line in lines if "Detectors" in line or "Plug-ins" in line]
    counts = dict.fromkeys(("requests", "prompt_tokens", "completion_tokens"), 7)
    detectors = [{"detector": "rules", "serves": "yes", "how": "by itself", **counts}]
    plugins = [{"name": "mine", "group": "detectors", "package": "p", "version": "2", "state": "loaded"}]
    _print_facts({"model": "small"}, detectors, plugins)
    out = capsys.readouterr().out
    assert "Detectors that small supports, each tried on one small checkpoint:" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["rules", "yes", "by", "itself", "7", "7", "7"] in rows
    assert ["mine", "detectors", "p", "2", "loaded"] in rows


@postgres.NEEDED
def test_no_command_prints_the_password_of_the_database(told, tmp_path, monkeypatch):
    with postgres.database() as made:
        url = make_url(made).set(password="s3cret").render_as_string(hide_password=False)
        monkeypatch.setenv("INFERACT_DATABASE_URL", url)
        settings.cache_clear()
        said = [told(*command) for command in (("db", "upgrade"), ("db", "check"), ("db", "check", "--json"))]
        said.append(told("db", "copy", url, f"sqlite:///{tmp_path / 'target.db'}", "--json"))
        with writing() as session:
            session.execute(text("UPDATE chain_end SET events = 9"))
        said.append(told("db", "check"))
        close(url)
    assert [code for code, *_ in said] == [0, 0, 0, 0, 1]
    assert "s3cret" not in str(said)
    assert str(said).count(":***@") >= 5


NOTHING = RestoreReport(
    epoch=2,
    **dict.fromkeys(("checks_void", "items_cancelled", "begun_carried", "rejections_carried", "decisions_lost"), 0),
    **dict.fromkeys(("sessions_ended", "links_ended", "tokens_ended"), 0),
    people=(),
    policies=(),
    access_kept=False,
    unread="",
    changed=(),
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"changed": ("Bad.", "Worse.")}, ["Accepted: the audit log of the backup has 2 problems. Bad."]),
        (
            {"checks_void": 1},
            ["1 void check, 0 cancelled items. Agents must submit checks again if their actions had not begun."],
        ),
        (
            {"items_cancelled": 2},
            ["0 void checks, 2 cancelled items. Agents must submit checks again if their actions had not begun."],
        ),
        ({"begun_carried": 1}, ["Carried over from after the backup: 1 begun action, 0 rejections."]),
        ({"rejections_carried": 1}, ["Carried over from after the backup: 0 begun actions, 1 rejection."]),
        ({"decisions_lost": 1}, ["1 decision made after the backup: only in the previous file."]),
        (
            {"sessions_ended": 1},
            ["Ended: 1 session, 0 unused links. Invite people again: inferact person invite NAME."],
        ),
        ({"links_ended": 1}, ["Ended: 0 sessions, 1 unused link. Invite people again: inferact person invite NAME."]),
        ({"tokens_ended": 1}, ["Ended: 1 agent token. Give each agent a new token: inferact agent renew NAME."]),
        ({"people": ("Ada", "Bob")}, ["People who differ from the previous file: Ada, Bob."]),
        (
            {"policies": ("*", "shop")},
            [
                "Policies that differ from the previous file: *, shop.",
                "For each check the stricter ruling of both applies until you choose: inferact policy set RUN FILE.",
            ],
        ),
        (
            {"unread": "It is broken."},
            [
                "The previous file could not be read: It is broken.",
                "The rejections, begun actions, people and policies of this file are not carried over.",
            ],
        ),
    ],
)
def test_a_restore_tells_what_went_back_and_nothing_else(changes, said):
    assert list(_went_back(replace(NOTHING, **changes))) == said


def test_a_drill_restores_elsewhere_and_leaves_the_database_alone(tmp_path, capsys):
    url, copy = database_url(), tmp_path / "friday.db"
    assert run_command(["db", "backup", str(copy)]) == 0
    before = chain_end(url)
    assert run_command(["db", "drill", str(copy)]) == 0
    assert "can be restored" in capsys.readouterr().out
    assert chain_end(url) == before
    copy.write_bytes(copy.read_bytes()[:5_000])
    assert run_command(["db", "drill", str(copy)]) == 1
    assert "Name another file" in capsys.readouterr().err
