"""Plug-ins: packages of other people, installed by pip, extend six registries; a broken one is named and left out."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from console.errors import BadInput, Unknown
from console.settings import Registry

ROOT = Path(__file__).resolve().parents[1]
SEAMS = Path(__file__).parent / "seams"
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{package}"
version = "1.2.3"
"""
LEVER = {
    "inferact.detectors": {"seam-detector": "detector:ENTRY"},
    "inferact.importers": {"seam-log": "importer:ENTRY"},
    "inferact.environments": {"seam-world": "environment:ENTRY"},
    "inferact.actors": {"seam-actor": "actor:ENTRY"},
    "inferact.layouts": {"seam-layout": "layout:ENTRY"},
    "inferact.charts": {"seam-chart": "chart:ENTRY"},
}
ODD = {
    "inferact.detectors": {
        "cracked": "cracked:ENTRY",
        "rules": "detector:ENTRY",
        "seam-detector": "detector:ENTRY",
        "Seam Detector": "detector:ENTRY",
        "another-name": "detector:ENTRY",
    },
    "inferact.actors": {"no-actor": "detector:ENTRY"},
    "inferact.charts": {"no-chart": "detector:ENTRY"},
    "inferact.detector": {"misplaced": "detector:ENTRY"},
}
COMMANDS = {
    "imported": "trajectory import log.seam --run levers",
    "judged": "detect levers --method seam-detector,rules",
    "cracked": "detect levers --method cracked",
    "detectors": "detector list",
    "played": "run start --name live --actor seam-actor --env seam-world --tasks 1 --trials 1 --detector seam-detector",
    "laid_out": "export seam-layout --run live --out tasks.txt",
    "drawn": "chart seam-chart table.csv --out bar.html",
    "unknown_chart": "chart nothing table.csv --out bar.html",
    "wrong_table": "chart roc-curve table.csv --out bar.html",
    "doctor": "doctor",
    "doctor_json": "doctor --json",
}
USE = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, os.environ["SEAMS"])
from meet import run

Path("log.seam").write_text("SEAM\\none\\ntwo\\n")
Path("table.csv").write_text("name,value\\na,1\\n")
helps = [run(command) for command in ("--help", "detect --help", "run start --help", "export --help")]
early = sorted(name for name in sys.modules if name.startswith("inferact_"))
print(json.dumps({"helps": helps, "early": early} | {name: run(line) for name, line in json.load(sys.stdin).items()}))
"""


def write_package(folder, package, groups):
    """Write a package with these entry points, whose modules are copies of those in tests/seams."""
    module = folder / package.replace("-", "_")
    module.mkdir(parents=True)
    (module / "__init__.py").touch()
    for name in ("detector", "environment", "actor", "layout", "chart"):
        shutil.copy(SEAMS / f"{name}.py", module)
    importer = (SEAMS / "importer.py").read_text()
    (module / "importer.py").write_text(importer.replace("SeamRefused", "Refused"))
    (module / "cracked.py").write_text("import a_module_that_does_not_exist")
    project = PROJECT.format(package=package)
    for group, points in groups.items():
        project += f'\n[project.entry-points."{group}"]\n'
        project += "".join(f'"{name}" = "{module.name}.{place}"\n' for name, place in points.items())
    (folder / "pyproject.toml").write_text(project)
    return str(folder)


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """What a person meets who installed one sound and one odd package: the results of COMMANDS."""
    folder = tmp_path_factory.mktemp("plugins")
    packages = [
        write_package(folder / "lever", "inferact-lever", LEVER),
        write_package(folder / "odd", "inferact-odd", ODD),
    ]
    site, data = folder / "site", folder / "data"
    install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--target", str(site)]
    install += ["--no-index", "--no-deps", "--no-build-isolation", *packages]
    done = subprocess.run(install, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    data.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("INFERACT_", "OPENAI_"))}
    env |= {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}", "INFERACT_DATA_DIR": str(data), "COLUMNS": "400"}
    command = [sys.executable, "-c", USE]
    done = subprocess.run(
        command,
        cwd=data,
        env=env | {"SEAMS": str(SEAMS)},
        input=json.dumps(COMMANDS),
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout) | {"chart": (data / "bar.html").read_text()}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("imported", "log.seam (seam-log): 2 read, 2 imported"),
        ("judged", "seam-detector  0.500      2 "),
        ("detectors", "Seam detector"),
        ("played", "Started live."),
        ("laid_out", "tasks in tasks.txt (Seam tasks)."),
        ("drawn", "The chart seam-chart is in bar.html."),
    ],
)
def test_a_plugin_is_used_by_command(used, name, words):
    code, said = used[name]
    assert code == 0, said
    assert words in said


def test_the_chart_of_a_plugin_is_drawn(used):
    assert "The seam in one bar" in used["chart"]


def test_a_chart_is_refused_with_the_charts_that_exist_or_the_missing_column(used):
    code, said = used["unknown_chart"]
    assert code == 2
    assert "No chart named 'nothing'." in said
    assert "seam-chart" in said
    assert used["wrong_table"] == [
        2,
        "table.csv has no column 'detector', which the chart roc-curve needs. Add the column and draw again.\n",
    ]


def test_doctor_lists_every_plugin_with_its_state(used):
    plugins = json.loads(used["doctor_json"][1].splitlines()[-1])["plugins"]
    assert {(one["package"], one["version"]) for one in plugins} == {
        ("inferact-lever", "1.2.3"),
        ("inferact-odd", "1.2.3"),
    }
    lever = {(one["group"], one["name"]): one["state"] for one in plugins if one["package"] == "inferact-lever"}
    assert lever == {(group, name): "loaded" for group, points in LEVER.items() for name in points}
    odd = {one["name"]: one["state"] for one in plugins if one["package"] == "inferact-odd"}
    assert odd.pop("misplaced").startswith("Unknown group: use one of inferact.detectors, inferact.importers, ")
    assert odd == {
        "Seam Detector": "'Seam Detector' is not a valid name. Use lower-case letters, digits and single hyphens.",
        "another-name": "The entry 'seam-detector' has the entry point name 'another-name'. Use one name.",
        "cracked": "ModuleNotFoundError: No module named 'a_module_that_does_not_exist'",
        "no-actor": "The entry is of type Detector. Give console.actors.move.Actor.",
        "no-chart": "The entry is of type Detector. Give a callable.",
        "rules": "The name 'rules' is built in. Choose another name.",
        "seam-detector": "The name 'seam-detector' is taken by another plug-in. Choose another name.",
    }
    assert list(plugins[0]) == ["name", "group", "package", "version", "state"]


def test_doctor_shows_plugins_to_a_person(used):
    code, said = used["doctor"]
    assert code == 0, said
    assert "Plug-ins of other packages:" in said
    assert "ModuleNotFoundError: No module named 'a_module_that_does_not_exist'" in said


def test_a_broken_plugin_is_named_where_it_is_asked_for(used):
    code, said = used["cracked"]
    assert code == 2
    assert "The detector 'cracked' of inferact-odd was left out. ModuleNotFoundError: " in said


def test_a_plugin_cannot_replace_a_built_in_detector(used):
    assert "Seam detector" not in next(line for line in used["detectors"][1].splitlines() if line.startswith("rules "))


def test_no_plugin_is_loaded_for_help(used):
    assert [code for code, _ in used["helps"]] == [0] * 4
    assert used["early"] == []


def test_built_in_entries_are_validated_too():
    with pytest.raises(BadInput, match=r"of type str\. Give builtins\.int"):
        Registry("number", "inferact.numbers", int, {"one": "1"})
    numbers = Registry("number", "inferact.numbers", int, {"one": 1})
    with pytest.raises(BadInput, match="The name 'one' is built in"):
        numbers.register("one", 2)
    with pytest.raises(Unknown, match=r"No number named 'two'\. Known: any, one"):
        numbers.pick("two", also=["any"])
