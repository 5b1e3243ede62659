"""Damaged import files and damaged API calls: no crash, no partial import, no traceback, each rejection a sentence.

`python tests/benchmarks/mutations.py [--quick] [--seed N] [--keep FOLDER]`; the last line is the result as JSON. The
files are mutations of a small log of each format, the calls of each operation in the API's OpenAPI document against a
console of `inferact serve`. Each file and each call that went wrong is written to FOLDER.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from importing import CONTENTS, TEXTS
from sqlmodel import col, select

from console.database import reading
from console.errors import ConsoleError
from console.runs import ingest
from console.trajectory import from_json
from storage import tables
from tests.console.runs.importers.test_damage import places, replaced

FILES, CALLS, QUICK = 10_000, 2_000, 20
TOKEN = "the-token-of-the-settings"
# What a person must never read in an answer: the marks of Python, of SQL and of its drivers.
INSIDES = re.compile(
    r"Traceback|File \"|\bline \d+, in |<class |object at 0x|NoneType|sqlalchemy|sqlite3?\.|psycopg|pydantic|"
    r"\b(Type|Key|Value|Attribute|Index|Unicode\w*|Recursion|Overflow|Assertion)Error\b"
)
JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 2**31, 2**63, -(2**63), 10**40, 1.5, -0.0, 1e308, float("nan"), float("inf")),
    *("", " ", "x", "\0", "\ud800", "\u2028", "\u202e", "0", "null", "{}", "[", "'", "%s", "../..", "a" * 5_000),
    *([], {}, [[]], [None], [{}], {"a": {}}, {"": ""}, {"text": 5}, ["x", 1], {"role": []}, {"type": "text"}),
)
DEEP = "@deep@"


class Mutator:
    """Mutations by a seeded chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def value(self, value: Any) -> Any:
        """A JSON value with one to three places replaced, removed, doubled or wrapped."""
        for _ in range(self.chance.choice((1, 1, 1, 2, 3))):
            trail = self.chance.choice(list(places(value)))
            value = self._changed(value, trail)
        return value

    def _changed(self, value: Any, trail: tuple[Any, ...]) -> Any:
        act = self.chance.choice(("junk", "junk", "drop", "wrap", "other place", "rename", "deep"))
        if act == "junk" or not trail:
            return replaced(value, trail, self.chance.choice(JUNK))
        if act == "other place":
            return replaced(value, trail, at(value, self.chance.choice(list(places(value)))))
        if act == "wrap":
            return replaced(value, trail, [at(value, trail)])
        if act == "deep":
            return replaced(value, trail, DEEP)
        parent = at(value, trail[:-1])
        if isinstance(parent, dict):
            rest = {key: one for key, one in parent.items() if key != trail[-1]}
            fresh = {} if act == "drop" else {str(self.chance.choice(JUNK))[:50]: parent[trail[-1]]}
            return replaced(value, trail[:-1], rest | fresh)
        return replaced(value, trail[:-1], [*parent[: trail[-1]], *parent[trail[-1] + (act == "drop") :]])

    def bytes(self, raw: bytes) -> bytes:
        """Bytes with one to three spans changed, moved, cut or repeated."""
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            start = self.chance.randrange(len(raw) + 1)
            end = min(len(raw), start + self.chance.choice((1, 1, 4, 60, 600)))
            span = raw[start:end]
            raw = self.chance.choice(
                (
                    lambda raw, start, end, span: raw[:start] + raw[end:],
                    lambda raw, start, end, span: raw[:start],
                    lambda raw, start, end, span: raw[:end] + span * 3 + raw[end:],
                    lambda raw, start, end, span: raw[:start] + self._noise() + raw[end:],
                    lambda raw, start, end, span: raw[:start] + self._noise() + raw[start:],
                    lambda raw, start, end, span: span + raw[:start] + raw[end:],
                    lambda raw, start, end, span: raw.replace(b"\n", b"\r\n"),
                )
            )(raw, start, end, span)
        return raw

    def _noise(self) -> bytes:
        return self.chance.choice(
            (
                *(b"\0", b"\xff", b"\xef\xbb\xbf", b'"', b"}", b"]", b"[" * 2_000, b'{"a":' * 2_000, b"\\", b"\\u0000"),
                *(b"\\ud800", b"\n", b"\n\n", b",", b"NaN", b"1e999", b"9" * 5_000, "\u2028".encode(), b"-", b"null"),
            )
        )

    def file(self, name: str) -> tuple[str, bytes]:
        """A name and the bytes of a damaged log of that format, at times in an archive."""
        raw = TEXTS.get(name) or CONTENTS[name]
        dice = self.chance.random()
        if name in CONTENTS and dice < 0.5:
            raw = self._json(raw)
        elif dice < 0.9:
            raw = self.bytes(raw)
        else:
            other = self.chance.choice(list(CONTENTS.values()))
            raw = self.chance.choice((raw + other, other[: len(other) // 2] + raw, b"[" + raw + b"," + other + b"]"))
        kind = self.chance.choice((".jsonl",) * 16 + (".json", ".txt", ".log", ".gz", ".zip", ".parquet", ".eval", ""))
        if kind == ".gz":
            raw = gzip.compress(raw)
        elif kind in (".zip", ".eval"):
            made = io.BytesIO()
            with zipfile.ZipFile(made, "w") as archive:
                archive.writestr("a/log.json", raw)
            raw = made.getvalue()
        if kind in (".gz", ".zip", ".eval") and self.chance.random() < 0.6:
            raw = self.bytes(raw)
        return f"log{kind}", raw

    def _json(self, raw: bytes) -> bytes:
        try:
            return written(self.value(orjson.loads(raw)))
        except orjson.JSONDecodeError:
            records = [orjson.loads(line) for line in raw.splitlines() if line.strip()]
        for _ in range(self.chance.choice((1, 1, 2))):
            place = self.chance.randrange(len(records))
            records[place] = self.value(records[place])
        if self.chance.random() < 0.1:
            self.chance.shuffle(records)
        return b"".join(written(record) + b"\n" for record in records)


def at(value: Any, trail: tuple[Any, ...]) -> Any:
    """The value at a place."""
    for key in trail:
        value = value[key]
    return value


def written(value: Any) -> bytes:
    """JSON as Python writes it, also of what orjson refuses; what is to be deep is so by then."""
    size = 3_000
    deep = b'[{"content": ' * size + b'"x"' + b"}]" * size
    return json.dumps(value).encode().replace(json.dumps(DEEP).encode(), deep)


def fault_of(sentence: object, raw: bytes = b"") -> str | None:
    """What is wrong with a rejection of that file, None where it is a sentence for a person."""
    if not isinstance(sentence, str) or not sentence.strip():
        return "says nothing"
    # A sentence may quote the file's own words.
    if (found := INSIDES.search(sentence)) and found[0].encode() not in raw:
        return f"shows its insides ({found[0]})"
    if len(sentence) > 2_000:
        return "is endless"
    return None if sentence.rstrip()[-1] in ".!?…`\"')" and " " in sentence else "is not a sentence"


class Wrong:
    """What went wrong: counts by kind, and each case in a file."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.counts, self._shown = folder, Counter[str](), Counter[str]()

    def note(self, kind: str, what: str, case: bytes) -> None:
        """Counts it, and keeps the first of a kind."""
        self.counts[kind] += 1
        self._shown[f"{kind}: {what}"] += 1
        if self._shown[f"{kind}: {what}"] == 1:
            print(f"{kind}: {what}", flush=True)
            if self.folder is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
                number = len(self._shown)
                (self.folder / f"{number}.case").write_bytes(case)
                (self.folder / f"{number}.txt").write_text(f"{kind}: {what}\n", errors="backslashreplace")


def import_all(count: int, mutate: Mutator, wrong: Wrong) -> dict[str, int]:
    """Imports so many damaged files into one run; returns how many were imported and rejected."""
    formats, done = [*CONTENTS, *(name for name in TEXTS if name not in CONTENTS)], Counter[str]()
    with tempfile.TemporaryDirectory() as folder, data_directory(Path(folder) / "data"):
        newest = 0
        for number in range(count):
            format = formats[number % len(formats)]
            name, raw = mutate.file(format)
            path = Path(folder) / name
            path.write_bytes(raw)
            named = format.partition(",")[0] if mutate.chance.random() < 0.3 else "auto"
            newest, end = import_one(path, named, newest, partial_note(wrong, f"{format}{path.suffix}", raw))
            done[end] += 1
            path.unlink()
    return dict(done)


def partial_note(wrong: Wrong, about: str, raw: bytes) -> Callable[[str, str], None]:
    """A function that notes what went wrong with this file."""
    return lambda kind, what: wrong.note(kind, f"{about}: {what}", raw)


def import_one(path: Path, format: str, newest: int, note: Callable[[str, str], None]) -> tuple[int, str]:
    """Imports a file and looks at what is stored then; returns the newest trajectory's id and how it ended."""
    reports = []
    try:
        reports = ingest.import_files(path, "damaged", format, lambda _: None)
    except ConsoleError as refused:
        if fault := fault_of(str(refused), path.read_bytes()):
            note("no sentence", f"{fault}: {str(refused)[:300]}")
    except Exception as error:
        note("crash", f"{type(error).__name__}: {str(error)[:200]}")
    for report in reports:
        for line in report.rejected:
            if fault := fault_of(line["reason"], path.read_bytes()):
                note("no sentence", f"{fault}: {str(line['reason'])[:300]}")
    with reading() as session:
        body = tables.TrajectoryBody
        fresh = session.exec(select(body).where(col(body.trajectory_id) > newest)).all()
        for row in fresh:
            newest = max(newest, row.trajectory_id)
            try:
                from_json(row.body)
            except Exception as error:
                note("unreadable", f"{type(error).__name__}: {str(error)[:200]}")
    told = sum(report.imported for report in reports)
    if told != len(fresh) or (told and all(report.rejected for report in reports)):
        note("partial import", f"{len(fresh)} stored, {told} reported")
    return newest, "imported" if told else "rejected"


@contextlib.contextmanager
def data_directory(folder: Path) -> Iterator[None]:
    """A data directory of its own for the length of a block."""
    from tests.at_home import at_home

    with at_home(folder):
        yield


def call_all(count: int, mutate: Mutator, wrong: Wrong) -> dict[str, int]:
    """Sends so many damaged calls to a served console; returns how many answers there were of each status."""
    from tests.serving import serving

    done = Counter[str]()
    limits = {"INFERACT_AGENT_WAITING": "100000", "INFERACT_AGENT_RUNS": "100000", "INFERACT_API_TOKEN": TOKEN}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "data", **limits) as server:
        with server.client_with(TOKEN) as operator:
            calls = Calls(mutate, server.client, operator, server.url)
            for _ in range(count):
                said = calls.send()
                done[str(said and said.status_code)] += 1
                for kind, what in calls.judge(said):
                    wrong.note(kind, what, calls.described())
        if "Traceback" in (log := server.said()):
            wrong.note("traceback in the log", log[log.index("Traceback") :][-600:], log.encode())
        if server.process.poll() is not None:
            wrong.note("crash", "the server ended", log.encode())
    return dict(done)


class Calls:
    """Damaged calls of every operation in the OpenAPI document."""

    def __init__(self, mutate: Mutator, agent: Any, operator: Any, url: str) -> None:
        self.mutate, self.agent, self.operator, self.url = mutate, agent, operator, url
        self.document = agent.get("/openapi.json").json()
        self.operations = [
            (method.upper(), path)
            for path, item in self.document["paths"].items()
            for method in item
            if method != "head"
        ]
        self.check_id, self.number, self.last = "1-1", 0, {}

    def send(self) -> Any:
        """Sends the next call; None where the client itself could not write it."""
        chance = self.mutate.chance
        method, path = self.operations[self.number % len(self.operations)]
        self.number += 1
        sound = self._body(path)
        body = (
            sound if isinstance(sound, bytes) else written(self.mutate.value(sound) if chance.random() < 0.7 else sound)
        )
        if chance.random() < 0.3:
            body = self.mutate.bytes(body)
        id = self.check_id if chance.random() < 0.7 else str(chance.choice(JUNK))[:80]
        query = {"run": "imported", "wait": "0"} if chance.random() < 0.8 else {}
        if chance.random() < 0.3:
            query[chance.choice(("run", "wait", "format", "name", "x"))] = str(chance.choice(JUNK))[:200]
        headers = {"Content-Type": "application/json"}
        if chance.random() < 0.2:
            kinds = ("text/plain", "gzip", "x", "application/x-protobuf", "Bearer x", "*/*", "application/json;x")
            headers[chance.choice(("Content-Type", "Content-Encoding", "Accept", "Authorization"))] = chance.choice(
                kinds
            )
        self.last = {"method": method, "path": path, "id": id, "query": query, "headers": headers, "body": body}
        client = self.operator if "trajectories" in path or "metrics" in path else self.agent
        try:
            address = client.build_request("GET", self.url + path.replace("{check_id}", "ID")).url
            address = str(address).replace("ID", safe(id))
            return client.request(
                chance.choice((method,) * 12 + ("PUT", "PATCH")),
                address,
                params={key: safe_text(value) for key, value in query.items()},
                headers=headers,
                content=body if method != "GET" or chance.random() < 0.1 else b"",
            )
        except (UnicodeError, ValueError):
            return None

    def judge(self, said: Any) -> Iterator[tuple[str, str]]:
        """What is wrong with an answer."""
        if said is None:
            return
        where = f"{self.last['method']} {self.last['path']} {said.status_code}"
        if said.status_code >= 500:
            yield "crash", f"{where}: {said.text[:200]}"
        if found := INSIDES.search(said.text) if said.status_code >= 400 else None:
            yield "no sentence", f"{where}: shows its insides ({found[0]}): {said.text[:400]}"
        if said.status_code >= 400:
            try:
                sentence = said.json()["error"]
            except (ValueError, KeyError, TypeError):
                yield "no sentence", f"{where}: is not JSON: {said.text[:200]}"
                return
            if fault := fault_of(sentence):
                yield "no sentence", f"{where}: {fault}: {sentence[:300]}"
        elif said.headers.get("content-type") == "application/json":
            self.check_id = (said.json() or {}).get("check_id") or self.check_id

    def described(self) -> bytes:
        """The last call, for a person to send again."""
        return repr(self.last).encode(errors="backslashreplace")

    def _body(self, path: str) -> Any:
        if path.endswith("/trajectories"):
            return self.mutate.file(self.mutate.chance.choice(list(CONTENTS)))[1]
        if path.endswith("traces"):
            return orjson.loads(CONTENTS["otel"].splitlines()[0]) if CONTENTS["otel"][:1] == b"{" else {}
        if path.endswith("/checks"):
            return CHECK | {"task_id": f"t{self.number}", "run": f"bot{self.number % 40}"}
        return {"observation": "done"} if path.endswith("/result") else {}


CHECK = {
    "task": "buy a kettle, at most 30 dollars",
    "steps": [{"thought": "Look.", "action": "find[kettle]", "observation": "a red kettle, 90 dollars"}],
    "transcript": {"format": "auto", "text": ""},
    "action": {"name": "buy", "arguments": {"item": "red kettle", "amount": 90}},
    "detector": "rules",
    "critical": ["buy*"],
    "environment": "generic",
    "threshold": 0.5,
    "budget": 1_000,
    "reviews_per_item": 1,
    "timeout_s": 60,
    "undo_s": 0,
    "trial": 0,
    "hints": {"read_only": False, "destructive": True, "changed": False},
    "tool_schema": {"type": "object", "properties": {"amount": {"type": "number"}}},
}


def safe(text: str) -> str:
    """Text for a path."""
    from urllib.parse import quote

    return quote(text.encode("utf-8", "replace"), safe="")


def safe_text(text: str) -> str:
    """Text that a client can send."""
    return text.encode("utf-8", "replace").decode()


def main() -> None:
    """Damages, imports, calls, prints, ends with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"one of {QUICK} files and calls")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", choices=("files", "calls"))
    given = parser.parse_args()
    os.environ.pop("INFERACT_DATA_DIR", None)
    wrong, figures = Wrong(given.keep), {}
    share = QUICK if given.quick else 1
    if given.only != "calls":
        found = import_all(FILES // share, Mutator(given.seed), wrong)
        figures |= {f"files {name}": n for name, n in found.items()}
    if given.only != "files":
        found = call_all(CALLS // share, Mutator(given.seed), wrong)
        figures |= {f"calls {name}": n for name, n in sorted(found.items())}
    goals = dict.fromkeys(("crash", "partial import", "no sentence", "unreadable", "traceback in the log"), ("<=", 0))
    figures |= {name: wrong.counts[name] for name in goals}
    for name, n in figures.items():
        print(f"{name:<28}{n}")
    met = not any(wrong.counts.values())
    print(json.dumps({"benchmark": "mutations", "figures": figures, "goals": goals, "met": met}))


if __name__ == "__main__":
    main()
