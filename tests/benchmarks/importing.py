"""Importing canonical JSONL: the insert part against raw executemany, the whole against JSON parse plus raw insert.

Usage: python tests/benchmarks/importing.py [--quick]
       python tests/benchmarks/importing.py --memory MB [FORMAT ...]

With --memory each format's own sample is repeated to a file of so many MB, which a process of its own imports: how long
that took, and how much memory it had at most.
"""

import argparse
import contextlib
import gc
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from functools import partial
from itertools import count
from pathlib import Path

import orjson

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from console.trajectory import Label, Outcome, Step, Trajectory  # noqa: E402
from tests.benchmarks.measure import Comparison, Work, compare_prepared, report  # noqa: E402
from tests.console.runs.importers.probes_of_exports import EXPORTS  # noqa: E402
from tests.console.runs.importers.samples import SAMPLES  # noqa: E402
from tests.console.runs.importers.test_damage import JSON_LOGS, REFLEXION, WEBSHOP  # noqa: E402
from tests.logs import write_log  # noqa: E402

BATCH = 1_000


def record(number: int) -> Trajectory:
    """A purchase of eight steps, about 2.4 KB of JSON, each unlike the others."""
    words = f"kettle {number} of colour {number % 17} and size {number % 23}, "
    steps = tuple(Step(f"thought {i}", f"click[item {number}-{i}]", words * 5) for i in range(7))
    return Trajectory(
        task_id=f"task-{number}",
        environment="webshop",
        instruction=f"i want {words} and price lower than {number % 90 + 10}.00 dollars",
        steps=(*steps, Step("done", "click[Buy Now]", "Thank you")),
        critical_action="click[Buy Now]",
        outcome=Outcome.SUCCEEDED,
        gold={"label": str(Label.ALIGNED), "score": 1.0},
        source={"line": number},
    )


class RawInsert:
    """The floor: the same rows by executemany over one sqlite3 connection, a transaction each time."""

    def __init__(self, path: Path) -> None:
        from storage.migrations import migrate

        migrate(f"sqlite:///{path}")
        self.rows = 0
        self.connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute(
            "INSERT INTO run (id, name, kind, environment, critical, seed, halted_free, feedback_mode,"
            " reviews_per_item, blind, lease_ms, undo_ms, trials, created_ms)"
            " VALUES (1, 'raw', 'archive', '', '[]', 0, 0, 'nl', 1, 1, 1, 1, 1, 1)"
        )

    def insert(self, rows: list) -> None:
        """Insert the rows in one transaction."""
        self.connection.execute("BEGIN IMMEDIATE")
        for start in range(0, len(rows), BATCH):
            insert_raw(self.connection, rows[start : start + BATCH], self.rows)
            self.rows += len(rows[start : start + BATCH])
        self.connection.execute("COMMIT")

    def parse_and_insert(self, log: Path, rows: list) -> None:
        """Parse every line of the log and insert its rows."""
        with log.open("rb") as lines:
            for line in lines:
                json.loads(line)
        self.insert(rows)


def prepared(log: Path) -> list:
    """Every record of the log as the rows that both sides insert."""
    from console.environments import ENVIRONMENTS
    from console.runs.importers import read_log
    from console.runs.importers.records import Found
    from console.runs.trajectory_rows import prepare

    patterns = ENVIRONMENTS["webshop"].critical
    return [prepare(found.trajectory, patterns) for found in read_log(log)[1] if isinstance(found, Found)]


def insert_raw(connection: sqlite3.Connection, rows: list, first: int) -> None:
    """One batch of tasks, trajectories and bodies, after asking which digests are known, as the product does."""
    marks = ",".join("?" * len(rows))
    digests = [row.row["digest"] for row in rows]
    connection.execute(f"SELECT digest FROM trajectory WHERE run_id = 1 AND digest IN ({marks})", digests).fetchall()
    tasks = [(first + i + 1, 1, *row.task.values()) for i, row in enumerate(rows)]
    connection.executemany(
        "INSERT INTO task (id, run_id, task_key, environment, instruction, instruction_digest) VALUES (?,?,?,?,?,?)",
        tasks,
    )
    names = ", ".join(rows[0].row)
    places = ",".join("?" * (len(rows[0].row) + 4))
    connection.executemany(
        f"INSERT INTO trajectory (id, run_id, task_id, created_ms, {names}) VALUES ({places})",
        [(first + i + 1, 1, first + i + 1, 1, *row.row.values()) for i, row in enumerate(rows)],
    )
    connection.executemany(
        "INSERT INTO trajectory_body (trajectory_id, body) VALUES (?,?)",
        [(first + i + 1, row.body) for i, row in enumerate(rows)],
    )


def compare_inserts(folder: Path, logs: list) -> Comparison:
    """Return our insert part beside executemany, a batch of fresh rows each time."""
    from console import runs
    from console.database import database_url, now_ms, writing
    from console.runs import ingest

    url, floor = database_url(f"sqlite:///{folder}/insert.db"), RawInsert(folder / "raw.db")
    with writing(url) as session:
        runs.archive(session, "insert", now_ms())

    def insert(rows: list) -> None:
        with writing(url) as session:
            ingest.insert_fresh(session, runs.get(session, "insert"), rows, now_ms())

    batches = {side: iter([prepared(log)[:BATCH] for log in logs]) for side in ("ours", "floor")}
    return compare_prepared(
        lambda: partial(insert, next(batches["ours"])),
        lambda: partial(floor.insert, next(batches["floor"])),
        len(logs) - 1,
    )


def compare_imports(folder: Path, logs: list) -> Comparison:
    """Return the whole import of a log beside parsing its JSON and inserting its rows."""
    os.environ["INFERACT_DATA_DIR"] = str(folder / "ours")
    from console.database import database_url
    from console.runs import ingest
    from console.settings import settings

    settings.cache_clear()
    database_url()
    floor, left = RawInsert(folder / "whole.db"), {side: iter(logs) for side in ("ours", "floor")}

    def import_whole(log: Path) -> None:
        report = ingest.import_file(log, "whole", "auto", lambda _: None)
        if report.rejected:
            raise SystemExit(str(report.rejected))

    def prepare_floor() -> Work:
        log = next(left["floor"])
        return partial(floor.parse_and_insert, log, prepared(log))

    return compare_prepared(lambda: partial(import_whole, next(left["ours"])), prepare_floor, len(logs) - 1)


IN_ONE_OBJECT = {"inspect": b'"samples":[', "tau-bench": b'"simulations":['}
"""What the records of a file that is one object stand behind."""
LISTS = ("cline", "pydantic-ai", "smolagents")
"""The formats whose records are lists, one per line of a file with several."""
CONTENTS = {name: sample.content for name, sample in SAMPLES.items()}
CONTENTS |= {name: orjson.dumps(JSON_LOGS[name][0]) for name in ("alfworld-expert", "inferact")}
_CALLED = {"id": "t1", "name": "pay", "args": {"n": 1}, "status": "success"}
_TOLD = [{"functionResponse": {"id": "t1", "name": "pay", "response": {"output": "paid"}}}]
_ASKED, _SAID = [{"type": "text", "text": "Pay"}], [{"type": "text", "text": "paid"}]
_FURTHER = {
    "gemini-cli": [
        {
            **{"sessionId": "s-1", "projectHash": "h"},
            "messages": [
                {"id": "i-1", "type": "user", "content": "Pay the bill"},
                {"id": "i-2", "type": "gemini", "content": "So", "toolCalls": [{**_CALLED, "result": _TOLD}]},
            ],
        }
    ],
    "pi": [
        {"type": "session", "id": "s-1", "cwd": "/x", "timestamp": "x"},
        {"type": "message", "timestamp": "x", "message": {"role": "user", "content": _ASKED}},
        {
            **{"type": "message", "timestamp": "x"},
            "message": {
                "role": "assistant",
                "content": [{"type": "toolCall", "id": "t1", "name": "pay", "arguments": {"n": 1}}],
            },
        },
        {"type": "message", "timestamp": "x", "message": {"role": "toolResult", "toolCallId": "t1", "content": _SAID}},
    ],
    "copilot-cli": [
        {"type": "session.start", "data": {"sessionId": "s-1"}},
        {"type": "user.message", "data": {"content": "Pay the bill"}},
        {
            **{"type": "assistant.message"},
            "data": {"content": "So", "toolRequests": [{"toolCallId": "t1", "name": "pay", "arguments": {"n": 1}}]},
        },
        {"type": "tool.execution_complete", "data": {"toolCallId": "t1", "result": {"content": "paid"}}},
    ],
    "copilot-chat": [
        {
            **{"sessionId": "s-1", "version": 3},
            "requests": [
                {
                    "message": {"text": "Pay the bill"},
                    "response": [{"value": "So"}],
                    "result": {
                        "metadata": {
                            "toolCallRounds": [
                                {"response": "So", "toolCalls": [{"id": "t1", "name": "pay", "arguments": '{"n": 1}'}]}
                            ],
                            "toolCallResults": {"t1": {"content": [{"value": "paid"}]}},
                        }
                    },
                }
            ],
        }
    ],
    "opencode": [
        {
            "info": {"id": "s-1"},
            "messages": [
                {"info": {"id": "i-1", "role": "user"}, "parts": [{"type": "text", "text": "Pay the bill"}]},
                {
                    "info": {"id": "i-2", "role": "assistant"},
                    "parts": [
                        {
                            **{"type": "tool", "callID": "t1", "tool": "pay"},
                            "state": {"status": "completed", "input": {"n": 1}, "output": "paid"},
                        }
                    ],
                },
            ],
        }
    ],
    "cline": [
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "<task>\nPay i-1\n</task>\n<environment_details>x</environment_details>"}
                ],
            },
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "pay", "input": {"n": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "paid"}]},
        ]
    ],
    "r-judge": [
        {
            **{"id": "i-1", "label": 1, "attack_type": "x"},
            "contents": [
                [
                    {"role": "user", "content": "Pay"},
                    {"role": "agent", "thought": "So.", "action": "Pay{'n': 1}"},
                    {"role": "environment", "content": "paid"},
                ]
            ],
        }
    ],
    "who-and-when": [
        {
            **{"question_ID": "i-1", "question": "Pay", "mistake_agent": "Web", "mistake_step": "0"},
            "history": [
                {"role": "human", "content": "Pay"},
                {"role": "Orchestrator (-> Web)", "content": "Pay the bill."},
                {"role": "Web", "content": "paid"},
            ],
        }
    ],
    "magentic-one": [
        {
            "id": "i-1",
            "messages": [
                {"role": "user", "content": "Pay"},
                {"role": "Orchestrator (-> Web)", "content": "Pay the bill."},
                {"role": "Web", "content": "paid"},
            ],
        }
    ],
}
CONTENTS |= {name: b"".join(orjson.dumps(one) + b"\n" for one in lines) for name, lines in _FURTHER.items()}
CONTENTS = {probe.format: probe.content for probe in reversed(EXPORTS.values()) if probe.format} | CONTENTS
"""What is repeated: each format's sample, of some one record."""
HALTED_FIRST = "reflexion-react, HALTED first"
AIDER = b"""# aider chat started at 2025-03-01 river

#### Bring a red cup  

I change it.

cup.py
```
<<<<<<< SEARCH
blue
=======
red
>>>>>>> REPLACE
```

> Applied edit to cup.py  
"""
TEXTS = {
    "aider": AIDER,
    "reflexion-react": REFLEXION,
    HALTED_FIRST: REFLEXION.replace(b"BEGIN CORRECT", b"BEGIN HALTED", 1),
    "webshop-react": WEBSHOP,
}
EPISODES = {
    "aider": (b"# aider chat started at 2025-03-01 river", b"> Applied edit to cup.py  \n"),
    HALTED_FIRST: (b"Question: Which river", b"Correct answer: Mole\n"),
    "reflexion-react": (b"Question: Which river", b"Correct answer: Mole\n"),
    "webshop-react": (b"0\nAction", b"1 1.0 1.0 0.0\n-------------\n"),
}
"""Text logs, whose episodes follow each other in a frame of their own: what one begins with, what it ends with."""
IDS = re.compile(
    rb'"(a-1|g-1|o-1|s-1|t-1|t1|t2|tr-1|th-1|r-1|i-1|i-2|i-3|s1|user_task_0|simple_\d|t|c-1|b-1|p-1|b0|w\d|o\d)"'
)
SEEN = re.compile(
    rb"(\[SEP\] Search|observation\":\"o|a\.txt|paid|sunny|print\(1\)|a\.py|no such file|dead|Listed|no money|\bdone\b|"
    rb"ladder|No function fits)"
)
"""What an agent saw in the samples, made as long as pages and files are."""
LONG = b" and a line of what there is to read" * int(os.environ.get("INFERACT_BENCHMARK_LINES", "100"))
LIMIT_MB = 220


def repeated(name: str, megabytes: int, path: Path) -> Path:
    """A file of that size: the format's sample again and again, each time with other ids."""
    if name in TEXTS:
        return episodes(name, megabytes, path)
    sample = CONTENTS[name]
    head = tail = between = b""
    if name in IN_ONE_OBJECT:
        whole = orjson.dumps(orjson.loads(sample))
        head, mark, rest = whole.partition(IN_ONE_OBJECT[name])
        head, sample, tail, between = head + mark, rest[: rest.rindex(b"]")], b"]}", b",\n"
    elif sample.lstrip()[:1] == b"[" and name not in LISTS:
        head, sample, tail, between = b"[", orjson.dumps(orjson.loads(sample))[1:-1], b"]", b",\n"
    elif sample.lstrip()[:1] == b"{" and sample.count(b"\n") > 1:
        with contextlib.suppress(orjson.JSONDecodeError):
            sample = orjson.dumps(orjson.loads(sample)) + b"\n"
    sample = SEEN.sub(rb"\1" + LONG, sample)
    sample = sample if between or sample.endswith(b"\n") else sample + b"\n"
    with path.open("wb") as out:
        out.write(head)
        for number in count():
            out.write((between if number else b"") + IDS.sub(rb'"\1-%d"' % number, sample))
            if out.tell() > megabytes * 2**20:
                break
        out.write(tail)
    return path


def episodes(name: str, megabytes: int, path: Path) -> Path:
    """A text log of that size: one episode again and again, its question or number another each time."""
    text, first, end = TEXTS[name], EPISODES[name][0], EPISODES[name][1]
    start, stop = text.index(first), text.index(end) + len(end)
    episode = (
        text[start:stop].replace(b"Finish[Mole]", b"Finish[Mole]" + LONG).replace(b"a red cup", b"a red cup" + LONG)
    )
    with path.open("wb") as out:
        out.write(text[:start])
        for number in count():
            out.write(
                episode.replace(first, first.replace(b"0", b"%d" % number).replace(b"river", b"river %d" % number))
            )
            if out.tell() > megabytes * 2**20:
                break
        out.write(text[stop:])
    return path


def measured(path: Path, folder: Path) -> dict:
    """What became of the file in a process of its own: its report, seconds, and the most memory in MB."""
    code = (
        "import json, sys, time; from pathlib import Path; from console.runs import ingest;"
        "started = time.perf_counter();"
        "report = ingest.import_files(Path(sys.argv[1]), 'm', 'auto', lambda _: None)[0].to_dict();"
        # What `getrusage` tells is at least what the parent held when it started this process.
        "peak = int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) / 1024;"
        "print(json.dumps({**report, 'seconds': time.perf_counter() - started, 'peak': peak}))"
    )
    environment = {**os.environ, "INFERACT_DATA_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, env=environment, check=True)
    return json.loads(done.stdout)


def memory(megabytes: int, names: list) -> None:
    """Prints a line a format and whether all stay within the limit."""
    peaks = {}
    print(f"{'format':30} {'MB':>5} {'trajectories':>13} {'calls':>10} {'seconds':>8} {'peak MB':>8}")
    for name in names or [*CONTENTS, *TEXTS]:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(repeated(name, megabytes, Path(folder) / "log"), Path(folder) / "data")
        if found["rejected"] or found["format"] != name.partition(",")[0]:
            raise SystemExit(f"{name}: {found['format']} {found['rejected']}")
        peaks[name] = round(found["peak"], 1)
        counts = f"{found['trajectories']:>13,} {found['calls']:>10,} {found['seconds']:>8.1f} {found['peak']:>8.1f}"
        print(f"{name:30} {megabytes:>5} {counts}", flush=True)
    goals = {"peak_mb": ["<=", LIMIT_MB]}
    figures = {"peak_mb": max(peaks.values()), **peaks}
    print(
        json.dumps(
            {"benchmark": "importing", "figures": figures, "goals": goals, "met": figures["peak_mb"] <= LIMIT_MB}
        )
    )


def main() -> None:
    """Print the medians of the pairs' ratios and whether the goals are met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--memory", type=int, metavar="MB")
    parser.add_argument("formats", nargs="*", choices=[*CONTENTS, *TEXTS, []])
    options = parser.parse_args()
    if options.memory:
        memory(options.memory, options.formats)
        return
    pairs, records = (15 if options.quick else 41), 2_000
    # As the command does, so that no collection walks the modules of the benchmarks.
    gc.freeze()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = [
            write_log(folder / f"{number}.jsonl", *(record(number * records + place) for place in range(records)))
            for number in range(pairs + 1)
        ]
        inserts, wholes = compare_inserts(folder, logs), compare_imports(folder, logs)
    print(inserts.describe("insert"), wholes.describe("whole"), sep="\n")
    figures = {
        "insert_against_executemany": inserts.computing().inverted(),
        "whole_against_parse_and_insert": wholes.computing(),
    }
    goals = {"insert_against_executemany": [">=", 0.75], "whole_against_parse_and_insert": ["<=", 3.0]}
    sys.exit(not report("importing", figures, goals))


if __name__ == "__main__":
    main()
