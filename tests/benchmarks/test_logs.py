"""The benchmark of the offline detectors runs on any logs and ends with one line of JSON."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from console.trajectory import Outcome, Step, Trajectory


@pytest.fixture
def logs():
    spec = importlib.util.spec_from_file_location("logs", Path(__file__).with_name("logs.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["logs"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["logs"]


def written(path, count):
    """A log of purchases, every other one above the user's limit."""
    lines = []
    for number in range(count):
        label, price = ("misaligned", 40 + number) if number % 2 else ("aligned", 20 - number / 10)
        steps = (
            Step("", f"click[B{number:09}]", f"red kettle\nPrice: ${price:.2f}"),
            Step("", "click[Buy Now]", "done"),
        )
        asked = "red kettle, and price lower than 30.00 dollars"
        one = Trajectory(f"t{number}", "webshop", asked, steps, outcome=Outcome.FINISHED, gold={"label": label})
        lines.append(one.to_json())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_rules_beat_the_floors_where_the_fault_is_plain(logs, tmp_path, capsys):
    train, test = written(tmp_path / "train.jsonl", 12), written(tmp_path / "test.jsonl", 20)
    assert logs.main(["--train", train, "--test", test]) == 0
    printed = capsys.readouterr().out.splitlines()
    result = json.loads(printed[-1])
    assert result["benchmark"] == "logs"
    assert result["met"] is True
    assert result["figures"]["webshop.rules.macro_f1"] == 1.0
    assert result["figures"]["webshop.majority.ap"] == 0.5
    assert any(line.split()[:1] == ["rules"] for line in printed)


def test_a_missing_file_is_named(logs, tmp_path, capsys):
    with pytest.raises(SystemExit):
        logs.main(["--train", str(tmp_path / "none.jsonl")])
    assert "none.jsonl" in capsys.readouterr().err


def test_the_figures_of_known_cases(logs):
    bad = np.array([True, False, True, False])
    assert logs.average_precision(bad, np.ones(4)) == 0.5
    assert logs.average_precision(bad, np.array([0.9, 0.1, 0.8, 0.2])) == 1.0
    assert logs.average_precision(bad, np.array([0.1, 0.9, 0.2, 0.8])) == pytest.approx((1 / 3 + 2 / 4) / 2)
    assert logs.macro_f1(bad, bad) == 1.0
    assert logs.macro_f1(bad, np.ones(4, dtype=bool)) == pytest.approx(1 / 3)
    assert logs.best_threshold(bad, np.array([0.4, 0.1, 0.3, 0.2])) == pytest.approx(0.25)


@pytest.mark.at_length
def test_across_prints_every_figure_within_and_across_beside_the_controls(logs, tmp_path, capsys):
    first, second = written(tmp_path / "a.jsonl", 40), written(tmp_path / "b.jsonl", 41)
    assert logs.main(["--across", first, second]) == 0
    out = capsys.readouterr().out
    assert "| Within each log | misaligned | rules | stacked | length-only | steps-only |" in out
    assert "| Learnt on the other logs alone |" in out
    assert "at chance" in out
    assert json.loads(out.splitlines()[-1])["benchmark"] == "logs across"


@pytest.mark.at_length
def test_a_kind_that_is_left_out_is_judged_without_its_own_checks(logs, tmp_path, capsys):
    paths = [Path(written(made(tmp_path / kind) / "one.jsonl", 12)) for kind in ("webshop", "rjudge")]
    before = dict(logs.CHECKS)
    code = logs.main(["--across", *map(str, paths), "--leave-out"])
    printed = capsys.readouterr().out
    figures = json.loads(printed.splitlines()[-1])["figures"]
    assert set(figures) == {"webshop/one", "rjudge/one"}
    assert code == 0
    # The price limit is a check of shops: without it, a dear kettle looks like a cheap one.
    assert figures["webshop/one"][0] < 0.9 < figures["rjudge/one"][0]
    assert dict(logs.CHECKS) == before
    assert "| kind left out | misaligned |" in printed


def made(folder):
    folder.mkdir()
    return folder
