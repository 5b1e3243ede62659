"""Every seam of the house: what is added is one file and one line, and every command can be read.

A copy of the house gets a new entry of every kind that CONTRIBUTING's table "To add ..." names, and somebody walks
through it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
import typer

from console.actors import ACTORS, Actor
from console.analysis.charts import CHARTS
from console.cli import app
from console.detection.detectors import DETECTORS, Detector
from console.environments import ENVIRONMENTS
from console.environments.environment import Environment
from console.review.simulated import REVIEWERS, Reviewer
from console.runs.importers import IMPORTERS
from console.runs.importers.records import Importer
from console.studies.analysis import ANALYSES
from console.studies.analysis.parts import Analysis
from storage.migrations import head, migrate

ROOT = Path(__file__).resolve().parents[1]
SEAMS = Path(__file__).parent / "seams"
HOUSE = ("console", "storage", "prompts", "streamlit_app.py")


@dataclass(frozen=True)
class Addition:
    """What somebody adds: a file of tests/seams at its place, and a line after the one that begins with `after`."""

    file: str = ""
    place: str = ""
    registry: str = ""
    after: str = ""
    line: str = ""


def _entry(file, shelf, registry, line):
    """A file on a shelf and its line in the registry of that shelf."""
    return Addition(file, f"{shelf}/seam.py", f"{shelf}/__init__.py", f"{registry}: ", line)


ADDITIONS = {
    "a detector": _entry("detector.py", "console/detection/detectors", "BUILT_IN", '"seam-detector": {ENTRY},'),
    "an importer": _entry("importer.py", "console/runs/importers", "BUILT_IN", '"seam-log": {ENTRY},'),
    "an environment": _entry("environment.py", "console/environments", "BUILT_IN", '"seam-world": {ENTRY},'),
    "an Actor": _entry("actor.py", "console/actors", "BUILT_IN", '"seam-actor": {ENTRY},'),
    "a simulated reviewer": _entry("reviewer.py", "console/review/simulated", "REVIEWERS", '"seam-reviewer": {ENTRY},'),
    "a chart": _entry("chart.py", "console/analysis/charts", "BUILT_IN", '"seam-chart": {ENTRY},'),
    "an export format": _entry(
        "format.py", "console/runs/export/formats", "FORMATS", '"seam": Format({ENTRY}, "text/plain"),'
    ),
    "a layout of another tool": _entry(
        "layout.py", "console/runs/export/layouts", "BUILT_IN", '"seam-layout": {ENTRY},'
    ),
    "an analysis of studies": _entry("analysis.py", "console/studies/analysis", "ANALYSES", '"seam": {ENTRY},'),
    "a factor of user studies": Addition(
        registry="console/studies/design/factors.py",
        after="FACTORS: ",
        line='"seam_factor": Factor("seam_factor", "Seam factor", ("low", "high"), "low"),',
    ),
    "a preset of user studies": Addition("preset.yaml", "console/studies/design/presets/seam.yaml"),
    "a questionnaire": Addition("instrument.yaml", "console/studies/design/instruments/seam.yaml"),
    "a recruiting platform": Addition("platform.yaml", "console/studies/design/platforms/seam.yaml"),
    "an order of inspection": Addition(
        registry="console/review/simulated/orders.py",
        after="INSPECTION_ORDERS: ",
        line='"seam-order": lambda candidates, seed: list(range(len(candidates))),',
    ),
    "a prompt": Addition("prompt.txt", "prompts/seam/generic/judge.txt"),
    "a page": Addition(
        "page.py",
        "console/web/pages/seam.py",
        "streamlit_app.py",
        "    researchers = [",
        'st.Page("console/web/pages/seam.py", title="Seam", url_path="seam"),',
    ),
    "a table or column": Addition(
        "revision.py",
        "storage/migrations/versions/9999_seam.py",
        "storage/tables/loop.py",
        '    __tablename__ = "intent"',
        "    seam_note: str | None = None",
    ),
    "a setting": Addition(registry="console/settings.py", after="    model_config = ", line='    seam_words: str = ""'),
    "an error": Addition(
        registry="console/errors.py",
        after="class Refused(",
        line='    """The present state does not allow it."""\n\n\nclass SeamRefused(Refused):',
    ),
}


def _add(house, addition):
    """Writes the file, and the line into the registry."""
    if addition.file:
        text = (SEAMS / addition.file).read_text().replace('"NEW"', '"9999"').replace('"OLD"', f'"{head()}"')
        (house / addition.place).parent.mkdir(parents=True, exist_ok=True)
        (house / addition.place).write_text(text)
    if addition.registry:
        module = addition.place.removesuffix(".py").replace("/", ".")
        lines = (house / addition.registry).read_text().split("\n")
        (at,) = (number for number, line in enumerate(lines) if line.startswith(addition.after))
        lines.insert(at + 1, addition.line.format(ENTRY="seam_entry") if "{ENTRY}" in addition.line else addition.line)
        if "{ENTRY}" in addition.line:
            lines.insert(at, f"from {module} import ENTRY as seam_entry")
        (house / addition.registry).write_text("\n".join(lines))


@pytest.fixture(scope="module")
def met(tmp_path_factory):
    """What a person meets in the house after all additions, over a database of the time before."""
    folder = tmp_path_factory.mktemp("seams")
    house, data = folder / "house", folder / "data"
    for part in HOUSE:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
        house.mkdir(exist_ok=True)
        copy(ROOT / part, house / part)
    migrate(f"sqlite:///{data / 'console.db'}")
    for addition in ADDITIONS.values():
        _add(house, addition)
    env = {name: value for name, value in os.environ.items() if not name.startswith("INFERACT_")}
    env |= {"PYTHONPATH": str(house), "INFERACT_DATA_DIR": str(data), "INFERACT_SEAM_WORDS": "hello", "COLUMNS": "200"}
    command = [sys.executable, str(SEAMS / "meet.py"), str(house / "streamlit_app.py")]
    done = subprocess.run(command, cwd=house, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("kind", "where", "words"),
    [
        ("a detector", "detectors", "Seam detector"),
        ("a detector", "judged", "seam-detector  0.500      2 "),
        ("an importer", "imported", "log.seam (seam-log): 2 read, 2 imported"),
        ("an environment and an Actor", "played", "Started live."),
        ("a simulated reviewer and an order of inspection", "reviewed", "seam-reviewer inspected 1 of 1"),
        ("an export format", "exported", "1 row of decisions in decisions.seam."),
        ("a layout of another tool", "laid_out", "tasks in tasks.txt (Seam tasks)."),
        ("a prompt", "prompts", "seam/generic/judge"),
        ("a factor of user studies", "shown", "condition  seam factor"),
        ("an Actor in a study", "acted", "seam-actor-study"),
        ("an Actor in a study", "stands", "actor: seam-actor"),
        ("a questionnaire", "stands", "- seam-scale"),
        ("a recruiting platform", "stands", "platform: seam"),
        ("an analysis of studies", "results", "seam  4711"),
        ("a preset of user studies", "presets", "seam             Does a seam hold?"),
    ],
)
def test_what_was_added_is_met_at_the_command_line(met, kind, where, words):
    code, said = met[where]
    assert code == 0, said
    assert words in said


def test_an_added_agent_learns_from_an_added_reviewer_in_an_added_world(met):
    assert met["file"].startswith("seam: 1 row(s)")
    _, said = met["status"]
    assert [trial["succeeded"] for trial in json.loads(said)["trials"]] == [0, 1]


def test_an_added_analysis_and_its_chart_are_in_the_report(met):
    for words in ("What the seam shows", "The one row", "The seam holds.", "The seam in one bar"):
        assert words in met["html"]


def test_an_added_page_an_added_column_and_an_added_setting_are_there(met):
    assert met["page"] == ["Seam page"]
    assert "seam_note" in met["columns"]
    assert met["setting"] == "hello"


def test_an_added_actor_is_offered_to_studies_with_what_is_said_of_it(met):
    assert "seam-actor: pulls the lever" in met["actors"]


def test_an_added_error_is_one_sentence_and_an_exit_code(met):
    assert met["refused"] == [1, "The seam is closed; open it.\n"]


def _rows():
    """(what, the places and names in code that the row speaks of) of CONTRIBUTING's table `To add ...`."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## To add")[1].split("\n## ")[0]
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] not in ("what", "---"):
            yield cells[0], re.findall(r"`([^`]+)`", " ".join(cells[1:]))


ROWS = dict(_rows())


def test_the_table_of_what_can_be_added_is_the_one_that_is_proven():
    assert set(ROWS) == set(ADDITIONS)


@pytest.mark.parametrize("what", ROWS)
def test_the_places_of_the_table_are_there(what):
    for name in ROWS[what]:
        if "/" in name or name.endswith(".py"):
            place = ROOT / re.split(r"[<{]|\bx\.|NNNN", name)[0]
            assert place.exists(), name
    registries = [name for name in ROWS[what] if name.isupper()]
    texts = [(ROOT / name).read_text() for name in ROWS[what] if (ROOT / name).is_file()]
    for name in registries:
        assert any(re.search(rf"^{name}\b.*= ", text, re.MULTILINE) for text in texts), name


@pytest.mark.parametrize("kind", ADDITIONS)
def test_the_table_names_the_places_that_were_added_to(kind):
    addition, places = ADDITIONS[kind], " ".join(ROWS[kind])
    if addition.place and kind != "a prompt":
        assert addition.place.replace("seam.", "x.").replace("9999_x.py", "") in places
    assert addition.registry in places or kind == "a table or column"


@pytest.mark.parametrize(
    ("shelf", "kind", "registry"),
    [
        ("detection/detectors", Detector, DETECTORS),
        ("environments", Environment, ENVIRONMENTS),
        ("runs/importers", Importer, IMPORTERS),
        ("actors", Actor, ACTORS),
        ("review/simulated", Reviewer, REVIEWERS),
        ("studies/analysis", Analysis, ANALYSES),
    ],
)
def test_every_file_of_a_shelf_is_registered(shelf, kind, registry):
    for file, value in _constants(shelf, kind):
        assert value in registry.values(), f"{shelf}/{file} defines one that has no line in its registry"
    assert all(name == getattr(value, "name", name) for name, value in registry.items())


def _constants(shelf, kind):
    """(module, constant) of every `kind` that a file or folder of the shelf defines."""
    for path in sorted((ROOT / "console" / shelf).iterdir()):
        if path.name.startswith("_") or (path.is_file() and path.suffix != ".py"):
            continue
        if path.is_dir() and not (path / "__init__.py").exists():
            continue
        module = import_module(f"console.{shelf}.{path.stem}".replace("/", "."))
        for value in vars(module).values():
            if isinstance(value, kind):
                yield path.stem, value


def test_every_chart_is_drawn_by_a_function_of_its_name():
    assert all(chart.__name__ == name.replace("-", "_") for name, chart in CHARTS.items())


def test_every_page_is_in_the_menu():
    app_text = (ROOT / "streamlit_app.py").read_text()
    pages = [path.name for path in (ROOT / "console/web/pages").glob("*.py") if path.stem != "__init__"]
    assert not [name for name in pages if f"console/web/pages/{name}" not in app_text]


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
