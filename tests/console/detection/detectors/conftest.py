"""Checkpoints whose queries a model behind the test endpoint answers."""

import asyncio

import pytest

from console.detection.detectors import detector
from console.detection.detectors.shared.query_cache import Models, QueryCache
from console.llm import LLM, ClientOptions
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind


@pytest.fixture(autouse=True)
def _no_endpoint_of_the_developer(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def shop():
    """A checkpoint before an order in a web shop, after two pages."""
    steps = (
        Step("I look for it.", "search[white blackout shade]", "WebShop\nInstruction:\nwhite blackout shade, 66 x 66"),
        Step("This one.", "click[B0001]", "Roller shade\ncolor [white][grey]\nPrice: $24.99\n[Buy Now]"),
    )
    request = "white blackout shade, 66 x 66"
    return Checkpoint("webshop", request, "", steps, 2, CheckpointKind.ACTION, "I buy.", "click[Buy Now]")


@pytest.fixture
def chore():
    """A checkpoint midway in a chore."""
    steps = (Step("", "think: a mug is on the desk", "OK."), Step("", "take mug 1 from desk 1", "You take the mug 1."))
    action = "clean mug 1 with sinkbasin 1"
    return Checkpoint(
        "alfworld", "put a clean mug on the shelf.", "A room.", steps, 2, CheckpointKind.ACTION, "", action
    )


@pytest.fixture
def judged():
    """A function that puts a checkpoint before the endpoint and returns the verdicts of the detectors named.

    With `errors` an endpoint's error stands in a verdict's place.
    """

    def verdicts(endpoint, checkpoint, *names, seed=7, client=None, errors=False, **options):
        async def ask():
            settings = {"base_url": endpoint.url, "api_key": "sk-secret", "timeout_s": 5.0} | (client or {})
            async with (
                LLM("small", ClientOptions(**settings)) as infer,
                LLM("large", ClientOptions(**settings)) as verify,
            ):
                cache = QueryCache(checkpoint, Models(infer, verify, **options), seed)
                asked = (detector(name).ask(cache) for name in names)
                return await asyncio.gather(*asked, return_exceptions=errors)

        return asyncio.run(ask())

    return verdicts
