"""`inferact trajectory` on files that nobody should write, and what the terminal gets to see of them."""

import json
import tarfile
import zipfile

import pytest

from console.cli import run_command


@pytest.fixture
def imported(tmp_path, capsys):
    """A function that imports these records: (exit code, JSON document, stderr)."""

    def run(*records):
        log = tmp_path / "log.jsonl"
        log.write_text("".join(f"{record}\n" for record in records))
        code = run_command(["trajectory", "import", str(log), "--run", "r", "--json"])
        out, err = capsys.readouterr()
        return code, json.loads(out), err

    return run


def record(**fields):
    return json.dumps({"task_id": "t", "instruction": "buy a cup", "steps": [], **fields})


def test_json_too_deep_to_be_written_again_is_refused_with_its_line(imported):
    deep = record()[:-1] + ', "extra": {"a": ' + "[" * 900 + "]" * 900 + "}}"
    code, document, err = imported(record(), deep)
    assert (code, document["imported"]) == (2, 0)
    assert document["files"][0]["rejected"][0]["line"] == 2
    assert "line 2: The JSON is nested too deeply" in err


@pytest.mark.parametrize("trial", [-1, 1_000_001, 2**63, 1.5, True, "1"])
def test_a_trial_that_no_run_has_is_refused(imported, trial):
    code, document, err = imported(record(trial=trial))
    assert (code, document["imported"]) == (2, 0)
    assert 'line 1: "trial" is' in err


def test_a_folder_without_files_is_refused(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    code = run_command(["trajectory", "import", str(tmp_path / "empty"), "--run", "r", "--json"])
    assert code == 2
    assert "The folder is empty. Name a file" in capsys.readouterr().err


def test_two_critical_calls_in_one_message_are_two_critical_actions(tmp_path, capsys):
    def call(name, reservation):
        return {"id": name, "function": {"name": name, "arguments": json.dumps({"reservation_id": reservation})}}

    calls = [call("get_user_details", "A"), call("cancel_reservation", "A"), call("cancel_reservation", "B")]
    spoken = {"role": "assistant", "content": None, "tool_calls": calls}
    run = {"task_id": 1, "trial": 0, "reward": 1.0, "info": {}, "traj": [{"role": "user", "content": "hi"}, spoken]}
    log = tmp_path / "runs.json"
    log.write_text(json.dumps([run]))
    assert run_command(["trajectory", "import", str(log), "--run", "r", "--json"]) == 0
    capsys.readouterr()
    assert run_command(["trajectory", "list", "--run", "r", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["n_steps"], listed["n_critical_actions"]) == (1, 2)


def test_a_list_cannot_steer_the_terminal(imported, capsys):
    imported(record(instruction="red \x1b[2J\u202ecup"))
    assert run_command(["trajectory", "list", "--run", "r"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "<U+001B>[2J<U+202E>cup" in shown


@pytest.mark.parametrize("noun", [[], ["trajectory"], ["run"], ["review"], ["prompt"], ["db"]])
def test_the_help_of_a_noun_has_an_example_too(noun, capsys):
    assert run_command([*noun, "--help"]) == 0
    assert " ".join(["Example: inferact", *noun]) in " ".join(capsys.readouterr().out.split())


def test_an_import_in_which_nothing_is_critical_says_what_looks_it(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    log.write_text(record(steps=[{"action": 'send_email({"to":"a","body":"b"})'}, {"action": "get_day({})"}]))
    assert run_command(["trajectory", "import", str(log), "--run", "desk"]) == 0
    said = capsys.readouterr().out
    assert "No action of desk counts as critical; this one looks critical: send_email (1 time)." in said
    assert "inferact run critical desk --accept" in said
    assert run_command(["run", "critical", "desk", "--accept", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["critical"] == ["send_email"]
    assert run_command(["trajectory", "import", str(log), "--run", "desk"]) == 0
    assert "counts as critical" not in capsys.readouterr().out


def test_an_import_in_which_nothing_even_looks_critical_says_how_to_name_it(imported):
    _, document, _ = imported(record(steps=[{"action": "get_day({})"}]))
    assert document["nothing_critical"] == {"looks_critical": []}


def test_a_pattern_that_could_not_be_applied_is_named_at_the_import_and_by_run_critical(tmp_path, capsys):
    log, steps = tmp_path / "log.jsonl", [{"action": "transfer(total() + 1)"}, {"action": "transfer(amount=5)"}]
    log.write_text(record(steps=steps))
    assert run_command(["trajectory", "import", str(log), "--run", "bank"]) == 0
    assert run_command(["run", "critical", "bank", "--add", "transfer.amount=*"]) == 0
    sentence = "Could not apply transfer.amount=* to 1 call: the arguments cannot be read."
    assert sentence in capsys.readouterr().out
    log.write_text(record(task_id="u", steps=steps))
    assert run_command(["trajectory", "import", str(log), "--run", "bank"]) == 0
    assert sentence.replace("1 call", "2 calls") in capsys.readouterr().out
    assert run_command(["run", "critical", "bank", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unapplied"] == {"transfer.amount=*": 2}


def test_a_folder_and_an_archive_with_a_readme_are_no_error(tmp_path, capsys):
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "README.md").write_text("# About these logs\n")
    step = {"thought": "", "action": "look(1)", "observation": "a cup of tea is on the table"}
    (folder / "a.jsonl").write_text(record(steps=[step]) + "\n")
    with tarfile.open(tmp_path / "logs.tgz", "w:gz") as packed:
        packed.add(folder, "logs")
    for path in (folder, tmp_path / "logs.tgz"):
        assert run_command(["trajectory", "import", str(path), "--run", path.name, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["imported"] == 1
        assert [one["path"].rpartition("/")[2] for one in document["files"]] == ["a.jsonl"]
        named = [*document["ignored"], *document["files"][0]["documents"]]
        assert [name.rpartition("logs/")[2] for name in named] == ["README.md"]


def test_the_documents_of_an_archive_are_named(tmp_path, capsys):
    log, packed = record(), tmp_path / "logs.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("notes.md", "user: cancel my order")
        archive.writestr("a.jsonl", log)
    assert run_command(["trajectory", "import", str(packed), "--run", "docs"]) == 0
    assert f"Not imported: 1 document, such as {packed}/notes.md." in capsys.readouterr().out
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("notes.md", "user: cancel my order")
    assert run_command(["trajectory", "import", str(packed), "--run", "docs"]) == 2
    assert f"The archive contains only documents, such as {packed}/notes.md." in capsys.readouterr().err


def test_a_kept_value_is_not_called_left_out(tmp_path, capsys):
    log = tmp_path / "log.jsonl"
    log.write_text(record(label="aligned", success=False, remark="late"))
    assert run_command(["trajectory", "import", str(log), "--run", "kept"]) == 0
    said = capsys.readouterr().out
    assert "  1 value of success kept but not used (contradicts label): line 1\n" in said
    assert "  1 field remark of a record kept in extra: line 1\n" in said
    assert "left out" not in said


def test_the_documents_of_a_folder_are_named_with_their_number(tmp_path, capsys):
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(record() + "\n")
    for name in ("README.md", "session.md", "plot.png"):
        (folder / name).write_text("user: cancel my order\n")
    assert run_command(["trajectory", "import", str(folder), "--run", "docs"]) == 0
    told = capsys.readouterr().out
    assert "3 documents" in told
    assert str(folder / "session.md") in told
    assert run_command(["trajectory", "import", str(folder), "--dry-run", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["ignored"]) == 3


def test_the_messages_of_a_strands_session_are_read_in_the_order_of_their_numbers(tmp_path, capsys):
    said = [("user", [{"text": "Cancel the orders"}])]
    for number in range(6):
        use = {"toolUse": {"toolUseId": f"t{number}", "name": "cancel", "input": {"order": number}}}
        back = {"toolResult": {"toolUseId": f"t{number}", "content": [{"text": f"ok {number}"}]}}
        said += [("assistant", [use]), ("user", [back])]
    folder = tmp_path / "logs" / "session_s1" / "agents" / "agent_shop" / "messages"
    folder.mkdir(parents=True)
    (folder.parent / "agent.json").write_text('{"agent_id": "shop", "state": {}}')
    (folder.parents[2] / "session.json").write_text('{"session_id": "s1", "session_type": "AGENT"}')
    for number, (role, parts) in enumerate(said):
        message = {"message": {"role": role, "content": parts}, "message_id": number, "redact_message": None}
        (folder / f"message_{number}.json").write_text(json.dumps(message, indent=2))
    assert run_command(["trajectory", "import", str(tmp_path / "logs"), "--run", "r", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["format"], one["trajectories"], one["calls"]) for one in told["files"]] == [("openai-messages", 1, 6)]
    assert len(told["ignored"]) == 2
    assert run_command(["trajectory", "show", "1", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [step["observation"] for step in steps] == [f"ok {number}" for number in range(6)]


def test_an_import_says_that_a_log_does_not_contain_the_request(tmp_path, capsys):
    log = tmp_path / "log.json"
    log.write_text(json.dumps({"messages": [{"role": "assistant", "content": "Done."}]}))
    assert run_command(["trajectory", "import", str(log), "--run", "r"]) == 0
    assert "1 trajectory without the user's request: not in this log" in capsys.readouterr().out
