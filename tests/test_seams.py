"""Every seam of the house: what is added as one file is registered by one line, and every command can be read."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

from console.cli import app
from console.detection.detectors import DETECTORS, Detector
from console.environments import ENVIRONMENTS
from console.environments.environment import Environment
from console.runs.importers import IMPORTERS
from console.runs.importers.records import Importer

ROOT = Path(__file__).resolve().parents[1]


def _constants(room, kind):
    """(module, constant) of every `kind` that a file or folder of the room defines."""
    for path in sorted((ROOT / "console" / room).iterdir()):
        if path.name.startswith("_") or (path.is_file() and path.suffix != ".py"):
            continue
        if path.is_dir() and not (path / "__init__.py").exists():
            continue
        module = import_module(f"console.{room}.{path.stem}".replace("/", "."))
        for value in vars(module).values():
            if isinstance(value, kind):
                yield path.stem, value


@pytest.mark.parametrize(
    ("room", "kind", "registry"),
    [
        ("detection/detectors", Detector, DETECTORS),
        ("environments", Environment, ENVIRONMENTS),
        ("runs/importers", Importer, IMPORTERS),
    ],
)
def test_every_file_of_a_shelf_is_registered(room, kind, registry):
    for file, value in _constants(room, kind):
        assert value in registry.values(), f"{room}/{file} defines {value.name}, which has no line in its registry"
    assert all(name == value.name for name, value in registry.items())


def test_every_page_is_in_the_menu():
    app_text = (ROOT / "streamlit_app.py").read_text()
    scripts = [
        path.name
        for path in (ROOT / "console" / "web" / "pages").glob("*.py")
        if re.search(r"^st\.title\(|^identity = ", path.read_text(), re.M)
    ]
    missing = [name for name in scripts if f"console/web/pages/{name}" not in app_text]
    assert not missing


def _commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(path):
    command = COMMANDS[path]
    assert command.help
    assert command.epilog, f"inferact {' '.join(path)} shows no example"
    assert command.epilog.startswith(f"Example: inferact {' '.join(path)}")
    for option in command.params:
        assert getattr(option, "help", None) or option.name == "help", f"{path}: {option.name} is not explained"


def test_command_line_starts_without_streamlit_or_pandas():
    heavy = ("streamlit", "pandas", "plotly", "openai", "alembic")
    code = f"import sys, console.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"
