"""`inferact demo`: what a new user finds after one command."""

import json

import pytest

from console.cli import run_command


@pytest.fixture
def demo(capsys):
    """A function that fills the demo and gives what it printed."""

    def run(*arguments):
        assert run_command(["demo", "--no-serve", *arguments]) == 0
        return capsys.readouterr().out

    return run


def test_the_demo_really_runs_the_three_environments(demo, capsys):
    (first,) = json.loads(demo("--json"))["trials"]
    assert first["tasks"] == 80
    assert first["running"] == first["error"] == 0
    assert all(first[outcome] > 5 for outcome in ("succeeded", "failed", "halted", "paused"))
    assert first["budget"]["cap"] == -(-(80 - first["halted"]) // 2)
    run_command(["review", "list", "--run", "demo", "--json"])
    items = json.loads(capsys.readouterr().out)
    assert len(items) == first["flagged"] + first["halted"]
    run_command(["trajectory", "list", "--run", "demo", "--json"])
    rows = json.loads(capsys.readouterr().out)
    counts = {name: sum(row["environment"] == name for row in rows) for name in ("webshop", "hotpotqa", "alfworld")}
    assert counts == {"webshop": 40, "hotpotqa": 20, "alfworld": 20}


@pytest.mark.at_length
def test_a_second_demo_uses_what_is_there_and_fresh_keeps_it(demo):
    first = demo()
    assert "without a model or a network" in first
    assert "inferact run next demo" in first
    again = demo()
    assert "already exists" in again
    assert "Run demo-2 ran 80 tasks" in demo("--fresh")
    assert "Run demo-2 already exists" in demo()
