"""Every command: whether it reads, changes or decides, and the mark that it leaves; `ways_in.yaml` says which."""

import getpass
import shlex
import socket
import sqlite3
from contextlib import closing

import pytest
import typer

from console.cli import app, run_command
from tests.doors import table
from tests.logs import purchase, stuck, write_log
from tests.signing_in import signed_in

ROWS = table.TABLE["commands"]
DESIGN = """\
name: pilot
source: {actor: scripted, environment: webshop}
tasks: 1
trials: 1
participants: {simulated: 2}
consent: {text: "Agree?"}
"""


def named(row_name):
    return ROWS[row_name].get("command", row_name)


def dump(path):
    """Every row of every table."""
    with closing(sqlite3.connect(path)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names}


def marks(path, after):
    """(the events since that one with who and door, all decisions' doors)."""
    with closing(sqlite3.connect(path)) as db:
        events = db.execute("SELECT id, kind, actor, door FROM event WHERE id > ? ORDER BY id", (after,)).fetchall()
        return events, [door for (door,) in db.execute("SELECT door FROM decision ORDER BY id")]


def test_every_command_stands_in_the_table():
    found = table.commands_of(app)
    assert table.without_row([*found, "review claim again"], "commands") == []


def test_a_command_that_is_added_without_a_row_is_named():
    more = typer.Typer()
    more.add_typer(app)
    more.command("backdoor")(lambda: None)
    said = table.without_row([*table.commands_of(more), "review claim again"], "commands")
    assert [sentence for sentence in said if sentence.startswith("'backdoor' has no row")]


@pytest.fixture
def slots(tmp_path):
    """What the rows' arguments may name."""
    log = write_log(tmp_path / "kettles.jsonl", *(purchase(n, wrong=n < 2) for n in range(4)), stuck(4))
    policy, design = tmp_path / "policy.yaml", tmp_path / "pilot.yaml"
    policy.write_text("default: ask")
    design.write_text(DESIGN)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        yield {"log": log, "policy": policy, "design": design, "folder": tmp_path, "session": 1, "taken": port}


def test_each_command_leaves_the_mark_that_the_table_says(slots, data_dir, capsys):
    assert run_command(["db", "upgrade"]) == 0
    signed_in("Zoe")
    path, wrong = data_dir / "console.db", {}
    import time
    for name, row in ROWS.items():
        before = dump(path)
        last = max((event[0] for event in before["event"]), default=0)
        t=time.time()
        code = run_command([*named(name).split(), *shlex.split(row["with"].format(**slots))])
        t=time.time()-t
        printed = capsys.readouterr()
        events, doors = marks(path, last)
        found = {"with": row["with"]} | ({"command": row["command"]} if "command" in row else {})
        if dump(path) == before: found["reads"] = True
        found |= {"records": [kind for _, kind, *_ in events]} if events else {}
        found |= {"decides": len(doors) - len(before["decision"])} if len(doors) > len(before["decision"]) else {}
        found |= {"fails": row.get("fails", printed.err)} if code else {}
        if t>.2: print(name, t)
        if found != row: print("WRONG", name, row, found, printed.err[-300:])
        for e in events:
            if e[2:] != (getpass.getuser(), "cli"): print("MARK", name, e)
        for d in doors[len(before["decision"]):]:
            if d != "cli": print("DOOR", name, d)
    assert 0
