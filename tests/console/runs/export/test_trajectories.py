"""Trajectories leave with their pictures and come back as they were."""

import json
from dataclasses import replace
from hashlib import sha256
from uuid import uuid4

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.cli import run_command
from console.errors import BadInput
from console.runs import archive, ingest
from console.runs.export import download
from console.runs.importers import read_log
from console.runs.trajectory_rows import insert_rows, prepare, store_pictures
from console.trajectory import Outcome, Picture, Step, Trajectory
from storage.engine import close, writing
from storage.migrations import migrate
from tests.console.runs.importers.samples import PNG, png

BYTES = [png(width) for width in (1, 2, 3)]
PICTURES = [Picture(sha256(raw).hexdigest(), "image/png", len(raw)) for raw in BYTES]
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
SHOWN = st.lists(st.sampled_from(PICTURES), max_size=3).map(tuple)
STEPS = st.lists(st.builds(Step, WORDS, WORDS, WORDS, pictures=SHOWN), max_size=3).map(tuple)
RECORDS = st.builds(Trajectory, WORDS, st.just("generic"), WORDS, STEPS, opening=WORDS, pictures=SHOWN)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """The URL of a database that every example adds a run to."""
    url = f"sqlite:///{tmp_path_factory.mktemp('pictures') / 'console.db'}"
    migrate(url)
    yield url
    close(url)


def written(url, run, records):
    """What a run of these records, with the pictures in them, is exported as."""
    with writing(url) as session:
        found = archive(session, run, 1)
        session.flush()
        insert_rows(session, found, [prepare(record, []) for record in records], 1)
        kept = zip(PICTURES, BYTES, strict=True)
        store_pictures(session, ({"digest": p.digest, "media_type": p.media_type, "data": raw} for p, raw in kept))
    return download(url, "trajectories", run, "jsonl", researcher=True, pictures=True)


@pytest.mark.at_length
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, min_size=1, max_size=3, unique_by=lambda one: one.task_id))
def test_an_export_with_pictures_reads_back_identical(empty, tmp_path, records):
    content = written(empty, str(uuid4()), records)
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    read = [*read_log(path, "jsonl")[1]]
    assert [replace(one.trajectory, outcome=Outcome.FINISHED) for one in read] == records
    shown = {p for one in records for p in (*one.pictures, *(p for step in one.steps for p in step.pictures))}
    bytes_of = dict(zip(PICTURES, BYTES, strict=True))
    assert {key: raw for one in read for key, raw in one.pictures.items()} == {p.digest: bytes_of[p] for p in shown}
    assert content.count(b'"data":') == len(shown)


def test_a_log_with_pictures_goes_to_another_console_by_command(data_dir, tmp_path, capsys):
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    log, out = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    said = [{"role": "user", "content": [image]}, {"role": "assistant", "content": [image]}]
    log.write_bytes(orjson.dumps({"id": "a", "messages": said}))
    assert run_command(["trajectory", "import", str(log), "--run", "shop"]) == 0
    assert run_command(["export", "trajectories", "--run", "shop", "--out", str(out), "--with", "pictures"]) == 0
    capsys.readouterr()
    assert run_command(["trajectory", "import", str(out), "--run", "again", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["files"]
    assert (told["format"], told["trajectories"], told["pictures"]) == ("jsonl", 1, 2)
    assert out.read_bytes().startswith(b'{"picture":{"digest":')
    assert run_command(["export", "items", "--run", "shop", "--out", "i.jsonl", "--with", "pictures"]) == 2
    assert run_command(["export", "trajectories", "--run", "shop", "--out", "t.csv", "--with", "pictures"]) == 2


@pytest.mark.parametrize("told", [{}, {"data": PNG}, {"digest": PICTURES[1].digest, "data": PNG}, {"digest": []}, 5])
def test_a_picture_of_other_bytes_is_refused(tmp_path, told):
    path = tmp_path / "log.jsonl"
    path.write_bytes(orjson.dumps({"picture": told}) + b"\n" + Trajectory("a", "generic", "go").to_json().encode())
    report = ingest.import_file(path, "shop", "jsonl", lambda _: None)
    assert "do not match its digest" in report.rejected[0]["reason"]


def test_pictures_go_with_trajectories_in_lines_alone(empty):
    with pytest.raises(BadInput, match="Pictures can only be exported with trajectories"):
        download(empty, "items", "none", "jsonl", researcher=True, pictures=True)
