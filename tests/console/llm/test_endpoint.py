"""How an endpoint is spoken to: plain, or as Azure wants it."""

from console.llm.endpoint import Endpoint
from tests.fakes.endpoint import serving


def test_a_server_of_ones_own_needs_no_key(ask):
    with serving("ok") as endpoint:
        [reply], _ = ask(endpoint, "q", client={"api_key": None})
    assert reply.text == "ok"


def test_an_address_with_an_api_version_is_spoken_to_as_azure(ask):
    with serving("ok") as endpoint:
        address = endpoint.url.removesuffix("/v1") + "?api-version=2024-06-01"
        [reply], _ = ask(endpoint, "q", client={"base_url": address, "model": "my-deployment"})
    assert reply.text == "ok"
    request = endpoint.asks[0]
    assert request.path == "/openai/deployments/my-deployment/chat/completions?api-version=2024-06-01"
    assert request.headers["api-key"] == "sk-secret-key"


def test_azures_own_variables_are_enough(ask, monkeypatch):
    with serving("ok") as endpoint:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", endpoint.url.removesuffix("/v1"))
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key")
        [reply], _ = ask(endpoint, "q", client={"base_url": None, "api_key": None})
    assert reply.text == "ok"
    assert endpoint.asks[0].headers["api-key"] == "azure-key"


def test_the_shown_address_has_nothing_secret():
    assert Endpoint("https://me:word@models.example/v1/?token=x").name == "https://models.example/v1"
    assert "word" not in repr(Endpoint("https://me:word@models.example/v1"))
