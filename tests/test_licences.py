"""What the console needs to run may be used in an Apache-2.0 product."""

import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_nothing_that_is_installed_with_the_console_is_under_the_gpl():
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    licences = {name: terms(name) for name in (re.split(r"[\s<>=!~\[;]", line)[0] for line in needed)}
    assert [name for name, told in licences.items() if "GPL" in told or "General Public" in told] == []
    assert "GPL" in terms("krippendorff")  # only the tests compare with it


def terms(name):
    about = metadata(name)
    stated = [about.get("License-Expression"), *(about.get_all("Classifier") or [])]
    return " ".join(line for line in stated if line)
