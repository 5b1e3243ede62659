"""Detection by the Batch API: the same verdicts as by single requests, also when it is stopped midway."""

import pytest

from console.cli import run_command
from console.detection import batch, batch_jobs
from console.detection.detectors.shared.model_clients import ModelOptions
from console.llm.errors import RequestRejected
from console.runs import ingest
from console.settings import settings
from tests.console.detection.test_batch import verdicts
from tests.fakes.answers import Fault
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.fakes.providers import PROVIDERS, provider
from tests.logs import purchase, write_log

METHODS = ["inferact-prob", "self-consistency", "multi-step"]


@pytest.fixture
def kettles(tmp_path):
    log = write_log(tmp_path / "log.jsonl", *(purchase(n, wrong=n % 2 == 0) for n in range(4)))
    for name in ("kettles", "again"):
        ingest.import_file(log, name, "auto", lambda _: None)


@pytest.fixture
def at(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("INFERACT_MODEL", "gpt-4o-mini")

    def named(endpoint):
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        settings.cache_clear()

    return named


def in_batches(run="kettles", methods=METHODS, **options):
    told = []
    found = batch_jobs.detect(run, methods, ModelOptions(**options), every_s=0.05, tell=told.append)
    return found, told


@pytest.mark.parametrize("dialect", [None, "OpenAI, Responses only"])
def test_it_gives_the_verdicts_that_single_requests_give(kettles, at, dialect):
    script = provider(dialect, rule) if dialect else rule
    offers = {"offers": PROVIDERS[dialect][2]} if dialect else {}
    with serving(script, **offers) as endpoint:
        at(endpoint)
        detection, told = in_batches()
        singles = [ask for ask in endpoint.asks if ask.headers]
    assert all((report.judged, report.errors, report.waiting) == (4, 0, 0) for report in detection.reports)
    assert len(endpoint.batches.orders) >= 2
    assert len(singles) <= 10
    assert all("Is water wet?" in ask.text for ask in singles)
    assert told[0].endswith("the same command continues the batch.")
    ours = {(one.trajectory_id % 4, one.detector): one.score for one in verdicts()}
    with serving(script, **offers) as endpoint:
        at(endpoint)
        batch.detect("again", METHODS)
    assert {(one.trajectory_id % 4, one.detector): one.score for one in verdicts()} == pytest.approx(ours)


@pytest.mark.at_length
def test_stopped_midway_it_goes_on_where_it_was_and_posts_nothing_twice(kettles, at):
    class Stopped(Exception):
        pass

    def stop(sentence):
        raise Stopped(sentence)

    with serving(rule) as endpoint:
        at(endpoint)
        endpoint.batches.patience = 2
        with pytest.raises(Stopped):
            batch_jobs.detect("kettles", METHODS, ModelOptions(), every_s=0.05, tell=stop)
        assert len(endpoint.batches.orders) == 1
        detection, told = in_batches()
        assert told[0] == "Batch batch_0: in progress." or "posted" in told[0]
        assert all(report.judged + report.cached == 4 for report in detection.reports)
        assert len(endpoint.batches.orders) == 2
        lines = [line for name, file in endpoint.batches.files.items() if name.startswith("file-")
                 for line in file.splitlines()]  # fmt: skip
    assert len(lines) == len(set(lines))


def test_a_batch_that_fails_is_named(kettles, at):
    with serving(rule) as endpoint:
        at(endpoint)
        endpoint.batches.fails = "failed"
        with pytest.raises(RequestRejected, match="the file is too large"):
            in_batches(methods=["direct"])
        endpoint.batches.fails = ""
        (report,) = in_batches(methods=["direct"])[0].reports
    assert report.judged == 4


@pytest.mark.at_length
def test_a_line_that_fails_leaves_its_checkpoint_without_a_verdict(kettles, at, capsys):
    def script(ask):
        return Fault("400", message="the prompt is too long") if "kettle number 2" in ask.text else rule(ask)

    with serving(script) as endpoint:
        at(endpoint)
        assert run_command(["detect", "kettles", "--method", "direct", "--batch", "--every", "0.05"]) == 1
        assert "1 verdict is missing in kettles. The last request failed: " in capsys.readouterr().err
        endpoint.script = rule
        assert run_command(["detect", "kettles", "--method", "direct", "--batch", "--every", "0.05"]) == 0
    assert len(verdicts()) == 4


def test_a_cap_is_refused_with_a_batch(kettles, capsys):
    assert run_command(["detect", "kettles", "--method", "direct", "--batch", "--cap-usd", "1"]) == 2
    assert "--estimate" in capsys.readouterr().err
