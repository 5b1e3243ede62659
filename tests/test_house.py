"""The house rules that a machine can hold: style, types, import directions, how large the house and its rooms may be.

`pytest tests/test_house.py -k counts` prints what the counts are today beside their limits.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("console", "storage", "prompts")
CLIENT = ROOT / "console" / "client"
AT_THE_TOP = {
    "console",
    "storage",
    "prompts",
    "tests",
    "streamlit_app.py",
    "pyproject.toml",
    "README.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
}

# What the house has reached, with a little air: move a limit where there is a reason for it.
LIMITS = {
    "packages of the console": 15,
    "loose modules of the console": 4,
    "layers of the rooms": 8,
    "lines of Python in console and storage": 103_327,
    "lines of the longest file": 400,
    "lines of the longest function": 50,
    # Commands and Gate, whose options users write, may have more.
    "parameters of a function": 10,
    # A table and the value that is read from it; the table is always written `tables.X`.
    "names that two public classes have": 3,
    "of these, imported without their package": 0,
    "names that two modules of a room have": 0,
    "small modules with a single importer": 7,
    "import circles": 0,
}
SMALL = 60

# An entry of a shelf may be called what an entry of another shelf is.
SHELVES = (
    "console.actors",
    "console.analysis.charts",
    "console.detection.detectors",
    "console.environments",
    "console.review.simulated",
    "console.runs.export",
    "console.runs.export.formats",
    "console.runs.importers",
    "console.studies.analysis",
)


def _run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["mypy"], id="mypy"),
        pytest.param(["ruff", "check", "."], id="ruff check"),
        pytest.param(["ruff", "format", "--check", "."], id="ruff format"),
        pytest.param(["lint-imports", "--no-cache"], id="import directions"),
    ],
)
def test_checker_is_content(command):
    tool = Path(sys.executable).with_name(command[0])
    done = _run(str(tool), *command[1:])
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-2_000:]


def _name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _sources():
    """The text of every module of the console and the storage, by its file."""
    files = [path for package in ("console", "storage") for path in sorted((ROOT / package).rglob("*.py"))]
    return {path: path.read_text() for path in files}


@cache
def _bodies():
    """The top-level statements of every module."""
    return {path: ast.parse(text).body for path, text in _sources().items()}


@cache
def _in_the_house():
    """The modules without those of the client, a distribution of its own that nothing of the console imports."""
    return {path: text for path, text in _sources().items() if not path.is_relative_to(CLIENT)}


@cache
def _statements():
    """Every statement as (its file, the name of what it stands in, its node)."""
    found = []
    for path, body in _bodies().items():
        left = [(None, node) for node in body]
        while left:
            parent, node = left.pop()
            found.append((path, parent, node))
            left += [(getattr(node, "name", None), child) for child in _blocks(node)]
    return found


def _blocks(node):
    """The statements directly below a statement: of its blocks, its handlers and its cases."""
    for block in ("body", "orelse", "finalbody"):
        yield from getattr(node, block, ())
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from part.body


@cache
def _functions():
    """Every function as (module, name of what it stands in, node)."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(_name(path), parent, node) for path, parent, node in _statements() if isinstance(node, functions)]


@cache
def _imports():
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def _packages():
    return sorted(path.parent.name for path in (ROOT / "console").glob("*/__init__.py"))


def _loose_modules():
    return sorted(path.stem for path in (ROOT / "console").glob("*.py") if path.stem != "__init__")


def _layers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return [layer for contract in contracts if contract["type"] == "layers" for layer in contract["layers"]]


def _lines():
    return sum(len(text.splitlines()) for text in _sources().values())


def _longest_file():
    return max((len(text.splitlines()), _name(path)) for path, text in _sources().items())


def _longest_function():
    return max((node.end_lineno - node.lineno + 1, f"{module}.{node.name}") for module, _, node in _functions())


def _most_parameters():
    """The most parameters that a function has, apart from commands and Gate."""
    found = []
    for module, parent, node in _functions():
        is_command = module.startswith("console.cli.") and not node.name.startswith("_")
        if is_command or parent == "Gate":
            continue
        given = node.args
        named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        found.append((len(named), f"{module}.{node.name}"))
    return max(found)


def _classes_named_twice():
    names = Counter(
        node.name
        for path, body in _bodies().items()
        for node in body
        if path in _in_the_house() and isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sorted(name for name, times in names.items() if times > 1)


def _twins_without_their_package():
    """Where a name that two classes have is imported from the storage, so that its use does not say which it is."""
    twins = set(_classes_named_twice())
    return [
        f"{_name(path)}: {alias.name} of {node.module}"
        for path, _, node in _statements()
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("storage")
        if not path.is_relative_to(ROOT / "storage" / "tables")
        for alias in node.names
        if alias.name in twins
    ]


def _on_a_shelf(name):
    return name.rpartition(".")[0] in SHELVES or any(name.startswith(f"{shelf}.") for shelf in SHELVES)


def _modules_named_twice():
    rooms = defaultdict(list)
    for path in _in_the_house():
        name = _name(path)
        if path.name != "__init__.py" and name.count(".") > 1 and not _on_a_shelf(name):
            rooms[tuple(name.split(".")[:2]), path.stem].append(name)
    return [" and ".join(names) for names in rooms.values() if len(names) > 1]


def _small_modules():
    """Small modules that a single module imports, entries of shelves too."""
    graph, small = _imports(), []
    for path, text in _in_the_house().items():
        name = _name(path)
        if path.stem.startswith("__") or "migrations" in path.parts or len(text.splitlines()) >= SMALL:
            continue
        if len(graph.find_modules_that_directly_import(name) | _of_the_app(name)) == 1:
            small.append(name)
    return small


def _of_the_app(name):
    text = (ROOT / "streamlit_app.py").read_text()
    return {"streamlit_app"} if f"from {name} import" in text else set()


def _circles():
    """A circle of imports among the modules, where there is one."""
    graph = _imports()
    modules = set(graph.modules)
    try:
        TopologicalSorter({name: graph.find_modules_directly_imported_by(name) & modules for name in modules}).prepare()
    except CycleError as circle:
        return [" -> ".join(circle.args[1])]
    return []


COUNTS = dict(
    zip(
        LIMITS,
        (
            _packages,
            _loose_modules,
            _layers,
            _lines,
            _longest_file,
            _longest_function,
            _most_parameters,
            _classes_named_twice,
            _twins_without_their_package,
            _modules_named_twice,
            _small_modules,
            _circles,
        ),
        strict=True,
    )
)


@pytest.mark.parametrize("what", LIMITS)
def test_counts_keep_their_limits(what, record_property):
    found = COUNTS[what]()
    count = found if isinstance(found, int) else found[0] if isinstance(found, tuple) else len(found)
    record_property("count", f"{count:>7,} of {LIMITS[what]:>6,}  {what}")
    if count > LIMITS[what]:
        pytest.fail(
            "\n".join([f"{count}, not {LIMITS[what]}: {what}", *(found if isinstance(found, list) else [str(found)])])
        )


def test_one_condition_says_that_a_decision_is_current():
    # The others export the column itself.
    allowed = {"console.runs", "console.runs.export.answers", "console.runs.export.kinds"}
    places = {_name(path) for path, text in _sources().items() if re.search(r"\.superseded\b|NOT superseded", text)}
    assert places - allowed == {"storage.tables.queue"}


def test_every_test_that_the_security_document_names_exists():
    text = (ROOT / "SECURITY.md").read_text()
    folders = {"API": "tests/console/server/api", "Policy": "tests/console/gate/policy", "Storage": "tests/storage"}
    rooms = rf"({'|'.join(folders)}): `(\w+)`"
    text = re.sub(rooms, lambda found: f"`{folders[found[1]]}/test_{found[2]}.py`", text)
    named = dict.fromkeys(re.findall(r"tests/[\w/]+/\w+\.(?:py|yaml)", text))
    by_name = re.findall(r"`(tests/[\w/]+\.py)`: ((?:`test_\w+`(?:, )?)+)", text)
    tests = [(path, test) for path, listed in by_name for test in re.findall(r"test_\w+", listed)]
    assert len(named) > 30
    assert len(tests) > 40
    assert [name for name in sorted(named) if "NAME" not in name and not (ROOT / name).exists()] == []
    assert [at for at in tests if f"\ndef {at[1]}(" not in (ROOT / at[0]).read_text()] == []
    assert text.count("`test_") == len(tests)


def test_nothing_else_stands_at_the_top_level():
    tracked = _run("git", "ls-files").stdout.split("\n")
    if not any(tracked):
        pytest.skip("this is no git checkout")
    strays = {line.split("/")[0] for line in tracked if line} - AT_THE_TOP
    assert not {name for name in strays if not name.startswith(".")}


def test_no_machine_path_is_in_the_project():
    machines = [f"/{folder}/" for folder in ("work", "farm")]
    for package in (*PACKAGES, "tests", ".ci"):
        for path in (ROOT / package).rglob("*"):
            if path.suffix in {".py", ".txt", ".toml", ".css", ".js", ".md"}:
                text = path.read_text()
                assert not [machine for machine in machines if machine in text], path


@pytest.mark.parametrize("content", [b"\x1f\x8b"])
def test_bytes_of_a_parameter_stand_in_no_name_of_a_test(request, content):
    assert request.node.name.endswith("[content]")
