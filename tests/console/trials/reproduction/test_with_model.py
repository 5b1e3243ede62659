"""A paper's tables with a model: an estimate first, killed and resumed, and the cost within the estimate's range."""

import asyncio
import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from console.cli import run_command
from console.llm import Purpose, connect, read_account, spending_on
from console.trials.reproduction import papers, spending
from console.trials.reproduction.papers import Reproduction
from console.trials.reproduction.spending import Part, Range, predict_sum
from tests.fakes.actors import reply
from tests.fakes.endpoint import serving

ROOT = Path(__file__).parents[4]
PRICE = '["scripted-model"]\ninput = 10.0\noutput = 30.0\n'


@pytest.fixture
def endpoint(data_dir, monkeypatch):
    """A scripted endpoint that plays every role, with a price."""
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / "prices.toml").write_text(PRICE)
    with serving(reply) as found:
        found.keep_asks = False
        monkeypatch.setenv("OPENAI_BASE_URL", found.url)
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        yield found


def rows(folder):
    return list(csv.DictReader((folder / "figures.csv").read_text().splitlines()))


@pytest.mark.at_length
def test_the_estimate_asks_above_its_limit_and_a_later_call_continues(endpoint, data_dir, tmp_path, capsys):
    command = ["paper", "inferact", "--model", "scripted-model", "--tasks", "3", "--pilot", "2", "--tables", "5"]
    command += ["--out", str(tmp_path)]
    assert run_command([*command, "--ask-above", "0.01"]) == 1
    told = capsys.readouterr()
    assert "Add --yes" in told.err
    assert "requests" in told.out
    piloted = endpoint.total
    assert piloted > 0
    assert not (tmp_path / "figures.csv").exists()
    assert run_command([*command, "--yes"]) == 0
    assert "Used, pilot included:" in capsys.readouterr().out
    played = endpoint.total
    # The pilot's two tasks are played again from the cache: only the third is new.
    assert piloted < played < 2.5 * piloted
    kept = json.loads((tmp_path / "estimate.json").read_text())
    assert kept["agreed"]
    sheet = (tmp_path / "figures.csv").read_text()
    # Without --yes: the consent was given, and nothing is asked of the model again.
    assert run_command([*command, "--ask-above", "0.01"]) == 0
    assert endpoint.total == played
    assert (tmp_path / "figures.csv").read_text() == sheet
    totals = [row["measured"] for row in rows(tmp_path) if row["metric"] == "total"]
    assert totals == ["3.0"] * 3


def test_what_an_account_uses_is_counted_over_clients_and_not_from_the_cache(endpoint, data_dir):
    async def ask(text):
        async with connect() as llm:
            return await llm.complete([{"role": "user", "content": text}])

    with spending_on(Purpose("scripted-model", "mine")):
        first = asyncio.run(ask("one"))
        asyncio.run(ask("one"))
        asyncio.run(ask("two, which is longer"))
    with spending_on(Purpose("scripted-model", "other")):
        asyncio.run(ask("one"))
    used = read_account("mine")
    assert used.requests == endpoint.total == 2
    assert used.prompt_tokens > 2 * first.usage.prompt_tokens - 1
    assert used.cost_usd == pytest.approx((10 * used.prompt_tokens + 30 * used.completion_tokens) / 1_000_000)
    assert read_account("other").requests == 0


@pytest.mark.parametrize(("is_repeated", "expected"), [(True, 5), (False, 7)])
def test_only_what_the_plan_repeats_is_not_paid_again(endpoint, data_dir, is_repeated, expected):
    pilot = spending.Spending("a pilot", "scripted-model")

    async def ask(text):
        async with connect("scripted-model") as llm:
            return await llm.complete([{"role": "user", "content": text}])

    with pilot.part("training", 2):
        asyncio.run(ask("one"))
        asyncio.run(ask("two"))
    planned = {"training": Part(5, is_repeated=is_repeated)}
    assert spending.estimate_spending(pilot, planned, 2).ranges["requests"].expected == expected


@pytest.mark.at_length
def test_the_range_holds_nine_sums_in_ten():
    draw, held, rounds = Random(5), 0, 2_000
    for _ in range(rounds):
        sample, further = ([draw.gammavariate(4, 1) for _ in range(n)] for n in (10, 50))
        expected, spread = predict_sum(sample, 50)
        held += Range(expected - spread**0.5, expected, expected + spread**0.5).holds(sum(further))
    # 90% within four standard errors of a share over 2,000 rounds; a range of a normal z would hold 86%.
    assert abs(held / rounds - 0.9) < 4 * (0.9 * 0.1 / rounds) ** 0.5
    assert predict_sum([2.0, 2.0], 5) == (10.0, 0.0)
    assert predict_sum([3.0], 2) == (6.0, 36.0)


def test_the_parts_of_a_plan_scale_with_tasks_types_and_iterations():
    asked = Reproduction("autoplan", tasks=60, model="m")
    parts = papers.plan_parts(asked)
    assert parts["alfworld training"] == Part(6 * 6 * 4, is_repeated=False)
    assert parts["hotpotqa training"] == Part(6 * 4)
    assert parts["alfworld react"] == Part(60)
    assert papers.plan_parts(asked.as_pilot())["alfworld training"].units == 2 * 4
    assert list(papers.plan_parts(Reproduction("autoplan", model="m", wanted=frozenset({2})))) == [
        "hotpotqa training", "hotpotqa autoplan", "hotpotqa react", "hotpotqa react-0-shot",
    ]  # fmt: skip


SIZES = {
    "inferact": ("--tasks", "16", "--tables", "1,5"),
    "devils-advocate": ("--tasks", "16", "--trials", "1"),
    "autoplan": ("--tasks", "16", "--tables", "2", "--iterations", "4"),
}


def begin(paper, home, out, url):
    """Starts the command in a process of its own."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "prices.toml").write_text(PRICE)
    command = [sys.executable, "-m", "console.cli", "paper", paper, "--model", "scripted-model", *SIZES[paper], "--yes"]
    env = {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "unused", "INFERACT_DATA_DIR": str(home)}
    with (out.parent / f"{out.name}.txt").open("w") as output:
        return subprocess.Popen([*command, "--out", str(out)], cwd=ROOT, env=env, stdout=output, stderr=output)


@pytest.mark.at_length
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("paper", SIZES)
def test_killed_in_the_middle_and_resumed_it_ends_alike_within_its_estimate(tmp_path, paper):
    with serving(reply) as endpoint:
        endpoint.keep_asks = False
        assert begin(paper, tmp_path / "one", tmp_path / "undisturbed", endpoint.url).wait(1_500) == 0
        whole = endpoint.total
        for share in (0.2, 0.7):
            endpoint.total = 0 if share == 0.2 else endpoint.total
            process = begin(paper, tmp_path / "two", tmp_path / "killed", endpoint.url)
            while endpoint.total < share * whole and process.poll() is None:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            assert process.wait(30) == -signal.SIGKILL
        assert begin(paper, tmp_path / "two", tmp_path / "killed", endpoint.url).wait(1_500) == 0
        # At most what was in flight at a kill is asked twice.
        assert whole <= endpoint.total <= whole + 2 * 8 * 4
    assert [untimed(row) for row in rows(tmp_path / "killed")] == [
        untimed(row) for row in rows(tmp_path / "undisturbed")
    ]
    told = json.loads((tmp_path / "undisturbed" / "estimate.json").read_text())["estimate"]["ranges"]
    used = account_of(tmp_path / "one")
    print(paper, whole, count_errors(tmp_path / "two"), {name: (told[name], used[name]) for name in used})
    for name, amount in used.items():
        assert told[name]["low"] <= amount <= told[name]["high"], (name, told[name], amount)
    assert sum([told["cost_usd"]["low"], told["cost_usd"]["high"]]) > 0


def count_errors(home):
    """The trials that ended with an error, straight from the database."""
    with sqlite3.connect(home / "console.db") as db:
        return db.execute("SELECT count(*) FROM trajectory WHERE outcome = 'error'").fetchone()[0]


def untimed(row):
    return None if row["metric"] == "seconds" else row


def account_of(home):
    """Everything that the model was asked, straight from the file that counts it."""
    with sqlite3.connect(home / "cache" / "replies.sqlite") as db:
        sums = "sum(requests), sum(prompt_tokens), sum(completion_tokens), sum(usd)"
        found = db.execute(f"SELECT {sums} FROM used").fetchone()
    return dict(zip(("requests", "prompt_tokens", "completion_tokens", "cost_usd"), found, strict=True))
