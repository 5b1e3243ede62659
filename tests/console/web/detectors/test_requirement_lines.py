"""The Detectors page counts requirement lines and their corrections, as `inferact detector lines` does."""

import json

import pytest
from sqlmodel import select

from console.cli import run_command
from console.database import now_ms, reading, writing
from console.detection import batch
from console.detection.detectors.shared.model_clients import ModelOptions
from console.review.line_corrections import key_of, toggle_correction
from console.runs import ingest
from console.trajectory.requirements import RequirementTable
from storage import tables
from tests.fakes.endpoint import serving
from tests.fakes.requirement_filler import Told, telling
from tests.logs import purchase, write_log

LINES = (
    Told("thing", "kettle", "met", "Kettle", 2),
    Told("limit", "price lower than 30.00 dollars", "broken", "[Buy Now]", 2),
)


@pytest.fixture
def corrected(tmp_path, monkeypatch):
    """A run of two verdicts with two lines each, one of which a reviewer corrected."""
    log = write_log(tmp_path / "log.jsonl", purchase(0, wrong=True), purchase(1, wrong=False))
    ingest.import_file(log, "kettles", "auto", lambda _: None)
    with serving(telling(LINES)) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        batch.detect("kettles", ["requirements"], asking=ModelOptions(model="gpt-4o-mini"))
    with reading() as session:
        item = session.exec(select(tables.Item)).first()
        line = RequirementTable.from_json(session.get(tables.Verdict, item.verdict_id).requirements).lines[0]
    with writing() as session:
        toggle_correction(session, item.id, key_of(line), "ada", now_ms())


def test_the_page_and_the_command_count_lines_and_corrections(corrected, open_page, capsys):
    page = " ".join(str(found.proto.body) for found in open_page("detectors", run="kettles").get("html"))
    assert "1 of 2 reviewed lines (50%)" in page
    capsys.readouterr()
    assert run_command(["detector", "lines", "kettles", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert {name: told[name] for name in ("detector", "verdicts", "lines", "broken", "met", "corrected_broken")} == {
        "detector": "requirements",
        "verdicts": 2,
        "lines": 4,
        "broken": 2,
        "met": 2,
        "corrected_broken": 1,
    }
