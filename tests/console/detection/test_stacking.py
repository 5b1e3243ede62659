"""What labels teach a run's detectors."""

import json

import pytest
from sqlmodel import select
from typer.testing import CliRunner

from console import runs
from console.cli.detect import app
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch, fitting
from console.detection.detectors import detector, stacked
from console.detection.detectors.shared import stacking_model as stacks
from console.detection.evaluation import metrics
from console.errors import BadInput, Refused, Unknown
from console.review import decisions
from console.runs import ingest
from console.settings import settings
from storage import tables
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.logs import purchase, write_log


@pytest.fixture
def kettles(tmp_path):
    """Forty purchases with gold labels, judged by three offline detectors."""
    records = [purchase(number, wrong=number % 2 == 0) for number in range(40)]
    ingest.import_file(write_log(tmp_path / "kettles.jsonl", *records), "kettles", "auto", lambda _: None)
    batch.detect("kettles", ["rules", "random"], seed=4)
    return "kettles"


def inferact(*arguments):
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    return json.loads(result.stdout)


def fitted(run, name="shop", method="rules,random"):
    return inferact("fit", name, "--run", run, "--method", method, "--labels", "gold")


@pytest.mark.at_length
def test_a_stack_leans_on_the_detector_that_knows_and_judges_as_one(kettles):
    told = fitted(kettles)
    assert (told["labels"], told["misaligned"], told["detector"]) == (40, 20, "stacked@shop")
    assert told["ap"] > 0.9
    stack = stacks.read_stack(stacked.path_of("shop").read_bytes())
    weights = dict(zip((*stack.inputs, *stack.traits), stack.weights, strict=True))
    assert weights["rules"] > 3 * abs(weights["random"])
    (report,) = batch.detect(kettles, ["stacked@shop"], threshold=told["threshold"])
    assert report.judged == 40
    with reading() as session:
        document = metrics.evaluate(session, runs.get(session, kettles))
        verdict = session.exec(select(tables.Verdict).where(tables.Verdict.detector == "stacked@shop")).first()
    assert document["stacked@shop"]["macro_f1"] > document["random"]["macro_f1"]
    assert verdict.probability == verdict.score
    assert set(json.loads(verdict.parameters)["inputs"]) == {"rules", "random"}


@pytest.mark.at_length
def test_a_stack_fitted_anew_makes_its_verdicts_stale(kettles):
    fitted(kettles)
    batch.detect(kettles, ["stacked@shop"])
    assert batch.detect(kettles, ["stacked@shop"])[0].cached == 40
    fitted(kettles, method="rules")
    assert batch.detect(kettles, ["stacked@shop"])[0].judged == 40


def review_all(run_name, reviewer, limit):
    """Decides so many items as the gold label has it."""
    for _ in range(limit):
        with reading() as session:
            run = runs.get(session, run_name)
            claim = decisions.claim_next_item(review_queue(), session, run, reviewer, now_ms())
            label = session.get(tables.Trajectory, claim.trajectory_id).label
        answer = (
            decisions.ReviewDecision("reject", "not this")
            if label == "misaligned"
            else decisions.ReviewDecision("approve")
        )
        decisions.submit(review_queue(), run, claim, reviewer, answer, now_ms())


@pytest.mark.at_length
def test_what_reviewers_decided_teaches_once_it_is_enough(kettles):
    batch.detect(kettles, ["full-validation"], route="full-validation")
    review_all(kettles, "ada", 20)
    refused = CliRunner().invoke(app, ["fit", "ours", "--run", kettles, "--method", "rules,random"]).exception
    assert isinstance(refused, Refused)
    assert "There are 20 labels" in str(refused)
    assert "Review more items first." in str(refused)
    review_all(kettles, "bo", 20)
    told = inferact("fit", "ours", "--run", kettles, "--method", "rules,random")
    assert (told["labels"], told["misaligned"]) == (40, 20)


def test_without_a_judged_label_there_is_nothing_to_fit(kettles):
    with reading() as session, pytest.raises(Refused, match="inferact detect kettles --method rules"):
        fitting.fit_stack(session, runs.get(session, kettles), ["rules"])


@pytest.mark.at_length
def test_a_stack_over_a_model_asks_each_question_once_and_flags_what_it_cannot_read(kettles, monkeypatch):
    monkeypatch.setenv("INFERACT_MODEL", "test")
    with serving(rule) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        settings.cache_clear()
        batch.detect(kettles, ["inferact-verb", "inferact-prob"])
        fitted(kettles, method="rules,inferact-verb,inferact-prob")
        asked = endpoint.requests
        (report,) = batch.detect(kettles, ["stacked@shop"])
        assert (report.judged, endpoint.requests, report.model) == (40, asked, "test")
        (item,) = batch.detect(kettles, ["stacked@shop"])
        assert item.cached == 40
        endpoint.script = lambda ask: "no idea"
        with writing() as session:
            run = runs.get(session, kettles)
            run.seed = 99
        monkeypatch.setenv("INFERACT_MODEL", "other")
        settings.cache_clear()
        (report,) = batch.detect(kettles, ["stacked@shop"])
    assert (report.unparsed, report.flagged) == (40, 40)


def test_a_stack_that_is_not_there_is_named_with_those_that_are(kettles):
    fitted(kettles)
    with pytest.raises(Unknown, match="Known: shop"):
        detector("stacked@other")
    with pytest.raises(BadInput, match="not a valid name for a stack"):
        detector("stacked@../../etc/passwd")
    with pytest.raises(Refused, match="stacked@NAME"):
        batch.detect(kettles, ["stacked"])
    with reading() as session, pytest.raises(BadInput, match="cannot be an input"):
        fitting.fit_stack(session, runs.get(session, kettles), ["stacked@shop"])
    rows = inferact("list")
    assert {"stacked@shop", "rules", "inferact-prob"} <= {row["detector"] for row in rows}
    stacked.path_of("odd").write_text("{}")
    with pytest.raises(BadInput, match="Fit the stack again"):
        detector("stacked@odd")
