"""`inferact run` of live runs, from the start to the last trial, in the embedded environments."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select

from console.cli import run_command
from console.database import reading
from console.gate import Gate
from storage import tables


@pytest.fixture
def inferact(capsys):
    """A function that runs one command and gives (exit code, JSON or text of stdout, stderr)."""

    def run(*arguments):
        code = run_command([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in arguments and out else out, err

    return run


@pytest.fixture
def shop(inferact):
    """A live run named shop with everything flagged and nothing to wait for."""
    options = ["--env", "webshop,hotpotqa", "--tasks", "6,4", "--detector", "full-validation", "--undo-seconds", "0"]
    code, document, err = inferact("run", "start", "--name", "shop", *options, "--json")
    assert code == 0, err
    return document


def test_a_run_starts_and_holds_every_flagged_action(shop, inferact):
    (first,) = shop["trials"]
    assert first["tasks"] == first["run_tasks"] == 10
    assert first["paused"] + first["halted"] == 10
    assert first["success_paper"] is None
    rows = inferact("run", "list", "--json")[1]
    assert (rows[0]["environment"], rows[0]["actor"], rows[0]["kind"]) == ("webshop,hotpotqa", "scripted", "live")


@pytest.mark.at_length
def test_the_list_counts_what_the_budgets_hold_back_apart(shop, inferact):
    items = inferact("review", "list", "--run", "shop", "--json")[1]
    pending = len(items)
    inferact("run", "budget", "shop", "4")
    (row,) = inferact("run", "list", "--json")[1]
    assert (row["waiting"], row["pending"], row["beyond_budget"]) == (pending, 4, pending - 4)
    heads, cells = (line.split() for line in inferact("run", "list")[1].splitlines())
    assert "waiting" not in heads
    assert cells[-3:-1] == ["4", str(pending - 4)]
    inferact("review", "claim", "--run", "shop", "--reviewer", "ann", "--json")
    (row,) = inferact("run", "list", "--json")[1]
    assert (row["pending"], row["beyond_budget"]) == (3, pending - 4)


@pytest.mark.at_length
def test_words_given_on_the_command_line_bring_the_next_trial(shop, inferact):
    for item in inferact("review", "list", "--run", "shop", "--json")[1]:
        assert inferact("review", "claim", "--run", "shop", "--reviewer", "ann", "--json")[1]["item"]
        halted = item["priority"] < 0
        decision = ["--decision", "respond"] if halted else ["--decision", "reject"]
        claimed = inferact("review", "claim", "--run", "shop", "--reviewer", "ann", "--json")[1]["item"]["item_id"]
        inferact("review", "decide", claimed, "--reviewer", "ann", *decision, "--feedback", "check every option")
    code, done, _ = inferact("run", "next", "shop", "--json")
    assert code == 0
    assert done["delivered"] == done["revealed"] == 10
    status = inferact("run", "status", "shop", "--json")[1]["trials"]
    assert [trial["trial"] for trial in status] == [0, 1]
    assert status[0]["rejected"] + status[0]["halted"] == 10


@pytest.mark.at_length
def test_a_decision_that_can_still_be_taken_back_is_spoken_of(inferact):
    options = ["--env", "webshop", "--tasks", "1", "--detector", "full-validation", "--undo-seconds", "60"]
    inferact("run", "start", "--name", "shop", *options)
    claimed = inferact("review", "claim", "--run", "shop", "--reviewer", "ann", "--json")[1]["item"]["item_id"]
    inferact("review", "decide", claimed, "--reviewer", "ann", "--decision", "respond", "--label", "misaligned",
             "--feedback", "look again")  # fmt: skip
    said = inferact("run", "next", "shop")[1]
    assert said.startswith("0 decisions delivered, 0 tasks got their next trial, 0 new items. ")
    window = r"1 decision can still be undone; it is delivered at \d\d:\d\d:\d\d \(in (\d+) s\)\."
    assert 50 <= int(re.search(window, said)[1]) <= 60
    document = inferact("run", "next", "shop", "--json")[1]
    assert (document["delivered"], document["undoable"]) == (0, 1)
    due_at = datetime.fromisoformat(document["due_at"])
    assert timedelta(seconds=45) < due_at - datetime.now(UTC) <= timedelta(seconds=60)


@pytest.mark.at_length
def test_nothing_is_said_of_taking_back_where_nothing_waits(shop, inferact):
    assert "be undone" not in inferact("run", "next", "shop")[1]
    document = inferact("run", "next", "shop", "--json")[1]
    assert (document["undoable"], document["due_at"]) == (0, None)


@pytest.mark.at_length
def test_release_and_two_counts_of_success(shop, inferact):
    code, done, _ = inferact("run", "release", "shop", "--json")
    assert code == 0
    assert done["released"] == shop["trials"][0]["paused"]
    (first,) = inferact("run", "status", "shop", "--json")[1]["trials"]
    assert first["success_held"] == 0
    assert first["success_paper"] == first["succeeded"]
    table = inferact("run", "status", "shop")[1]
    assert "paper" in table


@pytest.mark.at_length
def test_the_same_seed_brings_the_same_trials(inferact):
    actions = []
    for name in ("one", "two"):
        inferact("run", "start", "--name", name, "--env", "alfworld", "--tasks", "3", "--seed", "5")
        rows = inferact("trajectory", "list", "--run", name, "--json")[1]
        actions.append([(row["task_id"], row["outcome"], row["n_steps"]) for row in rows])
    assert actions[0] == actions[1]


@pytest.mark.at_length
def test_resume_of_a_finished_run_changes_nothing(shop, inferact):
    code, done, _ = inferact("run", "resume", "shop", "--json")
    assert code == 0
    assert (done["revealed"], done["delivered"], done["unknown"], done["interrupted"]) == (0, 0, 0, 0)
    assert inferact("run", "status", "shop", "--json")[1]["trials"] == shop["trials"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--env", "kitchen"], "No environment named 'kitchen'"),
        (["--env", "webshop", "--actor", "nobody"], "No actor named 'nobody'"),
        (["--env", "webshop", "--detector", "nothing"], "No detector named 'nothing'"),
        (["--env", "webshop", "--tasks", "many"], "Give one whole number"),
        (["--env", "webshop", "--tasks", "1,2"], "Give one whole number"),
        (["--env", "webshop", "--feedback", "loud"], "Use one of nl, binary, none"),
        (["--env", "webshop", "--from", "log"], "--from needs --actor replay"),
        (["--actor", "replay"], "Name an archive run"),
        ([], "Name an environment"),
    ],
)
def test_what_cannot_be_started_is_refused_in_one_sentence(inferact, arguments, sentence):
    code, out, err = inferact("run", "start", "--name", "x", *arguments)
    assert (code, out) == (2, "")
    assert sentence.lower() in err.lower()
    assert err.count("\n") == 1
    assert inferact("run", "list", "--json")[1] == []


def test_a_run_without_feedback_says_that_nothing_of_it_is_inspected(inferact):
    started = inferact("run", "start", "--env", "webshop", "--tasks", "1", "--name", "plain", "--feedback", "none")
    nothing = (
        "This run has no inspections, because its feedback mode is none. Continue the run: inferact run next plain\n"
    )
    assert started[:2] == (0, f"Started plain. {nothing}")
    assert inferact("review", "list", "--run", "plain")[1] == nothing


def test_a_status_adds_up_and_says_what_a_budget_comes_to_where_nothing_is_flagged(inferact, tmp_path):
    bought = {"instruction": "x", "steps": [{"action": "look"}, {"action": "buy[1]"}]}
    records = [bought | more for more in ({"task_id": "1"}, {"task_id": "2"}, {"task_id": "3", "outcome": "failed"})]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    inferact("trajectory", "import", log, "--run", "log")
    assert "so far" not in inferact("run", "status", "log")[1]
    inferact("run", "critical", "log", "--add", "buy*")
    started = ["--actor", "replay", "--from", "log", "--name", "again", "--budget", "50%"]
    nothing = "rules has not flagged any action yet, so no item is pending.\n"
    assert inferact("run", "start", *started, "--threshold", "0.99")[1] == f"Started again. {nothing}"
    assert inferact("review", "list", "--run", "again")[1] == nothing
    assert inferact("detect", "log", "--method", "rules", "--threshold", "0.99")[1].endswith(f"\n{nothing}")
    # What another detector flags is not what the queue is filled from.
    assert inferact("detect", "log", "--method", "full-validation")[1].endswith(f"\n{nothing}")
    done = "0 beyond the budget. Next: inferact export decisions --run log --out log-decisions.csv\n"
    assert inferact("review", "simulate", "--run", "log")[1].endswith(done)
    refusal = "has no next trial. Replay it first: inferact run start --actor replay --from log --name log-replay\n"
    assert inferact("run", "next", "log")[2].endswith(refusal)
    header, row, said = inferact("run", "status", "again")[1].splitlines()
    names = ["trial", "trajectories", "succeeded", "failed", "halted", "paused", "rejected", "without outcome",
             "flagged", "inspections", "budget", "left"]  # fmt: skip
    assert (re.split(r"  +", header.strip()), said + "\n") == (names, nothing)
    assert [int(cell) for cell in row.split()] == [0, 3, 0, 1, 0, 0, 0, 2, 0, 0, 2, 2]


def test_what_a_gate_asks_about_is_not_called_flagged_and_a_claim_not_inspected(inferact, data_dir):
    Gate("desk", "full-validation", undo_s=0).ask("Pay.", [], "pay({})")
    inferact("review", "claim", "--run", "desk", "--reviewer", "Ada")
    header, row = inferact("run", "status", "desk")[1].splitlines()
    told = dict(zip(re.split(r"  +", header.strip()), row.split(), strict=True))
    assert (told["reviews requested"], told["inspections"]) == ("1", "1")
    assert "flagged" not in told


def test_a_gate_is_stopped_continues_and_goes_once_it_is_stopped(inferact, data_dir):
    gate = Gate("bot", "rules", critical=["pay*"], threshold=1.0, undo_s=0)
    assert gate.ask("Pay bill 1.", [], "pay[1]", task_id="1").approved
    assert gate.ask("Refund order 1.", [], "refund(1)", task_id="2").look() is None
    code, _, err = inferact("run", "delete", "bot", "--yes")
    assert (code, "Stop the run first: inferact run stop bot" in err) == (1, True)
    code, out, _ = inferact("run", "stop", "bot")
    assert (code, "Stopped bot and withdrew 1 pending check." in out) == (0, True)
    assert inferact("run", "list", "--json")[1][0]["stopped"]
    assert inferact("run", "stop", "bot", "--undo")[1].strip() == "The agents of bot may continue."
    assert inferact("run", "stop", "bot", "--json")[0] == 0
    assert inferact("run", "archive", "bot")[0] == 0
    assert inferact("run", "delete", "bot", "--yes")[0] == 0


def test_resume_is_for_live_runs(inferact, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"task_id": "1", "instruction": "x", "steps": [{"action": "look"}]}) + "\n")
    inferact("trajectory", "import", log, "--run", "log")
    code, _, err = inferact("run", "resume", "log")
    assert code == 1
    assert "Name a live run" in err


def test_questions_of_a_file_are_the_tasks_of_a_run(data_dir, tmp_path, capsys):
    facts = {"context": [["Lamp", ["The Lamp is a tower.", " It was built in 1901."]], ["Cup", ["A cup holds tea."]]]}
    record = {"_id": "q1", "question": "When was the Lamp built?", "answer": "1901", "supporting_facts": [["Lamp", 1]]}
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([record | facts | {"type": "bridge", "level": "hard"}]))
    start = ["run", "start", "--questions", str(file), "--name"]
    assert run_command([*start, "own", "--env", "hotpotqa", "--tasks", "1"]) == 0
    with reading() as session:
        (task,) = session.exec(select(tables.Task)).all()
        (trial,) = session.exec(select(tables.Trajectory)).all()
    assert (task.instruction, json.loads(task.gold)["answer"]) == ("When was the Lamp built?", "1901")
    assert trial.n_steps > 0 or trial.critical_action
    capsys.readouterr()
    assert run_command([*start, "more", "--env", "hotpotqa", "--tasks", "2"]) == 2
    assert "has 1 questions. Use --tasks 1 or fewer." in capsys.readouterr().err
    assert run_command([*start, "other", "--env", "webshop"]) == 2
    assert "--questions needs --env hotpotqa" in capsys.readouterr().err
