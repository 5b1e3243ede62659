"""What `inferact serve` tells Streamlit, and what it tells the person who starts it."""

import tomllib
from pathlib import Path

import pytest

from console.server import serve
from console.settings import settings

ROOT = Path(__file__).resolve().parents[3]


def test_every_setting_reaches_streamlit_by_its_name():
    options = serve.options("0.0.0.0", 8600)
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert (options["server.address"], options["server.port"]) == ("0.0.0.0", 8600)
    assert options["runner.postScriptGC"] is False
    assert options["theme.dark.backgroundColor"] == config["theme"]["dark"]["backgroundColor"]
    sections = {name.split(".")[0] for name in options}
    assert set(config) <= sections


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("127.0.0.1", "http://127.0.0.1:8501/api/v1 (a token each: inferact agent add NAME)"),
        ("::1", "http://[::1]:8501/api/v1 (a token each: inferact agent add NAME)"),
        ("0.0.0.0", "http://127.0.0.1:8501/api/v1 (a token each: inferact agent add NAME)"),
    ],
)
def test_the_start_says_how_agents_get_in(host, said):
    assert serve.api_address(host, 8501) == said


def test_the_start_names_a_token_of_the_settings_without_its_text(monkeypatch):
    monkeypatch.setenv("INFERACT_API_TOKEN", "a-token-of-24-characters")
    settings.cache_clear()
    assert serve.api_address("127.0.0.1", 8501).endswith("also the token of INFERACT_API_TOKEN)")
