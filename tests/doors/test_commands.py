"""Every command: whether it reads, changes or decides, and the mark that it leaves; `ways_in.yaml` says which."""

import getpass
import shlex
import socket
import sqlite3
from contextlib import closing

import pytest
import typer

from console.cli import app, run_command
from console.gate.policy.policy_store import BY_NOBODY
from tests.doors import table
from tests.logs import purchase, stuck, write_log
from tests.signing_in import signed_in

ROWS = table.TABLE["commands"]
DESIGN = """\
name: pilot
source: {actor: scripted, environment: webshop}
tasks: 1
trials: 1
participants: {oracle: 1, human: 1}
consent: {text: "Agree?", withdrawal: anonymise}
"""


def asked(path, *statements):
    """The rows that each statement finds in the database."""
    with closing(sqlite3.connect(path)) as db:
        return [db.execute(statement).fetchall() for statement in statements]


def everything(path):
    """Every row of every table."""
    (names,) = asked(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    names = [name for (name,) in names]
    return dict(zip(names, asked(path, *(f"SELECT * FROM {name}" for name in names)), strict=True))


def turned_out(command, row, path, slots, before):
    """(The row as it should have been written by what the command left in the database, the database afterwards)."""
    ((last,),), items = asked(
        path,
        "SELECT coalesce(max(id), 0) FROM event",
        "SELECT item_id FROM slot WHERE reviewer = 'ada' ORDER BY id DESC LIMIT 1",
    )
    code = run_command([*command.split(), *shlex.split(row["with"].format(**slots, item=items[0][0] if items else 0))])
    after = everything(path)
    found = {"with": row["with"]} | ({"fails": code} if code else {})
    if after == before:
        return found | {name: True for name in ("reads", "idle") if name in row}, after
    events, doors = asked(
        path,
        f"SELECT kind, actor, door FROM event WHERE id > {last} ORDER BY id",
        "SELECT door FROM decision ORDER BY id",
    )
    doors = [door for (door,) in doors[len(before["decision"]) :]]
    strange = [event for event in events if event[1:] not in ((getpass.getuser(), "cli"), (BY_NOBODY, "cli"))]
    found |= {"records": [kind for kind, *_ in events]} if events else {}
    found |= {"decides": len(doors)} if doors else {}
    for door in set(doors) - {"cli"}:
        found["door"] = door
    return found | ({"strange": strange} if strange else {}), after


def test_every_command_stands_in_the_table():
    found = table.commands_of(app)
    assert table.without_row(found, "commands") == []


def test_a_command_that_is_added_without_a_row_is_named():
    more = typer.Typer()
    more.add_typer(app)
    more.command("backdoor")(lambda: None)
    said = table.without_row(table.commands_of(more), "commands")
    assert [sentence for sentence in said if sentence.startswith("'backdoor' has no row")]


@pytest.fixture
def slots(tmp_path, data_dir):
    """What the rows' arguments may name."""
    log = write_log(tmp_path / "kettles.jsonl", *(purchase(n, wrong=n < 2) for n in range(4)), stuck(4))
    policy, design = tmp_path / "policy.yaml", tmp_path / "pilot.yaml"
    policy.write_text("default: ask")
    design.write_text(DESIGN)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        database = f"sqlite:///{data_dir}/console.db"
        yield {
            **{"log": log, "policy": policy, "design": design, "folder": tmp_path, "session": 1, "taken": port},
            "database": database,
        }


def test_each_command_leaves_the_mark_that_the_table_says(slots, data_dir, capsys):
    signed_in("Zoe")
    path, found = data_dir / "console.db", {}
    rows = everything(path)
    for command, row in ROWS.items():
        found[command], rows = turned_out(command, row, path, slots, rows)
    assert found == ROWS, capsys.readouterr().err
