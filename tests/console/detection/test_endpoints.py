"""Detection before difficult endpoints: what they lack is told once, and a model that says nothing ends the run."""

import json
from contextlib import ExitStack

import pytest

from console.cli import run_command
from console.database import reading
from console.detection import batch
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.evaluation import metrics
from console.llm.errors import ModelSilent
from console.runs import get as get_run
from console.runs import ingest
from console.settings import settings
from tests.console.detection.test_batch import verdicts
from tests.fakes.answers import Answer, Fault, judging
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.fakes.providers import PROVIDERS, provider
from tests.logs import purchase, write_log
from tests.sweeps import sweep


@pytest.fixture
def kettles(tmp_path):
    log = write_log(tmp_path / "log.jsonl", *(purchase(n, wrong=n % 2 == 0) for n in range(14)))
    ingest.import_file(log, "kettles", "auto", lambda _: None)


@pytest.fixture
def served(monkeypatch):
    """A function that makes an endpoint of that script the settings' own."""

    def start(script, **options):
        endpoint = stack.enter_context(serving(script, **options))
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
        monkeypatch.setenv("INFERACT_MODEL", "gpt-4o-mini")
        settings.cache_clear()
        return endpoint

    with ExitStack() as stack:
        yield start


@sweep(
    ("answer", "cause"),
    [
        (Answer([""], finish="length"), "tokens were used up"),
        (Answer(["x"], refusal="I cannot help with that."), "I cannot help with that"),
        (Answer([""]), "the reply is empty"),
        (Answer(["I'm sorry, but I can't help with that."]), "I'm sorry, but I can't help with that"),
        (Answer(["Es tut mir leid, das kann ich nicht beurteilen."]), "Es tut mir leid"),
    ],
    kept=2,
)
def test_a_model_that_says_nothing_ends_the_run_with_the_cause(kettles, served, answer, cause):
    endpoint = served(lambda ask: answer)
    with pytest.raises(ModelSilent, match=cause) as stopped:
        batch.detect("kettles", ["direct"], asking=ModelOptions(concurrency=1))
    assert "10 empty or refused replies in a row" in str(stopped.value)
    found = verdicts()
    assert 10 <= len(found) < 14
    assert all(one.flagged and cause in one.rationale for one in found)
    endpoint.script = rule
    (report,) = batch.detect("kettles", ["direct"])
    assert (report.judged, report.unparsed, report.errors) == (14, 0, 0)


def test_a_single_empty_reply_flags_and_says_why(kettles, served):
    served(lambda ask: Answer([""]) if ask.number == 3 else rule(ask))
    (report,) = batch.detect("kettles", ["direct"], asking=ModelOptions(concurrency=1))
    assert (report.judged, report.unparsed) == (14, 1)
    (one,) = [one for one in verdicts() if json.loads(one.parameters).get("unparsed")]
    assert one.rationale == "The model gave no verdict (the reply is empty), so a person has to decide."


def test_a_refusal_in_words_goes_to_a_person_and_stays_out_of_metrics(kettles, served, capsys):
    served(lambda ask: Answer(["I cannot assist with this request."]) if ask.number in (3, 5) else rule(ask))
    assert run_command(["detect", "kettles", "--method", "direct", "--concurrency", "1"]) == 0
    assert "refused to judge 2 checkpoints (I cannot assist with this request.). A person decides these" in " ".join(
        capsys.readouterr().out.split()
    )
    refused = [one for one in verdicts() if json.loads(one.parameters).get("refused")]
    assert [(one.flagged, one.score) for one in refused] == [(True, None), (True, None)]
    assert all('refused to answer ("I cannot assist with this request.")' in one.rationale for one in refused)
    with reading() as session:
        (figures,) = metrics.evaluate(session, get_run(session, "kettles")).values()
    counted = sum(figures[name] for name in ("tp", "fp", "fn", "tn"))
    assert (counted, figures["refused"], figures["unparsed"]) == (12, 2, 0)


def test_paper_mode_scores_a_refusal_in_words_as_the_reference_does(kettles, served):
    served(lambda ask: Answer(["I'm sorry, but I can't help with that."]))
    (report,) = batch.detect("kettles", ["direct"], asking=ModelOptions(concurrency=1, paper=True))
    assert (report.judged, report.refused, report.flagged) == (14, 0, 0)


def test_a_wrong_key_on_few_checkpoints_is_named_in_words(kettles, served, capsys):
    served(lambda ask: Fault("401", message="Incorrect API key provided"))
    assert run_command(["detect", "kettles", "--method", "direct"]) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "14 verdicts are missing in kettles" in told
    assert "Incorrect API key provided" in told
    assert "RequestRejected" not in told


def test_what_an_endpoint_does_not_give_is_told_once(kettles, served, capsys):
    name = "OpenAI, reasoning"
    served(provider(name, rule), offers=PROVIDERS[name][2])
    assert run_command(["detect", "kettles", "--method", "token-prob,direct"]) == 0
    out = capsys.readouterr().out
    assert out.count("gpt-4o-mini gives no logprobs") == 1
    assert "probabilities are shares of sampled answers" in out


def test_the_why_of_a_flag_is_one_further_counted_request_beside_what_the_rules_say(kettles, served):
    def answer(ask):
        if "Say where" in ask.last:
            return "Reason: 89 dollars were paid where 30 was the limit."
        return judging(0.9) if "Reply with one letter" in ask.last else rule(ask)

    endpoint = served(answer)
    batch.detect("kettles", ["inferact-prob"], asking=ModelOptions(explain=True))
    found = verdicts()
    assert endpoint.requests == 14 * 3
    assert {one.requests for one in found} == {3}
    assert all("The model: 89 dollars were paid" in one.rationale for one in found)
    assert any("\nRules: " in one.rationale for one in found)
    batch.detect("kettles", ["inferact-prob"], asking=ModelOptions(explain=True))
    assert endpoint.requests == 14 * 3


def test_an_aligned_action_is_not_explained(kettles, served):
    endpoint = served(lambda ask: judging(0.1) if "Reply with one letter" in ask.last else rule(ask))
    batch.detect("kettles", ["inferact-prob"], asking=ModelOptions(explain=True))
    assert endpoint.requests == 14 * 2


def test_the_papers_way_is_stated_in_every_result(kettles, served, capsys):
    served(rule)
    assert run_command(["detect", "kettles", "--method", "direct,rules", "--paper", "--json"]) == 0
    told = {one["detector"]: one["mode"] for one in json.loads(capsys.readouterr().out)["detectors"]}
    assert told == {"direct": "paper", "rules": "console"}
    assert run_command(["evaluate", "kettles", "--paper", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["direct"]["mode"], found["direct"]["verdicts"], found["rules"]["verdicts"]) == (
        "paper", "paper", "console",
    )  # fmt: skip
    assert run_command(["detect", "kettles", "--method", "direct", "--paper", "--why"]) == 2
    assert run_command(["evaluate", "kettles", "--threshold", "0.3"]) == 2
