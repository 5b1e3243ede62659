"""A client of the test endpoint, closed again."""

import asyncio

import pytest

from console.llm import LLM


@pytest.fixture(autouse=True)
def _no_endpoint_of_the_developer(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ask():
    """A function that asks each of the questions at once and returns (replies or errors, the client)."""

    def asked(endpoint, *questions, client=None, **options):
        async def all_at_once():
            settings = {"base_url": endpoint.url, "api_key": "sk-secret-key", "timeout_s": 5.0} | (client or {})
            async with LLM(settings.pop("model", "test"), **settings) as llm:
                calls = [llm.complete([{"role": "user", "content": text}], **options) for text in questions]
                return await asyncio.gather(*calls, return_exceptions=True), llm

        return asyncio.run(all_at_once())

    return asked
