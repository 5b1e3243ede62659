"""`inferact policy`: set, show, check, list and try a policy; and the gates of an earlier version."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from console.cli import run_command

TAU = Path(__file__).resolve().parents[4] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.even.json"
EARLIER = Path(__file__).resolve().parents[2] / "earlier" / "console.sql"
POLICY = "default: ask\nrules:\n- {tool: [get_*, search_*, list_*, think, calculate], then: allow}\n"


@pytest.fixture
def inferact(capsys):
    """A function that runs a command and returns its code, its JSON (or text) and what it complained of."""

    def run(*arguments, as_json=True):
        code = run_command([*arguments, *(["--json"] if as_json else [])])
        out, err = capsys.readouterr()
        return code, json.loads(out) if as_json and out.startswith(("{", "[")) else out, err

    return run


def test_policy_is_set_shown_and_listed_with_its_versions(inferact, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    assert inferact("policy", "set", "bot", str(file))[1]["version"] == 2
    shown = inferact("policy", "show", "bot")[1]
    assert (shown["version"], shown["text"], shown["default"]) == (2, POLICY, "ask")
    assert [(row["run"], row["version"]) for row in inferact("policy", "list")[1]] == [("bot", 2)]
    assert inferact("policy", "set", "*", str(file))[1]["version"] == 1
    code, _, said = inferact("run", "critical", "bot", "--add", "pay")
    assert code != 0
    assert "its policy decides" in said


def test_policy_that_cannot_be_meant_is_named_with_its_line(inferact, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("default: ask\nrulez: []\n")
    code, _, said = inferact("policy", "check", str(file))
    assert (code, "Line 2: 'rulez' is no field" in said) == (2, True)


def test_gate_of_before_has_its_patterns_as_rules_and_a_last_one_that_allows(inferact, data_dir):
    data_dir.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(data_dir / "console.db")
    connection.executescript(EARLIER.read_text())
    connection.close()
    shown = inferact("policy", "show", "bot")[1]
    assert shown["author"] == "migration"
    assert "then: judge" in shown["text"]
    assert shown["text"].splitlines()[-2].strip() == "then: allow"


@pytest.mark.skipif(not TAU.exists(), reason="the shared tau-bench logs are not here")
def test_policy_is_tried_on_a_recorded_log(inferact, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    shutil.copy(TAU, tmp_path / TAU.name)
    assert inferact("trajectory", "import", str(tmp_path / TAU.name), "--run", "tau")[0] == 0
    found = inferact("policy", "test", str(file), "--run", "tau")[1]
    assert found["checks"] == found["allowed"] + found["judged"] + found["asked"] + found["denied"] > 100
    assert found["allowed"] > 0
    assert found["asked"] > 0
    said = inferact("policy", "test", str(file), "--run", "tau", as_json=False)[1]
    assert said.startswith(f"would have asked {found['asked']} of {found['checks']} (today {found['asked_today']})")
