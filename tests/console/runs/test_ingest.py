"""Files into a run: archives, what became of each file, pictures once, decisions made elsewhere without a place."""

import gzip
import json
import math
import zipfile
from dataclasses import replace
from io import BytesIO

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlmodel import select

from console import runs
from console.cli import run_command
from console.database import database_url, reading, writing
from console.runs import ingest
from console.runs.trajectory_rows import load_pictures
from console.trajectory import Picture
from storage import tables
from storage.check import check
from tests.console.runs.importers.samples import SAMPLES, png
from tests.logs import purchase

KEYS = {"trajectories": 1, "calls": 1, "answers": 1, "pictures": 1, "decisions": 0, "rejected": []}


@pytest.fixture
def imported(tmp_path):
    """A function that writes a file of that name and imports it: one report for each file in it."""

    def into(name, content, run="r"):
        path = tmp_path / name
        path.write_bytes(content)
        return [report.to_dict() for report in ingest.import_files(path, run, "auto", lambda _: None)]

    return into


def zipped(**files):
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def stored(table):
    with reading() as session:
        return session.exec(select(table)).all()


def test_a_report_says_what_became_of_a_file_and_what_was_left_out(imported):
    (report,) = imported("log", SAMPLES["openai-messages"].content)
    assert {name: report[name] for name in KEYS} == KEYS
    assert {"what": "message of role observer", "count": 1, "line": 1} in report["left_out"]


@pytest.mark.at_length
def test_a_known_file_imports_nothing_twice(imported):
    for name, sample in SAMPLES.items():
        first, again = imported("log", sample.content, name), imported("log", sample.content, name)
        assert again[0]["imported"] == 0
        assert again[0]["duplicates"] == first[0]["imported"] == len(sample.actions)
        assert (again[0]["decisions"], first[0]["decisions"]) == (0, sample.decisions)
    assert check(database_url()) == []


def test_long_requests_in_a_history_of_aider_count_as_read(imported):
    asked = "Bring the red cup of the upper shelf to the table by the window. " * 40
    chats = (f"# aider chat started at 2025-03-01 10:00:{at}\n\n#### {asked}{at}  \n\nYes.\n\n" for at in range(10, 40))
    (report,) = imported("history.md", "".join(chats).encode())
    assert (report["rejected"], report["imported"]) == ([], 30)


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("log.gz", gzip.compress),
        ("log.zst", lambda raw: pa.Codec("zstd").compress(raw, asbytes=True)),
        ("logs.zip", lambda raw: zipped(**{"a/log.jsonl": raw})),
        ("twice.zip", lambda raw: zipped(**{"a.gz": gzip.compress(raw), ".hidden": b"x"})),
    ],
)
def test_archives_are_unpacked(imported, name, pack):
    sample = SAMPLES["claude-code"]
    (report,) = imported(name, pack(sample.content))
    assert (report["format"], report["imported"], report["calls"]) == ("claude-code", 4, 5)


def test_each_file_of_an_archive_stands_by_itself(imported, tmp_path):
    packed = zipped(**{"good.json": SAMPLES["atif"].content, "bad.txt": b"Dear all,\n", "more/": b""})
    bad, good = imported("logs.zip", packed)
    assert (good["imported"], good["path"]) == (1, f"{tmp_path}/logs.zip/good.json")
    assert "no known log format" in bad["rejected"][0]["reason"]


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"x" * 9_000)[:-20], zipped(a=b"x" * 900)[:-30], b"PAR1 and no more"],
    ids=["gzip", "zip", "parquet"],
)
def test_a_damaged_archive_is_refused_whole(imported, content):
    (report,) = imported("log", content)
    assert "damaged or cut off" in report["rejected"][0]["reason"]
    assert not stored(tables.Trajectory)


def test_an_inspect_archive_is_one_log(imported):
    log = orjson.loads(SAMPLES["inspect"].content)
    header = {name: value for name, value in log.items() if name != "samples"}
    samples = {f"samples/{one['id']}_epoch_1.json": orjson.dumps(one) for one in log["samples"]}
    (report,) = imported("x.eval", zipped(**{"header.json": orjson.dumps(header), **samples}))
    assert (report["format"], report["imported"], report["calls"], report["decisions"]) == ("inspect", 2, 4, 1)


def test_samples_of_an_inspect_archive_stand_in_its_own_order(imported):
    header = b'{"status": "success", "eval": {"task": "t"}, "results": {"accuracy": NaN}}'
    names = ("10_epoch_1", "2_epoch_2", "2_epoch_1", "b_epoch_1")
    said = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "Done."}]
    given = {name: {"id": name.split("_")[0], "epoch": int(name[-1]), "messages": said} for name in names}
    samples = {f"samples/{name}.json": orjson.dumps(one) for name, one in given.items()}
    imported("x.eval", zipped(**{"header.json": header, **samples}))
    with reading() as session:
        named = select(tables.Task.task_key, tables.Trajectory.trial).join(tables.Trajectory)
        found = session.exec(named.order_by(tables.Trajectory.id)).all()
    assert found == [("2", 0), ("10", 0), ("b", 0), ("2", 1)]


def test_numbers_that_json_does_not_know_hide_no_text(imported):
    asked, said = "What is one and one, as a whole number, please?", "It is two, as far as I can tell from here."
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": said}] * 12
    sample = {"id": 1, "epoch": 1, "input": asked, "messages": messages, "scores": {"match": {"value": math.nan}}}
    log = {"status": "success", "eval": {"task": "t"}, "results": {"accuracy": math.inf}, "samples": [sample]}
    (report,) = imported("log.json", json.dumps(log).encode())
    assert (report["format"], report["imported"], report["rejected"]) == ("inspect", 1, [])


def test_the_long_output_of_a_users_own_command_is_context_of_the_session(imported):
    printed = "\n".join(f"tests/test_money.py::test_number_{number} PASSED" for number in range(200))
    said = [
        ("user", "Run the tests of the money module."),
        ("assistant", [{"type": "text", "text": "Please run them in your own shell."}]),
        ("user", "<bash-input>pytest -v</bash-input>"),
        ("user", f"<bash-stdout>{printed}</bash-stdout>"),
        ("user", "Why are the tests of the money module so slow, please?"),
        ("assistant", [{"type": "text", "text": "Each of them opens a database of its own."}]),
    ]
    events = [
        {"type": role, "sessionId": "s", "uuid": str(at), "parentUuid": str(at - 1) if at else None,
         "message": {"role": role, "content": content}}
        for at, (role, content) in enumerate(said)
    ]  # fmt: skip
    (report,) = imported("s.jsonl", b"\n".join(map(orjson.dumps, events)))
    assert (report["format"], report["imported"], report["rejected"]) == ("claude-code", 2, [])


def test_parquet_of_the_canonical_form(imported, tmp_path):
    records = [purchase(number, wrong=False).to_dict() for number in range(3)]
    for name, rows in (
        ("nested", [{key: value for key, value in one.items() if value not in ({}, None)} for one in records]),
        ("text", [{**one, "steps": orjson.dumps(one["steps"]).decode(), "gold": orjson.dumps(one["gold"]).decode(),
                   "extra": None, "source": None} for one in records]),
    ):  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
        (report,) = imported(f"{name}.parquet", (tmp_path / "rows.parquet").read_bytes(), name)
        assert (report["format"], report["imported"], report["calls"]) == ("jsonl", 3, 12)


@pytest.mark.at_length
def test_a_record_that_a_long_log_lists_again_at_its_end_is_a_duplicate(imported):
    task = {"environment": "webshop", "instruction": "x" * 2**20, "steps": [{"action": "click[Buy Now]"}]}
    rows = [orjson.dumps({"task_id": str(number % 9), **task}) for number in (*range(10), 3, 3)]
    (report,) = imported("log.jsonl", b"\n".join(rows))
    assert (report["imported"], report["duplicates"], report["rejected"]) == (9, 3, [])


def test_a_picture_is_stored_once_and_read_back(imported):
    imported("a", SAMPLES["anthropic-messages"].content)
    imported("b", SAMPLES["openhands"].content)
    (picture,) = stored(tables.StoredPicture)
    with reading() as session:
        found = load_pictures(session, [Picture(picture.digest, "", 0)])
    assert found == {picture.digest: ("image/png", png())}


def test_a_decision_made_elsewhere_takes_no_place_and_no_unit(imported):
    imported("log", SAMPLES["claude-code"].content)
    (decision,) = stored(tables.Decision)
    assert (decision.decision, decision.door, decision.feedback_text) == ("reject", "import", "Ask me first.")
    assert (decision.slot_id, decision.reviewer) == (None, "the user of the session")
    (item,) = stored(tables.Item)
    assert (item.status, item.step, item.open_slots) == ("delivered", 2, 0)
    assert not stored(tables.Slot)
    assert not stored(tables.Budget)


def test_the_calls_that_a_log_calls_writing_become_critical(imported):
    imported("log", SAMPLES["tau-bench"].content)
    (run,), (row,) = stored(tables.Run), stored(tables.Trajectory)
    assert "resume_line" in orjson.loads(run.critical)
    assert (row.critical_action, row.n_critical) == ('resume_line({"n":1})', 1)


def test_a_record_is_explained_step_by_step(tmp_path, capsys):
    log = tmp_path / "log"
    log.write_bytes(SAMPLES["anthropic-messages"].content)
    assert run_command(["trajectory", "import", str(log), "--explain"]) == 0
    said = capsys.readouterr().out
    assert "(anthropic-messages), line 1: task a-1" in said
    assert "message 4: call read_bill -> step 2" in said or "call read_bill -> step 2" in said
    assert "1 part of type input_audio left out: line 1" in said
    assert not stored(tables.Run)
    assert run_command(["trajectory", "import", str(log), "--explain", "--record", "2"]) == 2


def test_the_command_says_what_was_left_out_and_needs_a_run(tmp_path, capsys):
    log = tmp_path / "log"
    log.write_bytes(SAMPLES["openai-messages"].content)
    assert run_command(["trajectory", "import", str(log)]) == 2
    assert "--run NAME" in capsys.readouterr().err
    assert run_command(["trajectory", "import", str(log), "--run", "r"]) == 0
    said = capsys.readouterr().out
    assert "1 trajectory: 1 call, 1 answer, 1 picture" in said
    assert "1 message of role observer left out: line 1" in said


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"task_id": 1, "reward": 2}', "nearest format is tau-bench, but the file lacks"),
        (b"a,b,c\n1,2,3\n", "a table with the columns a, b, c"),
        (b'{"task_id": 1, "steps": [}\n', "its first record is invalid. On line 1"),
        (b"Dear all,\nnothing.\n", "text that begins with 'Dear all,'"),
        (
            b"2026-05-01 10:00:00 started\n",
            "text that begins with '2026-05-01 10:00:00 started', which no known format",
        ),
        (
            b'[{"id": 1, "name": "Ada", "timestamp": 3}]',
            "id, name, timestamp, which no known format has. Import the session",
        ),
        (b'{"type": "FeatureCollection", "data": {"content": 4}}', "data, type, which no known format has"),
        (b'{"history": [{"result": [], "url": "u"}]}', "fields history, which no known format has"),
        (b"{}", "JSON without content ({}), which no known format has"),
        (b"[1, 2]", "a list of texts or numbers without actions"),
    ],
)
def test_a_file_that_nobody_knows_is_told_what_it_looks_like(imported, content, words):
    (report,) = imported("log", content)
    assert words in report["rejected"][0]["reason"]


def test_a_kind_of_log_brings_its_patterns_and_the_report_names_them(imported):
    (report,) = imported("log", SAMPLES["claude-code"].content)
    assert "Bash" in report["patterns"]
    with reading() as session:
        assert "Bash" in runs.patterns(runs.get(session, "r"))
    (again,) = imported("other", SAMPLES["codex"].content)
    assert again["patterns"] == []


def test_a_run_keeps_the_patterns_that_a_person_chose(imported):
    with writing() as session:
        runs.set_patterns(session, runs.archive(session, "mine", 0), ["Write"], 0)
    (report,) = imported("log", SAMPLES["claude-code"].content, "mine")
    assert report["patterns"] == []
    with reading() as session:
        assert runs.patterns(runs.get(session, "mine")) == ["Write"]


def test_a_session_that_grows_into_the_content_of_another_is_a_duplicate(imported):
    whole = purchase(1, wrong=False)
    for name, steps in (("a", whole.steps), ("b", whole.steps[:2]), ("b", whole.steps)):
        record = replace(whole, steps=steps, critical_action=None, source={"session": name})
        reports = imported(f"{name}{len(steps)}.jsonl", record.to_json().encode())
        assert reports[0]["rejected"] == []
    assert len(stored(tables.Trajectory)) == 2
