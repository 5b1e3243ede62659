"""`inferact policy`: set, show, check, list and try a policy."""

import csv
import hashlib
import json
from collections import Counter
from getpass import getuser
from pathlib import Path

import pytest

from console import runs
from console.cli import run_command
from console.database import reading, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.settings import settings

TAU = Path(__file__).resolve().parents[4] / "shared" / "data" / "tau-bench"
POLICY = "default: ask\nrules:\n- {tool: [get_*, search_*, list_*, think, calculate], then: allow}\n"


@pytest.fixture
def inferact(capsys):
    """A function that runs a command and returns its code, its JSON (or text) and what it complained of."""

    def run(*arguments, as_json=True):
        code = run_command([*arguments, *(["--json"] if as_json else [])])
        out, err = capsys.readouterr()
        return code, json.loads(out) if as_json and out.startswith(("{", "[")) else out, err

    return run


def test_policy_is_set_shown_and_listed_with_its_versions(inferact, tmp_path, capsys):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    code, _, said = inferact("policy", "set", "bot", str(file))
    assert (code, said) == (2, "No run named 'bot'. Correct the name, or add --create for a new gate.\n")
    assert inferact("policy", "list")[1] == []
    assert inferact("policy", "set", "bot", str(file), "--create")[1]["version"] == 2
    assert inferact("policy", "set", "bto", str(file))[2].startswith("No run named 'bto' (known: bot).")
    shown = inferact("policy", "show", "bot")[1]
    assert (shown["version"], shown["text"], shown["default"]) == (2, POLICY, "ask")
    assert [(row["run"], row["version"]) for row in inferact("policy", "list")[1]] == [("bot", 2)]
    file.write_text("{mode: shadow, rollout: 2.5%}")
    said = inferact("policy", "set", "bot", str(file), as_json=False)[1]
    assert (
        "version 3 from its next check on, for 2.5% of its tasks; the policy only records and never stops an action."
    ) in said
    assert inferact("policy", "show", "bot")[1]["version"] == 3
    file.write_text(POLICY)
    said = inferact("policy", "set", "*", str(file), as_json=False)[1]
    assert said == "Every run without its own policy uses version 1 from its next check on.\n"
    assert inferact("policy", "check", str(file), as_json=False)[1] == "1 rule, then ask: it can be saved.\n"
    code, _, said = inferact("run", "critical", "bot", "--add", "pay")
    assert code != 0
    assert "its policy sets the critical actions" in said
    assert run_command(["run", "critical", "bot"]) == 0
    assert "Critical: set by its policy: inferact policy show bot\n" in capsys.readouterr().out


def test_policy_set_for_somebody_names_who_ran_it_and_the_stated_author_beside(inferact, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    assert inferact("policy", "set", "*", str(file))[1]["author"] == getuser()
    assert inferact("policy", "set", "*", str(file), "--author", "Mallory")[1]["author"] == "Mallory"
    with reading() as session:
        stated, own = audit_trail.list_entries(session, AuditFilter(kind="policy set"))
    assert [(one.who, one.door) for one in (stated, own)] == [(getuser(), "cli")] * 2
    assert audit_trail.entry_sentence(stated) == (
        f"{getuser()} set the policy of every run, version 2, said to be written by Mallory, on the command line."
    )
    assert "written" not in audit_trail.entry_sentence(own)


def test_policy_that_cannot_be_meant_is_named_with_its_line(inferact, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("default: ask\nrulez: []\n")
    code, _, said = inferact("policy", "check", str(file))
    assert (code, "line 2, column 1: rulez: unknown field" in said) == (2, True)


def test_policy_check_warns_of_what_is_probably_not_meant_and_makes_no_database(inferact, tmp_path, monkeypatch):
    file = tmp_path / "policy.yaml"
    file.write_text("rules:\n- {tool: get_*, then: allow}\n- {tool: get_key, then: ask, who: [Nobody]}\n")
    said = inferact("policy", "check", str(file), as_json=False)[1]
    assert "Warning: Rule 'rule 2' names 'Nobody', who is not an enabled person, a role or a group.\n" in said
    monkeypatch.setenv("INFERACT_DATA_DIR", str(tmp_path / "nowhere"))
    settings.cache_clear()
    code, said, _ = inferact("policy", "check", str(file))
    assert (code, said["warnings"], (tmp_path / "nowhere").exists()) == (0, [], False)


WRITES = {"book", "cancel", "exchange", "modify", "return", "send", "update"}
TRIED = """
default: ask
rules:
- {tool: [get_*, find_*, search_*, list_*, think, calculate, respond, transfer_to_human_agents], then: allow}
- {tool: [cancel_*, return_*, exchange_*], then: ask}
- {tool: [book_*, update_*, modify_*, send_*], then: judge}
"""


def counted(log):
    """The log's calls by the first word of their names, words to the user as `respond`, from its messages alone."""
    found = Counter()
    for message in (message for attempt in json.loads(log.read_text()) for message in attempt["traj"]):
        if message["role"] == "assistant":
            calls = message.get("tool_calls") or [{"function": {"name": "respond"}}]
            found.update(call["function"]["name"].partition("_")[0] for call in calls)
    return found


@pytest.mark.at_length
@pytest.mark.skipif(not TAU.exists(), reason="the shared tau-bench logs are not here")
@pytest.mark.parametrize(
    "name", [pytest.param("gpt-4o-airline", marks=pytest.mark.at_length), "grok-4-1-fast-reasoning-retail"]
)
def test_policy_that_is_tried_on_a_recorded_log_prints_what_a_count_of_its_own_finds(inferact, tmp_path, name):
    file, log = tmp_path / "policy.yaml", TAU / f"{name}.even.json"
    file.write_text(TRIED)
    assert inferact("trajectory", "import", str(log), "--run", "tau")[0] == 0
    calls = counted(log)
    asked = sum(calls[word] for word in ("cancel", "return", "exchange"))
    judged = sum(calls[word] for word in ("book", "update", "modify", "send"))
    today = sum(calls[word] for word in WRITES)
    said = inferact("policy", "test", str(file), "--run", "tau", as_json=False)[1]
    assert said.startswith(
        f"would have asked about {asked} of {calls.total()} (today {today}), denied 0, "
        f"let a detector judge {judged}, allowed {calls.total() - asked - judged}"
    )
    assert min(asked, judged) > 30


def test_allowed_lists_what_ran_without_a_review_and_export_writes_it(inferact, tmp_path):
    gate = Gate("bot")
    gate.open()
    assert inferact("policy", "allowed", "bot")[1] == []
    with writing() as session:
        text = "rules: [{name: looks, tool: look, then: allow}, {name: finds, tool: find, then: allow}]"
        policy_store.save(session, runs.get(session, "bot"), text, "ada", 0)
    for action in ("look[1]", "find[1]"):
        assert gate.check("t", [], action).approved
    first, second = inferact("policy", "allowed", "bot")[1]
    assert (first["tool"], first["rule"], first["version"], first["agent"]) == ("find", "finds", 2, "agent")
    assert first["action_digest"] == hashlib.sha256(b"find[1]").hexdigest()
    assert inferact("policy", "allowed", "bot", "--rule", "looks")[1] == [second]
    assert inferact("policy", "allowed", "bot", "--limit", "1")[1] == [first]
    assert inferact("export", "allowed", "--run", "bot", "--out", str(tmp_path / "allowed.csv"))[0] == 0
    with (tmp_path / "allowed.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["run"], row["tool"], row["rule"], row["action_digest"]) for row in rows] == [
        ("bot", one["tool"], one["rule"], one["action_digest"]) for one in (second, first)
    ]
