"""The files that the operator's chapter shows: what each program reads them with finds no fault, and commands exist."""

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
CHAPTER = (ROOT / "console" / "web" / "handbook" / "operator.md").read_text()
COMMANDS = json.loads((ROOT / "tests" / "contract" / "commands.json").read_text())


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", CHAPTER, re.MULTILINE | re.DOTALL)


def is_command(words):
    name, *options = words
    known = COMMANDS[name]["options"]
    return all(option in known for option in options if option.startswith("--"))


@pytest.mark.parametrize("unit", blocks("ini"), ids=["console", "worker"])
def test_a_unit_of_systemd_is_valid_and_starts_a_command(tmp_path, unit):
    read = configparser.ConfigParser(strict=True, interpolation=None, delimiters="=")
    read.optionxform = str
    read.read_string(unit)
    assert read["Service"]["Restart"] == "always"
    assert is_command(read["Service"]["ExecStart"].split()[1:])
    if (verify := shutil.which("systemd-analyze")) is None:
        return
    path = tmp_path / re.search(r"/(inferact[\w@-]*\.service)", unit)[1]
    # Neither the program nor the settings nor the user are on this machine.
    known = unit.replace("/opt/inferact/bin/inferact", "/bin/true").replace("User=inferact", "User=root")
    path.write_text(known)
    shown = subprocess.run([verify, "verify", path], capture_output=True, text=True, check=False)
    assert [line for line in shown.stderr.splitlines() if path.name in line] == []


def test_the_compose_file_names_services_volumes_and_commands_that_exist():
    (text,) = [block for block in blocks("yaml") if "services:" in block]
    found = yaml.safe_load(text)
    assert {*found["services"]} == {"database", "console", "worker"}
    assert is_command(found["services"]["worker"]["command"][1:])
    for service in found["services"].values():
        assert {*service.get("depends_on", {})} <= {*found["services"]}
        assert {volume.partition(":")[0] for volume in service["volumes"]} <= {*found["volumes"]}


def test_the_image_starts_the_console_as_a_user_of_its_own():
    (text,) = blocks("dockerfile")
    lines = dict(line.split(" ", 1) for line in text.splitlines() if not line.startswith(" "))
    assert lines["USER"] == "inferact"
    assert is_command(json.loads(lines["CMD"])[1:])


def test_nginx_reads_its_file(tmp_path):
    text, with_tls = blocks("nginx")
    assert [part.count("{") for part in (text, with_tls)] == [part.count("}") for part in (text, with_tls)]
    if (nginx := shutil.which("nginx")) is None:
        pytest.skip("nginx is not on this machine")
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid; events {{}} http {{ access_log off; {text} }}")
    shown = subprocess.run(
        [nginx, "-t", "-p", tmp_path, "-c", "nginx.conf"], capture_output=True, text=True, check=False
    )
    assert "syntax is ok" in shown.stderr
