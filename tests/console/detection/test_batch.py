"""Detection with models: what is asked again and what is not, what fails and what is told."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import delete, update
from sqlmodel import select

from console import runs
from console.cli import run_command
from console.database import reading, writing
from console.detection import batch
from console.detection.detectors import detector
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.verdicts import judge_as_row
from console.errors import BadInput
from console.llm.errors import NoModel, SpendingCapReached
from console.runs import ingest
from console.settings import settings
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from storage import tables
from tests.fakes.answers import Fault
from tests.fakes.endpoint import serving
from tests.fakes.judges import mishap_prone, rule
from tests.logs import purchase, write_log

SEVEN = ("inferact-prob", "inferact-verb", "direct", "self-consistency", "token-prob", "token-entropy", "multi-step")
BOTH = ["inferact-prob", "inferact-verb"]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _no_endpoint_of_the_developer(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def endpoint(monkeypatch):
    """The test endpoint, named by the settings; its script can be exchanged."""
    with serving(rule) as served:
        monkeypatch.setenv("OPENAI_BASE_URL", served.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
        monkeypatch.setenv("INFERACT_MODEL", "gpt-4o-mini")
        settings.cache_clear()
        yield served


@pytest.fixture
def kettles(tmp_path):
    """A function that imports so many purchases as the run `kettles`."""

    def imported(count):
        records = [purchase(number, wrong=number % 2 == 0) for number in range(count)]
        ingest.import_file(write_log(tmp_path / "kettles.jsonl", *records), "kettles", "auto", lambda _: None)

    return imported


def verdicts(*, method=None):
    with reading() as session:
        found = session.exec(select(tables.Verdict)).all()
        session.expunge_all()
    return [one for one in found if method in (None, one.detector)]


def test_a_verdict_tells_model_prompt_parameters_seed_reply_and_what_it_took(endpoint, kettles):
    kettles(1)
    batch.detect("kettles", BOTH, seed=5)
    (verdict,) = verdicts(method="inferact-prob")
    parameters = json.loads(verdict.parameters)
    assert (verdict.model, verdict.seed) == ("gpt-4o-mini", 5)
    assert len(verdict.prompt_fingerprint) == 64
    assert verdict.inferred_task == "buy a plain thing of some colour"
    assert [call["prompt"] for call in json.loads(verdict.raw)] == [
        "inferact/webshop/infer_task",
        "inferact/webshop/check_completion",
    ]
    assert verdict.requests == 2
    assert verdict.prompt_tokens > verdict.completion_tokens > 0
    assert 0 < verdict.cost_usd < 0.01
    assert verdict.latency_ms > 0
    assert parameters["basis"] == "top_logprobs"


def test_a_second_detection_asks_nothing_and_so_does_one_after_a_lost_database(endpoint, kettles):
    kettles(4)
    first = batch.detect("kettles", SEVEN)
    assert endpoint.requests == 24
    assert [report.judged for report in first] == [4] * 7
    again = batch.detect("kettles", SEVEN)
    assert [(report.judged, report.cached) for report in again] == [(0, 4)] * 7
    assert [report.flagged for report in again] == [report.flagged for report in first]
    with writing() as session:
        session.execute(update(tables.Item).values(verdict_id=None))
        session.execute(delete(tables.Verdict))
    assert [report.judged for report in batch.detect("kettles", SEVEN)] == [4] * 7
    assert endpoint.requests == 24


def test_what_the_routing_detector_flags_is_queued_at_its_score(endpoint, kettles):
    kettles(6)
    (report,) = batch.detect("kettles", ["inferact-prob"])
    assert report.routing
    assert report.queued == report.flagged > 0
    flagged = {one.id: one.score for one in verdicts() if one.flagged}
    with reading() as session:
        items = session.exec(select(tables.Item)).all()
    assert {item.verdict_id: item.priority for item in items} == flagged


def test_another_model_prompt_or_order_of_labels_judges_anew_in_the_same_place(
    endpoint, kettles, tmp_path, monkeypatch
):
    kettles(2)
    batch.detect("kettles", ["direct"])
    before = verdicts()
    (report,) = batch.detect("kettles", ["direct"], asking=ModelOptions(model="gpt-4o"))
    assert (report.judged, report.cached, endpoint.requests) == (2, 0, 4)
    own = tmp_path / "prompts" / "direct" / "webshop" / "judge.txt"
    own.parent.mkdir(parents=True)
    own.write_text("{{ trajectory | fenced('RECORD') }} {{ instruction }} Say Verdict: Correct or Incorrect.")
    monkeypatch.setenv("INFERACT_PROMPTS_DIR", str(tmp_path / "prompts"))
    settings.cache_clear()
    (report,) = batch.detect("kettles", ["direct"], asking=ModelOptions(model="gpt-4o"))
    assert (report.judged, report.cached) == (2, 0)
    after = verdicts()
    assert [one.id for one in after] == [one.id for one in before]
    assert {one.model for one in after} == {"gpt-4o"}
    assert {one.prompt_fingerprint for one in after}.isdisjoint(one.prompt_fingerprint for one in before)


def test_a_new_seed_redraws_only_what_is_drawn(endpoint, kettles):
    kettles(2)
    names = ["self-consistency", "direct", "random", "rules"]
    batch.detect("kettles", names, seed=1)
    found = {report.detector: report.judged for report in batch.detect("kettles", names, seed=2)}
    assert found == {"self-consistency": 2, "direct": 0, "random": 2, "rules": 0}


def test_a_detector_bound_to_its_models_stands_beside_the_others(endpoint, kettles):
    kettles(2)
    names = ["inferact-prob", "inferact-prob@small", "inferact-prob@small+large"]
    reports = batch.detect("kettles", names)
    assert [report.model for report in reports] == ["gpt-4o-mini", "small", "small+large"]
    assert {one.detector for one in verdicts()} == set(names)
    asked = {(ask.body["model"], "INFERRED" in ask.text) for ask in endpoint.asks}
    assert asked == {(m, s) for m in ("gpt-4o-mini", "small") for s in (True, False)} | {("large", True)}
    # The inference by `small` serves both of its detectors.
    assert endpoint.requests == 2 * (2 + 2 + 1)
    for wrong in ("rules@small", "inferact-prob@", "inferact-prob@a+b+c"):
        with pytest.raises(BadInput):
            detector(wrong)


@pytest.mark.at_length
@pytest.mark.parametrize("seed", range(3))
def test_with_a_third_of_faulty_answers_all_end_with_a_verdict_or_a_named_error(endpoint, kettles, seed):
    kettles(12)
    kinds = ["rate limit", "server error", "cut body", "no json", "dropped", "no choices"]
    kinds += ["refusal", "refusal in words", "wrong language", "markdown", "rambling", "empty text"]
    endpoint.script = mishap_prone(rule, share=0.3, seed=seed, kinds=kinds)
    reports = batch.detect("kettles", SEVEN, asking=ModelOptions(concurrency=16))
    assert all(report.judged + report.errors == report.checkpoints == 12 for report in reports)
    assert sum(report.unparsed for report in reports) > 0
    silent = Counter()
    for one in verdicts():
        told = json.loads(one.parameters)
        silent[one.detector] += "no_reply" in told
        if told.get("unparsed"):
            assert one.flagged
            assert one.score == (None if told.get("refused") else 1.0)
    endpoint.script = rule
    again = batch.detect("kettles", SEVEN)
    assert all(report.judged + report.cached == 12 and not report.errors for report in again)
    assert [report.judged for report in again] == [report.errors + silent[report.detector] for report in reports]


def test_an_unreadable_reply_stays_flagged_whatever_the_threshold(endpoint, kettles):
    kettles(2)
    endpoint.script = lambda ask: "Die Antwort lautet: vermutlich richtig."
    (report,) = batch.detect("kettles", ["token-prob"], threshold=1.0)
    assert (report.unparsed, report.flagged) == (2, 2)
    batch.detect("kettles", ["token-prob"], threshold=0.2)
    (report,) = batch.detect("kettles", ["token-prob"], threshold=1.0)
    assert (report.cached, report.unparsed, report.flagged) == (2, 2, 2)


@pytest.mark.at_length
def test_an_endpoint_that_only_fails_is_left_alone_and_the_error_goes_up(endpoint, kettles):
    kettles(40)
    endpoint.script = lambda ask: Fault("401")
    with pytest.raises(Exception, match="OPENAI_API_KEY"):
        batch.detect("kettles", ["direct"])
    assert endpoint.requests < 40
    assert verdicts() == []


def test_a_failing_question_leaves_no_verdict_and_is_named(endpoint, kettles, capsys):
    kettles(3)
    endpoint.script = lambda ask: Fault("400") if "kettle 1" in ask.text else rule(ask)
    code = run_command(["detect", "kettles", "--method", "direct", "--json"])
    out, err = capsys.readouterr()
    (row,) = json.loads(out)["detectors"]
    assert (row["judged"], row["errors"], row["problems"]) == (2, 1, {"RequestRejected": 1})
    assert code == 1
    told = " ".join(err.split())
    assert told.startswith("1 verdict is missing in kettles. The last request failed: http://127.0.0.1:")
    assert "answered 400: the test endpoint fails on purpose." in told
    assert told.endswith("The command requests only the missing verdicts.")
    endpoint.script = rule
    assert run_command(["detect", "kettles", "--method", "direct"]) == 0
    assert "1 request," in capsys.readouterr().out


@pytest.mark.at_length
def test_the_spending_cap_covers_all_models_and_what_was_judged_is_kept(endpoint, kettles):
    kettles(30)
    asking = ModelOptions(infer_model="gpt-4o", verify_model="gpt-4o-mini", spending_cap_usd=0.02, concurrency=1)
    with pytest.raises(SpendingCapReached):
        batch.detect("kettles", ["inferact-prob"], asking=asking)
    kept = len(verdicts())
    assert 0 < kept < 30
    spent = sum(one.cost_usd for one in verdicts())
    assert spent <= 0.02
    (report,) = batch.detect("kettles", ["inferact-prob"], asking=ModelOptions(infer_model="gpt-4o"))
    assert (report.cached, report.judged) == (kept, 30 - kept)


def test_without_a_model_nothing_starts(kettles):
    kettles(1)
    with pytest.raises(NoModel, match="name a model"):
        batch.detect("kettles", ["direct"])
    with reading() as session:
        assert runs.get(session, "kettles").detector is None


def test_progress_counts_every_trajectory_once(endpoint, kettles):
    kettles(5)
    told = []
    batch.detect("kettles", ["direct", "token-prob"], progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 5) for done in range(1, 6)]


def test_a_gate_or_a_live_run_asks_for_one_checkpoint_also_within_an_event_loop(endpoint):
    seen = Checkpoint("generic", "refund order 4", "", (), 0, CheckpointKind.ACTION, "", 'refund({"order": 4})')
    run = tables.Run(id=1, name="desk", kind="gate", environment="generic", created_ms=0)
    judge = detector("inferact-prob")
    row = judge_as_row(run, judge, 0.5, 1, seen, 0)

    async def within():
        return judge_as_row(run, judge, 0.5, 1, seen, 0)

    again = asyncio.run(within())
    assert row["model"] == "gpt-4o-mini"
    assert again["score"] == row["score"]
    assert json.loads(row["raw"])[0]["prompt"] == "inferact/generic/infer_task"


def test_no_key_is_stored_with_a_verdict(endpoint, kettles, data_dir):
    kettles(2)
    batch.detect("kettles", SEVEN)
    assert not [path for path in data_dir.rglob("*") if path.is_file() and b"sk-secret-key" in path.read_bytes()]


@pytest.mark.at_length
def test_killed_half_way_and_resumed_it_asks_only_what_is_missing(endpoint, kettles, data_dir):
    kettles(30)
    endpoint.latency_s = 0.1
    environment = os.environ | {"INFERACT_CONCURRENCY": "4", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "console.cli", "detect", "kettles", "--method", "inferact-prob,direct"]
    started = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while endpoint.requests < 45 and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
    assert 45 <= endpoint.requests < 90
    lost = 4
    kept = len(verdicts())
    assert kept > 0
    endpoint.latency_s = 0.0
    reports = batch.detect("kettles", ["inferact-prob", "direct"])
    assert sum(report.cached for report in reports) == kept
    assert all(report.cached + report.judged == 30 for report in reports)
    assert 90 <= endpoint.requests <= 90 + lost
