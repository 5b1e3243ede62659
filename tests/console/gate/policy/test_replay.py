"""A policy tried on what a run recorded: counts in all, by rule and by tool, and today's."""

import json
from dataclasses import asdict, replace

import pytest

from console import runs
from console.cli import run_command
from console.database import reading
from console.gate.checks import Wait
from console.gate.policy import read_policy
from console.gate.policy.replay import replay_policy
from console.trajectory import Step
from tests.logs import purchase, stuck, write_log

TRIED = """
default: ask
rules:
- {name: looking, tool: search, then: allow}
- {tool: click, when: "args.argument == 'Buy Now'", environment: webshop, then: deny}
- {tool: click, when: "args.argument == 'Next >'", then: judge}
"""


@pytest.fixture
def shop(tmp_path, capsys):
    """A run of two purchases, a trial in circles, and one that took its last click."""
    taken = purchase(3, wrong=False)
    taken = replace(taken, critical_action=taken.steps[-1].action, steps=(*taken.steps, Step("", "  ", "")))
    log = write_log(tmp_path / "log.jsonl", purchase(1, wrong=True), purchase(2, wrong=False), stuck(9), taken)
    assert run_command(["trajectory", "import", str(log), "--run", "shop"]) == 0
    capsys.readouterr()
    return "shop"


def test_test_prints_every_count_as_json(shop, tmp_path, capsys):
    file = tmp_path / "policy.yaml"
    file.write_text(TRIED)
    assert run_command(["policy", "test", str(file), "--run", shop, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "run": "shop",
        "checks": 17,
        "asked_today": 3,
        "allowed": 3,
        "judged": 5,
        "asked": 6,
        "denied": 3,
        "by_rule": {"looking": 3, "default": 6, "rule 2": 3, "rule 3": 5},
        "by_tool": [
            {"tool": "click", "allow": 0, "judge": 5, "ask": 6, "deny": 3},
            {"tool": "search", "allow": 3, "judge": 0, "ask": 0, "deny": 0},
        ],
    }


def test_each_action_is_tried_as_its_own_agents(make_gate, url):
    gate = make_gate(policy="default: ask", agent="first")
    gate.ask("Look.", [], "look[1]", task_id="a")
    make_gate(agent="second").ask("Look.", [("look[2]", "dark")], "look[2]", task_id="b")
    with reading(url) as session:
        tried = read_policy("{default: deny, rules: [{agent: second, then: allow}]}")
        found = replay_policy(session, runs.get(session, "shop-bot"), tried)
    assert (found.checks, found.allowed, found.denied, found.asked_today) == (3, 2, 1, 2)


def test_test_prints_a_sentence_and_a_row_a_tool(shop, tmp_path, capsys):
    file = tmp_path / "policy.yaml"
    file.write_text(TRIED)
    assert run_command(["policy", "test", str(file), "--run", shop]) == 0
    said, *table = capsys.readouterr().out.splitlines()
    assert said == "would have asked 6 of 17 (today 3), denied 3, let a detector judge 5, allowed 3"
    assert [line.split() for line in table if "click" in line or "search" in line] == [
        ["click", "0", "5", "6", "3"],
        ["search", "3", "0", "0", "0"],
    ]


def test_test_of_a_file_needs_a_run_and_a_run_without_policy_a_file(shop, tmp_path, capsys):
    file = tmp_path / "policy.yaml"
    file.write_text(TRIED)
    assert run_command(["policy", "test", str(file)]) == 2
    assert "Name the run to test with: --run NAME." in capsys.readouterr().err
    assert run_command(["policy", "test", shop]) == 2
    assert "shop has no policy. Give a YAML file instead." in capsys.readouterr().err


def test_gates_own_policy_is_tried_on_its_own_actions_and_today_is_what_it_queued(make_gate, url):
    gate = make_gate()
    assert isinstance(gate.ask("buy", [("look[1]", "one")], "pay[1]", task_id="a"), Wait)
    assert gate.check("buy", [("look[1]", "one")], "look[2]", task_id="b").approved
    policy = read_policy("{default: ask, rules: [{agent: nobody, then: deny}, {tool: look, then: allow}]}")
    with reading(url) as session:
        found = replay_policy(session, runs.get(session, "shop-bot"), policy)
    assert asdict(found) == {
        "checks": 2,
        "asked_today": 1,
        "allowed": 1,
        "judged": 0,
        "asked": 1,
        "denied": 0,
        "by_rule": {"rule 2": 1, "default": 1},
        "by_tool": [
            {"tool": "look", "allow": 1, "judge": 0, "ask": 0, "deny": 0},
            {"tool": "pay", "allow": 0, "judge": 0, "ask": 1, "deny": 0},
        ],
    }


def test_test_counts_a_tool_behind_a_namespace_by_its_own_name(make_gate, url):
    gate = make_gate(policy="default: ask", critical=["*"])
    for action in ("get_a.drop_database({})", "mcp__find_shop__refund_order({})", "shop.get_order({})"):
        assert isinstance(gate.ask("refund order 12", [], action, task_id=action), Wait)
    with reading(url) as session:
        found = replay_policy(
            session, runs.get(session, "shop-bot"), read_policy("rules: [{tool: [get_*, find_*], then: allow}]")
        )
    assert (found.allowed, found.asked) == (1, 2)
    assert [row["tool"] for row in found.by_tool if row["ask"]] == ["drop_database", "refund_order"]
