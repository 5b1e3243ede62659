"""The cost of `requirements`: one request per task and one per checkpoint, estimated as paid."""

from dataclasses import replace

import orjson
import pytest
from sqlmodel import select

from console.database import reading
from console.detection import batch
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.estimate import estimate_cost
from console.gate import Gate
from console.runs import ingest
from console.trajectory.requirements import RequirementTable
from storage import tables
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.fakes.requirement_filler import Told, is_list, telling
from tests.logs import purchase, write_log

LINES = (
    Told("thing", "kettle", "met", "Kettle", 2),
    Told("limit", "price lower than 30.00 dollars", "broken", "Price: $89.5", 2),
)


def tried(record):
    """The record with a first page that differs by trial, so that no two questions about a checkpoint are equal."""
    first = replace(record.steps[0], observation=f"{record.steps[0].observation}\nvisit {record.trial}")
    return replace(record, steps=(first, *record.steps[1:]))


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Three tasks with four trials each, and an endpoint's key."""
    records = [tried(purchase(n, wrong=True, trial=trial)) for n in range(3) for trial in range(4)]
    ingest.import_file(write_log(tmp_path / "log.jsonl", *records), "kettles", "auto", lambda _: None)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
    return 3, 12


def test_at_most_one_request_per_task_and_one_per_checkpoint(tasks, monkeypatch):
    with serving(telling(LINES)) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        asking = ModelOptions(model="gpt-4o-mini")
        expected = estimate_cost("kettles", ["requirements"], asking=asking)
        detection = batch.run_detection("kettles", ["requirements"], asking=asking)
        lists = sum(map(is_list, endpoint.asks))
        assert (lists, endpoint.requests - lists) == tasks
    assert expected.requests == pytest.approx(sum(tasks), rel=0.1)
    assert detection.reports[0].requests == sum(tasks)
    with reading() as session:
        stored = session.exec(select(tables.Verdict)).all()
    assert len(stored) == 12
    for one in stored:
        table = RequirementTable.from_dict(orjson.loads(one.requirements))
        assert next(line.requirement.value for line in table.lines) == "price lower than 30.00 dollars"
        assert "requirements" not in orjson.loads(one.parameters)
        assert one.score == pytest.approx(table.score)
    assert all(one.flagged for one in stored)


@pytest.mark.at_length
def test_the_estimate_states_the_tokens_of_each_method(tasks, monkeypatch):
    with serving(lambda ask: telling(LINES)(ask) if "requirements" in ask.text else rule(ask)) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        asking = ModelOptions(model="gpt-4o-mini")
        names = ["requirements", "direct", "inferact-prob"]
        expected = estimate_cost("kettles", names, asking=asking)
        paid = {one.detector: one for one in batch.run_detection("kettles", names, asking=asking).reports}
    assert [one.method for one in expected.methods] == names
    for one in expected.methods:
        assert one.requests == pytest.approx(paid[one.method].requests, rel=0.15), one.method
        assert one.prompt_tokens == pytest.approx(paid[one.method].prompt_tokens, rel=0.15), one.method
        assert f"Method {one.method}: about {one.requests:,} requests" in expected.in_words()


def test_a_gate_asks_with_the_table_of_the_broken_line(monkeypatch, data_dir):
    told = (Told("amount", "20 euros", "broken", '"amount": 99', 1), Told("id", "order 7", "met", '"order": 7', 1))
    with serving(telling(told)) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("INFERACT_MODEL", "gpt-4o-mini")
        call = {"name": "refund_order", "arguments": {"order": 7, "amount": 99}}
        Gate("support", "requirements", undo_s=0).ask("Refund 20 euros of order 7.", [], call)
    with reading() as session:
        (item,) = session.exec(select(tables.Item)).all()
        verdict = session.get_one(tables.Verdict, item.verdict_id)
    table = RequirementTable.from_dict(orjson.loads(verdict.requirements))
    assert (verdict.detector, verdict.flagged) == ("requirements", True)
    assert [(line.requirement.value, str(line.standing)) for line in table.lines] == [
        ("20 euros", "broken"),
        ("order 7", "met"),
    ]
