"""What an endpoint offers, as `inferact doctor` tells it."""

import asyncio

import pytest

from console.llm import LLM, ClientOptions
from console.llm.client import find_capabilities, probe
from console.settings import settings
from tests.fakes.answers import Fault, judging
from tests.fakes.endpoint import serving


def probed(script, **offers):
    async def asked(url):
        async with LLM("test", ClientOptions(base_url=url, retries=0)) as llm:
            return await probe(llm)

    with serving(script, **offers) as endpoint:
        return asyncio.run(asked(endpoint.url))


@pytest.mark.parametrize(
    "offers", [{"n", "logprobs"}, {"n"}, {"logprobs"}, set()], ids=["both", "n", "logprobs", "nothing"]
)
def test_it_tells_what_there_is(offers):
    offer = probed(lambda ask: judging(0.1), offers=offers)
    assert offer.answers
    assert offer.choices == ("n" in offers)
    assert offer.logprobs == ("logprobs" in offers)
    assert offer.alternatives == (2 if "logprobs" in offers else 0)
    assert offer.problem is None


def test_a_parameter_that_is_not_taken_is_named():
    offer = probed(lambda ask: Fault("400", message="'seed' is not supported") if "seed" in ask.body else "A")
    assert offer.left_out == ("seed",)


def test_why_it_does_not_answer_is_said():
    offer = probed(lambda ask: Fault("401"))
    assert not offer.answers
    assert "OPENAI_API_KEY" in offer.problem


def test_the_settings_endpoint_is_asked_afresh_each_time(monkeypatch):
    with serving("A") as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        assert asyncio.run(find_capabilities("llama")).model == "llama"
        monkeypatch.setenv("INFERACT_MODEL", "phi")
        settings.cache_clear()
        assert [asyncio.run(find_capabilities()).model for _ in range(2)] == ["phi", "phi"]
        assert endpoint.requests == 3


def test_without_a_model_it_says_what_to_set():
    assert "INFERACT_MODEL" in asyncio.run(find_capabilities()).problem


def test_without_a_way_to_a_model_it_says_what_to_set():
    assert "OPENAI_API_KEY" in asyncio.run(find_capabilities("gpt-4o")).problem
