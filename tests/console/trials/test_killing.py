"""The engine is killed at random points, started again, and in the end nothing is amiss."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.at_length
@pytest.mark.parametrize("points", [2, pytest.param(10, marks=pytest.mark.at_length)])
def test_a_killed_engine_neither_repeats_nor_loses_nor_lets_anything_run_unseen(tmp_path, points):
    command = [sys.executable, "-m", "tests.console.trials.killing", str(tmp_path), "--points", str(points)]
    command += ["--seed", "7"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert (found["kills"], found["runs_open"]) == (points, 0)
    assert found["executions"] > 0
    assert (found["without_approval"], found["twice"], found["lost_steps"], found["not_ended"]) == (0, 0, 0, 0)
    assert found["problems"] == 0


@pytest.mark.at_length
def test_an_engine_killed_in_the_embedded_worlds_ends_as_an_undisturbed_one(tmp_path):
    command = [sys.executable, "-m", "tests.console.trials.killing_embedded", str(tmp_path), "--points", "15"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert (found["unfinished"], found["same"]) == (0, found["trials"])
    assert found["undone"] >= found["kills"] > 5
