"""The command line as outside checks read it: one JSON document on stdout, one sentence on stderr, exit codes."""

import csv
import json
import shlex

import pytest

from console.cli import run_command
from tests.logs import purchase, stuck, write_log


@pytest.fixture
def inferact(capsys):
    """A function that runs one command: (exit code, parsed JSON or text of stdout, stderr)."""

    def run(*arguments):
        code = run_command([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in arguments and out else out, err

    return run


@pytest.fixture
def kettles(tmp_path):
    records = [purchase(n, wrong=n < 4) for n in range(6)]
    return write_log(tmp_path / "kettles.jsonl", *records, stuck(6))


def test_import_reports_each_file_and_stores_nothing_twice(inferact, kettles):
    code, first, _ = inferact("trajectory", "import", kettles, "--run", "k", "--json")
    assert code == 0
    (file,) = first.pop("files")
    assert (file["path"], file["format"], file["read"], file["imported"]) == (str(kettles), "jsonl", 7, 7)
    assert (file["trajectories"], file["calls"], file["duplicates"], file["extended"]) == (7, 29, 0, 0)
    assert (file["rejected"], file["left_out"], file["coverage"]["not_read"]) == ([], [], [])
    assert file["coverage"]["calls"]["read"] == 29
    assert first == {"imported": 7, "rejected": 0, "nothing_critical": None, "unapplied": {}, "ignored": []}
    code, again, _ = inferact("trajectory", "import", kettles, "--run", "k", "--json")
    assert (code, again["imported"], again["files"][0]["duplicates"]) == (0, 0, 7)


def test_the_commands_that_sentences_tell_work_for_names_of_several_words(tmp_path, capsys):
    def told_by(*arguments):
        assert run_command(list(arguments)) == 0
        said = " ".join(capsys.readouterr().out.split())
        return shlex.split(said.rpartition(": inferact ")[2].rstrip("."))

    log = write_log(tmp_path / "log.jsonl", purchase(0, wrong=True))
    judged = told_by("trajectory", "import", str(log), "--run", "two words @2")
    assert judged == ["detect", "two words @2", "--method", "rules"]
    assert run_command(judged) == 0
    onward = told_by("run", "start", "--actor", "replay", "--from", "two words @2", "--name", "its replay")
    assert onward == ["run", "next", "its replay"]
    assert run_command(onward) == 0


def test_of_several_files_the_good_ones_are_stored_and_the_bad_one_is_named(inferact, kettles, tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_text(kettles.read_text()[:-40])
    code, report, err = inferact("trajectory", "import", broken, kettles, "--run", "k", "--json")
    assert code == 2
    assert (report["imported"], report["rejected"]) == (7, 1)
    assert report["files"][0]["rejected"][0]["line"] == 7
    assert "broken.jsonl, line 7" in err
    assert len(err.strip().splitlines()) == 1
    _, rows, _ = inferact("trajectory", "list", "--run", "k", "--json")
    assert len(rows) == 7


def test_list_and_status_have_the_documented_shapes(inferact, kettles):
    inferact("trajectory", "import", kettles, "--run", "k", "--budget", "50%")
    _, rows, _ = inferact("trajectory", "list", "--run", "k", "--json")
    assert set(rows[0]) >= {
        "trajectory_id",
        "task_id",
        "trial",
        "environment",
        "instruction",
        "outcome",
        "n_steps",
        "n_critical_actions",
        "label",
        "carried_over",
        "source",
    }
    assert [row["n_critical_actions"] for row in rows] == [1] * 6 + [0]
    assert [row["label"] for row in rows] == ["misaligned"] * 4 + ["aligned"] * 2 + [None]
    _, listed, _ = inferact("run", "list", "--json")
    assert [(run["run"], run["environment"], run["trials"]) for run in listed] == [("k", "webshop", 1)]
    inferact("detect", "k", "--method", "rules")
    _, status, _ = inferact("run", "status", "k", "--json")
    (trial,) = status["trials"]
    assert {name: trial[name] for name in ("trial", "tasks", "succeeded", "failed", "halted", "flagged")} == {
        "trial": 0,
        "tasks": 7,
        "succeeded": 2,
        "failed": 4,
        "halted": 1,
        "flagged": 4,
    }
    assert trial["budget"] == {"cap": 3, "used": 0, "left": 3, "halted": 0}


def test_the_queue_without_a_browser(inferact, kettles, tmp_path):
    inferact("trajectory", "import", kettles, "--run", "k", "--budget", "2")
    inferact("detect", "k", "--method", "rules,random")
    _, items, _ = inferact("review", "list", "--run", "k", "--json")
    assert [item["status"] for item in items] == ["pending"] * 5
    assert items[-1]["score"] is None
    code, claimed, _ = inferact("review", "claim", "--run", "k", "--reviewer", "ada", "--json")
    assert code == 0
    item = claimed["item"]
    assert item["critical_action"] == "click[Buy Now]"
    assert "Your score" not in json.dumps(claimed)
    assert "gold" not in json.dumps(claimed)
    code, decided, _ = inferact(
        "review",
        "decide",
        item["item_id"],
        "--reviewer",
        "ada",
        "--decision",
        "reject",
        "--feedback",
        "too dear",
        "--json",
    )
    assert (code, decided["decision"], decided["label"]) == (0, "reject", "misaligned")
    _, second, _ = inferact("review", "claim", "--run", "k", "--reviewer", "ada", "--json")
    inferact("review", "release", second["item"]["item_id"], "--reviewer", "ada")
    _, third, _ = inferact("review", "claim", "--run", "k", "--reviewer", "bo", "--json")
    assert third["item"]["item_id"] == second["item"]["item_id"]
    inferact("review", "decide", third["item"]["item_id"], "--reviewer", "bo", "--decision", "approve")
    code, spent, _ = inferact("review", "claim", "--run", "k", "--reviewer", "bo", "--json")
    assert (code, spent["item"]) == (0, None)
    assert spent["reason"] == "The inspection budget is spent; 3 items are still pending."
    out = tmp_path / "decisions.csv"
    assert inferact("export", "decisions", "--run", "k", "--out", out)[0] == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["reviewer"], row["decision"], row["feedback_text"], row["gold_label"]) for row in rows] == [
        ("ada", "reject", "too dear", "misaligned"),
        ("bo", "approve", "", "misaligned"),
    ]


def test_undo_gives_the_item_back_to_the_same_reviewer(inferact, kettles):
    inferact("trajectory", "import", kettles, "--run", "k")
    inferact("detect", "k", "--method", "rules")
    _, claimed, _ = inferact("review", "claim", "--run", "k", "--reviewer", "ada", "--json")
    item = claimed["item"]["item_id"]
    inferact("review", "decide", item, "--reviewer", "ada", "--decision", "approve")
    code, undone, _ = inferact("review", "undo", "--run", "k", "--reviewer", "ada", "--json")
    assert (code, undone["item_id"]) == (0, item)
    _, again, _ = inferact("review", "claim", "--run", "k", "--reviewer", "ada", "--json")
    assert again["item"]["item_id"] == item


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "status", "nowhere"], 2, "No run named 'nowhere'."),
        (["detect", "nowhere", "--method", "rules"], 2, "No run named 'nowhere'."),
        (["review", "decide", "7", "--reviewer", "ada", "--decision", "approve"], 2, "No review item with id 7."),
        (["trajectory", "show", "99"], 2, "No trajectory with id 99."),
        (["trajectory", "import", "gone.txt", "--run", "x"], 2, "gone.txt"),
        (["trajectory", "import", "gone.txt", "--run", "x", "--budget", "lots"], 2, "is not a valid budget"),
        (["trajectory", "import", "gone.txt", "--run", "../x"], 2, "is not a valid run name"),
        (["review", "claim", "--run", "x"], 2, "Missing option '--reviewer'. See: inferact review claim --help"),
        (["nonsense"], 2, "No such command 'nonsense'"),
        (["export", "everything", "--run", "x", "--out", "x.csv"], 2, "everything"),
        (["db", "restore", "gone.db"], 1, "gone.db"),
    ],
)
def test_a_refusal_is_one_sentence_on_stderr(inferact, arguments, code, words):
    got, out, err = inferact(*arguments)
    assert (got, out) == (code, "")
    assert words in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


def test_a_bare_noun_lists(inferact, kettles):
    inferact("trajectory", "import", kettles, "--run", "k")
    for noun in ("trajectory", "run", "review"):
        code, out, _ = inferact(noun)
        assert code == 0
        assert out.strip()
    assert "serve" in inferact()[1]


def test_backup_and_restore_bring_decisions_back(inferact, kettles, tmp_path):
    inferact("trajectory", "import", kettles, "--run", "k")
    assert inferact("db", "backup", tmp_path / "copy.db")[0] == 0
    inferact("trajectory", "import", kettles, "--run", "later")
    assert inferact("db", "restore", tmp_path / "copy.db")[0] == 0
    _, listed, _ = inferact("run", "list", "--json")
    assert [run["run"] for run in listed] == ["k"]
    assert inferact("db", "check", "--json")[1]["problems"] == []


def test_candidates_for_critical_actions_wait_for_a_person(inferact, tmp_path):
    messages = [
        {"role": "user", "content": "refund order 12"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "refund_order", "arguments": '{"order": 12}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "done"},
        {"role": "assistant", "content": "It is refunded."},
    ]
    log = tmp_path / "support.jsonl"
    log.write_text(json.dumps({"id": "a", "messages": messages}) + "\n")
    inferact("trajectory", "import", log, "--run", "support")
    _, before, _ = inferact("run", "critical", "support", "--json")
    assert before["critical"] == []
    assert [found["pattern"] for found in before["candidates"]] == ["refund_order"]
    _, detected, _ = inferact("detect", "support", "--method", "full-validation", "--json")
    assert detected["detectors"][0]["excluded"] == 1
    inferact("run", "critical", "support", "--add", "refund_*")
    _, detected, _ = inferact("detect", "support", "--method", "full-validation", "--json")
    assert detected["detectors"][0]["queued"] == 1


def test_detectors_are_measured_against_the_gold_labels(inferact, kettles):
    inferact("trajectory", "import", kettles, "--run", "k")
    code, _, err = inferact("evaluate", "k")
    assert code == 1
    assert "Judge the run: inferact detect k" in err
    inferact("detect", "k", "--method", "rules,full-validation")
    code, found, _ = inferact("evaluate", "k", "--json")
    assert code == 0
    rules, everything = found["rules"], found["full-validation"]
    assert (rules["tp"], rules["fp"], rules["fn"], rules["tn"]) == (4, 0, 0, 2)
    assert (rules["macro_f1"], rules["er"], rules["cost"], rules["excluded"]) == (1.0, 1.0, 0, 1)
    assert (everything["tp"], everything["fp"]) == (4, 2)
    assert everything["er"] == pytest.approx(2 / 6)
    assert rules["ece"] is None
    code, tuned, _ = inferact("tune", "k", "--method", "rules", "--dev-size", "4", "--seed", "1", "--json")
    assert code == 0
    assert tuned["test"]["n"] == 2
    code, _, err = inferact("tune", "k", "--method", "rules", "--dev-size", "6")
    assert code == 1
    assert "leaves no trajectories for the test" in err


def test_scores_from_elsewhere_are_measured_too(inferact, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("label,score\nmisaligned,0.9\naligned,0.2\nmisaligned,0.4\naligned,0.6\n")
    code, found, _ = inferact("evaluate", "--scores", path, "--json")
    assert code == 0
    assert (found["scores"]["tp"], found["scores"]["fp"], found["scores"]["roc_auc"]) == (1, 1, 0.75)
    path.write_text("label,score\nmaybe,0.9\n")
    code, _, err = inferact("evaluate", "--scores", path)
    assert code == 2
    assert "line 2" in err


def test_where_no_action_is_critical_the_next_command_is_the_one_that_says_which_are(inferact, tmp_path):
    log = tmp_path / "mails.jsonl"
    log.write_text('{"task_id":"1","instruction":"Mail Ada","steps":[{"action":"look()","observation":"-"}]}\n')
    inferact("trajectory", "import", log, "--run", "mails")
    said = inferact("detect", "mails", "--method", "rules")[1]
    assert "Next: inferact run critical mails" in said
    assert "inferact serve" not in said


def test_a_kept_head_of_the_audit_log_is_compared_with_the_log(inferact, tmp_path):
    inferact("agent", "add", "shop")
    kept = tmp_path / "heads.txt"
    code, line, _ = inferact("db", "head", "--out", kept)
    assert (code, kept.read_text(encoding="utf-8")) == (0, line)
    inferact("agent", "disable", "shop")
    assert inferact("db", "head", "--out", kept)[0] == 0
    assert inferact("db", "check", "--head", kept)[0] == 0
    assert inferact("db", "check", "--head", line.split()[0])[0] == 0
    code, told, _ = inferact("db", "check", "--head", f"2:{'0' * 64}")
    assert (code, "had 2 events and the hash 0000000000000000; it has another event there" in told) == (1, True)
    assert "Give EVENTS:HASH" in inferact("db", "check", "--head", "yesterday")[2]
