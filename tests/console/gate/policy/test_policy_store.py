"""Policies as stored: versions, what they let run at once, and for whom a version counts."""

import hashlib
from collections import Counter

import pytest
from sqlmodel import select

from console import runs
from console.database import reading, writing
from console.errors import BadInput, Refused, Unknown
from console.gate.checks import Wait
from console.gate.policy import policy_store, read_policy, ruling
from console.gate.policy.rules import CheckFacts, Ruling, Then
from console.runs import audit_trail, iso, maintenance
from console.runs.audit_trail import AuditFilter
from storage import tables
from storage.tables import RunKind


@pytest.fixture
def shop(url):
    """A gate's run of that name with no policy yet."""
    with writing(url) as session:
        runs.create(session, "shop", RunKind.GATE, 1)
        runs.create(session, "log", RunKind.REPLAY, 1)
    return "shop"


def test_versions_count_up_for_each_run_and_the_newest_is_first(url, shop):
    with writing(url) as session:
        run = runs.get(session, shop)
        with pytest.raises(Unknown, match="policy"):
            policy_store.common_version(session)
        assert policy_store.effective_version(session, run) is None
        common = policy_store.save(session, None, "default: deny", "ada", 5)
        assert (common.version, common.text, common.author, common.created_ms) == (1, "default: deny", "ada", 5)
        assert policy_store.effective_version(session, run) == policy_store.common_version(session) == common
        saved = [policy_store.save(session, run, f"default: {word}", "eve", 6) for word in ("ask", "allow")]
        assert [(one.version, one.own) for one in saved] == [(1, True), (2, True)]
        assert policy_store.list_versions(session, run) == saved[::-1]
        assert policy_store.list_versions(session, None) == [common]
        assert policy_store.effective_version(session, run) == saved[1]
        with pytest.raises(BadInput, match="line 1"):
            policy_store.save(session, run, "default: maybe", "eve", 7)
        with pytest.raises(BadInput, match="is empty or contains a comparison"):
            policy_store.save(session, run, "rules: [{pattern: '>5', then: ask}]", "eve", 7)
    with reading(url) as session:
        (last, *_, first) = audit_trail.list_entries(session, AuditFilter(kind="policy set"))
    assert (last.subject, last.before, last.after) == ("policy 2", 1, 2)
    assert (first.subject, first.before, first.after) == ("policy 1", None, 1)
    assert last.detail == {"version": 2, "digest": hashlib.sha256(b"default: allow").hexdigest(), "author": "eve"}


def test_a_run_begins_with_its_patterns_where_no_policy_is_there(url, shop):
    with writing(url) as session:
        run = runs.get(session, shop)
        policy_store.ensure_policy(session, run, 5, ["pay*"])
        policy_store.ensure_policy(session, run, 6, ["other*"])
        (begun,) = policy_store.list_versions(session, run)
        assert (begun.author, begun.version, begun.created_ms) == ("the gate's patterns", 1, 5)
        assert ruling(begun.policy, CheckFacts("pay[1]")).then is Then.JUDGE
        assert ruling(begun.policy, CheckFacts("look[1]")).then is Then.ASK


def test_only_a_gate_has_a_policy(url, shop):
    with reading(url) as session:
        assert policy_store.get_gate_run(session, shop).name == "shop"
        with pytest.raises(Refused, match="log is of kind replay, but only a gate"):
            policy_store.get_gate_run(session, "log")
        with pytest.raises(Unknown):
            policy_store.get_gate_run(session, "nowhere")


def test_checks_are_counted_by_tool_and_by_what_became_of_them(make_gate, url):
    text = """
default: ask
rules:
- {tool: look, then: allow}
- {tool: open, then: judge}
- {tool: drop, then: deny}
"""
    gate = make_gate(text, run="bot", detector="random", threshold=1.0, critical=[])
    for number in range(3):
        assert gate.check("t", [], f"look[{number}]").approved
    assert gate.check("Open 17.", [], "open[17]").approved
    assert not gate.check("t", [], "drop[1]").approved
    assert isinstance(gate.ask("t", [], "pay[1]"), Wait)
    assert isinstance(gate.ask("t", [], "go on then"), Wait)
    with writing(url) as session:
        run = runs.get(session, "bot")
        policy_store.save(session, run, "{mode: shadow, default: deny}", "ada", 0)
    assert gate.check("t", [], "pay[2]").approved
    with writing(url) as session:
        run = runs.get(session, "bot")
        version = policy_store.effective_version(session, run)
        policy_store.store_allowed(session, run, version, Ruling(Then.ALLOW, "x", "l" * 90), "look[9]", "bot", 0)
        found = policy_store.count_by_tool(session, run)
    nothing = {"allowed": 0, "judged": 0, "asked": 0, "denied": 0, "watched": 0}
    assert found == [
        nothing | {"tool": "no tool", "asked": 1},
        nothing | {"tool": "drop", "denied": 1},
        nothing | {"tool": "l" * 80, "allowed": 1},
        nothing | {"tool": "look", "allowed": 3},
        nothing | {"tool": "open", "judged": 1},
        nothing | {"tool": "pay", "asked": 1, "watched": 1},
    ]


def test_allowed_checks_are_stored_one_by_one_and_removed_with_their_run(url, make_gate):
    gate = make_gate("{default: ask, rules: [{pattern: look*, then: allow}]}", run="bot")
    for number in (1, 1, 2):
        assert gate.check("t", [], f"look[{number}]").approved
    with writing(url) as session:
        stored = session.exec(select(tables.AllowedCheck).order_by(tables.AllowedCheck.id)).all()
        digests = [hashlib.sha256(action).hexdigest() for action in (b"look[1]", b"look[1]", b"look[2]")]
        assert [one.action_digest for one in stored] == digests
        assert {(one.tool, one.rule, one.policy_version) for one in stored} == {("look", "rule 1", 1)}
        policy_store.prune_allowed(session, stored[-1].at_ms + 1)
        assert session.exec(select(tables.AllowedCheck)).all() == []
        (row,) = policy_store.count_by_tool(session, runs.get(session, "bot"))
        assert row["allowed"] == 3
    gate.check("t", [], "look[3]")
    with writing(url) as session:
        maintenance.delete_run(session, runs.get(session, "bot"), 1)
        assert session.exec(select(tables.AllowedCheck)).all() == []


def test_allowed_checks_are_listed_newest_first_with_their_rules(url, make_gate):
    text = "{default: ask, rules: [{name: a, tool: look, then: allow}, {name: b, tool: open, then: allow}]}"
    gate, other = (make_gate(text, run=name, agent="bot") for name in ("bot", "other"))
    for number, tool in enumerate(("look", "open", "look")):
        gate.check("t", [], f"{tool}[{number}]")
    other.check("t", [], "open[9]")
    with reading(url) as session:
        run = runs.get(session, "bot")
        listed = policy_store.list_allowed(session, run)
        assert policy_store.list_allowing_rules(session, run) == ["a", "b"]
        assert policy_store.list_allowing_rules(session, runs.get(session, "other")) == ["b"]
        assert policy_store.list_allowed(session, run, rule="b") == [listed[1]]
        assert policy_store.list_allowed(session, run, most=2) == listed[:2]
        at_ms = session.exec(select(tables.AllowedCheck.at_ms).order_by(tables.AllowedCheck.id)).all()
    assert [row.pop("at") for row in listed] == [iso(one) for one in at_ms[2::-1]]
    assert listed == [
        {
            "agent": "bot",
            "tool": tool,
            "rule": rule,
            "version": 1,
            "action_digest": hashlib.sha256(f"{tool}[{number}]".encode()).hexdigest(),
        }
        for number, tool, rule in ((2, "look", "a"), (1, "open", "b"), (0, "look", "a"))
    ]


def test_the_share_of_tasks_goes_by_the_new_version_and_the_others_by_the_one_before(url, shop):
    with writing(url) as session:
        run = runs.get(session, shop)
        policy_store.save(session, None, "default: allow", "ada", 0)
        policy_store.save(session, run, "{default: deny, rollout: 40%}", "ada", 0)
        digest = hashlib.sha256(b"{default: deny, rollout: 40%}").hexdigest()

        def drawn(task):
            return int(hashlib.sha256(f"{digest} {task}".encode()).hexdigest()[:8], 16) / 2**32

        # The first version of its own has none of its own before it: the other tasks go by the common one.
        tasks = [f"task {number}" for number in range(50)]
        assert [policy_store.effective_version(session, run, task).own for task in tasks] == [
            drawn(task) < 0.4 for task in tasks
        ]
        policy_store.save(session, run, "default: judge", "eve", 0)
        policy_store.save(session, run, "{default: deny, rollout: 40%}", "eve", 0)
        policy_store.save(session, None, "{default: deny, rollout: 40%}", "eve", 0)
        found = Counter(
            policy_store.effective_version(session, run, task).version == (3 if drawn(task) < 0.4 else 2)
            for task in tasks
        )
        assert found == {True: 50}
        for number in range(8):
            newest = policy_store.save(session, run, f"{{default: deny, rollout: {number + 1}%}}", "eve", 0)
            assert policy_store.effective_version(session, run) == newest


def test_a_replaced_policy_applies_beside_the_stored_one_until_it_is_chosen(url, shop):
    with writing(url) as session:
        run = runs.get(session, shop)
        policy_store.save(session, None, "default: allow", "ada", 0)
        kept = {"digest": "d", "author": "eve", "created_ms": 5}
        for epoch, name, text in ((1, "*", "default: deny"), (2, shop, "default: judge"), (3, "*", "default: allow")):
            session.add(tables.ReplacedPolicy(epoch=epoch, run=name, version=epoch + 6, text=text, **kept))
        session.flush()
        found = policy_store.effective_version(session, run)
        assert [(one.id, one.version, one.text, one.author, one.created_ms, one.own) for one in found.also] == [
            (1, 7, "default: deny", "eve", 5, False),
            (2, 8, "default: judge", "eve", 5, True),
        ]
        assert found.rule_on(CheckFacts("pay[1]")).then is Then.DENY
        assert [one.version for one in policy_store.common_version(session).also] == [7]
        policy_store.save(session, run, "default: allow", "ada", 6)
        assert policy_store.effective_version(session, run).also == ()
        assert [one.version for one in policy_store.common_version(session).also] == [7]
        policy_store.save(session, None, "default: allow", "ada", 6)
        assert policy_store.common_version(session).also == ()


def test_a_difference_is_the_lines_that_changed_with_three_around():
    before = "\n".join("abcdefgh")
    assert policy_store.describe_difference(before, before.replace("e", "x")) == (
        "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+x\n f\n g\n h"
    )
    assert policy_store.describe_difference(before, before) == ""


def test_a_policy_that_can_be_saved_is_said_in_one_sentence():
    rules = "rules: [{tool: a, then: ask}, {tool: b, then: deny}]"
    assert policy_store.describe_savable(read_policy(rules)) == "2 rules, then ask: it can be saved."
    said = policy_store.describe_savable(read_policy("{default: deny, rollout: 99%}"))
    assert said == "0 rules, then deny: it can be saved after an earlier version."


def test_a_first_version_counts_for_every_task(url, shop):
    with writing(url) as session:
        for run in (None, runs.get(session, shop)):
            with pytest.raises(BadInput, match="No earlier version exists"):
                policy_store.save(session, run, "{default: allow, rollout: 10%}", "ada", 0)
            assert policy_store.list_versions(session, run) == []
