"""Which detectors a model can serve, as `inferact doctor` tells it."""

import asyncio

import orjson
import pytest

from console.cli import run_command
from console.detection.fitness import measure_fitness
from console.settings import settings
from tests.fakes.answers import Answer, Fault
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.fakes.providers import PROVIDERS, provider


@pytest.fixture
def tried(monkeypatch):
    def at(script, **options):
        with serving(script, **options) as endpoint:
            monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
            return {one.detector: one for one in asyncio.run(measure_fitness("m"))}

    return at


def test_a_model_with_all_that_is_needed_serves_every_detector(tried):
    found = tried(rule)
    assert all(one.serves for one in found.values())
    assert found["token-prob"].how == "by the probabilities of its tokens"


@pytest.mark.parametrize("name", ["OpenAI, reasoning", "Anthropic, compatible"])
def test_without_log_probabilities_it_serves_by_samples_and_says_so(tried, name):
    found = tried(provider(name, rule), offers=PROVIDERS[name][2])
    assert all(one.serves for one in found.values())
    assert "five sampled answers" in found["inferact-prob"].how


def test_what_it_cannot_serve_is_named_with_the_reason(tried):
    found = tried(lambda ask: Answer(["I'd rather not."]) if "Step N:" in ask.last else rule(ask))
    assert not found["multi-step"].serves
    assert found["multi-step"].how == "The model's reply has no probability for each step"
    assert found["direct"].serves
    assert not any(one.serves for one in tried(lambda ask: Fault("401")).values())


def test_doctor_prints_it(monkeypatch, capsys):
    with serving(rule) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("INFERACT_MODEL", "m")
        settings.cache_clear()
        assert run_command(["doctor"]) == 0
        assert "Detectors that m supports" in capsys.readouterr().out
        assert run_command(["doctor", "--json"]) == 0
    assert {one["detector"] for one in orjson.loads(capsys.readouterr().out)["detectors"]} >= {"direct", "token-prob"}
