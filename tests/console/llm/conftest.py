"""A client of the test endpoint, closed again."""

import asyncio

import pytest

from console.llm import LLM, ClientOptions, Sampling


@pytest.fixture(autouse=True)
def _no_endpoint_of_the_developer(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ask():
    """A function that asks each of the questions at once and returns (replies or errors, the client)."""

    def asked(endpoint, *questions, client=None, **options):
        async def all_at_once():
            drawn = {name: options.pop(name) for name in [*options] if name in Sampling.__dataclass_fields__}
            settings = {"base_url": endpoint.url, "api_key": "sk-secret-key", "timeout_s": 5.0} | (client or {})
            async with LLM(settings.pop("model", "test"), ClientOptions(**settings)) as llm:
                chats = [[{"role": "user", "content": text}] for text in questions]
                calls = [llm.complete(chat, Sampling(**drawn), **options) for chat in chats]
                return await asyncio.gather(*calls, return_exceptions=True), llm

        return asyncio.run(all_at_once())

    return asked
