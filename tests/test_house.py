"""The house rules that a machine can hold: style, types, import directions, file lengths, what may stand at the top."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("console", "storage", "prompts")
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


def _run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "check", "."], id="ruff check"),
        pytest.param(["ruff", "format", "--check", "."], id="ruff format"),
        pytest.param(["mypy"], id="mypy"),
        pytest.param(["lint-imports", "--no-cache"], id="import directions"),
    ],
)
def test_checker_is_content(command):
    tool = Path(sys.executable).with_name(command[0])
    done = _run(str(tool), *command[1:])
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-2_000:]


def test_no_file_is_longer_than_a_reader_can_hold():
    long = [
        f"{path.relative_to(ROOT)}: {lines} lines"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 300 and path.name != "tables.py"
    ]
    assert not long


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
