"""`inferact review`: who may claim."""

import json
from dataclasses import replace

import pytest
from sqlmodel import select

from console import runs
from console.cli import run_command
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.runs.trajectory_rows import insert_rows, prepare
from console.trajectory import Step
from storage import tables
from storage.queue import NewItem
from tests.logs import purchase, write_log


@pytest.fixture
def queue(tmp_path, capsys):
    log = write_log(tmp_path / "kettles.jsonl", purchase(0, wrong=True))
    assert run_command(["trajectory", "import", str(log), "--run", "k"]) == 0
    assert run_command(["detect", "k", "--method", "full-validation"]) == 0
    capsys.readouterr()


@pytest.mark.usefixtures("queue")
@pytest.mark.parametrize("name", ["", "   ", "a\x1b[31m", "x" * 200])
def test_nobody_claims_under_a_name_that_cannot_be_read(name, capsys):
    assert run_command(["review", "claim", "--run", "k", "--reviewer", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.strip().splitlines()) == 1


@pytest.mark.usefixtures("queue")
def test_blanks_around_a_name_make_nobody_else(capsys):
    assert run_command(["review", "claim", "--run", "k", "--reviewer", " ada "]) == 0
    assert run_command(["review", "decide", "1", "--reviewer", "ada", "--decision", "approve"]) == 0


@pytest.mark.at_length
def test_a_table_has_the_first_thousand_items_and_the_document_all(data_dir, capsys):
    with writing() as session:
        run = runs.archive(session, "large", 1)
        insert_rows(session, run, [prepare(purchase(0, wrong=True), [])], 1)
        run_id = run.id
    review_queue().put([NewItem(run_id, 0, 1, step, "action", step, 1, None, 1) for step in range(1_001)])
    assert run_command(["review", "list", "--run", "large"]) == 0
    _, *rows, last = capsys.readouterr().out.splitlines()
    assert (len(rows), rows[0].split()[1]) == (1_000, "1001")
    assert last == "These are the first 1,000 items. Print all items with --json."
    assert run_command(["review", "list", "--run", "large", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1_001


REFUND = 'refund_order({"amount":45,"order":12})'
NO_CALLS = ['refund_order({"amount":45,"order":', "please just give 30 euro, thanks", "drop_database(...)"]


@pytest.fixture
def refund(data_dir, capsys):
    """A claimed item whose pending action is a refund; returns the words that edit it."""
    with writing() as session:
        policy_store.save(session, None, "rules: [{tool: refund_order, then: ask, doors: cli}]", "ann", now_ms())
    gate = Gate("desk", "full-validation", undo_s=0)
    gate.ask("Refund the order 12.", [("look[12]", "paid 45")], REFUND, task_id="12")
    assert run_command(["review", "claim", "--run", "desk", "--reviewer", "ada"]) == 0
    capsys.readouterr()
    return ["review", "decide", "1", "--reviewer", "ada", "--decision", "edit", "--edited-action"]


@pytest.mark.parametrize("edit", NO_CALLS)
def test_an_edit_that_cannot_be_run_is_refused_with_its_place(refund, edit, capsys):
    assert run_command([*refund, edit, "--other-tool"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "line 1, column" in err
    with reading() as session:
        assert session.exec(select(tables.Decision)).all() == []


def test_another_tool_has_to_be_asked_for(refund, capsys):
    other = 'drop_database({"name":"all"})'
    assert run_command([*refund, other]) == 1
    assert "--other-tool" in capsys.readouterr().err
    assert run_command([*refund, other, "--other-tool"]) == 0


def test_a_long_text_says_how_much_more_there_is(tmp_path, capsys):
    long = replace(
        purchase(0, wrong=True), steps=(Step("", "search[x]", "word " * 10_000), Step("", "click[Buy Now]", ""))
    )
    assert run_command(["trajectory", "import", str(write_log(tmp_path / "k.jsonl", long)), "--run", "k"]) == 0
    assert run_command(["detect", "k", "--method", "full-validation"]) == 0
    capsys.readouterr()
    assert run_command(["trajectory", "show", "1"]) == 0
    assert "... 30,000 more characters" in " ".join(capsys.readouterr().out.split())
    assert run_command(["review", "claim", "--run", "k", "--reviewer", "ada"]) == 0
    assert "... 49,840 more characters" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("queue")
def test_a_free_name_becomes_a_reviewer_and_a_known_one_is_written_one_way(capsys):
    assert run_command(["review", "claim", "--run", "k", "--reviewer", "Ada"]) == 0
    assert "Added Ada as a reviewer." in capsys.readouterr().err
    assert run_command(["review", "decide", "1", "--reviewer", "ADA", "--decision", "approve"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "by Ada." in said.out


@pytest.mark.usefixtures("queue")
def test_who_is_disabled_decides_nothing_here_either(capsys):
    assert run_command(["review", "claim", "--run", "k", "--reviewer", "Ada"]) == 0
    assert run_command(["person", "disable", "ada"]) == 0
    assert run_command(["review", "decide", "1", "--reviewer", "Ada", "--decision", "approve"]) == 1
    assert "Ada is disabled" in capsys.readouterr().err


@pytest.mark.parametrize(("role", "code"), [("reviewer", 1), ("researcher", 0)])
def test_a_rule_that_names_a_role_is_kept_here_too(data_dir, capsys, role, code):
    with writing() as session:
        policy_store.save(
            session, None, "rules: [{tool: pay, then: ask, who: [researcher], doors: cli}]", "ann", now_ms()
        )
    Gate("desk", undo_s=0).ask("Pay.", [], "pay({})")
    assert run_command(["person", "invite", "Ada", "--role", role]) == 0
    assert run_command(["review", "claim", "--run", "desk", "--reviewer", "Ada"]) == 0
    assert ("accepts decisions by researcher, not by Ada" in capsys.readouterr().out) == bool(code)
    assert run_command(["review", "decide", "1", "--reviewer", "Ada", "--decision", "approve"]) == code
    assert ("accepts decisions by researcher, not by Ada" in capsys.readouterr().err) == bool(code)


@pytest.mark.parametrize("policy", ["default: ask", "rules: [{tool: pay, then: ask}]", None])
def test_what_a_gate_asks_is_not_answered_by_command_unless_a_rule_says_so(data_dir, capsys, policy):
    if policy:
        with writing() as session:
            policy_store.save(session, None, policy, "ann", now_ms())
    Gate("desk", "full-validation", undo_s=0).ask("Pay.", [], "pay({})")
    claim = ["review", "claim", "--run", "desk", "--reviewer", "Ada"]
    refusal = "accepts decisions through browser, python, not through cli"
    assert run_command(claim) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert refusal in first
    assert first.endswith("Escalate or release it: inferact review release 1 --reviewer Ada")
    assert second == "ITEM 1"
    assert run_command(["review", "decide", "1", "--reviewer", "Ada", "--decision", "approve"]) == 1
    assert refusal in capsys.readouterr().err
    assert run_command(["review", "release", "1", "--reviewer", "Ada"]) == 0
    capsys.readouterr()
    assert run_command([*claim, "--json"]) == 0
    claimed = json.loads(capsys.readouterr().out)
    assert (claimed["item"]["item_id"], claimed["reason"]) == (1, first)
