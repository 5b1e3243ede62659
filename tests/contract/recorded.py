"""What the outside relies on, as it is now: commands, their JSON, files' columns, tables, API and settings.

`python -m tests.contract.recorded` writes it anew after something was added.
"""

import csv
import json
import socket
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import typer

from console.cli import app, run_command
from console.runs.export import KINDS
from console.server.api.routes import API
from console.settings import Settings
from tests.at_home import at_home
from tests.doors import marks
from tests.doors.table import TABLE
from tests.logs import purchase, stuck, write_log
from tests.signing_in import signed_in

FOLDER = Path(__file__).parent
DESIGN = """\
name: pilot
source: {actor: scripted, environment: webshop}
tasks: 1
trials: 1
participants: {oracle: 1, human: 1}
consent: {text: "Agree?", withdrawal: anonymise}
"""
JSON = "--json"


def commands():
    """The arguments and options of each command."""
    return {path: _parameters(command) for path, command in _walk(typer.main.get_command(app), ())}


@dataclass(frozen=True)
class Walk:
    """What each command of `ways_in.yaml` left: the keys of its JSON, columns of files, its mark; tables at the end."""

    answers: dict
    columns: dict
    marks: dict
    tables: dict


@cache
def walk():
    """Run each command of `ways_in.yaml` in order, with JSON where it offers that."""
    with tempfile.TemporaryDirectory() as temporary, socket.socket() as taken:
        folder, data = Path(temporary) / "files", Path(temporary) / "data"
        folder.mkdir()
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with at_home(data):
            signed_in("Zoe")
            return _walked(folder, data / "console.db", taken.getsockname()[1])


def _walked(folder, database, taken):
    offers = {path for path, signature in commands().items() if JSON in signature["options"]}
    slots = _slots(folder) | {"database": f"sqlite:///{database}", "taken": taken}
    answers, left = {}, {}
    for command, row in TABLE["commands"].items():
        left[command], out = marks.run(command, row, database, slots, *[JSON] * (command in offers))
        if command in offers and out:
            answers[command] = shape(json.loads(out))
        if command == "detect":
            _export_all(folder)
    columns = {path.stem: _header(path) for path in sorted(folder.rglob("*.csv"))}
    return Walk(answers, columns, left, tables(database))


def tables(path):
    """The columns of each table and view of a database file."""
    with closing(sqlite3.connect(path)) as db:
        names = [
            name
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        ]
        return {name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for name in names}


def api():
    """The properties of what each route takes and answers."""
    document = API.openapi()
    return {
        f"{method.upper()} {path}": {
            "takes": _bodies(operation.get("requestBody", {}), document),
            **{status: _bodies(answer, document) for status, answer in sorted(operation["responses"].items())},
        }
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def settings():
    """The environment variable of each setting."""
    return {f"INFERACT_{name.upper()}": None for name in sorted(Settings.model_fields)}


def shape(value):
    """The keys of a JSON document: null for a value, one merged shape for the members of a list."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        merged = None
        for item in value:
            merged = _merged(merged, shape(item))
        return [merged]
    return None


def recorded():
    """Everything, by the name of its file."""
    walked = walk()
    return {
        "answers": walked.answers,
        "api": api(),
        "columns": walked.columns,
        "commands": commands(),
        "settings": settings(),
        "tables": walked.tables,
    }


def _merged(one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _merged(one.get(key), other.get(key)) for key in {**one, **other}}
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(one[0], other[0])]
    return one if other is None else other


def _walk(command, words):
    if not hasattr(command, "commands"):
        yield " ".join(words), command
        return
    if words and command.params:
        yield " ".join(words), command
    for name, below in sorted(command.commands.items()):
        yield from _walk(below, (*words, name))


def _parameters(command):
    options = [one for one in command.params if one.param_type_name == "option"]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    return {
        "arguments": ["required" if one.required else "optional" for one in arguments],
        "options": sorted(name for one in options for name in (*one.opts, *one.secondary_opts)),
    }


def _slots(folder):
    log = write_log(folder / "kettles.jsonl", *(purchase(n, wrong=n < 2) for n in range(4)), stuck(4))
    (folder / "policy.yaml").write_text("default: ask")
    (folder / "pilot.yaml").write_text(DESIGN)
    named = {"log": log, "policy": folder / "policy.yaml", "design": folder / "pilot.yaml", "folder": folder}
    return {**named, "session": 1}


def _export_all(folder):
    for kind in KINDS:
        assert run_command(["export", kind, "--run", "kettles", "--out", str(folder / f"export-{kind}.csv")]) == 0


def _header(path):
    with path.open(newline="") as stream:
        return next(csv.reader(stream))


def _bodies(holder, document):
    return [_properties(body["schema"], document) for body in holder.get("content", {}).values() if "schema" in body]


def _properties(schema, document):
    if "$ref" in schema:
        return _properties(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], document)
    if "properties" in schema:
        return {name: _properties(below, document) for name, below in sorted(schema["properties"].items())}
    if "items" in schema:
        return [_properties(schema["items"], document)]
    nested = [_properties(below, document) for key in ("anyOf", "oneOf", "allOf") for below in schema.get(key, ())]
    return next((found for found in nested if found is not None), None)


def write(name, found):
    """Write one of them, a line for each entry."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    for name, found in recorded().items():
        write(name, found)
