"""The wheel, installed away from this checkout, serves the same console with the same settings."""

import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from console.server import serve
from console.settings import LANGUAGES

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel's files, without the start of pip, which lays the same files down."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_every_language(installed):
    for code in LANGUAGES.keys() - {"en"}:
        assert (installed / "console" / "locale" / code / "LC_MESSAGES" / "console.mo").stat().st_size > 10_000


def _environment(installed, tmp_path):
    return {**os.environ, "PYTHONPATH": str(installed), "INFERACT_DATA_DIR": str(tmp_path / "data")}


@pytest.mark.at_length
def test_the_installed_wheel_serves_from_anywhere(installed, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = f"import console.cli; print(console.__file__, flush=True); console.cli.main(['serve', '--port', '{port}'])"
    server = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=_environment(installed, tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        _await(f"http://127.0.0.1:{port}/_stcore/health", server)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in", timeout=5) as page:
            assert b"InferAct Console" in page.read()
    finally:
        server.send_signal(signal.SIGINT)
        said, _ = server.communicate(timeout=20)
    lines = said.splitlines()
    assert lines[0].startswith(str(installed))
    assert f"Console     http://127.0.0.1:{port}/" in lines
    assert any(line.startswith(f"Your link   http://127.0.0.1:{port}/invite/") for line in lines)
    assert f"sqlite:///{tmp_path / 'data' / 'console.db'}" in said
    assert "Traceback" not in said


def test_the_wheel_holds_what_is_not_python(installed):
    for name in (
        "streamlit_app.py",
        "console/streamlit_config.toml",
        "console/web/handbook/reviewer.md",
        "console/web/widgets/css/page.css",
        "console/web/widgets/scripts/hotkeys.js",
        "console/server/sign_in/templates/invite.html",
        "storage/migrations/versions/0013_baseline.sql",
    ):
        assert (installed / name).exists(), name
    assert not (installed / "tests").exists()


def _locked():
    """The requirements of the lock and its hashes, by the name of the package."""
    found = {}
    for entry in (ROOT / ".ci" / "requirements.lock").read_text().replace("\\\n", "").splitlines():
        stated, *hashes = entry.split("--hash=sha256:")
        found.setdefault(canonicalize_name(Requirement(stated).name), []).append((Requirement(stated), hashes))
    return found


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_lock_holds_each_requirement_in_a_version_that_fits(version):
    project, locked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"], _locked()
    here = {"python_version": version, "python_full_version": f"{version}.0", "sys_platform": "linux"}
    extras = [
        one
        for extra in ("postgres", "oidc", "notices", "otlp", "traces")
        for one in project["optional-dependencies"][extra]
    ]
    for wanted in map(Requirement, [*project["dependencies"], *extras]):
        held = [one for one, _ in locked[canonicalize_name(wanted.name)] if not one.marker or one.marker.evaluate(here)]
        (specifier,) = (one for found in held for one in found.specifier)
        assert specifier.operator == "=="
        assert wanted.specifier.contains(specifier.version), f"{wanted} is not met by {held}. Run .ci/lock."


def test_the_lock_has_hashes_for_all_and_names_no_host():
    assert all(len(hashes) > 0 for entries in _locked().values() for _, hashes in entries)
    assert "://" not in (ROOT / ".ci" / "requirements.lock").read_text()


def test_every_setting_of_the_config_is_passed_to_streamlit():
    flags = serve.arguments("127.0.0.1", 8501)
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert config["runner"]["postScriptGC"] is False
    for flag in (
        "--runner.postScriptGC=false",
        "--browser.gatherUsageStats=false",
        "--server.address=127.0.0.1",
        "--server.maxUploadSize=200",
        "--client.showErrorDetails=none",
    ):
        assert flag in flags


def _await(url, server):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the installed console did not come up")
