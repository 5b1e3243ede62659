"""Files are judged on workers: the verdicts are those of the plain run, also if a worker is killed in the middle."""

import os
import signal
import threading
import time
from contextlib import ExitStack, closing

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlmodel import select

from console.cli import run_command
from console.database import reading
from console.detection import batch, distributed_judging
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.distributed_judging import JudgingTask, Partition
from console.errors import BadInput
from console.llm.cache import Replies
from console.llm.messages import Reply, Usage
from console.runs import ingest
from console.settings import settings
from storage import tables
from tests import postgres
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.logs import purchase, write_log

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
# distributed leaves sockets of its own open until they are collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.xdist_group("dask"),
]
BUY = "click[Buy Now]"


@pytest.fixture
def files(tmp_path):
    """A log of 120 purchases as JSONL, and as Parquet in three row groups."""
    log = write_log(tmp_path / "log.jsonl", *(purchase(n, wrong=n % 3 == 0) for n in range(120)))
    lines = [line for line in log.read_text().splitlines() if line]
    pq.write_table(pa.table({"trajectory": lines}), tmp_path / "log.parquet", row_group_size=50)
    return log, tmp_path / "log.parquet"


@pytest.fixture(scope="module")
def two_workers():
    """A cluster of two worker processes."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def plain_verdicts(log, methods):
    """The verdicts of the plain run, and its sum of requests."""
    ingest.import_file(log, "plain", "auto", lambda _: None)
    batch.detect("plain", methods)
    with reading() as session:
        record, verdict = tables.Trajectory, tables.Verdict
        rows = session.exec(select(record.digest, verdict).join(verdict, verdict.trajectory_id == record.id)).all()
        return {_key(digest, row.model_dump()) for digest, row in rows}


def _key(digest, row):
    told = ("step", "kind", "detector", "score", "threshold", "flagged", "rationale", "model", "parameters")
    return (digest, *(row[name] for name in told))


def results(path):
    return {_key(row["digest"], row) for row in pq.read_table(path).to_pylist()}


@pytest.mark.parametrize("size", [1, 7, 100, 1_000, 10**9])
def test_each_line_belongs_to_one_partition(tmp_path, size):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(b"%d\n" % n for n in range(200)) + b"last")
    whole = path.stat().st_size
    ends = [*range(size, whole, size), whole]
    parts = [Partition(str(path), start, end) for start, end in zip([0, *ends], ends, strict=False)]
    found = [line.strip() for part in parts for line in distributed_judging.read_lines(part)]
    assert found == [b"%d" % n for n in range(200)] + [b"last"]


def test_at_the_end_a_worker_waits_for_a_small_part_of_its_work(tmp_path):
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.truncate(10_000_001)
    sizes = [part.end - part.start for part in distributed_judging.split_files([path], 2)]
    share = sum(sizes) / 2
    assert (sum(sizes), max(sizes) <= share / 30, min(sizes) > share / 40) == (10_000_001, True, True)


@pytest.mark.at_length
def test_the_verdicts_of_both_formats_are_those_of_the_plain_run_and_import(files, two_workers, tmp_path, capsys):
    task = JudgingTask(("rules", "full-validation"), (BUY,), ModelOptions())
    plain = plain_verdicts(files[0], ["rules", "full-validation"])
    assert len(plain) == 240
    for path in files:
        out = tmp_path / f"{path.suffix[1:]}-results.parquet"
        parts = distributed_judging.split_files([path], 2)
        done = distributed_judging.judge_files(parts, task, out, two_workers, 2)
        assert (done.errors, results(out)) == (0, plain)
        assert sum(row["judged"] for row in done.rows) == 240
    ingest.import_file(files[0], "again", "auto", lambda _: None)
    assert distributed_judging.import_verdicts("again", out) == (240, 0)
    capsys.readouterr()
    arguments = ["detect", "again", "--method", "rules,full-validation", "--verdicts", str(out), "--json"]
    assert run_command(arguments) == 0
    told = orjson.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(row["cached"], row["judged"]) for row in told["detectors"]] == [(120, 0)] * 2
    with pytest.raises(BadInput, match="so it is not a result"):
        distributed_judging.import_verdicts("again", files[1])


@pytest.mark.at_length
def test_a_killed_worker_costs_only_its_unfinished_calls(files, tmp_path, monkeypatch):
    with serving(rule, latency_s=0.02) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-no")
        monkeypatch.setenv("INFERACT_MODEL", "judge")
        settings.cache_clear()
        plain = plain_verdicts(files[0], ["direct"])
        least = endpoint.requests
        endpoint.reset()
        monkeypatch.setenv("INFERACT_CACHE_URL", f"sqlite:///{tmp_path / 'shared.sqlite'}")
        settings.cache_clear()
        task = JudgingTask(("direct",), (BUY,), ModelOptions(concurrency=2))
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            killed = threading.Thread(target=kill_one, args=(client, endpoint, least // 3))
            killed.start()
            parts = [Partition(str(files[1]), group, -1) for group in range(3)]
            done = distributed_judging.judge_files(parts, task, tmp_path / "out.parquet", client, 2)
            killed.join()
        assert done.errors == 0
        assert endpoint.most_in_flight <= 2
        assert least <= endpoint.requests <= 1.02 * least
        assert {key[:-1] for key in results(tmp_path / "out.parquet")} == {key[:-1] for key in plain}


def kill_one(client, endpoint, after):
    """Kill a worker after this number of requests."""
    deadline = time.monotonic() + 120
    while endpoint.requests < after and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def test_what_cannot_be_judged_elsewhere_is_a_sentence(files, tmp_path, monkeypatch, capsys):
    out, log = str(tmp_path / "out.parquet"), str(files[0])
    base = ["detect", log, "--method", "rules"]
    for wrong, code in (
        ([*base, "--engine", "spark", "--out", out], 2),
        ([*base, "--engine", "dask"], 2),
        (["detect", str(tmp_path / "none"), "--method", "rules", "--engine", "dask", "--out", out], 2),
        ([*base, "--engine", "dask", "--out", out, "--cap-usd", "1"], 2),
        (["detect", log, "--method", "direct", "--engine", "dask", "--out", out, "--scheduler", "tcp://a:1"], 1),
    ):
        assert run_command(wrong) == code
    assert "Set INFERACT_CACHE_URL for all" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=postgres.NEEDED)])
def test_replies_are_shared_by_a_url(tmp_path, kind):
    with ExitStack() as stack:
        file = f"sqlite:///{tmp_path / 'deep' / 'shared.sqlite'}"
        url = file if kind == "sqlite" else stack.enter_context(postgres.database())
        first, second = (stack.enter_context(closing(Replies(url))) for _ in range(2))
        reply = Reply(("yes",), (None,), "m", Usage(3, 1), ("stop",), cost_usd=0.5)
        for one in (first, second):
            one.put("key", reply)
            one.count("account", reply)
            one.charge("account", 0.25)
        assert (second.get("key").texts, second.get("other")) == (("yes",), None)
        assert (first.used("account").prompt_tokens, first.spent_usd("account")) == (6, 0.5)
