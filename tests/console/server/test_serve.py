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
        ("127.0.0.1", "http://127.0.0.1:8501/api/v1 (open to this machine, no token needed)"),
        ("::1", "http://[::1]:8501/api/v1 (open to this machine, no token needed)"),
        ("0.0.0.0", "http://127.0.0.1:8501/api/v1 (token: {data}/api.token)"),
    ],
)
def test_the_start_says_whether_agents_need_a_token(data_dir, host, said):
    assert serve.api_address(host, 8501) == said.format(data=data_dir)


def test_the_start_names_a_token_of_the_settings_without_its_text(monkeypatch):
    monkeypatch.setenv("INFERACT_API_TOKEN", "a-token-of-24-characters")
    settings.cache_clear()
    assert serve.api_address("127.0.0.1", 8501) == "http://127.0.0.1:8501/api/v1 (token: INFERACT_API_TOKEN)"
