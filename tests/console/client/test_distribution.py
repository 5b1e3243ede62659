"""The client as a distribution of its own, beside the console's wheel, and in folders with names like the console's."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
WHERE = "import inferact_client; print(inferact_client.__file__)"


def run(*command, cwd, **more):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("INFERACT_", "PYTHON"))} | more
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=180)


def wheel_of(folder, into):
    built = run(*PIP, "wheel", str(folder), "--no-deps", "--no-build-isolation", "-w", str(into), cwd=into)
    assert built.returncode == 0, built.stderr
    (wheel,) = into.glob("*.whl")
    return wheel


@pytest.fixture
def strange_folder(tmp_path):
    """A user's folder whose files have the names of the console's packages."""
    folder = tmp_path / "mine"
    (folder / "prompts").mkdir(parents=True)
    for name in ("console.py", "storage.py", "prompts/__init__.py"):
        (folder / name).write_text("raise RuntimeError('a file of the user was imported')\n")
    return folder


@pytest.mark.at_length
def test_the_client_alone_is_small_requires_httpx_and_ignores_files_of_the_user(tmp_path, strange_folder):
    wheel = wheel_of(ROOT / "console" / "client", tmp_path)
    assert wheel.stat().st_size < 200_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if name.endswith("METADATA")]
        lines = archive.read(metadata).decode().splitlines()
        archive.extractall(tmp_path / "site")
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == {"inferact_client"}
    needed = [line for line in lines if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert needed == ["Requires-Dist: httpx>=0.27"]
    code = "from inferact_client import Gate; print(Gate('r', url='http://127.0.0.1:1', token='t', deadline_s=.2)"
    code += ".check('t', [], 'a').reason)"
    asked = run(sys.executable, "-c", code, cwd=strange_folder, PYTHONPATH=str(tmp_path / "site"))
    assert (asked.stdout, asked.stderr) == ("unreachable\n", "")
    alone = "from inferact_client import Gate; Gate('r')"
    named = run(sys.executable, "-c", alone, cwd=strange_folder, PYTHONPATH=f"{tmp_path / 'site'}{os.pathsep}{ROOT}")
    assert f"{strange_folder / 'console.py'} hides the package console" in named.stderr


def test_both_distributions_name_the_same_version_and_python():
    own, console = (
        tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for folder in (ROOT / "console" / "client", ROOT)
    )
    assert own["version"] == console["version"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The two wheels: the console's and the client's."""
    folders = [tmp_path_factory.mktemp(name) for name in ("console", "client")]
    return [wheel_of(source, into) for source, into in zip((ROOT, ROOT / "console" / "client"), folders, strict=True)]


@pytest.mark.at_length
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["console first", "client first"])
@pytest.mark.parametrize("leaves", [0, 1], ids=["console leaves", "client leaves"])
def test_both_wheels_live_in_one_environment_in_every_order(wheels, tmp_path, strange_folder, order, leaves):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True, timeout=60)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    # What the wheels require comes from this environment, whose own path files are not read.
    (site / "required.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    pip = [*PIP, "--python", str(python)]
    for which in order:
        assert run(*pip, "install", "--no-deps", str(wheels[which]), cwd=tmp_path).returncode == 0
    both = run(str(python), "-c", WHERE, cwd=strange_folder)
    assert both.stdout.startswith(str(site / "inferact_client")), both.stderr
    served = "import sys; sys.path.pop(0); import console.gate, inferact_client; print(inferact_client.Gate.__module__)"
    assert run(str(python), "-c", served, cwd=tmp_path).stdout == "inferact_client.gate\n"
    name = ("inferact-console", "inferact-client")[leaves]
    assert run(*pip, "uninstall", "-y", name, cwd=tmp_path).returncode == 0
    left = run(str(python), "-c", WHERE, cwd=strange_folder)
    expected = site / "inferact_client" if leaves == 0 else site / "console" / "client" / "inferact_client"
    assert left.stdout.startswith(str(expected)), left.stderr
