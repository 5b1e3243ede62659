"""What a detection will cost, told before it is spent, against the bill of servers that count tokens their own way."""

import re
from dataclasses import replace

import orjson
import pytest

from console.cli import run_command
from console.detection import batch
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.estimate import asks_models, estimate_cost
from console.llm.budget import Price
from console.llm.messages import Usage
from console.runs import ingest
from console.settings import settings
from tests.fakes.answers import Answer
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.fakes.providers import PROVIDERS, provider
from tests.logs import purchase, write_log
from tests.sweeps import sweep

METHODS = ["inferact-prob", "inferact-verb", "direct", "self-consistency", "token-prob"]
TOKENIZERS = {
    "words": lambda text: len(text.split()),
    "bytes": lambda text: len(text.encode()),
    "syllables and signs": lambda text: len(re.findall(r"[^\W\d_]{1,3}|\d|[^\w\s]", text)),
}
FURTHER = "\nA further line of the page, about nothing."
PRICE = Price(0.15, 0.60)


@pytest.fixture
def kettles(tmp_path):
    def imported(count):
        records = [purchase(n, wrong=n % 2 == 0) for n in range(count)]
        records = [
            replace(
                one, steps=tuple(replace(step, observation=step.observation + n % 7 * FURTHER) for step in one.steps)
            )
            for n, one in enumerate(records)
        ]
        log = write_log(tmp_path / "log.jsonl", *records)
        ingest.import_file(log, "kettles", "auto", lambda _: None)

    return imported


@pytest.fixture
def served(monkeypatch):
    def start(stack_script, counted, **options):
        bill = []

        def script(ask):
            good = stack_script(ask)
            if isinstance(good, str):
                good = Answer([good])
            if isinstance(good, Answer):
                wanted = int(ask.body.get("n") or 1) if "n" in options.get("offers", ("n",)) else 1
                said = sum(counted(good.texts[i % len(good.texts)]) + 1 for i in range(wanted))
                used = good.usage or {"prompt_tokens": counted(ask.text), "completion_tokens": said}
                bill.append(Usage(used["prompt_tokens"], used["completion_tokens"]))
            return good

        return serving(script, counted=counted, **options), bill

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
    monkeypatch.setenv("INFERACT_MODEL", "gpt-4o-mini")
    return start


@sweep(
    ("name", "dialect"),
    [("words", "Anthropic, compatible"), ("bytes", None), ("syllables and signs", "OpenAI, reasoning")],
    kept=1,
)
def test_the_estimate_is_within_a_fifth_of_the_bill(kettles, served, monkeypatch, name, dialect):
    kettles(13)
    script = provider(dialect, rule) if dialect else rule
    offers = {"offers": PROVIDERS[dialect][2]} if dialect else {}
    server, bill = served(script, TOKENIZERS[name], **offers)
    with server as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        settings.cache_clear()
        told = estimate_cost("kettles", METHODS)
        sampled = endpoint.requests
        batch.detect("kettles", METHODS)
        answered = len(bill)
    paid = sum(PRICE.cost_usd(used) for used in bill)
    assert told.cost_usd == pytest.approx(paid, rel=0.2)
    assert told.requests == pytest.approx(answered, rel=0.2)
    assert told.sampled == 3
    assert sampled < answered / 2
    print(f"{name}, {dialect}: {told.cost_usd:.4f} USD told, {paid:.4f} paid")


def test_what_is_known_already_costs_nothing_and_the_sample_is_not_paid_twice(kettles, served, monkeypatch):
    kettles(13)
    server, bill = served(rule, TOKENIZERS["words"])
    with server as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        settings.cache_clear()
        estimate_cost("kettles", ["direct"])
        assert endpoint.requests == 3
        batch.detect("kettles", ["direct"])
        assert endpoint.requests == 13
        assert estimate_cost("kettles", ["direct"]).in_words() == "No request is needed: every answer is cached."
        assert endpoint.requests == 13
    assert bill


def test_without_a_price_it_says_so(kettles, served, monkeypatch):
    kettles(2)
    server, _ = served(rule, TOKENIZERS["words"])
    with server as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        settings.cache_clear()
        told = estimate_cost("kettles", ["direct"], asking=ModelOptions("model-of-my-own"))
    assert told.cost_usd is None
    assert "price unknown" in told.in_words()
    assert "1 of them was judged for this estimate" in told.in_words()


def test_the_command_tells_it_and_judges_nothing(kettles, served, monkeypatch, capsys):
    kettles(2)
    server, _ = served(rule, TOKENIZERS["words"])
    with server as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        settings.cache_clear()
        assert run_command(["detect", "kettles", "--method", "rules,direct", "--estimate", "--json"]) == 0
    told = orjson.loads(capsys.readouterr().out)
    assert told["checkpoints"] == 2
    assert told["models"][0]["model"] == "gpt-4o-mini"
    assert told["cost_usd"] > 0
    assert not asks_models(["rules", "random"])
