"""A policy tried on what a run recorded: counts in all, by rule and by tool, and today's."""

import json
from dataclasses import asdict, replace

import pytest

from console import runs
from console.cli import run_command
from console.database import reading
from console.detection.detectors import DETECTORS, Detector
from console.gate.checks import Wait
from console.gate.policy import read_policy
from console.gate.policy.replay import replay_policy, run_cases
from console.trajectory import Step, Trajectory
from tests.console.web.test_handbook import fences
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
    said = json.loads(capsys.readouterr().out)
    examples = said.pop("examples")
    assert said == {
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
        "detectors": ["rules"],
        "flagged": 0,
        "unchecked": 5,
        "outcomes": {
            "asked": {"known": 6, "wrong": 2},
            "allowed": {"known": 3, "wrong": 1},
            "denied": {"known": 3, "wrong": 1},
        },
    }
    assert [(one["rule"], one["then"]) for one in examples] == [
        *[("looking", "allow")] * 2,
        *[("default", "ask")] * 3,
        *[("rule 2", "deny")] * 2,
        *[("rule 3", "judge")] * 3,
    ]
    assert examples[0] == {
        "rule": "looking",
        "then": "allow",
        "flagged": None,
        "unchecked": None,
        "wrong": True,
        "action": "search[blue kettle 1]",
    }
    assert run_command(["policy", "test", str(file), "--run", shop, "--json", "--examples", "100"]) == 0
    assert len(json.loads(capsys.readouterr().out)["examples"]) == 17


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
    assert said == "would have asked about 6 of 17 (today 3), denied 3, let a detector judge 5, allowed 3"
    assert table[:2] == [
        "Of 5 judged, rules would flag 0. The gate would ask about 5 more, because something could not be checked. "
        "0 would run at once.",
        "Actions of trials with a known outcome: of 6 asked about, 2 in a failed trial; of 3 run at once, 1 "
        "in a failed trial; of 3 denied, 1 in a failed trial.",
    ]
    assert [line.split() for line in table if line.startswith(("click ", "search "))] == [
        ["click", "0", "5", "6", "3"],
        ["search", "3", "0", "0", "0"],
    ]


def test_test_of_a_file_needs_a_run_and_a_run_without_policy_a_file(shop, tmp_path, capsys):
    file = tmp_path / "policy.yaml"
    file.write_text(TRIED)
    assert run_command(["policy", "test", str(file)]) == 2
    assert "The run for the test is missing. Name the run: --run NAME." in capsys.readouterr().err
    assert run_command(["policy", "test", shop]) == 2
    assert "shop has no policy. Give a YAML file instead." in capsys.readouterr().err


def test_gates_own_policy_is_tried_on_its_own_actions_and_today_is_what_it_queued(make_gate, url):
    gate = make_gate()
    assert isinstance(gate.ask("buy", [("look[1]", "one")], "pay[1]", task_id="a"), Wait)
    assert gate.check("buy", [("look[1]", "one")], "look[2]", task_id="b").approved
    policy = read_policy("{default: ask, rules: [{agent: nobody, then: deny}, {tool: look, then: allow}]}")
    with reading(url) as session:
        found = replay_policy(session, runs.get(session, "shop-bot"), policy)
    said = asdict(found)
    examples = [(one["rule"], one["action"]) for one in said.pop("examples")]
    assert examples == [("rule 2", "look[1]"), ("default", "pay[1]")]
    assert said == {
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
        "detectors": ["full-validation", "rules"],
        "flagged": 0,
        "unchecked": 0,
        "outcomes": {kind: {"known": 0, "wrong": 0} for kind in ("asked", "allowed", "denied")},
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


CASES = """
cases:
- {action: 'search[x]', then: allow, rule: looking}
- {action: 'click[Buy Now]', environment: webshop, then: deny}
- action: click[Buy Now]
  then: deny
- {action: 'search[x]', then: allow, rule: rule 2}
"""


def test_the_cases_of_the_handbook_hold_for_its_policy():
    policy, *others = (text for language, text in fences("developer") if language == "yaml")
    (cases,) = (text for text in others if text.startswith("cases:"))
    assert [row["agrees"] for row in run_cases(read_policy(policy), cases, "the handbook")] == [True, True]


def test_cases_of_a_file_are_tried_and_a_difference_is_named_and_fails(tmp_path, capsys):
    file, cases = tmp_path / "policy.yaml", tmp_path / "cases.yaml"
    file.write_text(TRIED)
    cases.write_text(CASES)
    assert run_command(["policy", "test", str(file), "--cases", str(cases), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["cases"], said["differing"]) == (4, 2)
    assert [row["agrees"] for row in said["rows"]] == [True, True, False, False]
    assert said["rows"][2] == {
        "case": 3,
        "action": "click[Buy Now]",
        "expected": "deny",
        "expected_rule": None,
        "then": "ask",
        "rule": "default",
        "agrees": False,
    }
    assert run_command(["policy", "test", str(file), "--cases", str(cases)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "2 of 4 cases are as expected."
    assert [line.split()[:2] for line in said[2:]] == [["3", "deny"], ["4", "allow"]]
    cases.write_text(CASES.partition("- action:")[0])
    assert run_command(["policy", "test", str(file), "--cases", str(cases)]) == 0
    assert capsys.readouterr().out == "2 of 2 cases are as expected.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cases: []", "cases"),
        ("[]", "write `cases:` and a list of `action` and `then`"),
        ("cases:\n- {action: x, then: maybe}", "line 2"),
        ("cases:\n- {action: x, then: ask, wrong: 1}", "unknown field"),
        ("cases:\n- {then: ask}", "action"),
        ("cases:\n- {action: x, then: ask}\nother: 1", "unknown field"),
    ],
)
def test_cases_that_cannot_be_read_are_named_with_their_line(text, said, tmp_path, capsys):
    file, cases = tmp_path / "policy.yaml", tmp_path / "cases.yaml"
    file.write_text(TRIED)
    cases.write_text(text)
    assert run_command(["policy", "test", str(file), "--cases", str(cases)]) == 2
    assert said in capsys.readouterr().err


def test_what_the_detector_would_ask_and_how_trials_ended_is_said(tmp_path, capsys):
    log = write_log(tmp_path / "log.jsonl", purchase(1, wrong=True), purchase(2, wrong=False))
    assert run_command(["trajectory", "import", str(log), "--run", "shop"]) == 0
    file = tmp_path / "policy.yaml"
    file.write_text("default: judge")
    capsys.readouterr()
    assert run_command(["policy", "test", str(file), "--run", "shop", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert 0 < said["flagged"] < said["judged"]
    asked, allowed = said["outcomes"]["asked"], said["outcomes"]["allowed"]
    assert asked["known"] == said["flagged"] + said["unchecked"]
    assert asked["known"] + allowed["known"] == said["judged"]
    assert asked["wrong"] > 0


def test_what_could_not_be_checked_is_counted_apart_from_what_is_flagged(tmp_path, capsys):
    request = "Delete the file with the ID 4413 from my drive."
    actions = ('delete_file({"file_id": "4413"})', 'delete_file({"file_id": "4431"})', 'frobnicate({"level": true})')
    calls = [Trajectory(str(n), "generic", request, critical_action=one) for n, one in enumerate(actions)]
    assert run_command(["trajectory", "import", str(write_log(tmp_path / "l.jsonl", *calls)), "--run", "drive"]) == 0
    file = tmp_path / "policy.yaml"
    file.write_text("default: judge")
    capsys.readouterr()
    assert run_command(["policy", "test", str(file), "--run", "drive", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["judged"], said["flagged"], said["unchecked"]) == (3, 1, 1)
    assert [(one["flagged"], one["unchecked"]) for one in said["examples"]] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_a_log_without_known_ends_says_nothing_of_them(tmp_path, capsys):
    log, file = tmp_path / "log.jsonl", tmp_path / "policy.yaml"
    steps = [{"action": "look[1]", "observation": "-"}, {"action": "look[2]", "observation": "-"}]
    trial = {"task_id": "1", "instruction": "Look.", "steps": steps}
    log.write_text(json.dumps(trial | {"critical_action": "look[2]"}) + "\n")
    file.write_text("{default: ask, rules: [{tool: look, then: allow}]}")
    assert run_command(["trajectory", "import", str(log), "--run", "looks"]) == 0
    capsys.readouterr()
    assert run_command(["policy", "test", str(file), "--run", "looks"]) == 0
    said = capsys.readouterr().out
    # A critical action that is one of the steps is not tried a second time.
    assert said.startswith("would have asked about 0 of 2 ")
    assert "failed trial" not in said


def test_a_judged_action_is_flagged_as_in_a_gate_by_its_detectors_and_thresholds(shop, monkeypatch):
    def fail(_checkpoint, _seed):
        raise ConnectionError("away")

    monkeypatch.setitem(DETECTORS, "broken", Detector("broken", "", fail))

    def flagged(detector, threshold):
        with reading() as session:
            run = runs.get(session, shop)
            run.detector, run.threshold = detector, threshold
            found = replay_policy(session, run, read_policy("default: judge"))
        return found.flagged, found.judged

    some, judged = flagged("rules", None)
    assert 0 < some < judged
    assert flagged("rules", 1.0) == (some, judged)
    assert flagged("rules", 0.0) == flagged("broken", None) == (judged, judged)
    assert flagged("random", 1.0) == (some, judged)
