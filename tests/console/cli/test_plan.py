"""`inferact plan` at the command line."""

import json

from console.cli import run_command
from tests.console.trials.planning.conftest import learnt as learnt


def said(capsys, *command):
    """(exit code, what was printed)."""
    code = run_command(list(command))
    out = capsys.readouterr()
    return code, out.out + out.err


def test_a_plan_is_listed_shown_edited_and_pinned(learnt, capsys, tmp_path):
    learnt(tests=0)
    capsys.readouterr()
    code, out = said(capsys, "plan", "list", "--json")
    assert (code, json.loads(out)) == (
        0,
        [{"plan": "house", "type": "", "environment": "office", "versions": 3, "present": 2, "pinned": False}],
    )
    assert "the model names the trial of letter-" in said(capsys, "plan", "show", "house")[1]
    assert "+ 1. read the number" in said(capsys, "plan", "show", "house", "--version", "1", "--diff")[1]
    (tmp_path / "plan.txt").write_text("1. look\n2. send\n")
    assert (
        said(capsys, "plan", "edit", "house", "--file", str(tmp_path / "plan.txt"))[1] == "Stored version 3 of house.\n"
    )
    assert "version 1 of house" in said(capsys, "plan", "pin", "house", "1")[1]
    shown = json.loads(said(capsys, "plan", "show", "house", "--json")[1])
    assert (shown["version"], shown["pinned"]) == (1, True)


def test_what_is_not_there_is_named_in_a_sentence(data_dir, capsys, tmp_path):
    assert said(capsys, "plan", "show", "house") == (2, "No plan named 'house'.\n")
    assert said(capsys, "plan", "edit", "house", "--file", str(tmp_path / "no.txt"))[0] == 2
    code, out = said(capsys, "plan", "train", "house", "--env", "alfworld", "--batch", "9", "--pool", "4")
    assert (code, "at least --batch" in out) == (2, True)
    code, out = said(capsys, "run", "start", "--name", "x", "--env", "webshop", "--plan", "house")
    assert (code, "--plan needs --actor autoplan" in out) == (2, True)


def test_a_training_without_a_model_says_what_to_set_and_goes_on_later(data_dir, capsys):
    command = ["plan", "train", "house", "--env", "webshop", "--batch", "1", "--pool", "1", "--iterations", "1"]
    code, out = said(capsys, *command)
    assert code == 1
    assert "INFERACT_MODEL" in out
    assert "run the same command again" in out
