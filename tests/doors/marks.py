"""The mark that a command leaves in the database, as a row of `ways_in.yaml` says it."""

import getpass
import io
import shlex
import sqlite3
from contextlib import closing, redirect_stderr, redirect_stdout

from console.cli import run_command
from console.gate.policy.policy_store import BY_NOBODY


def read(path, *statements):
    """The rows that each statement finds in the database."""
    with closing(sqlite3.connect(path)) as db:
        return [db.execute(statement).fetchall() for statement in statements]


def everything(path):
    """Every row of every table."""
    (names,) = read(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    names = [name for (name,) in names]
    return dict(zip(names, read(path, *(f"SELECT * FROM {name}" for name in names)), strict=True))


def run(command, row, path, slots, *more):
    """(The row as it should have been written by what the command left in the database, what the command printed)."""
    ((last,),), items = read(
        path,
        "SELECT coalesce(max(id), 0) FROM event",
        "SELECT item_id FROM slot WHERE reviewer = 'ada' ORDER BY id DESC LIMIT 1",
    )
    before, out, err = everything(path), io.StringIO(), io.StringIO()
    words = shlex.split(row["with"].format(**slots, item=items[0][0] if items else 0))
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command([*command.split(), *words, *more])
    found = {"with": row["with"]} | ({"fails": code} if code else {})
    if code != row.get("fails", 0):
        found["said"] = err.getvalue()
    after = everything(path)
    if after == before:
        return found | {name: True for name in ("reads", "idle") if name in row}, out.getvalue()
    events, doors = read(
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
    return found | ({"strange": strange} if strange else {}), out.getvalue()
